"""What an executor refuses before anything is sent; tests/net/test_schedules.py runs schedules."""

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import ring, switch_allreduce
from emulator.network.schedule.parts import Chunks, ScheduleError
from emulator.network.topology.builders import leaf_spine, star, tree
from hostagent.collectives.execute import executor as module
from hostagent.collectives.execute.executor import Executor, ranks_of, switch_of, tasks_of_switches, tree_of_switches


@pytest.fixture
def rank_0_of_3():
    dist.init_process_group("fake", rank=0, world_size=3, store=FakeStore())
    yield
    dist.destroy_process_group()


def test_a_schedule_for_other_ranks(rank_0_of_3):
    with pytest.raises(ScheduleError, match="ring-4 has 4 ranks, the process group 3"):
        Executor(ring(star(4), 64))


def test_a_call_without_a_function(rank_0_of_3):
    builder = Builder("calls", star(3), [Chunks(1, 8, (0,), (0,))])
    builder.compute(0, 5, "forward")
    builder.compute(1, 5, "of another rank")
    with pytest.raises(ScheduleError, match=r"tasks\[0\].call: no function is given for the call 'forward'"):
        Executor(builder.build())
    called: list[Any] = []
    Executor(builder.build(), calls={"forward": called.append}).run({0: torch.zeros(2)})
    assert len(called) == 1


def test_waiting_for_what_other_ranks_do(rank_0_of_3):
    builder = Builder("waits", star(3), [Chunks(2, 8, (0, 1), (0, 1))])
    first = builder.reduce(1, 2, [0])
    builder.send(0, 1, [1], after=[first])  # its destination knows
    builder.compute(0, 5, after=[first])
    with pytest.raises(ScheduleError, match=r"tasks\[2\].after: it waits for task 0, which none of its ranks"):
        Executor(builder.build())


def test_a_tensor_of_another_size(rank_0_of_3):
    with pytest.raises(ScheduleError, match="chunk 1 is not a contiguous tensor of 20 bytes"):
        Executor(ring(star(3), 60)).run({0: torch.zeros(5), 1: torch.zeros(6)})


def test_a_rank_has_another_place_in_the_schedule(rank_0_of_3, monkeypatch):
    sent = []
    monkeypatch.setattr(module, "probed_order", lambda schedule, group: [2, 0, 1])
    monkeypatch.setattr(dist, "isend", lambda tensor, rank, group: sent.append(rank))
    executor = Executor(ring(star(3), 60), reorder=True)
    assert (executor.rank, executor.order) == (1, [2, 0, 1])  # rank 1 of the ring sends to its rank 2
    executor.run({chunk: torch.zeros(5) for chunk in range(3)})
    assert set(sent) == {1}
    assert Executor(ring(star(3), 60)).rank == 0  # "fake" has no such option


def test_switches_that_sum(rank_0_of_3):
    schedule = switch_allreduce(star(3), 60)
    assert tasks_of_switches(schedule) == {"s0": [0]}
    with pytest.raises(ScheduleError, match="nothing is said about switch s0"):
        Executor(schedule, switches={"s1": {}})
    executor = Executor(schedule, switches={"s0": {"group_desc": "at s0"}})
    assert [group.group_desc for group in executor.groups("s0")] == ["at s0"]
    assert executor.groups() == executor.groups("s1") == []
    with pytest.raises(ScheduleError, match=r"tasks\[0\].route: 3 switches are on its links; live, each message"):
        switch_of(switch_allreduce(tree((2, 2)), 60), 0)


def test_a_tree_of_switches_that_sums():
    assert tree_of_switches(switch_allreduce(tree((2, 2)), 60)) == (2, 2)
    assert tree_of_switches(switch_allreduce(leaf_spine(3, 2, 2), 60, pieces=3)) == (3, 2)
    uneven = ("h0", "h1", "h2", "h3", "h4")
    assert tree_of_switches(switch_allreduce(leaf_spine(2, 3, 1), 60, uneven)) == (2, (3, 2))
    for other in (
        switch_allreduce(star(4), 60),
        switch_allreduce(tree((2, 2, 2)), 60),  # three levels
        switch_allreduce(leaf_spine(2, 2, 1), 60, ("h0", "h2", "h1", "h3")),  # ranks of a leaf do not follow each other
        ring(leaf_spine(2, 2, 1), 60),
    ):
        assert tree_of_switches(other) == ()


def test_messages_go_through_the_switch_on_their_route(rank_0_of_3, monkeypatch):
    sent = []
    monkeypatch.setattr(dist, "isend", lambda tensor, rank, group: sent.append((rank, group.group_desc)))
    builder = Builder("leaf", leaf_spine(2, 2, 1), [Chunks(1, 8, (0,), (1,))], ("h0", "h1", "h2"))
    builder.send(0, 1, [0])
    schedule = builder.build()
    assert (tasks_of_switches(schedule), ranks_of(schedule, [0])) == ({"leaf0": [0]}, [0, 1])
    Executor(schedule, switches={"leaf0": {"group_desc": "at leaf0"}}).run({0: torch.zeros(2)})
    assert sent == [(1, "at leaf0")]
    builder.send(1, 2, [0])
    with pytest.raises(ScheduleError, match=r"tasks\[1\].route: 3 switches are on its links"):
        tasks_of_switches(builder.build())
