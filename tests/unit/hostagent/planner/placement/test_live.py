"""Which schedules an order of ranks may change, and which it gets; tests/net/test_schedules.py probes live ranks."""

from __future__ import annotations

import numpy as np
import pytest
import torch.distributed as dist

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import bcube, switch_allreduce
from emulator.network.schedule.msccl import chunks_of
from emulator.network.topology.builders import star
from hostagent.planner.placement import live
from hostagent.planner.placement.costs import Costs
from hostagent.planner.placement.model import Model


class Group(dist.ProcessGroup):
    """A stand-in that is probed without messages."""


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> dist.ProcessGroup:
    """Eight ranks, two at each of four leaves: 1 ms apart at one, else 11 ms."""
    leaf = np.arange(8) // 2
    latency_ns = np.where(leaf[:, None] == leaf, 1e6, 11e6)
    probed: list[int] = []

    def probe(*arguments: object) -> Costs:
        probed.append(1)
        assert len(probed) == 1, "a group is probed once"
        return Costs(tuple("abcdefgh"), latency_ns, 0 * latency_ns)

    monkeypatch.setattr(live, "probe_group", probe)
    return Group(0, 8)  # type: ignore[call-arg]


def test_an_allreduce_of_messages_is_reordered(group: dist.ProcessGroup) -> None:
    schedule = bcube(star(8), 4_096)
    order = live.probed_order(schedule, group)
    model = Model(schedule, live._COSTS[group])
    assert (model.elapsed_ns(np.arange(8)), model.elapsed_ns(np.array(order))) == (44e6, 24e6)
    assert live.probed_order(schedule, group) == order


def test_what_ranks_hold_in_their_order_is_not_reordered(group: dist.ProcessGroup) -> None:
    builder = Builder("allgather", star(8), chunks_of("allgather", 8, 8, 64))
    for rank in range(8):
        for step in range(1, 8):
            builder.send(rank, (rank + step) % 8, [rank])
    for schedule in (builder.build(), switch_allreduce(star(8), 4_096)):
        assert live.probed_order(schedule, group) == list(range(8))
    assert group not in live._COSTS
