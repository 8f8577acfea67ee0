"""The backend in real processes, over shared memory, through the compiled switch."""

from __future__ import annotations

import re

import pytest

from tests.labs.torch_jobs import ranks, run


def test_every_collective_equals_gloos(controller):
    assert all("all equal" in output for output in run(3, controller, "collectives.py"))


def test_messages_of_every_kind_arrive(controller):
    assert all("all equal" in output for output in run(3, controller, "messages.py"))


@pytest.mark.parametrize("size", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_exact_sums_and_every_reduction(controller, size):
    assert all("all exact" in output for output in run(size, controller, "exact_sums.py"))


@pytest.mark.parametrize("size", [pytest.param(2, marks=pytest.mark.slow), 4])
def test_ddp_trains_as_with_gloo(controller, size):
    assert all("as gloo's" in output for output in run(size, controller, "training.py"))


def test_futures_carry_results_and_callbacks_run(controller):
    run(2, controller, "troubles.py", "futures")


def test_holding_the_gil_for_eight_seconds_is_no_error(controller):
    run(2, controller, "troubles.py", "hold_gil")


def test_a_killed_rank_is_named_within_ten_seconds(controller):
    with ranks(3, controller, "troubles.py", "die") as started:
        ends = [rank.finish() for rank in started]
    assert ends[1][0] == -9
    for number in (0, 2):
        code, output = ends[number]
        assert code == 0, output
        [(seconds, text)] = re.findall(r"after ([0-9.]+) s: (.*)", output)
        assert float(seconds) < 10
        assert "rank 1" in text


def test_a_stalled_rank_is_named_at_the_time_out(controller):
    outputs = run(2, controller, "troubles.py", "stall")
    assert "OperationTimeoutError" in outputs[0]
    assert "Timed out waiting 2000ms: rank 0 had called all_reduce" in outputs[0]
    assert "to which rank 1 had not contributed" in outputs[0]
    assert "to which rank 1 had not contributed" in outputs[1]


def test_a_rank_that_does_not_come_to_a_group_is_named_at_the_groups_time_out(controller):
    outputs = run(2, controller, "troubles.py", "late_group")
    assert re.search(r"OperationTimeoutError: .*Timed out waiting 2000ms: rank 1 of group", outputs[0]), outputs[0]


def test_a_rank_killed_in_the_middle_of_messages_is_named(controller):
    with ranks(3, controller, "troubles.py", "die_in_messages") as started:
        ends = [rank.finish() for rank in started]
    for number in (0, 2):
        code, output = ends[number]
        assert code == 0, output
        assert "rank 1" in output


def test_a_receive_that_nobody_sends_names_peer_and_tag(controller):
    outputs = run(2, controller, "troubles.py", "unsent")
    assert "recv(float32, 10 elements, from rank 1, tag 3): rank 1 has sent no message that it matches" in outputs[0]
    assert "recv(float32, 10 elements, from rank 1, tag 3)" in outputs[1]


def test_a_brief_wait_leaves_the_operation_running(controller):
    outputs = run(2, controller, "troubles.py", "wait_briefly")
    assert "has not finished within the 0.2 s of this wait" in outputs[0]
    assert "still running" in outputs[0]


def test_ranks_that_disagree_are_told_both_operations(controller):
    for output in run(2, controller, "troubles.py", "disagree"):
        assert "all_reduce(SUM, float32, 10 elements)" in output
        assert "all_reduce(SUM, float32, 11 elements)" in output


def test_a_rank_that_never_joins_is_named(controller):
    with ranks(3, controller, "troubles.py", "never_joins") as started:
        outputs = [rank.finish()[1] for rank in started[:2]]
    assert all(
        re.search(r"Timed out: rank \d waited 4 s for 3 ranks .*, and rank 2 did not", output) for output in outputs
    ), outputs


def test_refusals_leave_the_group_usable(controller):
    for output in run(2, controller, "troubles.py", "refuse"):
        assert "BAND" in output
        assert ".to_dense()" in output
        assert "end of script" in output
