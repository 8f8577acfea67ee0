"""The process group's collectives over the loopback transport: what each computes, and what each refuses."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
import torch._C._distributed_c10d as c10d
import torch.distributed as dist

from hostagent.torch_backend.errors import NetsumError, RefusedError
from hostagent.torch_backend.group import untraced
from tests.labs.torch_ranks import make_groups, run_ranks

SIZE = 3
SUM = dist.ReduceOp.SUM


def options(kind, **fields):
    made = kind()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def reduce_options(operator=SUM, **fields):
    return options(dist.AllreduceOptions, reduceOp=operator, **fields)


def ramp(rank, dtype=torch.float32, count=6):
    return (torch.arange(count) + 10 * rank).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize(("operator", "combine"), [(SUM, sum), (dist.ReduceOp.MAX, None), (dist.ReduceOp.MIN, None)])
def test_all_reduce_combines_every_ranks_tensor(dtype, operator, combine):
    def body(group, rank):
        tensor = ramp(rank, dtype)
        group.allreduce([tensor], reduce_options(operator)).wait()
        return tensor

    inputs = torch.stack([ramp(rank, dtype) for rank in range(SIZE)])
    expected = {SUM: inputs.sum(0).to(dtype), dist.ReduceOp.MAX: inputs.amax(0), dist.ReduceOp.MIN: inputs.amin(0)}
    for result in run_ranks(body, SIZE):
        assert torch.equal(result, expected[operator])


def test_average_divides_by_the_number_of_ranks():
    def body(group, rank):
        tensor = torch.full((4,), float(rank))
        group.allreduce([tensor], reduce_options(dist.ReduceOp.AVG)).wait()
        return tensor

    assert all(torch.equal(result, torch.ones(4)) for result in run_ranks(body, SIZE))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_an_average_of_integers_is_truncated_as_ncclavg_does(dtype):
    signed = dtype is not torch.uint8
    given = torch.tensor([[-1, 0, 7, 5], [-3, -1, 7, 0], [-4, 0, 7, 0]] if signed else [[0, 1, 7, 5]] * 3).to(dtype)

    def body(group, rank):
        tensor, part = given[rank].clone(), torch.zeros(4, dtype=dtype)
        group.allreduce([tensor], reduce_options(dist.ReduceOp.AVG)).wait()
        options: Any = dist.ReduceScatterOptions()
        options.reduceOp = dist.ReduceOp.AVG
        group.reduce_scatter([part], [[given[rank].clone()] * 3], options).wait()
        return tensor, part

    expected = torch.div(given.sum(0), 3, rounding_mode="trunc").to(dtype)
    for tensor, part in run_ranks(body, 3):
        assert torch.equal(tensor, expected)
        assert torch.equal(part, expected)


def test_a_tensor_that_is_not_one_run_of_memory_is_reduced_in_place():
    def body(group, rank):
        whole = torch.zeros(4, 6)
        view = whole.t()[1:5:2]
        view += rank + 1
        group.allreduce([view], reduce_options()).wait()
        return whole

    for whole in run_ranks(body, SIZE):
        assert torch.equal(whole.t()[1:5:2], torch.full((2, 4), 6.0))
        assert whole.sum() == 6.0 * 8


def test_a_tensor_without_dimensions_and_one_without_elements():
    def body(group, rank):
        scalar, empty = torch.tensor(float(rank)), torch.empty(0)
        group.allreduce([scalar], reduce_options()).wait()
        group.allreduce([empty], reduce_options()).wait()
        return scalar

    assert all(result == 3.0 for result in run_ranks(body, SIZE))


def test_coalesced_all_reduce_keeps_element_types_apart():
    def body(group, rank):
        tensors = [ramp(rank), ramp(rank, torch.int64), ramp(rank, count=2)]
        opts = options(dist.AllreduceCoalescedOptions, reduceOp=SUM)
        group.allreduce_coalesced(tensors, opts).wait()
        return tensors

    for floats, integers, short in run_ranks(body, SIZE):
        assert torch.equal(floats, sum(ramp(rank) for rank in range(SIZE)))
        assert torch.equal(integers, sum(ramp(rank, torch.int64) for rank in range(SIZE)))
        assert torch.equal(short, sum(ramp(rank, count=2) for rank in range(SIZE)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bool, torch.complex64, torch.int16])
def test_broadcast_moves_any_type_unchanged(dtype):
    def body(group, rank):
        tensor = ramp(rank).to(dtype)
        group.broadcast([tensor], options(dist.BroadcastOptions, rootRank=1)).wait()
        return tensor

    assert all(torch.equal(result, ramp(1).to(dtype)) for result in run_ranks(body, SIZE))


def test_reduce_leaves_the_other_ranks_tensors_alone():
    def body(group, rank):
        tensor = ramp(rank)
        group.reduce([tensor], options(dist.ReduceOptions, reduceOp=SUM, rootRank=2)).wait()
        return tensor

    results = run_ranks(body, SIZE)
    assert torch.equal(results[2], sum(ramp(rank) for rank in range(SIZE)))
    assert torch.equal(results[0], ramp(0))


@pytest.mark.parametrize("adjacent", [True, False])
def test_all_gather_and_gather(adjacent):
    def outputs():
        return list(torch.zeros(SIZE, 6).unbind()) if adjacent else [torch.zeros(6) for _ in range(SIZE)]

    def body(group, rank):
        everywhere, at_root, stacked = outputs(), outputs(), torch.zeros(SIZE, 6)
        group.allgather([everywhere], [ramp(rank)], c10d.AllgatherOptions()).wait()
        group.all_gather_single(stacked, ramp(rank), c10d.AllgatherOptions()).wait()
        gathering = options(dist.GatherOptions, rootRank=0)
        group.gather([at_root] if rank == 0 else [], [ramp(rank)], gathering).wait()
        return everywhere, at_root, stacked

    expected = [ramp(rank) for rank in range(SIZE)]
    for rank, (everywhere, at_root, stacked) in enumerate(run_ranks(body, SIZE)):
        assert all(torch.equal(a, b) for a, b in zip(everywhere, expected, strict=True))
        assert torch.equal(stacked, torch.stack(expected))
        assert torch.equal(torch.stack(at_root), torch.stack(expected) if rank == 0 else torch.zeros(SIZE, 6))


def test_scatter_and_reduce_scatter():
    def body(group, rank):
        part, mine, single = torch.zeros(2), torch.zeros(2), torch.zeros(2)
        parts = [[ramp(5 + i, count=2) for i in range(SIZE)]] if rank == 1 else []
        group.scatter([part], parts, options(dist.ScatterOptions, rootRank=1)).wait()
        inputs = [ramp(rank + i, count=2) for i in range(SIZE)]
        opts = options(dist.ReduceScatterOptions, reduceOp=SUM)
        group.reduce_scatter([mine], [inputs], opts).wait()
        group.reduce_scatter_single(single, torch.cat(inputs), opts).wait()
        return part, mine, single

    for rank, (part, mine, single) in enumerate(run_ranks(body, SIZE)):
        assert torch.equal(part, ramp(5 + rank, count=2))
        assert torch.equal(mine, sum(ramp(other + rank, count=2) for other in range(SIZE)))
        assert torch.equal(single, mine)


def test_all_to_all_with_even_and_uneven_parts():
    def body(group, rank):
        even = torch.zeros(SIZE, dtype=torch.int64)
        group.all_to_all_single(even, torch.arange(SIZE) + 10 * rank, [], []).wait()
        counts = [rank + 1] * SIZE
        uneven = torch.zeros(sum(range(1, SIZE + 1)))
        sent = torch.arange(sum(counts), dtype=torch.float32) + 100 * rank
        group.all_to_all_single(uneven, sent, [other + 1 for other in range(SIZE)], counts).wait()
        return even, uneven

    for rank, (even, uneven) in enumerate(run_ranks(body, SIZE)):
        assert even.tolist() == [rank + 10 * other for other in range(SIZE)]
        expected = [100 * other + (other + 1) * rank + i for other in range(SIZE) for i in range(other + 1)]
        assert uneven.tolist() == expected


def test_a_group_of_one_completes_at_once():
    def body(group, rank):
        tensor, gathered = torch.ones(3), [torch.zeros(3)]
        work = group.allreduce([tensor], reduce_options(dist.ReduceOp.AVG))
        assert work.is_completed()
        group.allgather([gathered], [tensor]).wait()
        group.barrier().wait()
        return tensor, gathered[0]

    [(tensor, gathered)] = run_ranks(body, 1)
    assert torch.equal(tensor, torch.ones(3))
    assert torch.equal(gathered, torch.ones(3))


REFUSALS = [
    (torch.ones(2, dtype=torch.float64), SUM, "float64.*tensor.float()"),
    (torch.ones(2, dtype=torch.complex64), SUM, "complex64.*view_as_real"),
    (torch.ones(2, dtype=torch.bool), SUM, "bool.*int32"),
    (torch.ones(2), dist.ReduceOp.PRODUCT, "does not support PRODUCT"),
    (torch.ones(2, dtype=torch.int32), dist.ReduceOp.BXOR, "does not support BXOR"),
    (torch.ones(2).to_sparse(), SUM, r"sparse.*\.to_dense\(\)"),
    (torch.ones(2, device="meta"), SUM, r"on meta.*\.cpu\(\)"),
]


@pytest.mark.parametrize(("tensor", "operator", "message"), REFUSALS)
def test_what_cannot_be_reduced_is_refused_by_name_before_anything_is_sent(tensor, operator, message):
    [group] = make_groups(1)
    with pytest.raises(RefusedError, match=message):
        group.allreduce([tensor], reduce_options(operator))
    assert group.barrier().wait()


def test_a_message_goes_from_one_rank_to_another():
    def body(group, rank):
        tensor = ramp(rank, torch.float64).view(2, 3).t()  # not one run of memory
        if rank == 0:
            group.send([tensor], 2, 5).wait()
        elif rank == 2:
            tensor = torch.zeros(2, 3, dtype=torch.float64).t()
            work = group.recv([tensor], 0, 5)
            work.wait()
            assert work._source_rank() == 0
        return tensor

    results = run_ranks(body, SIZE)
    assert torch.equal(results[2], results[0])


@pytest.mark.parametrize("dtype", [torch.bool, torch.complex128, torch.bfloat16, torch.int16])
def test_messages_of_any_type_to_oneself_and_from_any_rank(dtype):
    def body(group, rank):
        given, own, others = ramp(rank, dtype), torch.zeros(6, dtype=dtype), torch.zeros(6, dtype=dtype)
        works = [group.send([given], rank, 1), group.recv([own], rank, 1)]
        works.append(group.send([given], (rank + 1) % SIZE, 2))
        taking = group.recv_anysource([others], 2)
        for work in (*works, taking):
            work.wait()
        assert torch.equal(own, given)
        assert taking._source_rank() == (rank - 1) % SIZE
        return others

    for rank, result in enumerate(run_ranks(body, SIZE)):
        assert torch.equal(result, ramp((rank - 1) % SIZE, dtype))


def test_empty_messages_and_messages_of_the_same_tag_arrive_in_order():
    def body(group, rank):
        tensors = [torch.full((3,), float(number)) for number in range(4)]
        if rank == 0:
            for tensor in (*tensors, torch.zeros(0)):
                group.send([tensor], 1)
            return []
        got = [torch.zeros(3) for _ in tensors]
        for work in [group.recv([tensor], 0) for tensor in (*got, torch.zeros(0))]:
            work.wait()
        return [tensor[0].item() for tensor in got]

    assert run_ranks(body, 2)[1] == [0.0, 1.0, 2.0, 3.0]


def test_a_send_and_a_receive_that_disagree_are_both_named():
    def body(group, rank):
        if rank == 0:
            work = group.send([torch.zeros(3)], 1, 4)
        else:
            work = group.recv([torch.zeros(3, dtype=torch.int32)], 0, 4)
        with pytest.raises(NetsumError) as caught:
            work.wait()
        return str(caught.value)

    for text in run_ranks(body, 2):
        assert "send(float32, 3 elements, to rank 1, tag 4)" in text
        assert "recv(int32, 3 elements, from rank 0, tag 4)" in text


def test_parts_that_disagree_in_an_exchange_are_named():
    def body(group, rank):
        given = [torch.zeros(2 if rank == 0 else 3), torch.zeros(2)]
        with pytest.raises(NetsumError) as caught:
            group.alltoall([torch.zeros(2), torch.zeros(2)], given).wait()
        return str(caught.value)

    for text in run_ranks(body, 2):
        assert "all_to_all(float32, 3 elements, to rank 0)" in text
        assert "all_to_all(float32, 2 elements, from rank 1)" in text


def test_messages_with_impossible_arguments_are_refused():
    [group] = make_groups(1)
    with pytest.raises(RefusedError, match="rank 3 is not in the group"):
        group.send([torch.ones(1)], 3, 0)
    with pytest.raises(RefusedError, match="tag -4 is not one of 0 to"):
        group.recv([torch.ones(1)], 0, -4)
    with pytest.raises(RefusedError, match="takes dense tensors"):
        group.send([torch.ones(2).to_sparse()], 0, 0)
    with pytest.raises(RefusedError, match="own part has 2 elements of float32 and goes to 1"):
        group.alltoall([torch.zeros(1)], [torch.zeros(2)])


def test_lists_that_do_not_fit_the_group_are_refused():
    group = make_groups(2)[0]
    with pytest.raises(RefusedError, match="3 output tensors, but the group has 2 ranks"):
        group.allgather([[torch.zeros(1)] * 3], [torch.zeros(1)])
    with pytest.raises(RefusedError, match="output tensor 1 has 2 elements of float32, expected 1 of float32"):
        group.allgather([[torch.zeros(1), torch.zeros(2)]], [torch.zeros(1)])
    with pytest.raises(RefusedError, match="rank 7 is not in the group"):
        group.broadcast([torch.zeros(1)], options(dist.BroadcastOptions, rootRank=7))


def test_ranks_that_disagree_all_get_an_error_naming_both_operations():
    def body(group, rank):
        with pytest.raises(NetsumError) as caught:
            group.allreduce([torch.zeros(2 + rank)], reduce_options()).wait()
        return str(caught.value)

    for text in run_ranks(body, 2):
        assert "all_reduce(SUM, float32, 2 elements)" in text
        assert "all_reduce(SUM, float32, 3 elements)" in text


def test_methods_are_called_as_they_are_without_dynamo(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
    calls = []
    untraced(lambda value: calls.append(value))(5)
    assert calls == [5]
    assert "torch._dynamo" not in sys.modules
