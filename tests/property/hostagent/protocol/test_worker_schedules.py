"""Worker cores against the reference aggregator over many seeded schedules; a failing one is shrunk and printed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from hostagent.protocol import reference
from hostagent.protocol.dtypes import DType
from hostagent.protocol.operation import OperationKind, Span
from tests.labs.extent import tries
from tests.labs.protocol import TICK_NS, Lab, Schedule, explain, make_lab, run, shrink
from tests.labs.worker_core import operation_of

BATCHES, BATCH = 20, tries(20, 80)


def draw(seed: int) -> Schedule:
    """A schedule at random, small in every direction."""
    rng = random.Random(seed)
    return Schedule(
        seed=seed,
        workers=rng.choice((1, 2, 2, 3, 5)),
        window=rng.choice((1, 2, 4, 8)),
        lanes=rng.choice((4, 16, 24)),
        operations=rng.randint(1, 4),
        largest_chunks=rng.choice((2, 6, 20)),
        loss=rng.choice((0.0, 0.1, 0.3)),
        duplicate=rng.choice((0.0, 0.2)),
        reorder=rng.choice((0.0, 0.3)),
        corrupt=rng.choice((0.0, 0.0, 0.05)),
        restarts=rng.choice((0, 0, 1, 3)),
        special=0.3,
        exact=0.3,
        base=rng.choice((0, 2**32 - 20, 2**40 - 5)),
        resizes=rng.choice((0, 1)),
    )


@pytest.mark.parametrize("batch", range(BATCHES))
def test_schedules(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        schedule = draw(seed)
        if run(schedule):
            pytest.fail(explain(schedule))


def test_a_wrong_aggregator_is_found_and_the_schedule_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: an aggregator that adds repeats must not get through, and the counter-example is small."""

    def add_always(self, job, held, frame, full):
        held.came &= ~(1 << frame.header.child) if held.came != full else -1
        return original(self, job, held, frame, full)

    original = reference.ReferenceAggregator._add
    monkeypatch.setattr(reference.ReferenceAggregator, "_add", add_always)
    failing = next(
        schedule for schedule in (replace(draw(seed), duplicate=0.5) for seed in range(200)) if run(schedule)
    )
    smallest = shrink(failing)
    assert run(smallest)
    assert smallest.operations == 1
    assert smallest.workers <= 3


def bulk(schedule: Schedule, chunks: int) -> Lab:
    """One integer SUM of that many chunks, to its end; checks the sums."""
    lab, workers = make_lab(schedule), schedule.workers
    arrays = [np.full(schedule.lanes * chunks, rank + 1, np.int32) for rank in range(workers)]
    for rank, core in enumerate(lab.cores):
        span = Span(arrays[rank].ctypes.data, 0, arrays[rank].size)
        core.submit(operation_of(OperationKind.SUM, DType.INT32, arrays[rank].size, span, span))
        lab.pump(rank)
    while lab.finished != [1] * workers:
        assert lab.step()
    assert all((array == workers * (workers + 1) // 2).all() for array in arrays)
    return lab


@pytest.mark.parametrize("workers", [2, 4])
def test_30_percent_loss_takes_a_bounded_number_of_round_trips(workers: int) -> None:
    """16 round trips without loss: 4,096 chunks, 256 slots. PROTOCOL.md, section 7.5, says what makes the bound."""
    lab = bulk(Schedule(seed=2, workers=workers, window=256, lanes=4, loss=0.3), 4096)
    assert lab.now_ns / (2 * TICK_NS) < 164


def test_nothing_is_repeated_on_a_path_without_loss() -> None:
    lab = bulk(Schedule(workers=3, window=64, lanes=4), 2048)
    assert [core.statistics()["retransmissions_sent"] for core in lab.cores] == [0, 0, 0]
    slow_start = 2
    assert lab.now_ns == (2048 // 64 + slow_start) * 2 * TICK_NS


def test_a_path_slower_than_the_first_estimate_is_learnt() -> None:
    """A round trip of 200 ms; the first estimate is 20."""
    lab = bulk(Schedule(workers=2, window=64, lanes=4, delay_ticks=100), 8192)
    statistics = lab.cores[0].statistics()
    assert statistics["retransmissions_sent"] < 8192 / 4, statistics
