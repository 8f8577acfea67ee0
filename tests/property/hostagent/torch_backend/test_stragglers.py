"""Sums that proceed without late ranks, in virtual time. At any moment any rank may be left out of what it has not
called yet, over links that lose, repeat, reorder, delay and corrupt, and an aggregator that is started again.

The model: rank r adds 2^r times a number of the step's, so a result tells which ranks are in it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore

from hostagent.torch_backend.group import NetsumProcessGroup
from hostagent.torch_backend.stragglers import Stragglers
from tests.labs.extent import tries
from tests.labs.virtual_job import VirtualNetwork, draw_faults

STEPS = 8
DTYPES = (torch.float32, torch.float32, torch.bfloat16, torch.float64, torch.int32, torch.int64)
SEEDS = range(tries(12, 24))


LEFT_OUT: list[int] = []


class Patient(Stragglers):
    """Bounds are of real time: in virtual time the network itself decides who is not waited for."""

    @property
    def look_s(self) -> float:
        return 1e9


@dataclass(frozen=True)
class Step:
    """A call of all ranks."""

    kind: str
    dtype: torch.dtype
    elements: int
    factor: int
    is_awaited: bool
    """Before the next call."""


def steps_of(rng: random.Random) -> list[Step]:
    return [
        Step(
            rng.choice(("SUM", "SUM", "AVG", "broadcast", "barrier")),
            rng.choice(DTYPES),
            rng.choice((1, 3, 64, 300, 2000, 9000)),
            rng.choice((1, 3)),
            rng.random() < 0.7,
        )
        for _ in range(STEPS)
    ]


@dataclass
class Call:
    """What a rank got of a step."""

    tensor: torch.Tensor
    work: Any


def program(network: VirtualNetwork, group: NetsumProcessGroup, rank: int, steps: list[Step]) -> Callable[[], Any]:
    def body() -> list[Call]:
        calls = []
        for step in steps:
            network.pause(rank)
            tensor = torch.full((step.elements,), step.factor * 2**rank, dtype=step.dtype)
            if step.kind == "barrier":
                work: Any = group.barrier()
            elif step.kind == "broadcast":
                options = dist.BroadcastOptions()
                options.rootRank = 0
                work = group.broadcast([tensor], options)
            else:
                work = group.allreduce([tensor], getattr(dist.ReduceOp, step.kind))
            if step.is_awaited:
                work.wait()
            calls.append(Call(tensor, work))
        for call in calls:
            call.work.wait()
        return calls

    return body


@pytest.mark.parametrize("seed", SEEDS)
def test_all_ranks_have_the_same_sum_of_the_ranks_that_are_counted(seed: int) -> None:
    rng = random.Random(f"stragglers {seed}")
    network = VirtualNetwork(replace(draw_faults(seed), skew_ticks=rng.choice((20, 100))))
    network.impatience = rng.choice((0.02, 0.1, 0.5))
    ranks, exact, steps = rng.choice((2, 3, 4)), rng.random() < 0.3, steps_of(rng)
    channels = network.join(range(ranks))
    hour, policy = timedelta(hours=1), Patient(1.0, True)
    groups = [
        NetsumProcessGroup(HashStore(), rank, ranks, hour, channel, exact=exact, stragglers=policy)
        for rank, channel in enumerate(channels)
    ]
    bodies = [program(network, group, rank, steps) for rank, group in enumerate(groups)]
    results, problem = network.run(bodies)
    assert not problem
    left_out = 0
    for number, step in enumerate(steps):
        calls = [result[number] for result in results]
        if step.kind == "barrier":
            continue
        assert all(torch.equal(call.tensor, calls[0].tensor) for call in calls), (number, step)
        if step.kind in ("SUM", "AVG"):
            left_out += ranks - check(step, ranks, calls)
        else:
            assert set(calls[0].tensor.tolist()) == {step.factor}
    assert left_out * 2 == sum(channel.missed.count for channel in channels)
    LEFT_OUT.append(left_out)


def check(step: Step, ranks: int, calls: list[Call]) -> int:
    """How many ranks are in the result."""
    counts = {call.work.contributions() for call in calls}
    assert len(counts) == 1
    (count,) = counts
    assert 1 <= count <= ranks
    values = set(calls[0].tensor.double().tolist())
    assert len(values) == 1, "parts of one tensor have other ranks in them"
    (value,) = values
    possible = [who for who in range(1 << ranks) if who.bit_count() == count]
    if step.kind == "SUM":
        wanted = [float(step.factor * who) for who in possible]
    elif step.dtype in (torch.int32, torch.int64):
        wanted = [float(step.factor * who // count) for who in possible]
    else:
        wanted = [float(torch.tensor(step.factor * who / count, dtype=step.dtype)) for who in possible]
    unit = torch.finfo(step.dtype).eps if step.dtype.is_floating_point else 0.0
    assert any(abs(value - each) <= 2 * unit * abs(each) for each in wanted), (value, wanted)
    return count


def test_ranks_were_left_out_at_all() -> None:
    assert len(LEFT_OUT) < len(SEEDS) or sum(LEFT_OUT) >= len(SEEDS)
