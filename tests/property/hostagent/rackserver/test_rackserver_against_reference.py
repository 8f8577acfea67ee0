"""The server's compiled loops against the rules in plain Python: the same frames, the same answers, bit for bit.

Every schedule is a stream of contributions that no well-behaved worker would send in this order: repeats, old and
future chunks, other epochs, other operations, damaged and cut frames, strangers, new epochs in between.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from emulator.ports.batch import FrameBatch
from emulator.ports.memory import MemoryPort
from emulator.ports.port import port_refresh
from emulator.ports.spec import parse_port
from hostagent.protocol.counters import Verdict
from hostagent.protocol.frames import Addresses, Frame, build_frame, parse_frame
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob
from hostagent.protocol.services.aggregator import ChildTerms, JobTerms
from hostagent.protocol.wire import FLAG_NO_DATA, Header, Kind, Operator
from hostagent.rackserver.core import RackServer

LANES = 64
SERVER_MAC, SERVER_IP = 0x020000FFFFFF, 0x0A0000FE
PORTS = 5
BATCHES = 40


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a schedule."""

    number: int
    children: int
    window_log2: int
    first_slot: int
    checksums: bool
    short_allowed: bool

    @property
    def window(self) -> int:
        return 1 << self.window_log2

    def mac(self, child: int) -> int:
        return 0x020000000000 + self.number * 256 + child

    def ip(self, child: int) -> int:
        return 0x0A000000 + self.number * 256 + child

    def terms(self, epoch: int, base: int) -> JobTerms:
        children = tuple(
            ChildTerms(child, child, child, self.mac(child), self.ip(child), not self.checksums)
            for child in range(self.children)
        )
        place = (self.number, epoch, base, self.window_log2, self.first_slot, LANES, children)
        return JobTerms(*place, SERVER_MAC, SERVER_IP, self.short_allowed)

    def reference(self, epoch: int, base: int) -> ReferenceJob:
        children = tuple(
            ReferenceChild(child, self.mac(child), self.ip(child), not self.checksums, self.checksums)
            for child in range(self.children)
        )
        return ReferenceJob(epoch, self.window, children, base, self.short_allowed, SERVER_MAC, SERVER_IP)


class Rig:
    """A server with memory ports."""

    def __init__(self, cores: int) -> None:
        self.server = RackServer(LANES, slots=64, cores=cores)
        specs = [parse_port(f"{number}=memory:lab") for number in range(PORTS)]
        self.ports = [MemoryPort(spec, self.server.ports) for spec in specs]
        self.batch = FrameBatch(64)

    def receive(self, frames: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        self.batch.clear()
        for port, frame in frames:
            self.batch.append(frame, port)
        for memory_port in self.ports:
            port_refresh(memory_port.address)
        self.server.process(self.batch, 0)
        answers = []
        for number, port in enumerate(self.ports):
            port.flush()
            answers += [(number, frame) for frame in port.received()]
        return answers


def draw_jobs(rng: random.Random) -> list[Job]:
    jobs, slot = [], 0
    for number in range(1, rng.choice((2, 3))):
        window_log2 = rng.choice((0, 1, 2, 3))
        jobs.append(Job(number, rng.randint(1, PORTS), window_log2, slot, rng.random() < 0.5, rng.random() < 0.5))
        slot += 1 << window_log2
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
        addresses = Addresses(job.mac(child), SERVER_MAC, job.ip(child), SERVER_IP)
        return self.damage(
            child, build_frame(Frame(addresses, header, lanes, checksum=job.checksums or rng.random() < 0.3))
        )

    def damage(self, port: int, frame: bytes) -> tuple[int, bytes]:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.03:
            at = rng.randrange(len(frame) * 8)
            frame = frame[: at // 8] + bytes([frame[at // 8] ^ 1 << at % 8]) + frame[at // 8 + 1 :]
        elif kind < 0.05:
            frame = frame[: rng.randrange(len(frame))]
        elif kind < 0.06:
            frame += rng.randbytes(rng.randint(1, 20))
        elif kind < 0.08:
            port = (port + 1) % PORTS
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


def play(seed: int, batches: int = BATCHES) -> str:
    """One schedule; what is wrong with it, or an empty string."""
    rng = random.Random(seed)
    jobs = draw_jobs(rng)
    traffic = Traffic(rng, jobs)
    rig, model = Rig(cores=rng.choice((1, 2, 3))), ReferenceAggregator(LANES)

    def install(job: Job) -> None:
        place = traffic.epochs[job.number], traffic.bases[job.number]
        rig.server.install(job.terms(*place))
        model.jobs[job.number] = job.reference(*place)

    for job in jobs:
        install(job)
    for step in range(batches):
        if rng.random() < 0.04:
            job = rng.choice(jobs)
            traffic.epochs[job.number] += 1
            traffic.bases[job.number] = traffic.heads[job.number]
            install(job)
        frames = [traffic.frame() for _ in range(rng.choice((1, 2, 5, 12)))]
        got = sorted(essence(*answer) for answer in rig.receive(frames))
        wanted = sorted(essence(*answer) for frame in frames for answer in model.receive(*frame))
        if got != wanted:
            extra, missing = [a for a in got if a not in wanted], [a for a in wanted if a not in got]
            return f"seed {seed}, batch {step}: {len(got)} answers, should be {len(wanted)}: {extra=} {missing=}"
    return counted_wrongly(jobs, rig.server, model)


def counted_wrongly(jobs: list[Job], server: RackServer, model: ReferenceAggregator) -> str:
    for job in jobs:
        frames = server.counters(job.number).frames
        for verdict in Verdict:
            counted, wanted = frames.get(verdict.name.lower(), 0), model.verdicts.get((job.number, verdict), 0)
            if counted != wanted:
                return f"job {job.number} counted {counted} of {verdict.name}, should be {wanted}"
    dropped = sum(server.drops().values()), sum(model.drops.values())
    return "" if dropped[0] == dropped[1] else f"dropped {dropped[0]} frames, should be {dropped[1]}"


def shortest(seed: int) -> str:
    """The failing schedule cut to as few batches as fail: a minimal counter-example of that seed."""
    for batches in range(1, BATCHES + 1):
        if problem := play(seed, batches):
            return f"{batches} batches: {problem}"
    return "does not fail again"


@pytest.mark.parametrize("block", range(4))
def test_the_compiled_server_follows_the_rules_on_any_number_of_cores(block: int) -> None:
    for seed in range(10 * block, 10 * (block + 1)):
        assert not play(seed), shortest(seed)
