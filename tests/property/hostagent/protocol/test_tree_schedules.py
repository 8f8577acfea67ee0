"""Worker cores around trees of aggregators over many seeded schedules: sums, messages, bytes on every cable."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.ports.batch import TxPortTable
from hostagent.cli.aggregators.reference_core import ReferenceCore
from hostagent.protocol.counters import Verdict
from hostagent.protocol.dtypes import DType
from hostagent.protocol.operation import OperationKind, Span
from hostagent.protocol.reference import ReferenceJob
from hostagent.protocol.services.aggregator import Aggregator
from hostagent.protocol.wire import full_frame_bytes
from hostagent.rackserver.core import RackServer
from pspin_model.aggregator import PspinAggregator
from tests.generators.message_schedules import draw as draw_messages
from tests.labs import message_core
from tests.labs.extent import tries
from tests.labs.protocol import TICK_NS, Schedule, explain, run
from tests.labs.tree import (
    P4_LANES,
    P4_SLOTS,
    Box,
    Boxes,
    CoreBox,
    Plain,
    TreeController,
    TreeLab,
    above,
    below,
    compiled,
    make_tree_lab,
    plain,
)
from tests.labs.worker_core import operation_of

BATCHES, BATCH = 4, tries(5, 12)
FAN_OUTS = ((2, 2), (3, 2), (2, 1), (1, 3), (2, 2, 2), (1, 2, 1, 2))
"""Up to four levels: workers, leaves, and one or two levels of switches above those."""


def draw(seed: int) -> tuple[Schedule, tuple[int, ...]]:
    """A schedule at random, small in every direction, and a tree."""
    rng = random.Random(f"tree {seed}")
    fan_out = rng.choice(FAN_OUTS)
    schedule = Schedule(
        seed=seed,
        workers=rng.randint(1, prod(fan_out)),
        window=rng.choice((1, 2, 4, 8)),
        lanes=rng.choice((4, 16)),
        operations=rng.randint(1, 3),
        largest_chunks=rng.choice((2, 6, 12)),
        loss=rng.choice((0.0, 0.1, 0.2)),
        duplicate=rng.choice((0.0, 0.2)),
        reorder=rng.choice((0.0, 0.3)),
        corrupt=rng.choice((0.0, 0.0, 0.05)),
        restarts=rng.choice((0, 0, 1, 3)),
        special=0.3,
        exact=0.3,
        base=rng.choice((0, 2**32 - 20, 2**40 - 5)),
    )
    return schedule, fan_out


def play(
    schedule: Schedule, fan_out: tuple[int, ...], make: Callable[[int, int], Box] = plain, *, steps: int = 200_000
) -> str:
    """What is wrong with a run, or an empty string."""
    return run(
        schedule,
        largest_steps=steps,
        make=lambda each: make_tree_lab(each, fan_out, make),
        controlled_by=TreeController,
    )


def explained(schedule: Schedule, fan_out: tuple[int, ...], make: Callable[[int, int], Box] = plain) -> str:
    return explain(schedule, lambda each, largest_steps=200_000: play(each, fan_out, make, steps=largest_steps))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_schedules(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        schedule, fan_out = draw(seed)
        if play(schedule, fan_out):
            pytest.fail(explained(schedule, fan_out))


def test_schedules_of_the_compiled_program() -> None:
    for seed in range(tries(4, 8)):
        schedule, fan_out = draw(seed)
        schedule = replace(schedule, lanes=P4_LANES, largest_chunks=min(schedule.largest_chunks, 6))
        if play(schedule, fan_out, compiled):
            pytest.fail(explained(schedule, fan_out, compiled))


CORES: dict[str, tuple[Callable[[int, TxPortTable], Aggregator], int]] = {
    "server": (lambda lanes, ports: RackServer(lanes, slots=P4_SLOTS, cores=2, ports=ports), 24),
    "pspin": (lambda lanes, ports: PspinAggregator(lanes=lanes, slots=P4_SLOTS, ports=ports), 3),
    "reference": (lambda lanes, ports: ReferenceCore(lanes=lanes, slots=P4_SLOTS, ports=ports), 6),
}


@pytest.mark.parametrize("kind", CORES)
def test_schedules_below_a_root_of_another_kind(kind: str) -> None:
    make, seeds = CORES[kind]
    for seed in range(seeds):
        schedule, fan_out = draw(seed)
        schedule = replace(schedule, lanes=P4_LANES, largest_chunks=min(schedule.largest_chunks, 6))
        if play(schedule, fan_out, below(make)):
            pytest.fail(explained(schedule, fan_out, below(make)))


@pytest.mark.parametrize("kind", CORES)
def test_schedules_of_leaves_of_another_kind(kind: str) -> None:
    make, seeds = CORES[kind]
    for seed in range(seeds):
        schedule, fan_out = draw(seed)
        schedule = replace(schedule, lanes=P4_LANES, largest_chunks=min(schedule.largest_chunks, 6))
        if play(schedule, fan_out, above(make)):
            pytest.fail(explained(schedule, fan_out, above(make)))


@pytest.mark.parametrize("kind", CORES)
def test_a_leaf_of_another_kind_need_not_have_the_first_ranks(kind: str) -> None:
    schedule = Schedule(seed=3, workers=4, window=2, lanes=P4_LANES, largest_chunks=4)
    assert not play(schedule, (2, 2), above(CORES[kind][0]), steps=3000)


def test_schedules_of_trees_of_all_kinds() -> None:
    """Every aggregator is of a kind drawn at random, the compiled P4 program among them."""
    for seed in range(tries(6, 24)):
        schedule, fan_out = draw(seed)
        schedule = replace(schedule, lanes=P4_LANES, largest_chunks=min(schedule.largest_chunks, 6))
        rng = random.Random(f"kinds {seed}")
        kinds = [rng.choice([*CORES, "p4"]) for _ in range(16)]

        def make(lanes: int, index: int, kinds: list[str] = kinds) -> Box:
            kind = kinds[index]
            return compiled(lanes) if kind == "p4" else CoreBox(CORES[kind][0], lanes)

        if play(schedule, fan_out, make):
            pytest.fail(f"{kinds}: {explained(schedule, fan_out, make)}")


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    workers=st.integers(1, 4),
    window=st.sampled_from((1, 2, 4)),
    impaired=st.tuples(*[st.floats(0, 0.25)] * 3),
    restarts=st.integers(0, 2),
)
def test_any_small_tree_sums_right(
    seed: int, workers: int, window: int, impaired: tuple[float, float, float], restarts: int
) -> None:
    loss, duplicate, reorder = impaired
    schedule = Schedule(seed, workers, window, 4, 2, 4, loss, duplicate, reorder, restarts=restarts)
    assert not play(schedule, (2, 2))


def test_a_leaf_that_adds_its_parents_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: a result that does not take the partial sum's place must not get through."""

    def add(self, job, frame):
        held = self.sets.get(self._place(job, frame.header))
        before = held.sums.copy() if held is not None else 0
        answers = original(self, job, frame)
        if answers:
            held.sums = held.sums + before
        return answers

    original = Plain._take_answer
    monkeypatch.setattr(Plain, "_take_answer", add)
    assert any(play(replace(schedule, loss=0.2), fan_out) for schedule, fan_out in map(draw, range(20)))


def bulk(schedule: Schedule, fan_out: tuple[int, ...], chunks: int) -> TreeLab:
    """One integer SUM of that many chunks, to its end; checks the sums."""
    lab, workers = make_tree_lab(schedule, fan_out), schedule.workers
    arrays = [np.full(schedule.lanes * chunks, rank + 1, np.int32) for rank in range(workers)]
    for rank, core in enumerate(lab.cores):
        span = Span(arrays[rank].ctypes.data, 0, arrays[rank].size)
        core.submit(operation_of(OperationKind.SUM, DType.INT32, arrays[rank].size, span, span))
        lab.pump(rank)
    while lab.finished != [1] * workers:
        assert lab.step()
    assert all((array == workers * (workers + 1) // 2).all() for array in arrays)
    return lab


@pytest.mark.parametrize("fan_out", [(2, 2), (4, 2), (2, 2, 2)])
def test_every_cable_carries_one_stream_each_way(fan_out: tuple[int, ...]) -> None:
    """Without loss: chunks times a full frame, up and down, whatever is below. Each level adds a round trip's part."""
    chunks, window = 64, 8
    lab = bulk(Schedule(seed=3, workers=prod(fan_out), window=window, lanes=16), fan_out, chunks)
    ends = lab.boxes.ends.keys() | {-1 - end for end in lab.boxes.ends}
    assert lab.sent_frames == dict.fromkeys(ends, chunks)
    assert lab.sent_bytes == dict.fromkeys(ends, chunks * full_frame_bytes(16))
    assert lab.now_ns == chunks // window * 2 * len(fan_out) * TICK_NS
    assert [core.statistics()["retransmissions_sent"] for core in lab.cores] == [0] * prod(fan_out)


def test_more_workers_than_a_bitmap_has_bits() -> None:
    lab = bulk(Schedule(seed=3, workers=80, window=4, lanes=4, loss=0.01), (2, 40), 12)
    assert [verdicts[Verdict.COMPLETED] for verdicts in lab.boxes.verdicts()] == [12] * 3


def test_a_lost_result_is_fetched_by_the_workers_below_that_leaf_alone() -> None:
    """Each of the two probes with two frames at most; the leaf takes the result once."""
    lab = make_tree_lab(Schedule(seed=3, workers=4, window=4, lanes=4), (2, 2))
    down, receive = 4 + 1, lab.boxes.receive  # the first leaf's cable
    dropped: list[bytes] = []

    def lose_first_result(to: int, frame: bytes) -> list[tuple[int, bytes]]:
        if to == down and not dropped:
            dropped.append(frame)
            return []
        return receive(to, frame)

    lab.boxes.receive = lose_first_result
    arrays = [np.full(4, rank + 1, np.int32) for rank in range(4)]
    for rank, core in enumerate(lab.cores):
        span = Span(arrays[rank].ctypes.data, 0, 4)
        core.submit(operation_of(OperationKind.SUM, DType.INT32, 4, span, span))
        lab.pump(rank)
    while lab.finished != [1] * 4:
        assert lab.step()
    assert dropped
    assert [array.tolist() for array in arrays] == [[10] * 4] * 4
    root, leaf, other = lab.boxes.verdicts()
    assert 1 <= root[Verdict.SERVED_AGAIN] == leaf[Verdict.PARTIAL_AGAIN] <= 4
    assert leaf[Verdict.FROM_PARENT] == 1
    assert (other[Verdict.PARTIAL_AGAIN], other[Verdict.SERVED_AGAIN]) == (0, 0)


class Forwarder:
    """A tree without delay between its switches, as the aggregator of the lab of messages."""

    def __init__(self, schedule: message_core.Schedule, job: ReferenceJob) -> None:
        ports = range(1, 1 + len(job.children))
        children = tuple(replace(child, port=port) for child, port in zip(job.children, ports, strict=True))
        self._job = replace(job, children=children)
        self._make = partial(plain, schedule.lanes)
        self._boxes = Boxes((3, 2), self._job, lambda _, index: self._make(), schedule.lanes)

    def receive(self, rank: int, frame: bytes) -> list[tuple[int, bytes]]:
        outside: list[tuple[int, bytes]] = []
        inside = [(-1 - rank, frame)]
        while inside:
            for end, answer in self._boxes.receive(*inside.pop(0)):
                (outside if 0 <= end < self._boxes.workers else inside).append((end, answer))
        return outside

    def restart(self) -> None:
        for box in self._boxes.boxes:
            box.restart()

    def install(self, epoch: int) -> None:
        self._boxes.install_all(epoch, 0)


def test_messages_cross_the_tree() -> None:
    for seed in range(12):
        schedule = draw_messages(seed)
        if problem := message_core.run(schedule, forwarder=Forwarder):
            pytest.fail(f"{schedule}: {problem}")
