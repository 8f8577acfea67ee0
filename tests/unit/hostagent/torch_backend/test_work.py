"""Works and futures: time-outs, failures, callbacks that start further collectives."""

from __future__ import annotations

import gc
import weakref
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from hostagent.torch_backend import plans
from hostagent.torch_backend.errors import NetsumError, OperationTimeoutError
from hostagent.torch_backend.group import HELD_OUTPUTS
from hostagent.torch_backend.work import SMALL_OUTPUT_BYTES
from tests.labs.torch_ranks import make_groups, run_ranks


def start(group, tensor, timeout=None):
    opts = dist.AllreduceOptions()
    if timeout is not None:
        opts.timeout = timeout
    return group.allreduce([tensor], opts)


def test_a_wait_with_a_time_out_leaves_the_operation_running():
    first, second = make_groups(2)
    tensor = torch.ones(2)
    work = start(first, tensor)
    with pytest.raises(OperationTimeoutError, match=r"all_reduce\(SUM, float32, 2 elements\).*0.01 s.*goes on"):
        work.wait(timedelta(milliseconds=10))
    assert not work.is_completed()
    start(second, torch.ones(2))
    assert work.wait(timedelta(seconds=20))
    assert torch.equal(tensor, torch.full((2,), 2.0))


def test_the_operations_own_time_out_ends_the_job_and_names_who_is_missing():
    first, second = make_groups(2)
    work = start(first, torch.ones(2), timedelta(milliseconds=20))
    with pytest.raises(OperationTimeoutError, match=r"missing|\[1\]"):
        work.wait()
    with pytest.raises(NetsumError, match="timed out"):
        start(second, torch.ones(2))
    assert isinstance(work.exception(), OperationTimeoutError)


def test_the_groups_time_out_holds_where_the_call_has_none():
    first, _ = make_groups(2, timedelta(milliseconds=20))
    with pytest.raises(OperationTimeoutError, match=r"after 0\.02 s"):
        start(first, torch.ones(1)).wait()


def test_a_future_carries_the_output_tensors():
    def body(group, rank):
        tensor = torch.full((3,), float(rank))
        return start(group, tensor).get_future().then(lambda future: future.value()[0] * 2).wait()

    assert all(torch.equal(value, torch.full((3,), 2.0)) for value in run_ranks(body, 2))


def test_a_failed_operation_fails_its_future_with_the_same_text():
    first, _ = make_groups(2)
    work = start(first, torch.ones(1), timedelta(milliseconds=20))
    with pytest.raises(Exception, match=r"timed out after 0.02 s"):
        work.get_future().wait()


def test_callbacks_may_start_and_wait_for_further_collectives():
    """More of them at a time than there are completing threads to begin with."""

    def body(group, rank):
        def again(future):
            start(group, tensor := torch.ones(1)).wait()
            return tensor + future.value()[0]

        futures = [start(group, torch.ones(1)).get_future().then(again) for _ in range(5)]
        return [future.wait().item() for future in futures]

    assert run_ranks(body, 2) == [[4.0] * 5] * 2


def test_a_callback_that_blocks_does_not_hold_up_later_futures():
    first, second = make_groups(2)
    early, late = start(first, torch.ones(1)), start(first, torch.ones(1))

    def wait_for_the_later_one(future):
        return late.get_future().wait()[0]

    chained = early.get_future().then(wait_for_the_later_one)
    start(second, torch.ones(1))
    start(second, torch.ones(1))
    assert chained.wait().item() == 2.0


def test_tensors_are_let_go_once_the_operation_has_finished():
    [group] = make_groups(1)
    tensor = torch.ones(SMALL_OUTPUT_BYTES)
    gone = weakref.ref(tensor)
    work = start(group, tensor)
    work.get_future().wait()
    assert work.result()[0] is tensor
    del tensor
    gc.collect()
    assert gone() is None
    assert work.result() == []


def test_a_future_after_the_wait_has_a_small_result_that_only_the_handle_holds():
    [group] = make_groups(1)
    works = [start(group, torch.tensor([float(number)])) for number in range(HELD_OUTPUTS + 2)]
    for work in works:
        work.wait()
    gc.collect()
    values = [work.get_future().value() for work in works + works]
    assert [tensor.item() for [tensor] in values] == 2 * list(range(HELD_OUTPUTS + 2))


def test_a_work_nobody_holds_still_finishes():
    def body(group, rank):
        tensor = torch.ones(2).expand(2).clone()
        start(group, tensor)
        gc.collect()
        group.barrier().wait()
        return tensor

    assert all(torch.equal(tensor, torch.full((2,), 2.0)) for tensor in run_ranks(body, 2))


def test_an_output_that_cannot_be_written_fails_only_its_own_operation(monkeypatch):
    monkeypatch.setattr(plans, "check_writable", lambda tensor: None)
    [group] = make_groups(1)
    with pytest.raises(NetsumError, match="more than one element"):
        start(group, torch.ones(1).expand(3)).wait()
    assert group.barrier().wait()


def test_abort_ends_the_job_for_all_ranks():
    first, second = make_groups(2)
    work = start(second, torch.ones(1))
    first.abort()
    with pytest.raises(NetsumError, match="rank 0 aborted"):
        work.wait()


def test_a_profile_shows_a_call_until_it_has_finished_as_asynchronous():
    """Also one that has finished before it is watched."""
    [group] = make_groups(1)
    with torch.autograd.profiler.profile() as profile:
        for _ in range(20):
            assert start(group, torch.ones(4)).wait()
        start(group, torch.ones(4)).get_future().wait()
        group.barrier().wait()
    events = [event for event in profile.function_events if event.name == "netsum:all_reduce"]
    assert len(events) == 21
    assert all(event.is_async for event in events)


def test_a_profiled_call_that_fails_raises_its_own_error(monkeypatch):
    monkeypatch.setattr(plans, "check_writable", lambda tensor: None)
    [group] = make_groups(1)
    with torch.autograd.profiler.profile(), pytest.raises(NetsumError, match="more than one element"):
        start(group, torch.ones(1).expand(3)).wait()
