"""How jobs share slots, of an aggregator and of a switch with an overflow server: in virtual time."""

from __future__ import annotations

import pytest

from hostagent.controller.core.model import SECOND_NS, Capacity
from hostagent.controller.core.shares import Claim, divide, grant, settle
from hostagent.controller.core.slots import Run, SlotAllocator
from tests.labs.controller import Laboratory, Rank

CAPACITY = Capacity(slots=512, lanes=64, rows=64, switch_slots=16)
WINDOW = 64


def laboratory(ports: int = 16) -> Laboratory:
    return Laboratory(ports=ports, capacity=CAPACITY, max_window=WINDOW)


def begin(
    lab: Laboratory, name: str, size: int = 2, *, share: int = 0, priority: int = 0, within_ns: int = SECOND_NS
) -> list[Rank]:
    ranks = lab.group(size, name, share=share, priority=priority)
    assert lab.until(lambda: all(rank.places[name].lease is not None for rank in ranks)) < within_ns
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
    assert (job.switch_run, job.old_run, world.switch_slots.free) == (Run(0, 8), Run(0, 16), 0)
    grant(world, other)
    assert other.switch_run == Run(0, 0)
    settle(world, job)
    assert (job.old_run, world.switch_slots.free) == (None, 8)
    world.switch_slots.leased = {4: 4, 0: 4}  # the job's and somebody's: half of the slots are free, elsewhere
    job.switch_run = Run(4, 4)
    grant(world, job)
    assert (job.switch_run, job.old_run, world.switch_slots.free) == (Run(8, 8), Run(4, 4), 0)
    settle(world, job)
    assert world.switch_slots.leased == {0: 4, 8: 8}


@pytest.mark.parametrize(
    ("total", "least", "claims", "counts"),
    [
        (64, 8, [Claim(64)], [64]),
        (64, 8, [Claim(64), Claim(64)], [32, 32]),
        (64, 8, [Claim(64), Claim(64), Claim(64)], [32, 16, 16]),
        (64, 8, [Claim(64, share=3), Claim(64)], [32, 16]),  # 16 are left: half of what the first would need
        (64, 8, [Claim(64, share=4), Claim(64, share=2), Claim(64)], [32, 16, 8]),
        (64, 8, [Claim(8, share=16), Claim(64)], [8, 32]),
        (64, 8, [Claim(64), Claim(64, priority=1)], [32, 32]),
        (64, 8, [Claim(64), Claim(32, priority=1)], [32, 32]),
        (64, 8, [Claim(64), Claim(32, priority=1), Claim(64)], [16, 32, 16]),
        (64, 8, [Claim(64, priority=-1), Claim(64), Claim(64, share=2)], [16, 16, 32]),
        (16, 8, [Claim(64), Claim(64), Claim(64, priority=9)], [8, 8, 0]),
        (96, 8, [Claim(64), Claim(64)], [64, 32]),
        (8, 0, [Claim(64), Claim(64)], [4, 4]),
        (2, 0, [Claim(64), Claim(64), Claim(64, priority=1)], [0, 0, 2]),
        (0, 0, [Claim(64)], [0]),
    ],
)
def test_slots_are_divided_by_shares_and_priorities(
    total: int, least: int, claims: list[Claim], counts: list[int]
) -> None:
    assert divide(total, least, claims) == counts


# --- an aggregator without an overflow server ---

PLAIN = Capacity(slots=64, lanes=64, rows=64)


def plain(ports: int = 16) -> Laboratory:
    return Laboratory(ports=ports, capacity=PLAIN, max_window=WINDOW)


def windows(lab: Laboratory, *names: str) -> list[int]:
    """Of these jobs, at the aggregator."""
    jobs = {job.label: number for number, job in lab.core.world.jobs.items()}
    return [lab.aggregator[jobs[name]].window for name in names]


def test_a_job_lends_slots_to_one_that_comes_and_has_them_back_when_it_goes() -> None:
    lab = plain()
    one = begin(lab, "one")
    assert windows(lab, "one") == [64]
    two = begin(lab, "two", within_ns=3 * SECOND_NS)
    lab.until(lambda: windows(lab, "one", "two") == [32, 32], at_most_ns=5 * SECOND_NS)
    for rank in two:
        rank.leave("two")
    lab.until(lambda: windows(lab, "one") == [64], at_most_ns=10 * SECOND_NS)
    lab.run(10 * SECOND_NS)
    for rank in one:
        place = rank.places["one"]
        assert place.lease is not None
        assert (place.cause, len(place.resumed), place.lease.window) == (None, 2, 64)
    assert [job.restarts for job in lab.core.world.jobs.values()] == [0], "nothing was lost"


def test_windows_are_in_proportion_to_shares() -> None:
    lab = plain()
    begin(lab, "one")
    begin(lab, "four", share=4, within_ns=3 * SECOND_NS)
    begin(lab, "two", share=2, within_ns=5 * SECOND_NS)
    lab.until(lambda: windows(lab, "one", "two", "four") == [8, 16, 32], at_most_ns=10 * SECOND_NS)


def test_a_job_of_a_higher_priority_has_what_it_wants_and_the_others_what_is_left() -> None:
    lab = plain(ports=32)
    for name in ("low", "lower"):
        begin(lab, name, share=16, within_ns=3 * SECOND_NS)
    high = begin(lab, "high", priority=1, within_ns=5 * SECOND_NS)
    lab.until(lambda: windows(lab, "low", "lower", "high") == [16, 16, 32], at_most_ns=10 * SECOND_NS)
    begin(lab, "highest", priority=2, within_ns=5 * SECOND_NS)
    lab.until(lambda: windows(lab, "low", "lower", "high", "highest") == [8, 8, 16, 32], at_most_ns=10 * SECOND_NS)
    for rank in high:
        rank.leave("high")
    lab.until(lambda: windows(lab, "low", "lower", "highest") == [16, 16, 32], at_most_ns=10 * SECOND_NS)


def test_eight_jobs_fit_and_a_ninth_is_refused_whatever_its_priority() -> None:
    lab = plain(ports=32)
    names = [f"job {number}" for number in range(8)]
    for name in names:
        begin(lab, name, within_ns=5 * SECOND_NS)
    lab.until(lambda: windows(lab, *names) == [8] * 8, at_most_ns=10 * SECOND_NS)
    ninth = lab.group(2, "ninth", priority=100)
    lab.until(lambda: bool(ninth[0].places["ninth"].refusals), at_most_ns=5 * SECOND_NS)
    assert "fewer than 8 of the aggregator's 64 slots are free" in ninth[0].places["ninth"].refusals[0].text
    assert [rank.places[name].cause for rank in lab.ranks for name in rank.places if name != "ninth"] == [None] * 16


def test_a_job_that_dies_gives_its_slots_back_before_its_ranks_have_gone() -> None:
    lab = plain()
    one = begin(lab, "one")
    one[0].kill()
    lab.until(lambda: one[1].places["one"].cause is not None, at_most_ns=20 * SECOND_NS)
    assert lab.core.world.slots.free == 64
    begin(lab, "two")
    assert windows(lab, "two") == [64]


def test_a_job_waits_for_a_lender_that_is_away_and_has_the_slots_when_it_is_back() -> None:
    lab = plain()
    one = begin(lab, "one")
    lab.disconnect(one[0])  # it connects again within a second
    begin(lab, "two", within_ns=5 * SECOND_NS)
    lab.until(lambda: windows(lab, "one", "two") == [32, 32], at_most_ns=10 * SECOND_NS)


def test_a_job_whose_rank_has_left_keeps_its_slots_and_others_are_refused() -> None:
    """It cannot begin another epoch."""
    lab = plain()
    one = begin(lab, "one")
    one[0].leave("one")
    lab.run(10 * SECOND_NS)
    two = lab.group(2, "two")
    lab.until(lambda: bool(two[0].places["two"].refusals), at_most_ns=5 * SECOND_NS)
    assert windows(lab, "one") == [64]


@pytest.mark.parametrize("loses_state", [False, True])
def test_shares_and_windows_outlive_the_controller(loses_state: bool) -> None:
    lab = plain()
    begin(lab, "one")
    begin(lab, "three", share=4, priority=-1, within_ns=3 * SECOND_NS)
    begin(lab, "two", share=2, priority=-1, within_ns=5 * SECOND_NS)
    expected = {"one": (32, 1, 0), "two": (8, 2, -1), "three": (16, 4, -1)}

    def held() -> dict[str, tuple[int, int, int]]:
        return {job.label: (job.window, job.share, job.priority) for job in lab.core.world.jobs.values()}

    lab.until(lambda: held() == expected, at_most_ns=10 * SECOND_NS)
    lab.run(2 * SECOND_NS)
    epochs = len(lab.epochs)
    lab.kill_controller()
    if loses_state:
        lab.lose_state_file()
    lab.start_controller()
    lab.run(20 * SECOND_NS)
    assert held() == expected
    assert len(lab.epochs) == (epochs if not loses_state else len(lab.epochs)), "nothing has changed"
    assert all(place.cause is None for rank in lab.ranks for place in rank.places.values())


def test_ranks_that_disagree_on_share_or_priority_are_refused() -> None:
    lab = plain()
    first, second = lab.rank(), lab.rank()
    first.join("world", 0, 2, share=2)
    lab.run(SECOND_NS)
    place = second.join("world", 1, 2, priority=3)
    lab.run(SECOND_NS)
    text = "rank 1 has share 1 and priority 3, others have share 2 and priority 0"
    assert [text in refusal.text for refusal in place.refusals] == [True]
