"""What jobs have of a switch with an overflow server, in virtual time."""

from __future__ import annotations

from hostagent.controller.core.model import SECOND_NS, Capacity
from hostagent.controller.core.slots import Run, SlotAllocator
from hostagent.controller.core.switch_slots import grant, settle
from tests.labs.controller import Laboratory, Rank

CAPACITY = Capacity(slots=512, lanes=64, rows=64, switch_slots=16)
WINDOW = 64


def laboratory(ports: int = 16) -> Laboratory:
    return Laboratory(ports=ports, capacity=CAPACITY, max_window=WINDOW)


def begin(lab: Laboratory, name: str, size: int = 2) -> list[Rank]:
    ranks = lab.group(size, name)
    assert lab.until(lambda: all(rank.places[name].lease is not None for rank in ranks)) < SECOND_NS
    return ranks


def slots(lab: Laboratory, ranks: list[Rank], name: str) -> int:
    run = lab.aggregator[ranks[0].places[name].job].switch_slots
    assert run is not None
    return run.count


def test_a_job_alone_has_all_slots_of_the_switch_and_its_whole_window_at_the_server() -> None:
    lab = laboratory()
    ranks = begin(lab, "one")
    lease = ranks[0].places["one"].lease
    assert lease is not None
    assert (lease.window, slots(lab, ranks, "one")) == (WINDOW, 16)


def test_a_second_job_begins_without_slots_then_both_have_a_half_and_the_last_one_all() -> None:
    lab = laboratory()
    one, two = begin(lab, "one"), begin(lab, "two")
    assert slots(lab, two, "two") == 0
    lab.until(lambda: slots(lab, two, "two") == 8, at_most_ns=5 * SECOND_NS)
    assert slots(lab, one, "one") == 8
    for rank in one:
        rank.leave("one")
    lab.until(lambda: slots(lab, two, "two") == 16, at_most_ns=5 * SECOND_NS)
    lab.run(10 * SECOND_NS)
    assert [rank.places["two"].cause for rank in two] == [None, None]
    assert {len(rank.places["two"].resumed) for rank in two} == {2}, "an epoch for each change, and no other"
    assert [job.restarts for job in lab.core.world.jobs.values()] == [0]


def test_a_killed_jobs_slots_go_to_the_others() -> None:
    lab = laboratory()
    one, two = begin(lab, "one"), begin(lab, "two")
    one[0].kill()
    lab.until(lambda: one[1].places["one"].cause is not None, at_most_ns=20 * SECOND_NS)
    one[1].leave("one")
    lab.until(lambda: slots(lab, two, "two") == 16, at_most_ns=20 * SECOND_NS)
    assert lab.core.world.switch_slots.free == 0
    for rank in two:
        rank.leave("two")
    lab.run(20 * SECOND_NS)
    assert lab.core.world.switch_slots.free == 16
    assert lab.core.world.slots.free == 512


def test_nothing_changes_while_a_rank_lingers() -> None:
    """It could not contribute again once it has gone."""
    lab = laboratory()
    one = begin(lab, "one")
    one[0].leave("one")
    lab.run(SECOND_NS // 10)
    two = begin(lab, "two")
    lab.run(3 * SECOND_NS)
    assert (slots(lab, one, "one"), slots(lab, two, "two")) == (16, 0)


def test_eight_jobs_share_the_slots_and_ample_windows_leave_them_alone() -> None:
    lab = Laboratory(ports=32, capacity=CAPACITY, max_window=8)
    jobs = {f"job {number}": begin(lab, f"job {number}") for number in range(8)}
    lab.until(lambda: all(slots(lab, ranks, name) == 2 for name, ranks in jobs.items()), at_most_ns=60 * SECOND_NS)
    resumed = [len(ranks[0].places[name].resumed) for name, ranks in jobs.items()]
    lab.run(30 * SECOND_NS)
    assert [len(ranks[0].places[name].resumed) for name, ranks in jobs.items()] == resumed


def test_a_controller_that_comes_back_knows_whose_slots_are_whose() -> None:
    lab = laboratory()
    one, two = begin(lab, "one"), begin(lab, "two")
    lab.until(lambda: slots(lab, two, "two") == 8, at_most_ns=5 * SECOND_NS)
    lab.run(SECOND_NS)
    epochs = list(lab.epochs)
    lab.kill_controller()
    lab.start_controller()
    lab.run(10 * SECOND_NS)
    assert lab.epochs == epochs
    assert lab.core.world.switch_slots.free == 0
    assert [rank.places["one"].cause for rank in one] == [None, None]


def test_a_run_is_found_as_if_the_jobs_own_were_free() -> None:
    allocator = SlotAllocator(16)
    run, other = allocator.lease_at_most(4), allocator.lease_at_most(4)
    assert (run, other) == (Run(0, 4), Run(4, 4))
    assert allocator.largest_instead_of(run, 16) == 8
    allocator.give_back(other)
    assert allocator.largest_instead_of(run, 16) == 16
    assert allocator.lease_at_most(16) == Run(8, 8)
    assert allocator.lease_at_most(16) == Run(4, 4)
    assert allocator.lease_at_most(16) == Run(0, 0)


def test_slots_that_a_job_loses_stay_leased_until_the_switch_has_its_new_epoch() -> None:
    """The switch may be told of other jobs first: after a broken connection installations begin anew, in any order."""
    lab = laboratory()
    one, two = begin(lab, "one"), begin(lab, "two")
    world = lab.core.world
    job, other = (world.jobs[ranks[0].places[name].job] for ranks, name in ((one, "one"), (two, "two")))
    grant(world, job)  # an even share of two
    assert (job.switch_run, job.old_switch_run, world.switch_slots.free) == (Run(0, 8), Run(0, 16), 0)
    grant(world, other)
    assert other.switch_run == Run(0, 0)
    settle(world, job)
    assert (job.old_switch_run, world.switch_slots.free) == (None, 8)
    world.switch_slots.leased = {4: 4, 0: 4}  # the job's and somebody's: half of the slots are free, elsewhere
    job.switch_run = Run(4, 4)
    grant(world, job)
    assert (job.switch_run, job.old_switch_run, world.switch_slots.free) == (Run(8, 8), Run(4, 4), 0)
    settle(world, job)
    assert world.switch_slots.leased == {0: 4, 8: 8}
