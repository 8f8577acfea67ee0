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

A job with a parent makes its aggregator the leaf of a tree (section 12): the sum of its children goes up, and the
parent's result takes its place. A job with a server has some of its slots there (section 12.7): frames for those, and
the server's answers, go on as they came.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from hostagent.protocol.counters import Drop, Verdict
from hostagent.protocol.frames import PASSING_KINDS, Addresses, Frame, build_frame, no_lanes, parse_frame, readdressed
from hostagent.protocol.wire import (
    ECN_MARKED,
    FLAG_NO_DATA,
    FLAG_SHORT_RESULT,
    FORWARDED_KINDS,
    HEADER_AT,
    LANE_BYTES,
    LANES_AT,
    NEARBY_ABSENT,
    NEARBY_PRESENT,
    NEARBY_SLOTS,
    NEARBY_UNKNOWN,
    Header,
    Kind,
    Operator,
    WireError,
    decode_header,
)

Lanes = np.ndarray[Any, np.dtype[np.uint32]]
MODULUS = 1 << 32
KINDS = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class ReferenceChild:
    """A contributor as the tables know it."""

    port: int
    mac: int
    ip: int
    zero_checksum_allowed: bool = True
    compute_checksum: bool = False
    workers: tuple[int, ...] = ()
    """A leaf aggregator's: the workers below it, in whose names it sends. Empty: it is the worker whose number is its
    place among the job's children."""
    bits: int = 0
    """In bitmaps; 0: the bit of its place."""


@dataclass(frozen=True, slots=True)
class ReferenceParent:
    """The aggregator above a leaf, and the leaf's own addresses towards it."""

    port: int
    mac: int
    ip: int
    own_mac: int
    own_ip: int
    workers: frozenset[int] = frozenset()
    """Those that messages reach through it: all that are not below the leaf."""
    elsewhere: int = 0
    """Bits of workers that are not below the leaf: it cannot say that they are missing."""
    zero_checksum_allowed: bool = True

    @property
    def compute_checksum(self) -> bool:
        """Of what goes up."""
        return not self.zero_checksum_allowed

    @classmethod
    def of(cls, above: Any) -> ReferenceParent | None:
        """From a `ParentTerms`, or the controller's `Parent`, which has the same fields; None where there is none."""
        if above is None:
            return None
        addresses = above.port, above.mac, above.ip, above.own_mac, above.own_ip
        return cls(*addresses, frozenset(above.workers), above.elsewhere, above.zero_checksum_allowed)


@dataclass(frozen=True, slots=True)
class ReferenceServer:
    """The aggregator of those slots that a switch does not have."""

    slots: int
    """Of the window's, the first ones: those that the switch has."""
    port: int
    mac: int
    ip: int


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
    parent: ReferenceParent | None = None
    server: ReferenceServer | None = None

    def overflows(self, chunk: int) -> bool:
        """Whether the server has the chunk's slot."""
        return self.server is not None and chunk % self.window >= self.server.slots

    @property
    def numbers(self) -> list[int]:
        """One number in frames for each child."""
        return [child.workers[0] if child.workers else place for place, child in enumerate(self.children)]

    @property
    def full(self) -> int:
        """The bitmap of a set to which all children have contributed."""
        return reduce(or_, (child.bits or 1 << place for place, child in enumerate(self.children)))

    def bits(self, number: int) -> int:
        """Of a child in bitmaps."""
        place = self._place(number)
        assert place is not None, f"worker {number} is below no child"
        return self.children[place].bits or 1 << place

    def child(self, number: int) -> ReferenceChild | None:
        """The child that is the worker of this number, or has it below; None: none."""
        place = self._place(number)
        return None if place is None else self.children[place]

    def _place(self, number: int) -> int | None:
        if number < len(self.children) and not self.children[number].workers:
            return number
        return next((place for place, child in enumerate(self.children) if number in child.workers), None)


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
    final: bool = False
    """In a leaf: ``sums`` are the parent's result."""
    no_data: bool = False
    """Of the result: it is one of a server of weights, without data."""
    short_results: int = 0
    """Bits of those who need no lanes of the result."""
    marked: bool = False
    """A contribution came with a mark of congestion."""
    other_operation: int = 0
    other_child: int = 0


@dataclass(slots=True)
class ReferenceAggregator:
    """An aggregator of any number of jobs. ``receive`` maps a frame at a port to frames at ports."""

    lanes: int
    jobs: dict[int, ReferenceJob] = field(default_factory=dict)
    reports_nearby: bool = True
    """Results report nearby slots."""
    shortens_results: bool = True
    """Results for children that need no lanes have none."""
    sets: dict[tuple[int, int, int], SlotSet] = field(default_factory=dict)
    newest: dict[tuple[int, int], SlotSet] = field(default_factory=dict)
    """By job and slot: of its sets the one that was opened last."""
    verdicts: dict[tuple[int, Verdict], int] = field(default_factory=dict)
    drops: dict[Drop, int] = field(default_factory=dict)

    def restart(self) -> None:
        """Forget everything, as a switch does that was killed."""
        self.jobs.clear()
        self.sets.clear()
        self.newest.clear()

    def receive(self, port: int, data: bytes) -> list[tuple[int, bytes]]:
        """One frame in, its answers out as (port, frame)."""
        try:
            frame = parse_frame(data, at_destination=False, passing=self._passing(data))
        except WireError as error:
            return self._drop(Drop.CHECKSUM if "sum" in str(error) else Drop.NOT_OURS)
        header, job = frame.header, self.jobs.get(frame.header.job)
        no_data = bool(header.flags & FLAG_NO_DATA)
        is_forwarded = header.kind in FORWARDED_KINDS
        if header.kind not in KINDS or (not is_forwarded and header.operator not in self._operators(job, no_data)):
            return self._drop(Drop.KIND)
        if job is None:
            return self._drop(Drop.JOB)
        is_answer = header.kind in (Kind.RESULT, Kind.WAITING, Kind.ERROR)
        overflows = not is_forwarded and job.overflows(header.chunk)
        if is_answer and job.parent is None and not overflows:
            return self._drop(Drop.KIND)
        sender = None if is_answer else self._child_of(job, port, frame)
        above = job.server if overflows else job.parent
        if sender is None and not ((is_answer or is_forwarded) and self._is_from(above, port, frame)):
            return self._drop(Drop.CHILD)
        if overflows:
            return self._pass_on(job, frame, data)
        if is_forwarded:
            return self._forward(job, frame, data, header.peer, is_from_parent=sender is None)
        if header.kind == Kind.WAITING:  # for the worker in whose name the sum went up again
            return self._forward(job, frame, data, header.child, is_from_parent=True)
        if header.lanes != self.lanes and not (header.lanes == 0 and no_data and job.short_allowed):
            return self._drop(Drop.LENGTH)
        source = job.parent if sender is None else sender
        assert source is not None, "the frame is from a child or from the parent"
        if not frame.checksum and not source.zero_checksum_allowed:
            return self._drop(Drop.CHECKSUM)
        if header.epoch != job.epoch:
            return self._drop(Drop.EPOCH)
        return self._take_answer(job, frame) if is_answer else self._contribute(job, frame)

    def _passing(self, data: bytes) -> Container[int]:
        """Kinds that a frame like this may have and be on its way to somebody else."""
        header = decode_header(data[HEADER_AT:]) if len(data) >= LANES_AT else None
        job = self.jobs.get(header.job) if header is not None else None
        overflows = header is not None and job is not None and job.overflows(header.chunk)
        return KINDS if overflows else PASSING_KINDS

    def _operators(self, job: ReferenceJob | None, no_data: bool) -> tuple[Operator, ...]:
        """Operators that a frame of the job may have; above a leaf there may be a server of weights."""
        known = (Operator.SUM, Operator.MAX) if job is not None and job.parent is None else tuple(Operator)
        return tuple(each for each in known if not no_data or each not in (Operator.MAX, Operator.ANNOUNCE))

    def _drop(self, reason: Drop) -> list[tuple[int, bytes]]:
        self.drops[reason] = self.drops.get(reason, 0) + 1
        return []

    def _count(self, header: Header, verdict: Verdict) -> None:
        self.verdicts[header.job, verdict] = self.verdicts.get((header.job, verdict), 0) + 1

    def _child_of(self, job: ReferenceJob, port: int, frame: Frame) -> ReferenceChild | None:
        """The child that a frame is from; None: of none, or of another port or address."""
        child, addresses = job.child(frame.header.child), frame.addresses
        source = port, addresses.source_mac, addresses.source_ip
        return child if child is not None and (child.port, child.mac, child.ip) == source else None

    def _is_from(self, above: ReferenceParent | ReferenceServer | None, port: int, frame: Frame) -> bool:
        addresses = frame.addresses
        source = port, addresses.source_mac, addresses.source_ip
        return above is not None and (above.port, above.mac, above.ip) == source

    def _pass_on(self, job: ReferenceJob, frame: Frame, data: bytes) -> list[tuple[int, bytes]]:
        """A contribution to the server, or its answer to the worker that it names."""
        header = frame.header
        if header.kind != Kind.CONTRIBUTION:
            return self._forward(job, frame, data, header.child, is_from_parent=True)
        assert job.server is not None, "it has the chunk's slot"
        if len(data) > LANES_AT + LANE_BYTES * self.lanes:
            return self._drop(Drop.LENGTH)
        if header.epoch != job.epoch:
            return self._drop(Drop.EPOCH)
        self._count(header, Verdict.OVERFLOWED)
        return [(job.server.port, data)]

    def _forward(
        self, job: ReferenceJob, frame: Frame, data: bytes, worker: int, *, is_from_parent: bool
    ) -> list[tuple[int, bytes]]:
        """A frame on its way to a worker, which may be elsewhere in the tree."""
        if len(data) - LANES_AT > LANE_BYTES * self.lanes:
            return self._drop(Drop.LENGTH)
        if frame.header.epoch != job.epoch:
            return self._drop(Drop.EPOCH)
        child, above = job.child(worker), job.parent
        if child is not None:
            port, ends = child.port, Addresses(job.switch_mac, child.mac, job.switch_ip, child.ip)
        elif above is not None and worker in above.workers and not is_from_parent:
            port, ends = above.port, Addresses(above.own_mac, above.mac, above.own_ip, above.ip)
        else:
            return self._drop(Drop.PEER)
        self._count(frame.header, Verdict.FORWARDED)
        return [(port, readdressed(data, ends))]

    def _take_answer(self, job: ReferenceJob, frame: Frame) -> list[tuple[int, bytes]]:
        """The parent's result or error, for a set whose sum has been sent up and that waits for it."""
        header = frame.header
        held = self.sets.get(self._place(job, header))
        is_awaited = (
            held is not None
            and (held.epoch, held.chunk) == (job.epoch, header.chunk)
            and (held.came, held.failed, held.final) == (job.full, False, False)
        )
        same = held is not None and (held.operation, held.operator) == (header.operation, header.operator)
        no_data = bool(header.flags & FLAG_NO_DATA)
        if held is None or not is_awaited or not (same if header.kind == Kind.RESULT else not no_data):
            self._count(header, Verdict.OUTSIDE_WINDOW)
            return []
        if header.kind == Kind.RESULT:
            held.final, held.no_data = True, no_data
            held.sums = np.zeros(self.lanes, np.uint32) if no_data else frame.lanes.copy()
        else:
            held.failed = True
            held.operation, held.other_operation = int(frame.lanes[0]), int(frame.lanes[1])
            held.first_child, held.other_child = (int(lane) & 0xFFFF for lane in frame.lanes[2:4])
        self._count(header, Verdict.FROM_PARENT)
        if header.kind == Kind.RESULT:
            return self._answer_all(job, frame, Kind.RESULT, held.sums, result_of=held)
        return self._answer_all(job, frame, Kind.ERROR, frame.lanes)

    def _place(self, job: ReferenceJob, header: Header) -> tuple[int, int, int]:
        """Job, slot and set of a chunk."""
        return header.job, header.chunk % job.window, header.chunk // job.window % 2

    def _contribute(self, job: ReferenceJob, frame: Frame) -> list[tuple[int, bytes]]:
        header, full = frame.header, job.full
        place = self._place(job, header)
        held = self.sets.get(place)
        if held is None or held.epoch != job.epoch:
            accepts = (header.chunk - job.base) % MODULUS < 2 * job.window
            fresh = True
        elif header.chunk == held.chunk:
            accepts, fresh = True, False
        else:
            successor = (held.chunk + 2 * job.window) % MODULUS
            has_result = held.final if job.parent is not None else held.came == full
            accepts = header.chunk == successor and has_result and not held.failed
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
            self.newest[place[:2]] = held
        assert held is not None
        return self._add(job, held, frame, full)

    def _add(self, job: ReferenceJob, held: SlotSet, frame: Frame, full: int) -> list[tuple[int, bytes]]:
        header, bits = frame.header, job.bits(frame.header.child)
        if held.failed:
            self._count(header, Verdict.ERROR)
            return [self._answer(job, header.child, frame, Kind.ERROR, self._error_lanes(held))]
        if (header.operation, header.operator) != (held.operation, held.operator):
            held.failed, held.other_operation, held.other_child = True, header.operation, header.child
            self._count(header, Verdict.MISMATCH)
            return self._answer_all(job, frame, Kind.ERROR, self._error_lanes(held))
        if held.came & bits:
            return [self._repeat(job, held, frame, full)]
        no_data = bool(header.flags & FLAG_NO_DATA)
        self._count(header, Verdict.ACCEPTED_NO_DATA if no_data else Verdict.ACCEPTED)
        if not no_data:
            self._accumulate(held, frame)
        held.came |= bits
        if header.flags & FLAG_SHORT_RESULT and self.shortens_results:
            held.short_results |= bits
        held.marked |= frame.ecn == ECN_MARKED
        if held.came != full:
            return []
        self._count(header, Verdict.COMPLETED)
        return self._complete(job, held, replace(frame, ecn=ECN_MARKED) if held.marked else frame)

    def _accumulate(self, held: SlotSet, frame: Frame) -> None:
        """A contribution's lanes into the set's."""
        if frame.header.operator not in (Operator.MAX, Operator.ANNOUNCE):
            held.sums += frame.lanes
        elif held.came == 0:
            held.sums[:] = frame.lanes
        else:
            held.sums[:] = np.maximum(held.sums.view(np.int32), frame.lanes.view(np.int32)).view(np.uint32)

    def _complete(self, job: ReferenceJob, held: SlotSet, frame: Frame) -> list[tuple[int, bytes]]:
        """All children have contributed: the results to send, or the partial sum."""
        if job.parent is not None:
            return [self._send_up(job, job.parent, frame, held)]
        return self._answer_all(job, frame, Kind.RESULT, held.sums, result_of=held)

    def _repeat(self, job: ReferenceJob, held: SlotSet, frame: Frame, full: int) -> tuple[int, bytes]:
        if held.came == full and job.parent is not None and not held.final:
            self._count(frame.header, Verdict.PARTIAL_AGAIN)
            return self._send_up(job, job.parent, frame, held)
        if held.came == full:
            self._count(frame.header, Verdict.SERVED_AGAIN)
            return self._answer(job, frame.header.child, frame, Kind.RESULT, held.sums, result_of=held)
        self._count(frame.header, Verdict.WAITING)
        known = held.came | (job.parent.elsewhere if job.parent is not None else 0)
        lanes = np.zeros(self.lanes, np.uint32)
        lanes[:2] = known >> 32, known & 0xFFFFFFFF
        return self._answer(job, frame.header.child, frame, Kind.WAITING, lanes)

    def _send_up(self, job: ReferenceJob, above: ReferenceParent, frame: Frame, held: SlotSet) -> tuple[int, bytes]:
        """The partial sum, in the name of the worker whose frame this is."""
        header = replace(frame.header, flags=0, lanes=self.lanes, peer=0)
        addresses = Addresses(above.own_mac, above.mac, above.own_ip, above.ip)
        return above.port, build_frame(Frame(addresses, header, held.sums, above.compute_checksum, ecn=frame.ecn))

    def _error_lanes(self, held: SlotSet) -> Lanes:
        lanes = np.zeros(self.lanes, np.uint32)
        lanes[:4] = held.operation, held.other_operation, held.first_child, held.other_child
        return lanes

    def _answer_all(
        self, job: ReferenceJob, frame: Frame, kind: Kind, lanes: Lanes, *, result_of: SlotSet | None = None
    ) -> list[tuple[int, bytes]]:
        reports = self.reports_nearby and kind == Kind.RESULT
        return [
            self._answer(
                job,
                number,
                frame,
                kind,
                lanes,
                result_of=result_of,
                nearby=self._nearby(job, number, frame.header) if reports else 0,
            )
            for number in job.numbers
        ]

    def _nearby(self, job: ReferenceJob, number: int, header: Header) -> int:
        """What is reported to a child of the slots before that of a result."""
        reported = 0
        for place in range(NEARBY_SLOTS):
            chunk = (header.chunk - (1 << place)) % MODULUS
            held = self.newest.get((header.job, chunk % job.window))
            if job.overflows(chunk):
                known = NEARBY_UNKNOWN
            elif held is None or held.epoch != job.epoch or held.failed or held.final:
                known = NEARBY_ABSENT
            elif held.came == job.full:
                known = NEARBY_ABSENT if job.parent is None else NEARBY_UNKNOWN
            else:
                known = NEARBY_PRESENT if held.came & job.bits(number) else NEARBY_ABSENT
            reported |= known << 2 * place
        return reported

    def _answer(
        self,
        job: ReferenceJob,
        number: int,
        frame: Frame,
        kind: Kind,
        lanes: Lanes,
        *,
        result_of: SlotSet | None = None,
        nearby: int = 0,
    ) -> tuple[int, bytes]:
        child = job.child(number)
        assert child is not None, "strangers' frames do not come this far"
        flags = 0
        if result_of is not None and result_of.short_results & job.bits(number):
            flags, lanes = FLAG_SHORT_RESULT, no_lanes()
        elif result_of is not None and result_of.no_data:
            flags = FLAG_NO_DATA
        header = replace(frame.header, kind=kind, child=number, flags=flags, lanes=self.lanes, peer=nearby)
        addresses = Addresses(job.switch_mac, child.mac, job.switch_ip, child.ip)
        return child.port, build_frame(Frame(addresses, header, lanes, child.compute_checksum, ecn=frame.ecn))
