"""Which schedules an order of ranks may change; tests/net/test_schedules.py probes live ranks."""

from __future__ import annotations

import numpy as np

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import bcube, switch_allreduce
from emulator.network.schedule.msccl import chunks_of
from emulator.network.topology.builders import star
from hostagent.planner.placement.costs import Costs
from hostagent.planner.placement.live import depends_on_order
from hostagent.planner.placement.model import Model
from hostagent.planner.placement.solve import solve


def test_an_allreduce_of_messages_has_an_order() -> None:
    """Eight ranks, two at each of four leaves: 1 ms apart at one, else 11 ms."""
    schedule, leaf = bcube(star(8), 4_096), np.arange(8) // 2
    assert depends_on_order(schedule)
    latency_ns = np.where(leaf[:, None] == leaf, 1e6, 11e6)
    found = solve(Model(schedule, Costs(tuple("abcdefgh"), latency_ns, 0 * latency_ns)))
    assert (found.given_elapsed_ns, found.elapsed_ns) == (44e6, 24e6)


def test_what_ranks_hold_in_their_order_has_none() -> None:
    builder = Builder("allgather", star(8), chunks_of("allgather", 8, 8, 64))
    for rank in range(8):
        for step in range(1, 8):
            builder.send(rank, (rank + step) % 8, [rank])
    assert not depends_on_order(builder.build())
    assert not depends_on_order(switch_allreduce(star(8), 4_096))
