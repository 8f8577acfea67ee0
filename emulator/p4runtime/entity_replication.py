"""PacketReplicationEngineEntry: multicast groups (P4Runtime, "MulticastGroupEntry"). Clone sessions are to come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4.protos import p4runtime_pb2
from emulator.p4runtime.canonical import BytestringError, decode, encode
from emulator.p4runtime.entity_tables import DELETE, INSERT
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.view import Change, View
from emulator.switch.control import Replicas

PORT_WIDTH_BITS = 9
"""v1model's PortId_t."""
INSTANCE_WIDTH_BITS = 16
"""v1model's standard_metadata.egress_rid."""
GROUP_WIDTH_BITS = 16
"""v1model's standard_metadata.mcast_grp."""


def prepare_replication_write(view: View, update_type: int, message: Any) -> Change:
    group = _multicast_group(message)
    group_id = group.multicast_group_id
    if group_id == 0:
        raise invalid("multicast group id 0 means no replication: use an id from 1 on")
    if group_id >> GROUP_WIDTH_BITS:
        raise invalid(f"multicast group id {group_id} does not fit in {GROUP_WIDTH_BITS} bits")
    if update_type == DELETE:
        return lambda: _delete(view, group_id)
    kept = p4runtime_pb2.MulticastGroupEntry()
    kept.CopyFrom(group)
    replicas = _replicas_from_proto(kept)
    return lambda: _write(view, update_type, kept, replicas)


def _write(view: View, update_type: int, group: Any, replicas: Replicas) -> None:
    if update_type == INSERT:
        view.control.insert_multicast_group(group.multicast_group_id, replicas)
    else:
        view.control.modify_multicast_group(group.multicast_group_id, replicas)
    view.notes.groups[group.multicast_group_id] = group


def _delete(view: View, group_id: int) -> None:
    view.control.delete_multicast_group(group_id)
    view.notes.groups.pop(group_id, None)


def _multicast_group(message: Any) -> Any:
    kind = message.WhichOneof("type")
    if kind is None:
        raise invalid("the packet replication engine entry names neither a multicast group nor a clone session")
    if kind != "multicast_group_entry":
        raise RequestError(Code.UNIMPLEMENTED, "clone sessions are not supported")
    return message.multicast_group_entry


def _replicas_from_proto(group: Any) -> Replicas:
    """Validates the replicas, and brings their ports to canonical form in place."""
    where = f"multicast group {group.multicast_group_id}"
    replicas = []
    for replica in group.replicas:
        if len(getattr(replica, "backup_replicas", ())):  # came with P4Runtime 1.5
            raise RequestError(Code.UNIMPLEMENTED, f"{where}: backup replicas are not supported")
        if replica.instance >> INSTANCE_WIDTH_BITS:
            raise invalid(f"{where}: instance {replica.instance} does not fit in {INSTANCE_WIDTH_BITS} bits")
        pair = (_port(replica, where), replica.instance)
        if pair in replicas:
            raise invalid(f"{where}: port {pair[0]} with instance {pair[1]} is given twice")
        replicas.append(pair)
    return tuple(replicas)


def _port(replica: Any, where: str) -> int:
    kind = replica.WhichOneof("port_kind")
    if kind is None:
        raise invalid(f"{where}: a replica has no port")
    if kind == "egress_port":  # deprecated in P4Runtime 1.4, and what most controllers send
        port = int(replica.egress_port)
        if port >> PORT_WIDTH_BITS:
            raise invalid(f"{where}: port {port} does not fit in {PORT_WIDTH_BITS} bits")
        return port
    try:
        port = decode(replica.port, PORT_WIDTH_BITS)
    except BytestringError as error:
        raise RequestError(Code.OUT_OF_RANGE, f"{where}: port {error}") from None
    replica.port = encode(port)
    return port


def read_replication(view: View, message: Any) -> Iterator[Any]:
    """One group, or with id 0 all. An absent group is no error: nothing is selected."""
    wanted_id = _multicast_group(message).multicast_group_id
    with view.access():
        groups = dict(view.control.multicast_groups())
    for group_id in sorted(groups):
        if wanted_id in (0, group_id):
            entity = p4runtime_pb2.Entity()
            answer = entity.packet_replication_engine_entry.multicast_group_entry
            answer.CopyFrom(view.notes.groups.get(group_id) or _group_to_proto(group_id, groups[group_id]))
            yield entity


def _group_to_proto(group_id: int, replicas: Replicas) -> Any:
    group = p4runtime_pb2.MulticastGroupEntry(multicast_group_id=group_id)
    for port, instance in replicas:
        group.replicas.add(egress_port=port, instance=instance)
    return group
