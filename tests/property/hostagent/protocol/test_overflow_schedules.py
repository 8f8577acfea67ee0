"""Worker cores around a switch that lacks slots and its overflow server, over many seeded schedules."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from emulator.ports.batch import TxPortTable
from hostagent.controller.drivers.groups.overflow import SERVER, SWITCH
from hostagent.protocol.counters import Verdict
from hostagent.protocol.dtypes import DType
from hostagent.protocol.operation import OperationKind, Span
from hostagent.protocol.reference import ReferenceJob
from hostagent.protocol.services.aggregator import Aggregator
from hostagent.protocol.wire import full_frame_bytes
from hostagent.rackserver.core import RackServer
from pspin_model.aggregator import PspinAggregator
from tests.labs.protocol import Schedule, explain, run
from tests.labs.tree import (
    P4_LANES,
    P4_SLOTS,
    Box,
    CoreBox,
    OverflowBoxes,
    OverflowController,
    Plain,
    compiled,
    make_tree_lab,
    plain,
)
from tests.labs.worker_core import operation_of

BATCHES, BATCH = 4, 12


def draw(seed: int) -> Schedule:
    rng = random.Random(f"overflow {seed}")
    return Schedule(
        seed=seed,
        workers=rng.randint(1, 4),
        window=rng.choice((1, 2, 4, 8)),
        lanes=rng.choice((4, 16)),
        operations=rng.randint(1, 3),
        largest_chunks=rng.choice((2, 6, 12)),
        loss=rng.choice((0.0, 0.1, 0.2)),
        duplicate=rng.choice((0.0, 0.2)),
        reorder=rng.choice((0.0, 0.3)),
        corrupt=rng.choice((0.0, 0.0, 0.05)),
        restarts=rng.choice((0, 1, 3)),
        special=0.3,
        exact=0.3,
        base=rng.choice((0, 2**32 - 20, 2**40 - 5)),
        checksum=1,
    )


def play(schedule: Schedule, make: Callable[[int, int], Box] = plain, *, steps: int = 200_000) -> str:
    """What is wrong with a run, or an empty string."""
    return run(
        schedule,
        largest_steps=steps,
        make=lambda each: make_tree_lab(each, (1, each.workers), make, OverflowBoxes),
        controlled_by=OverflowController,
    )


def explained(schedule: Schedule, make: Callable[[int, int], Box] = plain) -> str:
    return explain(schedule, lambda each, largest_steps=200_000: play(each, make, steps=largest_steps))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_schedules(batch: int) -> None:
    for schedule in map(draw, range(batch * BATCH, (batch + 1) * BATCH)):
        if play(schedule):
            pytest.fail(explained(schedule))


CORES: dict[str, Callable[[int, TxPortTable], Aggregator]] = {
    "server": lambda lanes, ports: RackServer(lanes, slots=P4_SLOTS, cores=2, ports=ports),
    "pspin": lambda lanes, ports: PspinAggregator(lanes=lanes, slots=P4_SLOTS, ports=ports),
}


def behind(kind: str) -> Callable[[int, int], Box]:
    """A core of ours as the server of the compiled program."""
    return lambda lanes, index: CoreBox(CORES[kind], lanes) if index == SERVER else compiled(lanes)


@pytest.mark.parametrize(("kind", "seeds"), [("server", 8), ("pspin", 1)])
def test_schedules_of_the_compiled_program_and_a_server(kind: str, seeds: int) -> None:
    for schedule in map(draw, range(seeds)):
        schedule = replace(schedule, lanes=P4_LANES, largest_chunks=min(schedule.largest_chunks, 6))
        if play(schedule, behind(kind)):
            pytest.fail(explained(schedule, behind(kind)))


def test_a_switch_that_adds_what_overflows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: a switch that does not know where its slots end mixes epochs' places."""
    original = ReferenceJob.overflows
    monkeypatch.setattr(ReferenceJob, "overflows", lambda job, chunk: original(job, chunk) and chunk % 3 != 1)
    assert any(play(replace(schedule, loss=0.2), steps=20_000) for schedule in map(draw, range(20)))


@pytest.mark.parametrize("slots", [0, 2, 8])
def test_every_cable_carries_what_it_must(slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without loss: of each chunk that overflows a frame of every worker crosses the cable to the server, and one for
    every worker comes back; the others never do. Results of the switch, which come sooner, make nobody repeat those."""
    monkeypatch.setattr(random.Random, "choice", lambda rng, options: slots if slots in options else options[0])
    workers, window, chunks, lanes = 3, 8, 64, 16
    schedule = Schedule(seed=3, workers=workers, window=window, lanes=lanes, checksum=1)
    lab = make_tree_lab(schedule, (1, workers), plain, OverflowBoxes)
    arrays = [np.full(lanes * chunks, rank + 1, np.int32) for rank in range(workers)]
    for rank, core in enumerate(lab.cores):
        span = Span(arrays[rank].ctypes.data, 0, arrays[rank].size)
        core.submit(operation_of(OperationKind.SUM, DType.INT32, arrays[rank].size, span, span))
        lab.pump(rank)
    while lab.finished != [1] * workers:
        assert lab.step()
    assert all((array == workers * (workers + 1) // 2).all() for array in arrays)
    over = chunks * (window - slots) // window
    up, down = -1 - (workers + SWITCH), workers + SWITCH
    assert [core.statistics()["retransmissions_sent"] for core in lab.cores] == [0] * workers
    assert lab.sent_frames[up] == lab.sent_frames[down] == workers * over
    assert lab.sent_bytes[up] == workers * over * full_frame_bytes(lanes)
    assert isinstance(lab.boxes.boxes[SWITCH], Plain)
    verdicts = lab.boxes.verdicts()
    assert (verdicts[SERVER][Verdict.COMPLETED], verdicts[SWITCH][Verdict.COMPLETED]) == (over, chunks - over)
    assert verdicts[SWITCH][Verdict.OVERFLOWED] == workers * over
