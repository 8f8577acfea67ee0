"""A rack's server with other servers above or beside it: an aggregator whose results wait for theirs.

An aggregator of ours sums the rack's own workers (`Inside`), by the slot rule. What it completes is a partial sum: it
goes up (an `Exchange` with other racks, or a `Parent`), and the rack's workers get the total when it has come. So a set
is filling, complete or final, as the protocol has it for trees; a repeat on a complete one sends the partial on again.

A second aggregator (`Finisher`) may take the totals, with the rack as its only child that stands for all workers of
all racks, and give what the workers get: a rack server whose services step the optimizer. Every rack's finisher sees
every total, and in one order of operations, so all have the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from emulator.ports.batch import FrameBatch, TxPortTable
from hostagent.protocol.frames import Frame, build_frame, parse_frame
from hostagent.protocol.services.aggregator import Capacity, JobCounters, JobTerms
from hostagent.protocol.wire import (
    FLAG_NO_DATA,
    HEADER_AT,
    LANES_AT,
    OFFSET,
    Header,
    Kind,
    Operator,
    WireError,
    decode_header,
)
from hostagent.rackserver.hierarchy.inside import FINISHING_PORT, Finisher, Inside, MakeCore
from hostagent.rackserver.hierarchy.outbox import Traffic
from hostagent.rackserver.hierarchy.parts import Failure, Lanes, Part

INNER_OPERATOR = {Operator.SERVED: Operator.SUM, Operator.ANNOUNCE: Operator.MAX}
"""What an operator of a service's is to an aggregator that only sums. Of an announcement all children send the same
lanes, which are their own maximum."""


class Upward(Protocol):
    """What a partial sum goes to: see `Exchange` and `Parent`."""

    traffic: Traffic

    def submit(self, part: Part) -> None: ...
    def repeat(self, chunk: int) -> None: ...
    def receive(self, frame: Frame) -> None: ...
    def take_frames(self) -> list[tuple[int, bytes]]: ...
    def take_totals(self) -> list[Part]: ...
    def take_failures(self) -> list[Failure]: ...


CHECKSUM_AT = HEADER_AT - 2
"""UDP's."""

MakeUpward = Callable[[JobTerms], Upward]


@dataclass(slots=True)
class _Set:
    """A chunk that the inner aggregator has completed."""

    part: Part
    answers: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    """By child: (port, the inner aggregator's answer), whose addresses the total's answer takes."""
    kind: Kind | None = None
    """Of the final answer; None until it is known."""
    lanes: Lanes | None = None
    """Of the final answer; None: as the inner aggregator's, since nobody had anything to add."""


@dataclass(slots=True)
class _Job:
    terms: JobTerms
    upward: Upward
    sets: dict[int, _Set] = field(default_factory=dict)
    noted: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By place: (chunk, operator as the children gave it)."""
    data: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By place: (chunk, first child) where some child has contributed data."""

    def place(self, chunk: int) -> int:
        return chunk % (2 * self.terms.window)

    def set_of(self, chunk: int) -> _Set | None:
        held = self.sets.get(self.place(chunk))
        return held if held is not None and held.part.chunk == chunk else None


class RackTier:
    """An `Aggregator`; its ports are those of the rack's workers, and those by which its peers or its parent are."""

    kind = "server"

    def __init__(
        self,
        make_inner: MakeCore,
        make_upward: MakeUpward,
        upward_ports: frozenset[int],
        *,
        ports: TxPortTable | None = None,
        make_finisher: MakeCore | None = None,
    ) -> None:
        self.ports = ports if ports is not None else TxPortTable()
        self.upward_ports = upward_ports
        self.strangers = 0
        """Frames at a peer's port that are no whole frames of a job of ours."""
        self._make_upward = make_upward
        self._inner = Inside(make_inner)
        self._finisher = Finisher(make_finisher) if make_finisher is not None else None
        self._jobs: dict[int, _Job] = {}

    # --- Jobs -------------------------------------------------------------------------------------------------------

    @property
    def capacity(self) -> Capacity:
        """See `Aggregator`."""
        return self._inner.core.capacity

    def install(self, terms: JobTerms) -> None:
        """See `Aggregator`. The inner aggregator's job only sums; the service, if any, is the finisher's."""
        self._inner.core.install(replace(terms, service=None))
        if self._finisher is not None:
            try:
                self._finisher.install(terms)
            except BaseException:
                self._inner.core.remove(terms.job)
                raise
        for child in terms.children:
            self._inner.provide(child.port)
        self._jobs[terms.job] = _Job(terms, self._make_upward(terms))

    def remove(self, job: int) -> None:
        """See `Aggregator`."""
        self._jobs.pop(job, None)
        self._inner.core.remove(job)
        if self._finisher is not None:
            self._finisher.core.remove(job)

    def installed(self) -> Mapping[int, int]:
        """See `Aggregator`."""
        return {job: held.terms.epoch for job, held in self._jobs.items()}

    def counters(self, job: int) -> JobCounters:
        """See `Aggregator`; of the rack's own workers."""
        return self._inner.core.counters(job)

    def drops(self) -> Mapping[str, int]:
        """See `Aggregator`; of the rack's own workers."""
        return self._inner.core.drops()

    def traffic(self, job: int) -> Traffic:
        """What has gone to other racks, or up."""
        return self._jobs[job].upward.traffic

    def statistics(self) -> dict[str, object]:
        """See `Aggregator`."""
        racks = {
            str(job): {name: getattr(held.upward.traffic, name) for name in Traffic.__slots__}
            for job, held in self._jobs.items()
        }
        told = {"inner": self._inner.core.statistics(), "between_racks": racks, "strangers": self.strangers}
        return told if self._finisher is None else {**told, "finisher": self._finisher.core.statistics()}

    # --- Frames -----------------------------------------------------------------------------------------------------

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        """See `Aggregator`."""
        ours, theirs = [], []
        for port, frame in batch.frames():
            if port in self.upward_ports:
                theirs.append(frame)
            else:
                ours.append((port, self._note(frame)))
        answers, _ = self._inner.process(ours, now_ns)
        for port, frame in answers:
            self._from_inner(port, frame)
        for frame in theirs:
            self._from_beside(frame)
        return self._move(now_ns)

    def _note(self, frame: bytes) -> bytes:
        """Remember what the inner aggregator does not tell; the frame as it takes it."""
        if len(frame) < LANES_AT:
            return frame
        header = decode_header(frame[HEADER_AT:LANES_AT])
        job = self._jobs.get(header.job)
        if job is None or header.kind != Kind.CONTRIBUTION:
            return frame
        place = job.place(header.chunk)
        job.noted[place] = (header.chunk, header.operator)
        if not header.flags & FLAG_NO_DATA and job.data.get(place, (-1, 0))[0] != header.chunk:
            job.data[place] = (header.chunk, header.child)
        if self._finisher is None or header.operator not in INNER_OPERATOR:
            return frame
        return _with_operator(frame, INNER_OPERATOR[Operator(header.operator)])

    def _from_inner(self, port: int, frame: bytes) -> None:
        header = decode_header(frame[HEADER_AT:LANES_AT])
        job = self._jobs[header.job]
        if header.kind != Kind.RESULT:
            self.ports.append(port, frame)
            return
        held = job.set_of(header.chunk)
        if held is None:
            held = job.sets[job.place(header.chunk)] = _Set(_part(job, header, frame))
            job.upward.submit(held.part)
        if header.child not in held.answers:
            held.answers[header.child] = (port, frame)
        elif held.kind is not None:
            self._answer(job, held, header.child)
        else:
            job.upward.repeat(header.chunk)
            self._say_that_it_waits(job, held, header.child)

    def _from_beside(self, frame: bytes) -> None:
        try:
            parsed = parse_frame(frame)
        except WireError:
            self.strangers += 1
            return
        job = self._jobs.get(parsed.header.job)
        if job is None:
            self.strangers += 1
        else:
            job.upward.receive(parsed)

    def _move(self, now_ns: int) -> int | None:
        """Send what the way up wants to send; take what has come down."""
        totals = []
        for job in self._jobs.values():
            for port, frame in job.upward.take_frames():
                self.ports.append(port, frame)
            for failure in job.upward.take_failures():
                self._conclude(job, failure.chunk, Kind.ERROR, _error_lanes(failure, self.capacity.lanes))
            totals += [(job, total) for total in job.upward.take_totals()]
        if self._finisher is None:
            for job, total in totals:
                self._conclude(job, total.chunk, Kind.RESULT, None if total.no_data else total.lanes)
            return None
        return self._finish(self._finisher, totals, now_ns)

    def _finish(self, finisher: Finisher, totals: list[tuple[_Job, Part]], now_ns: int) -> int | None:
        from_child = [(FINISHING_PORT, finisher.contribution(job.terms, total)) for job, total in totals]
        results, due_ns = finisher.process(from_child, now_ns)
        for _, frame in results:
            parsed = parse_frame(frame)
            if parsed.header.kind in (Kind.RESULT, Kind.ERROR):
                job = self._jobs[parsed.header.job]
                self._conclude(job, parsed.header.chunk, Kind(parsed.header.kind), parsed.lanes)
        return due_ns

    # --- Answers ----------------------------------------------------------------------------------------------------

    def _conclude(self, job: _Job, chunk: int, kind: Kind, lanes: Lanes | None) -> None:
        held = job.set_of(chunk)
        if held is not None and held.kind is None:
            held.kind, held.lanes = kind, lanes
            for child in held.answers:
                self._answer(job, held, child)

    def _answer(self, job: _Job, held: _Set, child: int) -> None:
        port, template = held.answers[child]
        if held.lanes is None:
            self.ports.append(port, template)
            return
        assert held.kind is not None
        self.ports.append(port, _answer_like(template, held.part.operator, held.kind, held.lanes, job.terms))

    def _say_that_it_waits(self, job: _Job, held: _Set, child: int) -> None:
        """For other racks: all of this one's have come."""
        port, template = held.answers[child]
        lanes = np.zeros(self.capacity.lanes, np.uint32)
        lanes[:2] = job.terms.full >> 32, job.terms.full & 0xFFFFFFFF
        self.ports.append(port, _answer_like(template, held.part.operator, Kind.WAITING, lanes, job.terms))


def _part(job: _Job, header: Header, frame: bytes) -> Part:
    place = job.place(header.chunk)
    with_data, first_child = job.data.get(place, (-1, 0))
    lanes = np.frombuffer(frame, ">u4", header.lanes, LANES_AT).astype(np.uint32)
    if with_data != header.chunk:
        lanes, first_child = lanes[:0], header.child
    return Part(header.chunk, header.operation, job.noted[place][1], lanes, first_child)


def _error_lanes(failure: Failure, lanes: int) -> Lanes:
    made = np.zeros(lanes, np.uint32)
    made[:4] = failure.lanes
    return made


def _answer_like(template: bytes, operator: int, kind: Kind, lanes: Lanes, terms: JobTerms) -> bytes:
    """An answer to the child that the template went to. One without lanes has them where short frames can't be."""
    flags = FLAG_NO_DATA if len(lanes) == 0 else 0
    if flags and not terms.no_data_short:
        lanes = np.zeros(terms.lanes, np.uint32)
    if len(lanes) != terms.lanes or template[CHECKSUM_AT : CHECKSUM_AT + 2] != b"\0\0":
        parsed = parse_frame(template)
        header = replace(parsed.header, kind=kind, operator=operator, flags=flags)
        return build_frame(Frame(parsed.addresses, header, lanes, parsed.checksum))
    start = bytearray(template[:LANES_AT])
    for name, value in (("kind", kind), ("operator", operator), ("flags", flags)):
        start[HEADER_AT + OFFSET[name]] = value
    return bytes(start) + lanes.astype(">u4").tobytes()


def _with_operator(frame: bytes, operator: int) -> bytes:
    """The frame with another operator; one that is damaged is left to be dropped."""
    try:
        parsed = parse_frame(frame)
    except WireError:
        return frame
    return build_frame(replace(parsed, header=replace(parsed.header, operator=operator)))
