"""The compiled aggregation program against the rules in plain Python: the same frames, the same answers, bit for bit.

The frames are those of `tests.generators.aggregation_schedules`, with new epochs and restarts in between.
"""

from __future__ import annotations

import random
from functools import cache, partial

import pytest

from emulator.v1model.compiled import CompiledProgram, load
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.counters import VERDICT_COLUMNS, Verdict
from hostagent.protocol.reference import ReferenceAggregator
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
from tests.labs.p4_aggregator import P4Aggregator

SCHEDULES = tries(80, 400)
FRAMES = 120


def entries(job: Job, epoch: int, base: int) -> JobConfig:
    children = tuple(
        Child(child, child, job.mac(child), job.ip(child), not job.checksums) for child in range(job.children)
    )
    row = job.number % 16
    fields = (job.number, row, epoch, base, job.window, job.first_slot, job.short_allowed)
    return JobConfig(*fields, AGGREGATOR_MAC, AGGREGATOR_IP, children)


@cache
def program(engine: str, lanes: int) -> CompiledProgram:
    return load("allreduce.p4", {"LANES": str(lanes), "SLOTS": str(SLOTS)}, engine=engine)


def play(seed: int, engine: str, frames: int = FRAMES, lanes: int = LANES) -> str:
    """One schedule; what is wrong with it, or an empty string."""
    rng = random.Random(seed)
    jobs = draw_jobs(rng)
    traffic = Traffic(rng, jobs, lanes)
    real, model = P4Aggregator(program(engine, lanes), ports=PORTS), ReferenceAggregator(lanes)

    def install(job: Job) -> None:
        real.install(entries(job, *traffic.place(job)))
        model.jobs[job.number] = job.reference(*traffic.place(job))

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
            traffic.begin_epoch(job)
            install(job)
        port, frame = traffic.frame()
        got = sorted(essence(*answer) for answer in real.receive(port, frame))
        wanted = sorted(essence(*answer) for answer in model.receive(port, frame))
        if got != wanted:
            return f"seed {seed}, frame {step}: {port=} {frame.hex()}\n got {got}\n wanted {wanted}"
    return counted_wrongly(jobs, real, model)


def counted_wrongly(jobs: list[Job], real: P4Aggregator, model: ReferenceAggregator) -> str:
    for job in jobs:
        for verdict in Verdict:
            row = entries(job, 1, 0).row
            counted = real.counter("AllreduceIngress.verdicts", row * VERDICT_COLUMNS + verdict)
            wanted = model.verdicts.get((job.number, verdict), 0)
            if counted != wanted:
                return f"job {job.number} counted {counted} of {verdict.name}, should be {wanted}"
    return ""


@pytest.mark.parametrize("block", range(8))
def test_the_compiled_program_follows_the_rules(block: int) -> None:
    for seed in range(block * SCHEDULES // 8, (block + 1) * SCHEDULES // 8):
        assert not play(seed, "llvm"), shortest(partial(play, seed, "llvm"), FRAMES)


def test_the_compiled_program_follows_the_rules_with_frames_for_ethernet() -> None:
    for seed in range(tries(5, 40)):
        assert not play(seed, "llvm", lanes=336)


def test_the_interpreted_program_follows_the_rules() -> None:
    for seed in range(4):
        assert not play(seed, "interpreter", 60), shortest(partial(play, seed, "interpreter"), 60)
