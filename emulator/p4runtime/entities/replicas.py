"""Replicas of multicast groups and clone sessions, and which of them are used while ports are down."""

from __future__ import annotations

from typing import Any, TypeAlias

from emulator.p4runtime.entities.bytestrings import BytestringError, decode, encode
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.view import View
from emulator.switch.control import Replicas

PORT_WIDTH_BITS = 9
"""v1model's PortId_t."""
INSTANCE_WIDTH_BITS = 16
"""v1model's standard_metadata.egress_rid."""

Chains: TypeAlias = tuple[Replicas, ...]
"""The (port, instance) to use for each replica, and then its backups in the order in which they are to be tried."""


def chains_from_proto(given: Any, where: str) -> Chains:
    """Validates the replicas, and brings their ports to canonical form in place."""
    chains: dict[tuple[int, int], Replicas] = {}
    for replica in given:
        first = _pair(replica, _port(replica, where), where)
        if first in chains:
            raise invalid(f"{where}: port {first[0]} with instance {first[1]} occurs twice")
        chains[first] = (first, *_backups(replica, first, where))
    return tuple(chains.values())


def _backups(replica: Any, first: tuple[int, int], where: str) -> Replicas:
    """P4Runtime 1.5; a protobuf package of 1.4 has no such field."""
    found = {first: None}
    for backup in getattr(replica, "backup_replicas", ()):
        pair = _pair(backup, _canonical_port(backup, where), where)
        if pair in found:
            raise invalid(f"{where}: port {pair[0]} with instance {pair[1]} is its own backup")
        found[pair] = None
    return tuple(found)[1:]


def _pair(replica: Any, port: int, where: str) -> tuple[int, int]:
    if replica.instance >> INSTANCE_WIDTH_BITS:
        raise invalid(f"{where}: instance {replica.instance} does not fit in {INSTANCE_WIDTH_BITS} bits")
    return port, int(replica.instance)


def _port(replica: Any, where: str) -> int:
    kind = replica.WhichOneof("port_kind")
    if kind is None:
        raise invalid(f"{where}: a replica has no port")
    if kind == "egress_port":  # deprecated in P4Runtime 1.4, and what most controllers send
        port = int(replica.egress_port)
        if port >> PORT_WIDTH_BITS:
            raise invalid(f"{where}: port {port} does not fit in {PORT_WIDTH_BITS} bits")
        return port
    return _canonical_port(replica, where)


def _canonical_port(replica: Any, where: str) -> int:
    try:
        port = decode(replica.port, PORT_WIDTH_BITS)
    except BytestringError as error:
        raise RequestError(Code.OUT_OF_RANGE, f"{where}: port {error}") from None
    replica.port = encode(port)
    return port


def has_backups(chains: Chains) -> bool:
    return any(len(chain) > 1 for chain in chains)


def in_use(chains: Chains, view: View) -> Replicas:
    """For each replica, the first backup with a port that is up; the replica itself where none is."""
    return tuple(next((pair for pair in chain if _is_up(pair[0], view)), chain[0]) for chain in chains)


def _is_up(port: int, view: View) -> bool:
    return view.has_port(port) and port not in view.notes.down
