"""The compiled program and our cores as leaves of a tree, and the program in front of an overflow server, against the
rules in plain Python: to the same frames the same answers.

The frames are whatever children, and a parent or the server, might send.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pytest

from emulator.v1model.compiled import CompiledProgram, load
from hostagent.controller.drivers.job import Child, JobConfig, Overflow, Parent
from hostagent.protocol.counters import VERDICT_COLUMNS, Verdict
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.wire import FLAG_NO_DATA, FLAG_SHORT_RESULT, FORWARDED_KINDS, Header, Kind, Operator
from hostagent.rackserver.core import RackServer
from pspin_model.aggregator import PspinAggregator
from tests.generators.aggregation_schedules import DESTINATION_BITS, essence, shortest
from tests.labs.p4_aggregator import P4Aggregator
from tests.labs.tree import CoreBox, Plain

LANES, SLOTS, PORTS = 64, 16, 8
JOB, ROW, UP = 9, 3, 7
SCHEDULES, FRAMES = 40, 200
OPERATORS = (Operator.SUM, Operator.SUM, Operator.MAX, Operator.SERVED, Operator.SUM, Operator.ANNOUNCE)
MAC, IP = 0x026E73FFFFFE, 0x0A4EFFFE


@cache
def program() -> CompiledProgram:
    return load("allreduce.p4", {"LANES": str(LANES), "SLOTS": str(SLOTS)})


def draw_entries(rng: random.Random) -> JobConfig:
    """A leaf with workers of its own and, now and then, another leaf below; the others are above."""
    zero, parent_zero = rng.random() < 0.5, rng.random() < 0.5
    workers = rng.randint(1, 4)
    children = tuple(Child(number, number, 0x100 + number, 0x200 + number, zero) for number in range(workers))
    if rng.random() < 0.5:
        below = (workers, workers + 1)
        bits = sum(1 << number for number in below)
        children = (*children, Child(below[0], 5, 0x150, 0x250, zero, below, bits))
        workers += 2
    elsewhere = (workers, workers + 1, workers + 2)
    parent = Parent(UP, MAC, IP, 0x160, 0x260, parent_zero, elsewhere, sum(1 << number for number in elsewhere))
    base = rng.choice((0, 2**32 - 3))
    place = (JOB, ROW, 7, base, 1 << rng.randint(0, 2), 4, rng.random() < 0.5)
    return JobConfig(*place, MAC, IP, children, parent=parent)


def draw_overflow(rng: random.Random) -> JobConfig:
    """A switch with workers of its own, some of whose slots a server has."""
    entries = draw_entries(rng)
    children = tuple(child for child in entries.children if not child.workers)
    slots = rng.choice([0, *(1 << log2 for log2 in range(entries.window.bit_length() - 1))])
    return replace(entries, children=children, parent=None, overflow=Overflow(slots, UP, MAC, IP))


@dataclass(slots=True)
class Traffic:
    """Draws frames around where the job is."""

    rng: random.Random
    entries: JobConfig
    head: int

    def frame(self) -> tuple[int, bytes]:
        rng, entries = self.rng, self.entries
        parent = entries.parent or Parent(UP, MAC, IP, 0x160, 0x260, False, (), 0)
        kind = rng.choice((0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5) if rng.random() < 0.97 else (6, 255))
        child = rng.choice(entries.children)
        number = rng.choice(child.numbers)
        from_parent = rng.random() < (0.95 if kind in (1, 2, 3) else 0.4 if kind in FORWARDED_KINDS else 0.03)
        if from_parent:
            number = rng.choice((number, *parent.workers))
        if rng.random() < 0.06:
            self.head = (self.head + 1) % 2**32
        window = entries.window
        chunk = (self.head + rng.choice((0, 0, 0, 0, 0, 1, -1, window, 2 * window, -2 * window))) % 2**32
        operator = OPERATORS[chunk % len(OPERATORS)]
        is_sum = operator in (Operator.SUM, Operator.SERVED)
        no_data = kind in (Kind.CONTRIBUTION, Kind.RESULT) and is_sum and rng.random() < 0.25
        header = Header(
            kind,
            JOB,
            number,
            entries.epoch + (rng.random() < 0.02),
            chunk,
            chunk // 4 + (rng.random() < (0.003 if kind == Kind.CONTRIBUTION else 0.1)),
            operator=operator,
            flags=(FLAG_NO_DATA if no_data else 0) | (FLAG_SHORT_RESULT if (chunk + number) % 3 == 0 else 0),
            peer=self._peer() if kind in FORWARDED_KINDS else 0,
        )
        lanes = np.frombuffer(rng.randbytes(4 * LANES), np.uint32).copy()
        if kind == Kind.ERROR:
            lanes[2:4] &= 0xFFFF  # two children
        if kind in FORWARDED_KINDS or (no_data and entries.short_allowed):
            lanes = lanes[:0]
        if from_parent:
            port, ends, zero = parent.port, Addresses(MAC, 0x160, IP, 0x260), parent.zero_checksum_allowed
        else:
            port, ends = child.port, Addresses(child.host_mac, MAC, child.host_ip, IP)
            zero = child.zero_checksum_allowed
        payload = rng.randbytes(rng.randrange(30)) if kind in FORWARDED_KINDS else b""
        header = replace(header, lanes=len(lanes))
        checksum = not zero or rng.random() < 0.3
        return self._damaged(port, build_frame(Frame(ends, header, lanes, checksum, payload)))

    def _peer(self) -> int:
        """Below, above, or nowhere."""
        return self.rng.randrange(sum(len(child.numbers) for child in self.entries.children) + 4)

    def _damaged(self, port: int, frame: bytes) -> tuple[int, bytes]:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.03:
            at = rng.randrange(DESTINATION_BITS, len(frame) * 8)
            frame = frame[: at // 8] + bytes([frame[at // 8] ^ 1 << at % 8]) + frame[at // 8 + 1 :]
        elif kind < 0.04:
            frame = frame[: rng.randrange(len(frame))]
        elif kind < 0.05:
            port = (port + 1) % PORTS
        return port, frame


def p4_leaf() -> P4Aggregator:
    return P4Aggregator(program(), ports=PORTS)


def server_leaf() -> CoreBox:
    return CoreBox(lambda lanes, ports: RackServer(lanes, slots=SLOTS, cores=2, ports=ports), LANES)


def pspin_leaf() -> CoreBox:
    return CoreBox(lambda lanes, ports: PspinAggregator(lanes=lanes, slots=SLOTS, ports=ports), LANES)


def count_of(box: P4Aggregator | CoreBox, verdict: Verdict) -> int:
    if isinstance(box, CoreBox):
        return box.core.counters(JOB).frames.get(verdict.name.lower(), 0)
    return box.counter("AllreduceIngress.verdicts", ROW * VERDICT_COLUMNS + verdict)


def play(
    make: Callable[[], P4Aggregator | CoreBox],
    draw: Callable[[random.Random], JobConfig],
    seed: int,
    frames: int = FRAMES,
) -> str:
    """One schedule; what is wrong with it, or an empty string."""
    rng = random.Random(f"leaf {seed}")
    entries = draw(rng)
    real, model = make(), Plain(LANES, reports_nearby=make is p4_leaf)
    traffic = Traffic(rng, entries, entries.base)
    for box in (real, model):
        box.install(entries)
    for step in range(frames):
        if rng.random() < 0.005:
            entries = traffic.entries = replace(entries, epoch=entries.epoch + 1, base=traffic.head)
            for box in (real, model):
                box.install(entries)
        port, frame = traffic.frame()
        got = sorted(essence(*answer) for answer in real.receive(port, frame))
        wanted = sorted(essence(*answer) for answer in model.receive(port, frame))
        if got != wanted:
            return f"seed {seed}, frame {step}: {port=} {frame.hex()}\n got {got}\n wanted {wanted}"
    for verdict in Verdict:
        counted = count_of(real, verdict)
        if counted != (wanted_count := model.verdicts.get((JOB, verdict), 0)):
            return f"seed {seed}: counted {counted} of {verdict.name}, should be {wanted_count}"
        SEEN[verdict] = SEEN.get(verdict, 0) + counted
    return ""


SEEN: dict[Verdict, int] = {}


@pytest.mark.parametrize(
    ("make", "draw", "schedules", "never"),
    [
        (p4_leaf, draw_entries, SCHEDULES, {Verdict.OVERFLOWED}),
        # half of the frames are only forwarded
        (p4_leaf, draw_overflow, 2 * SCHEDULES, {Verdict.PARTIAL_AGAIN, Verdict.FROM_PARENT}),
        (server_leaf, draw_entries, SCHEDULES, {Verdict.OVERFLOWED}),
        (pspin_leaf, draw_entries, SCHEDULES, {Verdict.OVERFLOWED}),
    ],
    ids=["P4", "P4 overflow", "server", "PsPIN"],
)
def test_an_aggregator_follows_the_rules(
    make: Callable[[], P4Aggregator | CoreBox],
    draw: Callable[[random.Random], JobConfig],
    schedules: int,
    never: set[Verdict],
) -> None:
    SEEN.clear()
    for seed in range(schedules):
        assert not play(make, draw, seed), shortest(partial(play, make, draw, seed), FRAMES)
    assert {verdict for verdict in Verdict if not SEEN.get(verdict)} == never, SEEN
