"""What one job needs in a P4 aggregator, by the names of its P4Info; only the `driver` modules write it.

Which keys and parameters exist is the P4 program's choice (p4src/allreduce); a test compares the names with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from hostagent.controller.drivers.job import Child, JobConfig

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


def group_of(job: JobConfig) -> int:
    """The multicast group that holds one replica for each child."""
    return job.row + 1


def replicas_of(job: JobConfig) -> tuple[tuple[int, int], ...]:
    """(egress port, replication id) of each child."""
    return tuple((child.port, _rid(job, place)) for place, child in enumerate(job.children))


def job_entry(job: JobConfig) -> TableEntry:
    """The entry that makes the job known; written last and removed first."""
    params = {
        "epoch": job.epoch,
        "base": job.base,
        "window": job.window,
        "window_log2": job.window.bit_length() - 1,
        "first_slot": job.first_slot,
        "full": reduce(or_, (child.bit_mask for child in job.children), 0),
        "group": group_of(job),
        "short_allowed": int(job.short_allowed),
        "statistics": job.row,
    }
    action = "AllreduceIngress.set_job"
    if (parent := job.parent) is not None:
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
    elif (overflow := job.overflow) is not None:
        action = "AllreduceIngress.set_overflowing_job"
        params |= {
            "slots": overflow.slots,
            "server_port": overflow.port,
            "server_mac": overflow.mac,
            "server_ip": overflow.ip,
        }
    return TableEntry("AllreduceIngress.jobs", (("job", job.job),), action, tuple(params.items()))


def child_entries(job: JobConfig) -> tuple[TableEntry, ...]:
    """Who may contribute, how each copy of a result is addressed, and where messages for each worker go."""
    entries = []
    for place, child in enumerate(job.children):
        ends = child.port, _addresses(job, child)
        for worker in child.numbers:
            entries += [_sender(job, child, worker), _peer(job, worker, *ends)]
        entries.append(_copy(job, place, child))
    if (parent := job.parent) is not None:
        addresses = (parent.own_mac, parent.mac, parent.own_ip, parent.ip)
        up = parent.port, dict(zip(_ADDRESSES, addresses, strict=True))
        entries += [_peer(job, worker, *up) for worker in parent.workers]
    return tuple(entries)


def _rid(job: JobConfig, place: int) -> int:
    return job.row * RIDS_PER_JOB + place + 1


def _sender(job: JobConfig, child: Child, worker: int) -> TableEntry:
    match = {
        "job": job.job,
        "child": worker,
        "port": child.port,
        "source_mac": child.host_mac,
        "source_ip": child.host_ip,
    }
    params = {"bit_mask": child.bit_mask, "zero_checksum_allowed": int(child.zero_checksum_allowed)}
    return TableEntry(
        "AllreduceIngress.children", tuple(match.items()), "AllreduceIngress.set_child", tuple(params.items())
    )


def _addresses(job: JobConfig, child: Child) -> dict[str, int]:
    """Addresses of a frame from the switch to a child."""
    addresses = (job.switch_mac, child.host_mac, job.switch_ip, child.host_ip)
    return dict(zip(_ADDRESSES, addresses, strict=True))


def _peer(job: JobConfig, worker: int, port: int, addresses: Mapping[str, int]) -> TableEntry:
    params = {"port": port, **addresses}
    match = (("job", job.job), ("child", worker))
    return TableEntry("AllreduceIngress.peers", match, "AllreduceIngress.forward", tuple(params.items()))


def _copy(job: JobConfig, place: int, child: Child) -> TableEntry:
    compute_checksum = int(not child.zero_checksum_allowed)
    params = {
        "child": child.child,
        "copy_mask": child.bit_mask,
        **_addresses(job, child),
        "compute_checksum": compute_checksum,
    }
    match = (("port", child.port), ("rid", _rid(job, place)))
    return TableEntry("AllreduceEgress.copies", match, "AllreduceEgress.address_copy", tuple(params.items()))
