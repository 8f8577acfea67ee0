"""What one job needs in a P4 aggregator, by the names of its P4Info; only the `driver` modules write it.

Which keys and parameters exist is the P4 program's choice (p4src/allreduce); a test compares the names with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from hostagent.controller.core.slots import Run
from hostagent.protocol.services.aggregator import ServiceTerms, Spread

RIDS_PER_JOB = 64
"""Replication ids: row * 64 + place + 1, with the place of a child among the job's children, is unique per job and
child, and never 0 (which v1model gives to unicast)."""


_ADDRESSES = ("source_mac", "destination_mac", "source_ip", "destination_ip")


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One entry of an exact-match table, names and values only."""

    table: str
    match: tuple[tuple[str, int], ...]
    action: str
    params: tuple[tuple[str, int], ...]

    @property
    def key(self) -> tuple[str, tuple[tuple[str, int], ...]]:
        """What makes two entries the same entry."""
        return self.table, self.match


@dataclass(frozen=True, slots=True)
class Child:
    """One contributor, as the switch has to know it."""

    child: int
    port: int
    host_mac: int
    host_ip: int
    zero_checksum_allowed: bool
    workers: tuple[int, ...] = ()
    """A leaf aggregator's: the workers below it, in whose names it sends. Empty: the child is worker ``child``."""
    bits: int = 0
    """In bitmaps; 0: bit ``child``."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """In frames from it."""
        return self.workers or (self.child,)

    @property
    def bit_mask(self) -> int:
        """In bitmaps."""
        return self.bits or 1 << self.child


@dataclass(frozen=True, slots=True)
class Parent:
    """The aggregator above the leaf of a tree (PROTOCOL.md, section 12)."""

    port: int
    """The leaf's port that leads to it."""
    mac: int
    ip: int
    own_mac: int
    own_ip: int
    """The leaf's addresses towards it."""
    zero_checksum_allowed: bool
    workers: tuple[int, ...]
    """Those of the job that are not below the leaf: messages for them go up."""
    elsewhere: int
    """Their bits, of which the leaf does not know whether they have contributed; 0 where they have none."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """Where a switch finds the server that has the other slots of a window."""

    slots: int
    """Of the window's, the first ones: those that the switch has."""
    port: int
    """The switch's port that leads to the server."""
    mac: int
    ip: int


@dataclass(frozen=True, slots=True)
class JobEntries:
    """Everything the aggregator must know of one job under one epoch."""

    job: int
    row: int
    """Row of counters, and the number from which group and replication ids are made."""
    epoch: int
    base: int
    """Modulo 2^32, as frames carry it."""
    window: int
    first_slot: int
    short_allowed: bool
    switch_mac: int
    switch_ip: int
    children: tuple[Child, ...]
    service: ServiceTerms | None = None
    """The service of a job that works on a rack server's weights; None for other jobs."""
    spread: Spread | None = None
    """Spread of a job over several racks; ``children`` are then those of this rack."""
    parent: Parent | None = None
    """Of a leaf in a tree of switches; ``children`` are then those of this switch."""
    switch_slots: Run | None = None
    """Where there is an overflow server: the switch's, which are the first ones of the window; ``first_slot`` is the
    server's then."""
    overflow: Overflow | None = None
    """Of a switch, where a server has some of the window's slots; ``first_slot`` is the switch's."""

    @property
    def group(self) -> int:
        """The multicast group that holds one replica for each child."""
        return self.row + 1

    @property
    def replicas(self) -> tuple[tuple[int, int], ...]:
        """(egress port, replication id) of each child."""
        return tuple((child.port, self._rid(place)) for place, child in enumerate(self.children))

    def job_entry(self) -> TableEntry:
        """The entry that makes the job known; written last and removed first."""
        params = {
            "epoch": self.epoch,
            "base": self.base,
            "window": self.window,
            "window_log2": self.window.bit_length() - 1,
            "first_slot": self.first_slot,
            "full": reduce(or_, (child.bit_mask for child in self.children), 0),
            "group": self.group,
            "short_allowed": int(self.short_allowed),
            "statistics": self.row,
        }
        action = "AllreduceIngress.set_job"
        if (parent := self.parent) is not None:
            action = "AllreduceIngress.set_leaf_job"
            params |= {
                "parent_port": parent.port,
                "own_mac": parent.own_mac,
                "parent_mac": parent.mac,
                "own_ip": parent.own_ip,
                "parent_ip": parent.ip,
                "parent_zero_checksum_allowed": int(parent.zero_checksum_allowed),
                "elsewhere": parent.elsewhere,
            }
        elif (overflow := self.overflow) is not None:
            action = "AllreduceIngress.set_overflowing_job"
            params |= {
                "slots": overflow.slots,
                "server_port": overflow.port,
                "server_mac": overflow.mac,
                "server_ip": overflow.ip,
            }
        return TableEntry("AllreduceIngress.jobs", (("job", self.job),), action, tuple(params.items()))

    def child_entries(self) -> tuple[TableEntry, ...]:
        """Who may contribute, how each copy of a result is addressed, and where messages for each worker go."""
        entries = []
        for place, child in enumerate(self.children):
            ends = child.port, self._addresses(child)
            for worker in child.numbers:
                entries += [self._sender(child, worker), self._peer(worker, *ends)]
            entries.append(self._copy(place, child))
        if (parent := self.parent) is not None:
            addresses = (parent.own_mac, parent.mac, parent.own_ip, parent.ip)
            up = parent.port, dict(zip(_ADDRESSES, addresses, strict=True))
            entries += [self._peer(worker, *up) for worker in parent.workers]
        return tuple(entries)

    def _rid(self, place: int) -> int:
        return self.row * RIDS_PER_JOB + place + 1

    def _sender(self, child: Child, worker: int) -> TableEntry:
        match = {
            "job": self.job,
            "child": worker,
            "port": child.port,
            "source_mac": child.host_mac,
            "source_ip": child.host_ip,
        }
        params = {"bit_mask": child.bit_mask, "zero_checksum_allowed": int(child.zero_checksum_allowed)}
        return TableEntry(
            "AllreduceIngress.children", tuple(match.items()), "AllreduceIngress.set_child", tuple(params.items())
        )

    def _addresses(self, child: Child) -> dict[str, int]:
        """Addresses of a frame from the switch to a child."""
        addresses = (self.switch_mac, child.host_mac, self.switch_ip, child.host_ip)
        return dict(zip(_ADDRESSES, addresses, strict=True))

    def _peer(self, worker: int, port: int, addresses: Mapping[str, int]) -> TableEntry:
        params = {"port": port, **addresses}
        match = (("job", self.job), ("child", worker))
        return TableEntry("AllreduceIngress.peers", match, "AllreduceIngress.forward", tuple(params.items()))

    def _copy(self, place: int, child: Child) -> TableEntry:
        compute_checksum = int(not child.zero_checksum_allowed)
        params = {"child": child.child, **self._addresses(child), "compute_checksum": compute_checksum}
        match = (("port", child.port), ("rid", self._rid(place)))
        return TableEntry("AllreduceEgress.copies", match, "AllreduceEgress.address_copy", tuple(params.items()))
