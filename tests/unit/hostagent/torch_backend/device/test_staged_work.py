"""Calls on tensors of a device: results, order of copies, host memory, errors; on a device that is lazy or eager."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import torch
import torch.distributed as dist

from hostagent.torch_backend import plans
from hostagent.torch_backend.device import accelerator, staged_work, transfer
from hostagent.torch_backend.errors import NetsumError, OperationTimeoutError, RefusedError
from hostagent.transport.errors import TransportError
from tests.fakes.fake_accelerator import FakeAccelerator
from tests.labs.torch_ranks import make_groups, run_ranks

LEAST_ELEMENTS = 5000
"""Of a sum that is quantized on the device, here."""
SIZE = 3
SUM = dist.ReduceOp.SUM


@pytest.fixture(params=["lazy", "eager"])
def device(request, monkeypatch):
    made = FakeAccelerator(lazy=request.param == "lazy")
    monkeypatch.setattr(accelerator, "others", [made.find])
    monkeypatch.setattr(transfer, "PIECE_BYTES", 4096)
    monkeypatch.setattr(plans, "LEAST_ELEMENTS", LEAST_ELEMENTS)
    return made


def options(kind, **fields):
    made = kind()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def reduce_options(operator: Any = SUM, **fields):
    return options(dist.AllreduceOptions, reduceOp=operator, **fields)


def produced(device, rank, count=6, dtype=torch.float32):
    """A tensor that the current stream fills when it comes to it: 10 * rank, 10 * rank + 1, ..."""
    tensor = device.tensor(torch.full((count,), 99).to(dtype))
    device.queue(lambda: tensor.copy_(torch.arange(count) % 100 + 10 * rank))
    return tensor


def blank(device, *shape, dtype=torch.float32):
    return device.tensor(torch.zeros(*shape, dtype=dtype))


def ramp(rank, count=6, dtype=torch.float32):
    return (torch.arange(count) % 100 + 10 * rank).to(dtype)


def ramps(count=6, dtype=torch.float32):
    return torch.stack([ramp(rank, count, dtype) for rank in range(SIZE)])


def checked(device, body):
    """Every rank's result of the body; afterwards no host memory is in use."""
    results = run_ranks(body, SIZE)
    assert device.host_memory.in_use == 0
    return results


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.int64, torch.float64])
@pytest.mark.parametrize("count", [1, 6, 3000])
@pytest.mark.parametrize("operator", [SUM, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT])
def test_all_reduce_in_one_or_many_pieces(device, dtype, count, operator):
    if operator == dist.ReduceOp.PRODUCT and device._lazy:
        pytest.skip("calculates with torch's operations, which this device does not queue")

    def body(group, rank):
        tensor = produced(device, rank, count, dtype)
        assert group.allreduce([tensor], reduce_options(operator)).wait()
        return device.read(tensor)

    inputs = ramps(count, dtype)
    expected = {SUM: inputs.sum(0), dist.ReduceOp.MAX: inputs.amax(0), dist.ReduceOp.PRODUCT: inputs.prod(0)}
    for result in checked(device, body):
        assert torch.equal(result, expected[operator].to(dtype))


@pytest.mark.parametrize("operator", [SUM, dist.ReduceOp.AVG])
@pytest.mark.parametrize(
    ("dtype", "packed"),
    [(torch.float32, False), (torch.float16, False), (torch.bfloat16, False), (torch.float16, True)],
)
def test_a_large_sum_of_floats_is_quantized_on_the_device(device, dtype, packed, operator):
    count = LEAST_ELEMENTS + 77

    def body(group, rank):
        group._packed = packed
        tensor = produced(device, rank, count, dtype)
        work = group.allreduce([tensor], reduce_options(operator))
        assert work.wait()
        return device.read(tensor), [operation.describe() for operation in group._channel._hub.seen]

    expected = ramps(count, torch.float64).sum(0) / (SIZE if operator == dist.ReduceOp.AVG else 1)
    for result, _ in checked_with_seen(device, body):
        assert torch.equal(result, expected.to(dtype))
    kinds = {text.partition(",")[0] for text in checked_with_seen(device, body)[0][1]}
    name = "packed " * packed + str(dtype).removeprefix("torch.")
    assert kinds == {f"all_reduce exponents of {name}(MAX", f"all_reduce lanes of {name}(SUM"}


@pytest.mark.parametrize("packed", [False, True])
def test_a_large_reduce_scatter_of_floats_is_quantized_on_the_device(device, packed):
    """Parts that begin and end within chunks; the last piece has the whole part of the last rank."""
    count = LEAST_ELEMENTS // 2 + 77

    def body(group, rank):
        group._packed = packed
        tensor, part = produced(device, rank, SIZE * count, torch.float16), blank(device, count, dtype=torch.float16)
        assert group._reduce_scatter_base(part, tensor, options(dist.ReduceScatterOptions)).wait()
        return device.read(part), [operation.describe() for operation in group._channel._hub.seen]

    whole = ramps(SIZE * count, torch.float64).sum(0).half()
    for rank, (part, seen) in enumerate(checked_with_seen(device, body)):
        assert torch.equal(part, whole[rank * count : (rank + 1) * count])
        assert len(seen) > 2 * SIZE  # pieces
        assert all("exponents" in text or "lanes" in text for text in seen)


def checked_with_seen(device, body):
    """As ``checked``; the hub keeps the operations in ``seen``."""
    from hostagent.transport.loopback import LoopbackHub

    contribute = LoopbackHub.contribute

    def seeing(hub, rank, number, operation):
        hub.seen = [*getattr(hub, "seen", []), operation]
        contribute(hub, rank, number, operation)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoopbackHub, "contribute", seeing)
        return checked(device, body)


def test_hosts_quantize_where_they_are_asked_to(device):
    def body(group, rank):
        group._on_device = False
        tensor = produced(device, rank, LEAST_ELEMENTS)
        group.allreduce([tensor], reduce_options()).wait()
        return device.read(tensor), [operation.describe() for operation in group._channel._hub.seen]

    for result, seen in checked_with_seen(device, body):
        assert torch.equal(result, ramps(LEAST_ELEMENTS).sum(0))
        assert set(seen) == {f"all_reduce(SUM, float32, {LEAST_ELEMENTS} elements)"}


def test_a_sum_with_a_nan_on_one_rank_is_made_by_the_hosts(device):
    count = LEAST_ELEMENTS

    def body(group, rank):
        tensor = blank(device, count)
        device.queue(lambda: tensor.fill_(rank + 1.0))
        if rank == 1:
            device.queue(lambda: tensor[5].fill_(torch.nan))
        group.allreduce([tensor], reduce_options()).wait()
        return device.read(tensor), group._channel._hub.seen[-1].describe()

    for result, last in checked_with_seen(device, body):
        assert result[5].isnan()
        assert torch.equal(result[6:], torch.full((count - 6,), 6.0))
        assert last == f"all_reduce(SUM, float32, {count} elements)"


def test_a_view_and_a_tensor_without_elements(device):
    if device._lazy:
        pytest.skip("a view is made contiguous by an operation of torch, which this device does not queue")

    def body(group, rank):
        whole = blank(device, 4, 6)
        view = whole.t()[1:5:2]
        view += rank + 1
        group.allreduce([view], reduce_options()).wait()
        group.allreduce([blank(device, 0)], reduce_options()).wait()
        return whole

    for whole in checked(device, body):
        assert torch.equal(whole.t()[1:5:2], torch.full((2, 4), 6.0))
        assert whole.sum() == 6.0 * 8


@pytest.mark.parametrize("count", [5, 3000])
def test_moves(device, count):
    def body(group, rank):
        tensor, seen = produced(device, rank, count), []
        group.broadcast([tensor], options(dist.BroadcastOptions, rootRank=1)).wait()
        seen.append(device.read(tensor))
        rows = [blank(device, count) for _ in range(SIZE)]
        group.allgather([rows], [produced(device, rank, count)]).wait()
        seen.append(torch.stack([device.read(row) for row in rows]))
        whole = blank(device, SIZE * count)
        group.all_gather_single(whole, produced(device, rank, count)).wait()
        seen.append(device.read(whole).view(SIZE, count))
        rows = [blank(device, count) for _ in range(SIZE)] if rank == 2 else []
        group.gather(
            [rows] if rows else [], [produced(device, rank, count)], options(dist.GatherOptions, rootRank=2)
        ).wait()
        seen.append(torch.stack([device.read(row) for row in rows]) if rows else None)
        return seen

    for rank, (one, listed, whole, gathered) in enumerate(checked(device, body)):
        assert torch.equal(one, ramp(1, count))
        assert torch.equal(listed, ramps(count))
        assert torch.equal(whole, ramps(count))
        assert gathered is None if rank != 2 else torch.equal(gathered, ramps(count))


def test_exchanges_and_scattered_sums(device):
    def body(group, rank):
        seen = []
        part = blank(device, 2)
        group.reduce_scatter_single(part, produced(device, rank)).wait()
        seen.append(device.read(part))
        part = blank(device, 6)
        group.reduce_scatter([part], [[produced(device, rank) for _ in range(SIZE)]]).wait()
        seen.append(device.read(part))
        parts = [blank(device, 6) for _ in range(SIZE)]
        group.alltoall(parts, [produced(device, 3 * rank + i) for i in range(SIZE)]).wait()
        seen.append(torch.stack([device.read(part) for part in parts]))
        part = blank(device, 6)
        given = [[produced(device, i) for i in range(SIZE)]] if rank == 1 else []
        group.scatter([part], given, options(dist.ScatterOptions, rootRank=1)).wait()
        seen.append(device.read(part))
        tensor = produced(device, rank)
        group.reduce([tensor], options(dist.ReduceOptions, reduceOp=SUM, rootRank=0)).wait()
        seen.append(device.read(tensor))
        return seen

    for rank, (single, scattered, exchanged, own, reduced) in enumerate(checked(device, body)):
        assert torch.equal(single, ramps().sum(0)[2 * rank : 2 * rank + 2])
        assert torch.equal(scattered, ramps().sum(0))
        assert torch.equal(exchanged, torch.stack([ramp(3 * i + rank) for i in range(SIZE)]))
        assert torch.equal(own, ramp(rank))
        assert torch.equal(reduced, ramps().sum(0) if rank == 0 else ramp(rank))


def test_coalesced_calls(device):
    def body(group, rank):
        tensors = [produced(device, rank), produced(device, rank, dtype=torch.int64), produced(device, rank, 2)]
        group.allreduce_coalesced(tensors, options(dist.AllreduceCoalescedOptions, reduceOp=SUM)).wait()
        group._start_coalescing(torch.device("cpu"))
        others = [produced(device, rank), produced(device, rank, 3)]
        for tensor in others:
            group.allreduce([tensor], reduce_options())
        group._end_coalescing(torch.device("cpu")).wait()
        outputs, given = [blank(device, 6), blank(device, 9)], [produced(device, rank, 2), produced(device, rank, 3)]
        group.all_gather_single_coalesced(outputs, given).wait()
        return [device.read(tensor) for tensor in [*tensors, *others, *outputs]]

    for a, b, c, d, e, f, g in checked(device, body):
        assert torch.equal(a, ramps().sum(0))
        assert torch.equal(b, ramps(dtype=torch.int64).sum(0))
        assert torch.equal(c, ramps(2).sum(0))
        assert torch.equal(d, ramps().sum(0))
        assert torch.equal(e, ramps(3).sum(0))
        assert torch.equal(f.view(SIZE, 2), ramps(2))
        assert torch.equal(g.view(SIZE, 3), ramps(3))


def test_messages_are_posted_when_their_input_has_come_and_in_order(device):
    def body(group, rank):
        following, before = (rank + 1) % SIZE, (rank - 1) % SIZE
        first, second = blank(device, 6), blank(device, 6)
        works = [group.recv([first], before, 5), group.recv([second], before, 5)]
        works += [group.send([produced(device, 10 * i + rank)], following, 5) for i in range(2)]
        for work in works:
            work.wait()
        assert works[0]._source_rank() == before
        return device.read(first), device.read(second)

    for rank, (first, second) in enumerate(checked(device, body)):
        assert torch.equal(first, ramp((rank - 1) % SIZE))
        assert torch.equal(second, ramp(10 + (rank - 1) % SIZE))


def test_calls_keep_their_order_whatever_their_tensors_are_on(device):
    def body(group, rank):
        large = produced(device, rank, LEAST_ELEMENTS)
        works = [group.allreduce([large], reduce_options())]
        small = ramp(rank)
        works += [group.allreduce([small], reduce_options()), group.barrier()]
        for work in reversed(works):
            work.wait()
        return device.read(large), small

    for large, small in checked(device, body):
        assert torch.equal(large, ramps(LEAST_ELEMENTS).sum(0))
        assert torch.equal(small, ramps().sum(0))


def test_a_call_does_not_wait_for_the_device(device):
    """Not before the result is asked for: a training script goes on queueing work."""
    if not device._lazy:
        pytest.skip("this device has nothing left to wait for")
    first, second = make_groups(2)
    gate = threading.Event()
    tensor = blank(device, 6)
    device.queue(gate.wait)
    device.queue(lambda: tensor.fill_(1.0))
    work = first.allreduce([tensor], reduce_options())
    assert not work.is_completed()
    with pytest.raises(OperationTimeoutError, match="goes on"):
        work.wait(timedelta(milliseconds=10))
    other = torch.ones(6)
    gate.set()
    second.allreduce([other], reduce_options()).wait()
    work.wait()
    assert torch.equal(other, torch.full((6,), 2.0))
    assert not work.is_completed()  # the copy back is queued
    assert torch.equal(device.read(tensor), torch.full((6,), 2.0))
    assert work.is_completed()
    assert work.is_success()


def test_memory_is_used_again_only_when_the_copy_back_is_done(device):
    if not device._lazy:
        pytest.skip("this device has copied when it is asked to")
    (group,) = make_groups(1)
    tensor, memory = produced(device, 1), device.host_memory
    group.allreduce([tensor], reduce_options()).wait()
    assert memory.in_use == 0
    kept = memory.kept_bytes
    assert kept > 0
    memory.take(6 * 4)
    assert memory.kept_bytes == kept  # another buffer: the device may still read this one
    device.read(tensor)
    memory.take(6 * 4)
    assert memory.kept_bytes == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_finished_calls_hold_no_tensors(device, dtype):
    (group,) = make_groups(1)
    tensor = produced(device, 1, LEAST_ELEMENTS, dtype)
    storage = tensor.untyped_storage()
    work = group.allreduce([tensor], reduce_options())
    work.wait()
    device.read(tensor)
    device.forget(tensor)
    del tensor
    assert group._starter.drain(20)
    assert torch._C._storage_Use_Count(storage._cdata) == 1
    assert work.is_completed()


def test_many_threads_wait_for_a_call(device):
    """Whoever is first, all copies are queued before any of them goes on."""

    def body(group, rank):
        tensors = [produced(device, rank, LEAST_ELEMENTS) for _ in range(10)]
        works = [group.allreduce([tensor], reduce_options()) for tensor in tensors]

        def waited(number):
            works[number % 10].wait()
            return device.read(tensors[number % 10])

        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(waited, range(40)))

    for results in checked(device, body):
        assert all(torch.equal(result, ramps(LEAST_ELEMENTS).sum(0)) for result in results)


def test_a_future_carries_the_results(device):
    def body(group, rank):
        tensor = produced(device, rank, LEAST_ELEMENTS)
        future = group.allreduce([tensor], reduce_options()).get_future()
        return future.then(lambda done: device.read(done.value()[0])).wait()

    for result in checked(device, body):
        assert torch.equal(result, ramps(LEAST_ELEMENTS).sum(0))


def test_tensors_of_inference_mode_get_their_results_in_any_thread(device):
    def body(group, rank):
        with torch.inference_mode():
            tensor = produced(device, rank)
            future = group.allreduce([tensor], reduce_options()).get_future()
        return future.then(lambda done: device.read(done.value()[0])).wait()

    for result in checked(device, body):
        assert torch.equal(result, ramps().sum(0))


@pytest.mark.parametrize("count", [6, LEAST_ELEMENTS])
def test_a_dead_rank_ends_calls_and_gives_their_memory_back(device, count):
    first, second = make_groups(2)
    works = [first.allreduce([produced(device, 0, count)], reduce_options()) for _ in range(2)]
    futures = [work.get_future() for work in works[1:]]
    second._channel.fail(TransportError("rank 1 has died"))
    for work in works:
        with pytest.raises(NetsumError, match="rank 1 has died"):
            work.wait()
    with pytest.raises(RuntimeError, match="rank 1 has died"):
        futures[0].wait()
    assert device.host_memory.in_use == 0


@pytest.mark.parametrize("count", [6, LEAST_ELEMENTS])
def test_a_missing_rank_is_a_time_out(device, count):
    first, _ = make_groups(2)
    work = first.allreduce([produced(device, 0, count)], reduce_options(timeout=timedelta(milliseconds=50)))
    with pytest.raises(OperationTimeoutError, match=r"\[1\]"):
        work.wait()
    assert device.host_memory.in_use == 0


def test_a_device_that_does_not_come_to_the_input_is_a_time_out(device, monkeypatch):
    if not device._lazy:
        pytest.skip("this device has nothing left to wait for")
    monkeypatch.setattr(staged_work, "START_MARGIN_S", 0.05)
    first, _ = make_groups(2)
    gate, tensor = threading.Event(), blank(device, 6)
    device.queue(gate.wait)
    work = first.allreduce([tensor], reduce_options(timeout=timedelta(milliseconds=50)))
    with pytest.raises(OperationTimeoutError, match="has not produced"):
        work.wait()
    assert device.host_memory.in_use == 1
    gate.set()
    assert first._starter.drain(10)
    assert device.host_memory.in_use == 0


def test_an_error_of_the_device_ends_the_job_on_every_rank(device, monkeypatch):
    def broken(*_):
        raise RuntimeError("out of memory")

    first, second = make_groups(2)
    monkeypatch.setattr(device.kernels, "exponents", broken)
    work = first.allreduce([produced(device, 0, LEAST_ELEMENTS)], reduce_options())
    with pytest.raises(NetsumError, match=r"from the device: out of memory"):
        work.wait()
    with pytest.raises(NetsumError, match="out of memory"):
        second.allreduce([torch.ones(3)], reduce_options()).wait()
    assert device.host_memory.in_use == 0


def test_what_a_call_refuses_it_refuses_at_once(device, monkeypatch):
    first, _ = make_groups(2)
    with pytest.raises(RefusedError, match="3 output tensors"):
        first.allgather([[blank(device, 2)] * 3], [blank(device, 2)])
    with pytest.raises(RefusedError, match="no order"):
        first.allreduce([blank(device, 2, dtype=torch.complex64)], reduce_options(dist.ReduceOp.MAX))
    device.refusal = RefusedError("a graph")
    with pytest.raises(RefusedError, match="a graph"):
        first.allreduce([blank(device, 2)], reduce_options())
    assert device.host_memory.in_use == 0
