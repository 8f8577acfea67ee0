"""What one job needs in a P4 aggregator, by the names of its P4Info; only the `driver` modules write it.

Which keys and parameters exist is the P4 program's choice (p4src/allreduce); a test compares the names with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hostagent.protocol.services.aggregator import ServiceTerms, Spread

RIDS_PER_JOB = 64
"""Replication ids: row * 64 + child + 1 is unique per job and child, and never 0 (which v1model gives to unicast)."""


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

    @property
    def group(self) -> int:
        """The multicast group that holds one replica for each child."""
        return self.row + 1

    @property
    def replicas(self) -> tuple[tuple[int, int], ...]:
        """(egress port, replication id) of each child."""
        return tuple((child.port, self._rid(child)) for child in self.children)

    def job_entry(self) -> TableEntry:
        """The entry that makes the job known; written last and removed first."""
        params = {
            "epoch": self.epoch,
            "base": self.base,
            "window": self.window,
            "window_log2": self.window.bit_length() - 1,
            "first_slot": self.first_slot,
            "full": (1 << len(self.children)) - 1,
            "group": self.group,
            "short_allowed": int(self.short_allowed),
            "statistics": self.row,
        }
        return TableEntry(
            "AllreduceIngress.jobs", (("job", self.job),), "AllreduceIngress.set_job", tuple(params.items())
        )

    def child_entries(self) -> tuple[TableEntry, ...]:
        """Who may contribute, how each copy of a result is addressed, and where messages for each child go."""
        kinds = (self._sender, self._peer, self._copy)
        return tuple(entry_of(child) for child in self.children for entry_of in kinds)

    def _rid(self, child: Child) -> int:
        return self.row * RIDS_PER_JOB + child.child + 1

    def _sender(self, child: Child) -> TableEntry:
        match = {
            "job": self.job,
            "child": child.child,
            "port": child.port,
            "source_mac": child.host_mac,
            "source_ip": child.host_ip,
        }
        params = {"bit_mask": 1 << child.child, "zero_checksum_allowed": int(child.zero_checksum_allowed)}
        return TableEntry(
            "AllreduceIngress.children", tuple(match.items()), "AllreduceIngress.set_child", tuple(params.items())
        )

    def _addresses(self, child: Child) -> dict[str, int]:
        """Addresses of a frame from the switch to a child."""
        return {
            "source_mac": self.switch_mac,
            "destination_mac": child.host_mac,
            "source_ip": self.switch_ip,
            "destination_ip": child.host_ip,
        }

    def _peer(self, child: Child) -> TableEntry:
        params = {"port": child.port, **self._addresses(child)}
        match = (("job", self.job), ("child", child.child))
        return TableEntry("AllreduceIngress.peers", match, "AllreduceIngress.forward", tuple(params.items()))

    def _copy(self, child: Child) -> TableEntry:
        compute_checksum = int(not child.zero_checksum_allowed)
        params = {"child": child.child, **self._addresses(child), "compute_checksum": compute_checksum}
        match = (("port", child.port), ("rid", self._rid(child)))
        return TableEntry("AllreduceEgress.copies", match, "AllreduceEgress.address_copy", tuple(params.items()))
