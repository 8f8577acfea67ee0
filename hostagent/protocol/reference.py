"""The aggregator's side of the protocol in plain Python, as slow and obvious as can be.

The oracle for the P4 program, and an aggregator for tests of the worker core. The slot rule of PROTOCOL.md, section
5.3, in short (one job, W slots of two sets):

- Chunk c uses slot c mod W, set (c div W) mod 2. A set of another epoch is empty and takes only base <= c < base + 2W.
  A complete set takes its exact successor c + 2W. A set's own chunk is added the first time a child sends it.
  Everything else is dropped.
- Complete: the result goes to all children. A repeat is answered to its sender alone: with the result when complete,
  with `waiting` and who has come when not.
- A copy with another operation hash or operator than the set's first marks the set failed: `error` to all, and to all
  who ask later.

Messages and acknowledgements (section 6.6) go on to the child that they name, with addresses replaced.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hostagent.protocol.counters import Drop, Verdict
from hostagent.protocol.frames import Addresses, Frame, build_frame, parse_frame, readdressed
from hostagent.protocol.wire import FLAG_NO_DATA, FORWARDED_KINDS, LANE_BYTES, Header, Kind, Operator, WireError

Lanes = np.ndarray[Any, np.dtype[np.uint32]]
MODULUS = 1 << 32


@dataclass(frozen=True, slots=True)
class ReferenceChild:
    """A contributor as the tables know it."""

    port: int
    mac: int
    ip: int
    zero_checksum_allowed: bool = True
    compute_checksum: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceJob:
    """A job as the tables know it."""

    epoch: int
    window: int
    children: tuple[ReferenceChild, ...]
    base: int = 0
    short_allowed: bool = True
    switch_mac: int = 0x020000FFFFFF
    switch_ip: int = 0x0A0000FE


@dataclass(slots=True)
class SlotSet:
    """What a set remembers."""

    epoch: int
    chunk: int
    operator: int
    operation: int
    first_child: int
    sums: Lanes
    came: int = 0
    failed: bool = False
    other_operation: int = 0
    other_child: int = 0


@dataclass(slots=True)
class ReferenceAggregator:
    """An aggregator of any number of jobs. ``receive`` maps a frame at a port to frames at ports."""

    lanes: int
    jobs: dict[int, ReferenceJob] = field(default_factory=dict)
    sets: dict[tuple[int, int, int], SlotSet] = field(default_factory=dict)
    verdicts: dict[tuple[int, Verdict], int] = field(default_factory=dict)
    drops: dict[Drop, int] = field(default_factory=dict)

    def restart(self) -> None:
        """Forget everything, as a switch does that was killed."""
        self.jobs.clear()
        self.sets.clear()

    def receive(self, port: int, data: bytes) -> list[tuple[int, bytes]]:
        """One frame in, its answers out as (port, frame)."""
        try:
            frame = parse_frame(data, at_destination=False)
        except WireError as error:
            return self._drop(Drop.CHECKSUM if "sum" in str(error) else Drop.NOT_OURS)
        header, job = frame.header, self.jobs.get(frame.header.job)
        no_data = bool(header.flags & FLAG_NO_DATA)
        is_forwarded = header.kind in FORWARDED_KINDS
        if not is_forwarded and (header.kind != Kind.CONTRIBUTION or header.operator not in self._operators(no_data)):
            return self._drop(Drop.KIND)
        if job is None:
            return self._drop(Drop.JOB)
        if not self._is_known(job, port, frame):
            return self._drop(Drop.CHILD)
        if is_forwarded:
            return self._forward(job, frame, data)
        if header.lanes != self.lanes and not (header.lanes == 0 and no_data and job.short_allowed):
            return self._drop(Drop.LENGTH)
        if not frame.checksum and not job.children[header.child].zero_checksum_allowed:
            return self._drop(Drop.CHECKSUM)
        if header.epoch != job.epoch:
            return self._drop(Drop.EPOCH)
        return self._contribute(job, frame)

    def _operators(self, no_data: bool) -> tuple[Operator, ...]:
        """Operators that a contribution may have."""
        return (Operator.SUM,) if no_data else (Operator.SUM, Operator.MAX)

    def _drop(self, reason: Drop) -> list[tuple[int, bytes]]:
        self.drops[reason] = self.drops.get(reason, 0) + 1
        return []

    def _count(self, header: Header, verdict: Verdict) -> None:
        self.verdicts[header.job, verdict] = self.verdicts.get((header.job, verdict), 0) + 1

    def _is_known(self, job: ReferenceJob, port: int, frame: Frame) -> bool:
        if frame.header.child >= len(job.children):
            return False
        child = job.children[frame.header.child]
        return (child.port, child.mac, child.ip) == (port, frame.addresses.source_mac, frame.addresses.source_ip)

    def _forward(self, job: ReferenceJob, frame: Frame, data: bytes) -> list[tuple[int, bytes]]:
        header = frame.header
        if len(frame.payload) > LANE_BYTES * self.lanes:
            return self._drop(Drop.LENGTH)
        if header.epoch != job.epoch:
            return self._drop(Drop.EPOCH)
        if header.peer >= len(job.children):
            return self._drop(Drop.PEER)
        self._count(header, Verdict.FORWARDED)
        peer = job.children[header.peer]
        return [(peer.port, readdressed(data, Addresses(job.switch_mac, peer.mac, job.switch_ip, peer.ip)))]

    def _contribute(self, job: ReferenceJob, frame: Frame) -> list[tuple[int, bytes]]:
        header, full = frame.header, (1 << len(job.children)) - 1
        place = (header.job, header.chunk % job.window, header.chunk // job.window % 2)
        held = self.sets.get(place)
        if held is None or held.epoch != job.epoch:
            accepts = (header.chunk - job.base) % MODULUS < 2 * job.window
            fresh = True
        elif header.chunk == held.chunk:
            accepts, fresh = True, False
        else:
            successor = (held.chunk + 2 * job.window) % MODULUS
            accepts = header.chunk == successor and held.came == full and not held.failed
            fresh = True
        if not accepts:
            self._count(header, Verdict.OUTSIDE_WINDOW)
            return []
        if fresh:
            held = self.sets[place] = SlotSet(
                job.epoch,
                header.chunk,
                header.operator,
                header.operation,
                header.child,
                np.zeros(self.lanes, np.uint32),
            )
        assert held is not None
        return self._add(job, held, frame, full)

    def _add(self, job: ReferenceJob, held: SlotSet, frame: Frame, full: int) -> list[tuple[int, bytes]]:
        header, bit = frame.header, 1 << frame.header.child
        if held.failed:
            self._count(header, Verdict.ERROR)
            return [self._answer(job, header.child, frame, Kind.ERROR, self._error_lanes(held))]
        if (header.operation, header.operator) != (held.operation, held.operator):
            held.failed, held.other_operation, held.other_child = True, header.operation, header.child
            self._count(header, Verdict.MISMATCH)
            return self._answer_all(job, frame, Kind.ERROR, self._error_lanes(held))
        if held.came & bit:
            return [self._repeat(job, held, frame, full)]
        no_data = bool(header.flags & FLAG_NO_DATA)
        self._count(header, Verdict.ACCEPTED_NO_DATA if no_data else Verdict.ACCEPTED)
        if not no_data:
            self._accumulate(held, frame)
        held.came |= bit
        if held.came != full:
            return []
        self._count(header, Verdict.COMPLETED)
        return self._complete(job, held, frame)

    def _accumulate(self, held: SlotSet, frame: Frame) -> None:
        """A contribution's lanes into the set's."""
        if frame.header.operator != Operator.MAX:
            held.sums += frame.lanes
        elif held.came == 0:
            held.sums[:] = frame.lanes
        else:
            held.sums[:] = np.maximum(held.sums.view(np.int32), frame.lanes.view(np.int32)).view(np.uint32)

    def _complete(self, job: ReferenceJob, held: SlotSet, frame: Frame) -> list[tuple[int, bytes]]:
        """All children have contributed: the results to send."""
        return self._answer_all(job, frame, Kind.RESULT, held.sums)

    def _repeat(self, job: ReferenceJob, held: SlotSet, frame: Frame, full: int) -> tuple[int, bytes]:
        if held.came == full:
            self._count(frame.header, Verdict.SERVED_AGAIN)
            return self._answer(job, frame.header.child, frame, Kind.RESULT, held.sums)
        self._count(frame.header, Verdict.WAITING)
        lanes = np.zeros(self.lanes, np.uint32)
        lanes[:2] = held.came >> 32, held.came & 0xFFFFFFFF
        return self._answer(job, frame.header.child, frame, Kind.WAITING, lanes)

    def _error_lanes(self, held: SlotSet) -> Lanes:
        lanes = np.zeros(self.lanes, np.uint32)
        lanes[:4] = held.operation, held.other_operation, held.first_child, held.other_child
        return lanes

    def _answer_all(self, job: ReferenceJob, frame: Frame, kind: Kind, lanes: Lanes) -> list[tuple[int, bytes]]:
        return [self._answer(job, number, frame, kind, lanes) for number in range(len(job.children))]

    def _answer(self, job: ReferenceJob, number: int, frame: Frame, kind: Kind, lanes: Lanes) -> tuple[int, bytes]:
        child = job.children[number]
        header = replace(frame.header, kind=kind, child=number, flags=0, lanes=self.lanes, peer=0)
        addresses = Addresses(job.switch_mac, child.mac, job.switch_ip, child.ip)
        return child.port, build_frame(Frame(addresses, header, lanes, child.compute_checksum))
