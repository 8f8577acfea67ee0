"""The compiled aggregation program against the rules in plain Python: the same frames, the same answers, bit for bit.

Every schedule is a stream of contributions that no well-behaved worker would send in this order: repeats, old and
future chunks, other epochs, other operations, damaged and cut frames, strangers, new epochs in between.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from emulator.v1model.compiled import CompiledProgram, load
from hostagent.controller.entries import Child, JobEntries
from hostagent.lab.p4_aggregator import P4Aggregator
from hostagent.protocol.counters import VERDICT_COLUMNS, Verdict
from hostagent.protocol.frames import Addresses, Frame, build_frame, parse_frame
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob
from hostagent.protocol.wire import FLAG_NO_DATA, Header, Kind, Operator

LANES = 64
SWITCH_MAC, SWITCH_IP = 0x020000FFFFFF, 0x0A0000FE
SCHEDULES = 400
FRAMES = 120


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a schedule."""

    number: int
    children: int
    window: int
    first_slot: int
    checksums: bool
    short_allowed: bool

    def mac(self, child: int) -> int:
        return 0x020000000000 + self.number * 256 + child

    def ip(self, child: int) -> int:
        return 0x0A000000 + self.number * 256 + child

    def entries(self, epoch: int, base: int) -> JobEntries:
        children = tuple(
            Child(child, child, self.mac(child), self.ip(child), not self.checksums) for child in range(self.children)
        )
        row = self.number % 16
        fields = (self.number, row, epoch, base, self.window, self.first_slot, self.short_allowed)
        return JobEntries(*fields, SWITCH_MAC, SWITCH_IP, children)

    def reference(self, epoch: int, base: int) -> ReferenceJob:
        children = tuple(
            ReferenceChild(child, self.mac(child), self.ip(child), not self.checksums, self.checksums)
            for child in range(self.children)
        )
        return ReferenceJob(epoch, self.window, children, base, self.short_allowed, SWITCH_MAC, SWITCH_IP)


@cache
def program(engine: str) -> CompiledProgram:
    return load("allreduce.p4", {"LANES": str(LANES), "SLOTS": "64"}, engine=engine)


def draw_jobs(rng: random.Random) -> list[Job]:
    jobs, slot = [], 0
    for number in range(1, rng.choice((2, 3))):
        window = rng.choice((1, 2, 4, 8))
        jobs.append(Job(number, rng.randint(1, 5), window, slot, rng.random() < 0.5, rng.random() < 0.5))
        slot += window
    return jobs


class Traffic:
    """Draws frames around where each job is; remembers its epoch, base and progress."""

    def __init__(self, rng: random.Random, jobs: list[Job]) -> None:
        self.rng, self.jobs = rng, jobs
        self.epochs = {job.number: 10 * job.number for job in jobs}
        self.bases = {job.number: rng.choice((0, 5, 2**32 - 3)) for job in jobs}
        self.heads = dict(self.bases)

    def frame(self) -> tuple[int, bytes]:
        rng, job = self.rng, self.rng.choice(self.jobs)
        head = self.heads[job.number]
        if rng.random() < 0.15:
            self.heads[job.number] = head = (head + 1) % 2**32
        chunk = (head + rng.choice((0, 0, 0, 0, 1, -1, job.window, 2 * job.window, -2 * job.window, 99))) % 2**32
        child = rng.randrange(job.children)
        epoch = self.epochs[job.number] + (rng.choice((-1, 1)) if rng.random() < 0.05 else 0)
        operator = Operator.MAX if chunk % 3 == 2 else Operator.SUM
        operation = chunk // 4 + (rng.random() < 0.01)
        no_data = operator == Operator.SUM and rng.random() < 0.25
        flags = FLAG_NO_DATA if no_data else 0
        header = Header(Kind.CONTRIBUTION, job.number, child, epoch, chunk, operation, operator=operator, flags=flags)
        lanes = np.frombuffer(rng.randbytes(4 * LANES), np.uint32)
        if no_data:
            lanes = lanes[:0] if job.short_allowed else np.zeros(LANES, np.uint32)
        header = replace(header, lanes=len(lanes))
        addresses = Addresses(job.mac(child), SWITCH_MAC, job.ip(child), SWITCH_IP)
        frame = build_frame(Frame(addresses, header, lanes, checksum=job.checksums or rng.random() < 0.3))
        return self.damage(child, frame)

    def damage(self, port: int, frame: bytes) -> tuple[int, bytes]:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.03:
            at = rng.randrange(6 * 8, len(frame) * 8)  # the destination's address is answered with as it came
            frame = frame[: at // 8] + bytes([frame[at // 8] ^ 1 << at % 8]) + frame[at // 8 + 1 :]
        elif kind < 0.05:
            frame = frame[: rng.randrange(len(frame))]
        elif kind < 0.06:
            frame += rng.randbytes(rng.randint(1, 20))
        elif kind < 0.08:
            port = (port + 1) % 5
        elif kind < 0.09:
            frame = rng.randbytes(rng.randrange(1, 400))
        return port, frame


def essence(port: int, data: bytes) -> tuple[int, bytes]:
    """What must agree of an answer: all of it, but for the lanes that `waiting` and `error` say nothing in."""
    frame = parse_frame(data)
    meant = {Kind.WAITING: 2, Kind.ERROR: 4}.get(Kind(frame.header.kind))
    if meant is None:
        return port, data
    return port, repr((frame.addresses, frame.header, frame.lanes[:meant].tolist())).encode()


def play(seed: int, engine: str, frames: int = FRAMES) -> str:
    """One schedule; what is wrong with it, or an empty string."""
    rng = random.Random(seed)
    jobs = draw_jobs(rng)
    traffic = Traffic(rng, jobs)
    real, model = P4Aggregator(program(engine), ports=5), ReferenceAggregator(LANES)

    def install(job: Job) -> None:
        place = traffic.epochs[job.number], traffic.bases[job.number]
        real.install(job.entries(*place))
        model.jobs[job.number] = job.reference(*place)

    for job in jobs:
        install(job)
    for step in range(frames):
        if rng.random() < 0.02:
            job = rng.choice(jobs)
            if rng.random() < 0.5:
                real.restart()
                model.restart()
                model.verdicts.clear()
                for other in jobs:
                    install(other)
            traffic.epochs[job.number] += 1
            traffic.bases[job.number] = traffic.heads[job.number]
            install(job)
        port, frame = traffic.frame()
        got = sorted(essence(*answer) for answer in real.receive(port, frame))
        wanted = sorted(essence(*answer) for answer in model.receive(port, frame))
        if got != wanted:
            return f"seed {seed}, frame {step}: {port=} {frame.hex()}\n got {got}\n wanted {wanted}"
    for job in jobs:
        for verdict in Verdict:
            row = job.entries(1, 0).row
            counted = real.counter("AllreduceIngress.verdicts", row * VERDICT_COLUMNS + verdict)
            wanted = model.verdicts.get((job.number, verdict), 0)
            if counted != wanted:
                return f"seed {seed}: job {job.number} counted {counted} of {verdict.name}, should be {wanted}"
    return ""


def shortest(seed: int, engine: str) -> str:
    """The failing schedule cut to as few frames as fail: a minimal counter-example of that seed."""
    for frames in range(1, FRAMES + 1):
        if problem := play(seed, engine, frames):
            return f"{engine}, {frames} frames: {problem}"
    return "does not fail again"


@pytest.mark.parametrize("block", range(8))
def test_the_compiled_program_follows_the_rules(block: int) -> None:
    for seed in range(block * SCHEDULES // 8, (block + 1) * SCHEDULES // 8):
        assert not play(seed, "llvm"), shortest(seed, "llvm")


def test_the_interpreted_program_follows_the_rules() -> None:
    for seed in range(4):
        assert not play(seed, "interpreter", 60), shortest(seed, "interpreter")
