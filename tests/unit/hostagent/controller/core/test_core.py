"""The controller's core in virtual time: what happens to jobs, one story a test."""

from __future__ import annotations

import re
from functools import partial

import pytest

from hostagent.controller.core.lifecycle import TRANSITIONS, IllegalTransition, JobEvent, JobState, next_state
from hostagent.controller.core.model import SECOND_NS, Capacity
from hostagent.controller.core.ports import offer_from
from hostagent.controller.core.slots import SMALLEST_WINDOW, SlotAllocator
from hostagent.controller.reporting import status
from hostagent.protocol.services import session_pb2 as pb
from tests.labs.controller import CAPACITY, Laboratory, Rank

TEN_SECONDS_NS = 10 * SECOND_NS


def leased(ranks: list[Rank], group: str = "world") -> bool:
    return all(rank.places[group].lease is not None for rank in ranks)


def running(lab: Laboratory, ranks: list[Rank], group: str = "world") -> list[pb.Lease]:
    lab.until(lambda: leased(ranks, group))
    leases = [rank.places[group].lease for rank in ranks]
    return [lease for lease in leases if lease is not None]


def causes(ranks: list[Rank], group: str = "world") -> list[str | None]:
    return [rank.places[group].cause for rank in ranks]


# --- beginning ---


def test_a_job_is_leased_when_all_have_joined_and_known_to_the_aggregator() -> None:
    lab = Laboratory()
    ranks = lab.group(4)
    leases = running(lab, ranks)
    assert [lease.child for lease in leases] == [0, 1, 2, 3]
    entries = lab.aggregator[leases[0].job]
    assert {lease.epoch for lease in leases} == {entries.epoch}
    assert [child.port for child in entries.children] == [1, 2, 3, 4]
    assert entries.window == 256, "the largest that is allowed"


@pytest.mark.parametrize(
    ("damaging", "capacity", "needs_checksums"),
    [
        ("", Capacity(512, 64, 64, forwards_messages=True, aggregator="a switch"), False),
        ("?corrupt=0.1", Capacity(512, 64, 64, forwards_messages=True), True),
        ("", Capacity(512, 64, 64, message_checksum=True), True),
    ],
)
def test_a_lease_says_whether_messages_are_forwarded_and_need_checksums(
    damaging: str, capacity: Capacity, needs_checksums: bool
) -> None:
    lab = Laboratory(ports=3, capacity=capacity)
    if damaging:
        lab.offers = (*lab.offers[:2], offer_from(f"3=shm:p3{damaging}"))
        lab.start_controller()
    leases = running(lab, lab.group(3))
    assert [lease.zero_checksum_allowed for lease in leases] == [True, True, not damaging]
    for lease in leases:
        assert lease.message_checksum == needs_checksums
        assert lease.forwards_messages == capacity.forwards_messages
        assert lease.aggregator == capacity.aggregator


def test_the_missing_ranks_are_named_at_the_time_out_and_may_still_come() -> None:
    lab = Laboratory()
    first, last = lab.rank(), lab.rank()
    first.join("world", 0, 4)
    last.join("world", 3, 4)
    first.lease("world", timeout_ns=3 * SECOND_NS)
    lab.run(4 * SECOND_NS)
    (refusal,) = first.places["world"].refusals
    assert refusal.reason == pb.Refused.MISSING_RANKS
    assert list(refusal.missing_ranks) == [1, 2]
    assert "ranks 1, 2 of group 'world' did not join in time (of 4 ranks)" in refusal.text
    middle = [lab.rank(), lab.rank()]
    for number, rank in enumerate(middle, 1):
        rank.join("world", number, 4)
    for rank in (first, *middle, last):
        rank.lease("world")
    running(lab, [first, *middle, last])


def test_a_rank_that_leaves_before_the_others_have_come_does_not_split_the_job() -> None:
    """As one does that has nothing to send or to receive in a group of messages."""
    lab = Laboratory()
    early, *others = lab.rank(), lab.rank(), lab.rank()
    early.join("world", 2, 3)
    others[0].join("world", 0, 3)
    lab.run(SECOND_NS)
    early.leave("world")
    lab.run(SECOND_NS)
    others[1].join("world", 1, 3)
    lab.run(SECOND_NS)
    assert others[0].places["world"].job == others[1].places["world"].job
    for other in others:
        other.lease("world")
    running(lab, others)
    assert [other.places["world"].peers_left for other in others] == [{2: 0}, {2: 0}]


def test_ranks_may_come_when_all_who_were_there_have_left() -> None:
    lab = Laboratory()
    early, *others = lab.rank(), lab.rank(), lab.rank()
    early.join("world", 2, 3)
    lab.run(SECOND_NS)
    number = early.places["world"].job
    early.leave("world")
    lab.run(60 * SECOND_NS)
    for rank, other in enumerate(others):
        other.join("world", rank, 3)
        lab.run(SECOND_NS)
        other.lease("world")
    running(lab, others)
    assert [other.places["world"].job for other in others] == [number, number]
    assert [other.places["world"].peers_left for other in others] == [{2: 0}, {2: 0}]


def test_a_job_without_members_is_kept_for_ten_minutes() -> None:
    lab = Laboratory()
    early, late = lab.rank(), lab.rank()
    early.join("world", 0, 2)
    lab.run(SECOND_NS)
    early.leave("world")
    lab.run(599 * SECOND_NS)
    assert len(lab.core.world.jobs) == 1
    assert not status(lab.core.world, "").jobs
    lab.run(3 * SECOND_NS)
    assert lab.core.world.jobs == {}
    late.join("world", 1, 2)
    lab.run(SECOND_NS)
    assert late.places["world"].job != early.places["world"].job


def test_an_aggregator_that_never_came_is_named_at_the_time_out() -> None:
    lab = Laboratory()
    lab.break_aggregator()
    rank = lab.rank()
    rank.join("world", 0, 1)
    rank.lease("world", timeout_ns=SECOND_NS)
    lab.run(2 * SECOND_NS)
    (refusal,) = rank.places["world"].refusals
    assert refusal.reason == pb.Refused.UNAVAILABLE
    assert "cannot be reached: the stream broke" in refusal.text


def test_more_than_64_ranks_are_refused() -> None:
    lab = Laboratory()
    place = lab.rank().join("world", 0, 65)
    lab.run(SECOND_NS)
    assert "serves 1 to 64" in place.refusals[0].text


def test_slots_run_out_with_an_error_that_names_the_job_and_who_has_them() -> None:
    lab = Laboratory(ports=64, capacity=Capacity(slots=16, lanes=64, rows=64))
    first, second = lab.group(1, "first"), lab.group(1, "second")
    running(lab, first, "first")
    running(lab, second, "second")
    (third,) = lab.group(1, "third")
    lab.until(lambda: bool(third.places["third"].refusals))
    refusal = third.places["third"].refusals[0]
    assert refusal.reason == pb.Refused.EXHAUSTED
    assert "('third', 1 ranks)" in refusal.text
    assert "'first' has 8, 'second' has 8" in refusal.text
    assert causes(first, "first") == [None]


def test_slots_of_a_group_that_is_being_left_are_waited_for() -> None:
    lab = Laboratory(capacity=Capacity(slots=16, lanes=64, rows=64))
    ranks = lab.group(2, "first")
    running(lab, ranks, "first")
    lab.group(2, "second", ranks)
    running(lab, ranks, "second")
    ranks[0].leave("first")
    lab.run(SECOND_NS)
    lab.group(2, "third", ranks)
    lab.run(SECOND_NS)
    assert not leased(ranks, "third")
    assert not ranks[0].places["third"].refusals
    ranks[1].leave("first")
    assert lab.until(lambda: leased(ranks, "third")) < SECOND_NS
    ranks[0].leave("second")  # and the other one stays
    lab.group(2, "fourth", ranks)
    lab.until(lambda: bool(ranks[0].places["fourth"].refusals))
    refusal = ranks[0].places["fourth"].refusals[0].text
    assert "fewer than 8 of the aggregator's 16 slots are free: close process groups" in refusal


def test_an_aggregator_without_slots_for_any_job_says_what_to_start_it_with() -> None:
    lab = Laboratory(capacity=Capacity(slots=4, lanes=64, rows=64))
    ranks = lab.group(2, "first")
    lab.until(lambda: bool(ranks[0].places["first"].refusals))
    assert "4 slots are free: start with more --slots, or with --overflow" in ranks[0].places["first"].refusals[0].text


@pytest.mark.parametrize(("slots", "most", "jobs"), [(2048, 128, 44), (512, 128, 27), (4096, 256, 51)])
def test_of_windows_for_life_the_first_is_large_and_there_is_room_for_many(slots: int, most: int, jobs: int) -> None:
    allocator = SlotAllocator(slots, most)
    runs = [allocator.lease_for_life() for _ in range(jobs)]
    assert allocator.lease_for_life() is None
    windows = [run.count for run in runs if run is not None]
    assert len(windows) == jobs
    assert windows[0] == min(most, slots // 4)
    assert windows == sorted(windows, reverse=True)
    assert windows[-1] == SMALLEST_WINDOW


def test_ports_run_out_with_an_error_that_names_the_rank() -> None:
    lab = Laboratory(ports=2)
    ranks = lab.group(3)
    lab.until(lambda: all(rank.places["world"].refusals for rank in ranks))
    for rank in ranks:
        assert "rank 2" in rank.places["world"].refusals[0].text
        assert "no port left: 2 are configured, 2 in use" in rank.places["world"].refusals[0].text


def test_ports_in_shared_memory_are_not_for_another_machine() -> None:
    lab = Laboratory()
    lab.group(2, "world", ranks := [lab.rank(), lab.rank(host="there")])
    lab.until(lambda: all(rank.places["world"].refusals for rank in ranks))
    text = ranks[0].places["world"].refusals[0].text
    assert re.search(r"rank 1 \(process \d+ on there\): no port left: 8 are configured, 1 in use", text)
    assert text.endswith("(shm ports are for processes on here alone)")


def test_two_groups_of_one_process_share_its_port_and_have_their_own_slots() -> None:
    lab = Laboratory()
    ranks = lab.group(4)
    world = running(lab, ranks)
    lab.group(2, "pair", ranks[2:])
    pair = running(lab, ranks[2:], "pair")
    assert [lease.port for lease in pair] == [lease.port for lease in world[2:]]
    assert pair[0].first_slot >= world[0].first_slot + world[0].window
    assert pair[0].row != world[0].row
    assert pair[0].epoch != world[0].epoch


def test_what_makes_a_groups_name_unique_is_not_shown() -> None:
    lab = Laboratory()
    group = "ddp.3." + "0123456789abcdef" * 2
    rank = lab.rank()
    rank.join(group, 0, 2)
    rank.lease(group, timeout_ns=SECOND_NS)
    lab.run(2 * SECOND_NS)
    assert "rank 1 of group 'ddp' did not join" in rank.places[group].refusals[0].text


# --- ending ---


def test_leaving_lingers_until_everyone_left_and_returns_the_slots() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    running(lab, ranks)
    ranks[0].leave("world")
    lab.run(SECOND_NS)
    assert not ranks[0].places["world"].left
    assert ranks[1].places["world"].peers_left == {0: 0}
    ranks[1].leave("world")
    ranks[2].leave("world")
    lab.until(lambda: all(rank.places["world"].left for rank in ranks))
    assert lab.core.world.slots.free == 512
    assert not lab.core.world.jobs
    assert not lab.aggregator


def test_lingering_is_bounded() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    ranks[0].leave("world")
    assert lab.until(lambda: ranks[0].places["world"].left) <= 5 * SECOND_NS + SECOND_NS
    assert causes(ranks) == [None, None]


def test_a_process_that_exits_while_it_lingers_is_no_failure() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    ranks[0].leave("world")
    lab.run(SECOND_NS)
    ranks[0].kill()
    lab.run(TEN_SECONDS_NS)
    assert causes(ranks[1:]) == [None]


def test_a_killed_rank_is_named_to_all_others_within_ten_seconds() -> None:
    lab = Laboratory()
    ranks = lab.group(4)
    running(lab, ranks)
    lab.run(3 * SECOND_NS)
    ranks[2].kill()
    took_ns = lab.until(lambda: all(cause for cause in causes([*ranks[:2], ranks[3]])))
    assert took_ns <= TEN_SECONDS_NS
    assert "rank 2 of group 'world'" in str(causes(ranks)[0])
    assert "has died" in str(causes(ranks)[0])


def test_a_stopped_rank_is_named_by_its_silence_within_ten_seconds() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    running(lab, ranks)
    lab.run(3 * SECOND_NS)
    ranks[1].stop()
    assert lab.until(lambda: causes([ranks[0], ranks[2]]).count(None) == 0) <= TEN_SECONDS_NS
    assert "rank 1" in str(causes(ranks)[0])
    assert "has not been heard of for 5 s" in str(causes(ranks)[0])


@pytest.mark.parametrize(("port", "stays_taken"), [("udp:10.0.0.1:{n}", False), ("shm:p{n}", True)])
def test_ports_of_a_silent_process_are_free_unless_they_are_its_memory(port: str, stays_taken: bool) -> None:
    """A lost machine closes no stream; its ranks' places must not stay taken for those that replace them."""
    lab = Laboratory(ports=4, port=port)
    ranks = lab.group(4)
    running(lab, ranks)
    lab.run(3 * SECOND_NS)
    for rank in ranks[2:]:
        rank.stop()
    lab.until(lambda: None not in causes(ranks[:2]))
    lab.run(SECOND_NS)
    owned = {ranks[2].token, ranks[3].token} & set(lab.core.world.ports.owner.values())
    assert len(owned) == 2 * stays_taken
    if not stays_taken:
        again = lab.group(4, "again", [*ranks[:2], lab.rank(), lab.rank()])
        running(lab, again, "again")
    for rank in ranks[2:]:
        rank.go_on()
    lab.run(5 * SECOND_NS)
    if (
        not stays_taken
    ):  # told on their new streams, though the others' job is over; messages to memory's were lost here
        assert {cause for cause in causes(ranks[2:])} == {causes(ranks)[0]}
        assert causes(again, "again") == [None] * 4


def test_a_rank_with_heartbeats_lives_though_its_session_thread_hangs() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    ranks[1].answering = False  # the GIL is held; the compiled loop beats on
    lab.run(8 * SECOND_NS)
    ranks[1].answering = True
    lab.run(TEN_SECONDS_NS)
    assert causes(ranks) == [None, None]


def test_a_broken_stream_with_heartbeats_is_no_death() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    for _ in range(5):
        lab.disconnect(ranks[1])
        lab.run(3 * SECOND_NS)
    assert causes(ranks) == [None, None]


def test_a_controller_that_stood_still_blames_nobody() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    lab.run(3 * SECOND_NS)
    lab.core.timer(lab.now_ns + 20 * SECOND_NS)  # nothing was processed meanwhile, heartbeats neither
    lab.now_ns += 20 * SECOND_NS
    lab.run(3 * SECOND_NS)
    assert causes(ranks) == [None, None]


def test_an_idle_process_without_a_lease_need_not_beat() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    for rank in ranks:
        rank.leave("world")
    lab.run(60 * SECOND_NS)
    lab.group(2, "again", ranks)
    running(lab, ranks, "again")
    lab.run(60 * SECOND_NS)
    assert causes(ranks, "again") == [None, None]


def test_a_session_that_ends_without_leaving_fails_the_job_at_once() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    ranks[0].goodbye()
    assert lab.until(lambda: causes(ranks)[1] is not None) < SECOND_NS
    assert "ended its session without leaving" in str(causes(ranks)[1])


def test_the_first_cause_is_kept_and_told_to_every_rank() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    running(lab, ranks)
    ranks[1].fail("world", "operation 7 timed out, waiting for rank 2", ending=pb.Failed.TIMEOUT)
    lab.until(lambda: None not in causes(ranks))
    ranks[0].fail("world", "something else", ending=pb.Failed.REFUSED)
    ranks[2].kill()
    lab.run(TEN_SECONDS_NS)
    assert len(set(causes(ranks))) == 1
    assert "operation 7 timed out, waiting for rank 2" in str(causes(ranks)[0])
    assert {rank.places["world"].ending for rank in ranks[:2]} == {pb.Failed.TIMEOUT}


def test_the_drivers_diagnosis_comes_before_a_ranks_own() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    lab.core.delivery_problem(99, "of a job that is over")
    lab.core.delivery_problem(next(iter(lab.core.world.jobs)), "the cable to rack 1 is dead")
    ranks[1].fail("world", "rank 1 waited 9 s, to which rank 0 had not contributed")
    lab.until(lambda: None not in causes(ranks))
    assert all(re.match(r"the cable to rack 1 is dead\. So rank 1 .* had not", str(cause)) for cause in causes(ranks))


def test_a_mismatch_names_both_operations_on_every_rank() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    running(lab, ranks)
    ranks[0].descriptions[1] = "allreduce(10 x float32)"
    ranks[2].descriptions[2] = "barrier()"
    mismatch = pb.Mismatch(first_hash=1, first_child=0, second_hash=2, second_child=2)
    for rank in ranks:
        rank.fail("world", "error frame", mismatch)
    lab.until(lambda: None not in causes(ranks))
    assert "rank 0 called allreduce(10 x float32), but rank 2 called barrier()" in str(causes(ranks)[1])
    assert {rank.places["world"].ending for rank in ranks} == {pb.Failed.MISMATCH}


def test_a_mismatch_with_a_rank_that_does_not_answer_is_bounded() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    running(lab, ranks)
    ranks[0].descriptions[1] = "allreduce(10 x float32)"
    ranks[2].answering = False
    ranks[1].fail("world", "x", pb.Mismatch(first_hash=1, first_child=0, second_hash=0xABC, second_child=2))
    assert lab.until(lambda: None not in causes(ranks[:2])) <= 5 * SECOND_NS
    assert "rank 2 called an unknown operation (00000abc)" in str(causes(ranks)[0])


def test_one_job_failing_does_not_touch_another() -> None:
    lab = Laboratory()
    red, blue = lab.group(2, "red"), lab.group(2, "blue")
    running(lab, red, "red")
    (blue_epoch,) = {lease.epoch for lease in running(lab, blue, "blue")}
    red[0].kill()
    lab.until(lambda: causes(red, "red")[1] is not None)
    red[1].leave("red")
    lab.until(lambda: len(lab.core.world.jobs) == 1)
    lab.run(SECOND_NS)
    assert causes(blue, "blue") == [None, None]
    assert {entries.epoch for entries in lab.aggregator.values()} == {blue_epoch}


def test_a_rank_that_comes_back_is_a_new_job() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    old = running(lab, ranks)[0]
    ranks[1].kill()
    lab.until(lambda: causes(ranks)[0] is not None)
    again = lab.group(2)
    new = running(lab, again)[0]
    assert new.job != old.job
    assert new.epoch > old.epoch


def test_a_port_is_free_again_when_its_process_has_gone() -> None:
    lab = Laboratory(ports=2)
    running(lab, lab.group(2))
    for rank in lab.ranks:
        rank.leave("world")
    lab.run(SECOND_NS)
    for rank in lab.ranks:
        rank.goodbye()
    lab.run(SECOND_NS)
    running(lab, lab.group(2, "next"), "next")


def test_a_port_is_free_again_when_its_process_has_left_a_group_that_not_all_have_joined() -> None:
    """The group itself is kept for those who may come."""
    lab = Laboratory(ports=2)
    old = lab.group(2)
    running(lab, old)
    old[0].join("pair", 0, 2)
    lab.run(SECOND_NS)
    for rank, group in ((old[0], "pair"), (old[0], "world"), (old[1], "world")):
        rank.leave(group)
    lab.run(SECOND_NS)
    for rank in old:
        rank.goodbye()
    lab.run(SECOND_NS)
    running(lab, lab.group(2, "next"), "next")
    assert "pair" in [job.label for job in lab.core.world.jobs.values()]


def test_ports_of_processes_that_are_away_are_waited_for() -> None:
    lab = Laboratory(ports=2)
    old = lab.group(2)
    running(lab, old)
    for rank in old:
        rank.leave("world")
    lab.run(SECOND_NS)
    for rank in old:
        rank.kill()  # their sessions are forgotten only after a grace time
    running(lab, lab.group(2, "next"), "next")


def test_ports_of_ended_processes_are_free_after_a_controller_restart() -> None:
    lab = Laboratory(ports=2)
    old = lab.group(2)
    running(lab, old)
    for rank in old:
        rank.leave("world")
        lab.run(SECOND_NS)
        rank.goodbye()
    lab.run(SECOND_NS)
    lab.kill_controller()
    lab.start_controller()
    assert not lab.core.world.ports.owner
    running(lab, lab.group(2, "next"), "next")


# --- restarts of the aggregator ---


def test_a_restart_resumes_all_ranks_under_a_new_epoch() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    old = running(lab, ranks)[0].epoch
    for rank, progress in zip(ranks, (70, 64, 90), strict=True):
        rank.places["world"].progress = progress
    lab.break_aggregator()
    lab.run(2 * SECOND_NS)
    lab.mend_aggregator()
    lab.until(lambda: all(rank.places["world"].resumed for rank in ranks))
    ((epoch, base),) = {rank.places["world"].resumed[-1] for rank in ranks}
    assert epoch > old
    assert base == 64
    assert lab.aggregator[ranks[0].places["world"].job].base == 64


def test_a_glitch_that_loses_nothing_stops_nobody() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    lab.core.aggregator_lost("glitch", lab.now_ns)
    lab.core.aggregator_ready(CAPACITY, False, lab.now_ns)
    lab.run(SECOND_NS)
    assert [rank.places["world"].resumed for rank in ranks] == [[], []]
    assert not any(rank.places["world"].frozen for rank in ranks)


def test_an_aggregator_that_stays_away_is_an_error_within_a_bound() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    lab.break_aggregator()
    lab.until(lambda: None not in causes(ranks), 62 * SECOND_NS)
    assert "the aggregator has been away for 60 s: the stream broke" in str(causes(ranks)[0])


def test_a_rank_that_does_not_freeze_is_named_within_a_bound() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    running(lab, ranks)
    ranks[1].answering = False
    lab.break_aggregator()
    lab.mend_aggregator()
    lab.until(lambda: causes(ranks)[0] is not None, 32 * SECOND_NS)
    assert "rank 1" in str(causes(ranks)[0])
    assert "did not answer within 30 s" in str(causes(ranks)[0])


def test_a_failed_job_is_not_resumed() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    ranks[0].fail("world", "over")
    lab.until(lambda: None not in causes(ranks))
    told = len(lab.epochs)
    lab.break_aggregator()
    lab.mend_aggregator()
    lab.run(5 * SECOND_NS)
    assert len(lab.epochs) == told


def test_a_restart_while_a_rank_lingers_needs_it_still() -> None:
    lab = Laboratory()
    ranks = lab.group(2)
    running(lab, ranks)
    ranks[0].places["world"].progress = 10
    ranks[1].places["world"].progress = 7
    ranks[0].leave("world")
    lab.run(SECOND_NS)
    lab.break_aggregator()
    lab.mend_aggregator()
    lab.until(lambda: all(rank.places["world"].resumed for rank in ranks))
    assert ranks[0].places["world"].resumed[-1][1] == 7


def test_a_restart_after_a_rank_was_released_fails_only_if_it_is_needed() -> None:
    for progress, works in ((10, True), (7, False)):
        lab = Laboratory()
        ranks = lab.group(2)
        running(lab, ranks)
        ranks[0].places["world"].progress = 10
        ranks[1].places["world"].progress = progress
        ranks[0].leave("world")
        lab.until(partial(getattr, ranks[0].places["world"], "left"))
        lab.break_aggregator()
        lab.mend_aggregator()
        lab.run(5 * SECOND_NS)
        assert bool(ranks[1].places["world"].resumed) is works
        assert (causes(ranks)[1] is None) is works
        if not works:
            assert "rank 0 had left" in str(causes(ranks)[1])


# --- restarts of the controller ---


def test_a_controller_killed_and_back_changes_nothing_for_the_ranks() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    before = running(lab, ranks)[0].epoch
    lab.kill_controller()
    lab.run(10 * SECOND_NS)
    lab.start_controller()
    lab.run(20 * SECOND_NS)
    assert causes(ranks) == [None] * 3
    assert [rank.places["world"].resumed for rank in ranks] == [[], [], []]
    assert {entries.epoch for entries in lab.aggregator.values()} == {before}
    lab.group(3, "second", ranks)
    assert running(lab, ranks, "second")[0].epoch > before


def test_a_rank_that_died_with_the_controller_is_named_within_10_s() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    running(lab, ranks)
    lab.kill_controller()
    ranks[1].kill()
    lab.run(5 * SECOND_NS)
    lab.start_controller()
    assert lab.until(lambda: None not in causes([ranks[0], ranks[2]])) <= TEN_SECONDS_NS + SECOND_NS
    assert "rank 1" in str(causes(ranks)[0])


def test_switch_and_controller_lost_together_resume() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    running(lab, ranks)
    for rank, progress in zip(ranks, (7, 9, 8), strict=True):
        rank.places["world"].progress = progress
    lab.kill_controller()
    lab.break_aggregator()
    lab.run(SECOND_NS)
    lab.aggregator_up = True
    lab.start_controller()
    lab.until(lambda: all(rank.places["world"].resumed for rank in ranks))
    assert {rank.places["world"].resumed[-1][1] for rank in ranks} == {7}


def test_a_lost_state_file_is_rebuilt_from_the_ranks() -> None:
    lab = Laboratory()
    ranks = lab.group(3)
    lease = running(lab, ranks)[0]
    for rank, progress in zip(ranks, (7, 9, 8), strict=True):
        rank.places["world"].progress = progress
    lab.kill_controller()
    lab.lose_state_file()
    lab.start_controller()
    lab.until(lambda: all(rank.places["world"].resumed for rank in ranks))
    ((epoch, base),) = {rank.places["world"].resumed[-1] for rank in ranks}
    assert epoch not in lab.epochs[:-1]
    assert base == 7
    assert lab.core.world.jobs[lease.job].first_slot == lease.first_slot


# --- the table ---


def test_a_move_that_the_table_does_not_have_raises() -> None:
    for state in JobState:
        for event in JobEvent:
            if (state, event) not in TRANSITIONS:
                with pytest.raises(IllegalTransition, match=state.value):
                    next_state(state, event)


def test_every_state_can_be_reached_and_nothing_leaves_failed() -> None:
    assert {after for _, after in TRANSITIONS.items()} | {JobState.GATHERING} == set(JobState)
    assert not any(before is JobState.FAILED for before, _ in TRANSITIONS)
