"""The aggregator cores of ours against the rules in plain Python: the same frames, the same answers, bit for bit.

The frames are those of `tests.generators.aggregation_schedules`, in batches, with new epochs in between.
"""

from __future__ import annotations

import random
from functools import partial

import pytest

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.port import port_refresh
from emulator.ports.spec import parse_port
from hostagent.protocol.counters import Verdict
from hostagent.protocol.reference import ReferenceAggregator
from hostagent.protocol.services.aggregator import Aggregator, ChildTerms, JobTerms
from hostagent.rackserver.core import RackServer
from pspin_model.aggregator import PspinAggregator
from tests.generators.aggregation_schedules import (
    AGGREGATOR_IP,
    AGGREGATOR_MAC,
    LANES,
    PORTS,
    SLOTS,
    Job,
    Traffic,
    draw_jobs,
    essence,
    shortest,
)
from tests.labs.extent import tries

BATCHES = 40
BATCH_INTERVAL_NS = 40_000
"""More than a PsPIN core takes for a frame of 336 lanes."""
BATCH_SIZES = {"server": (1, 2, 5, 12), "pspin": (1,)}
"""The cores of a PsPIN switch take the packets of a batch side by side, in an order of their own."""


def terms(job: Job, epoch: int, base: int, lanes: int) -> JobTerms:
    children = tuple(
        ChildTerms(child, child, child, job.mac(child), job.ip(child), not job.checksums)
        for child in range(job.children)
    )
    place = (job.number, epoch, base, job.window_log2, job.first_slot, lanes, children)
    return JobTerms(*place, AGGREGATOR_MAC, AGGREGATOR_IP, job.short_allowed)


class Rig:
    """A core with memory ports."""

    def __init__(self, kind: str, rng: random.Random, lanes: int) -> None:
        table = TxPortTable()
        self.core: Aggregator
        if kind == "server":
            self.core = RackServer(lanes, slots=SLOTS, cores=rng.choice((1, 2, 3)), ports=table)
        else:
            self.core = PspinAggregator(lanes=lanes, slots=SLOTS, ports=table)
        self.ports = [MemoryPort(parse_port(f"{number}=memory:lab"), table) for number in range(PORTS)]

    def receive(self, frames: list[tuple[int, bytes]], now_ns: int) -> list[tuple[int, bytes]]:
        batch = FrameBatch(64)
        for port, frame in frames:
            batch.append(frame, port)
        for memory_port in self.ports:
            port_refresh(memory_port.address)
        due_ns = self.core.process(batch, now_ns)
        while due_ns is not None and due_ns < now_ns + BATCH_INTERVAL_NS:
            due_ns = self.core.process(FrameBatch(), due_ns)
        answers = []
        for number, memory_port in enumerate(self.ports):
            memory_port.flush()
            answers += [(number, frame) for frame in memory_port.received()]
        return answers


def play(seed: int, kind: str, batches: int = BATCHES, lanes: int = LANES) -> str:
    """One schedule; what is wrong with it, or an empty string."""
    rng = random.Random(seed)
    jobs = draw_jobs(rng)
    traffic = Traffic(rng, jobs, lanes)
    rig, model = Rig(kind, rng, lanes), ReferenceAggregator(lanes, reports_nearby=False)

    def install(job: Job) -> None:
        rig.core.install(terms(job, *traffic.place(job), lanes))
        model.jobs[job.number] = job.reference(*traffic.place(job))

    for job in jobs:
        install(job)
    for step in range(batches):
        if rng.random() < 0.04:
            job = rng.choice(jobs)
            traffic.begin_epoch(job)
            install(job)
        frames = [traffic.frame() for _ in range(rng.choice(BATCH_SIZES[kind]))]
        got = sorted(essence(*answer) for answer in rig.receive(frames, step * BATCH_INTERVAL_NS))
        wanted = sorted(essence(*answer) for frame in frames for answer in model.receive(*frame))
        if got != wanted:
            extra, missing = [a for a in got if a not in wanted], [a for a in wanted if a not in got]
            return f"seed {seed}, batch {step}: {len(got)} answers, should be {len(wanted)}: {extra=} {missing=}"
    return counted_wrongly(jobs, rig.core, model)


def counted_wrongly(jobs: list[Job], core: Aggregator, model: ReferenceAggregator) -> str:
    for job in jobs:
        frames = core.counters(job.number).frames
        for verdict in Verdict:
            counted, wanted = frames.get(verdict.name.lower(), 0), model.verdicts.get((job.number, verdict), 0)
            if counted != wanted:
                return f"job {job.number} counted {counted} of {verdict.name}, should be {wanted}"
    dropped = sum(core.drops().values()), sum(model.drops.values())
    return "" if dropped[0] == dropped[1] else f"dropped {dropped[0]} frames, should be {dropped[1]}"


@pytest.mark.parametrize("kind", ["server", "pspin"])
@pytest.mark.parametrize("block", range(4))
def test_the_core_follows_the_rules(block: int, kind: str) -> None:
    for seed in range(10 * block, 10 * block + tries(3, 10)):
        assert not play(seed, kind), shortest(partial(play, seed, kind), BATCHES)


@pytest.mark.parametrize("kind", ["server", "pspin"])
def test_the_core_follows_the_rules_with_frames_for_ethernet(kind: str) -> None:
    for seed in range(tries(3, 10)):
        assert not play(seed, kind, lanes=336)
