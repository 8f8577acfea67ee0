"""The process group's collectives over the loopback transport: what each computes, and what each refuses."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import pytest
import torch
import torch._C._distributed_c10d as c10d
import torch.distributed as dist

from hostagent.torch_backend import plans
from hostagent.torch_backend.errors import NetsumError, RefusedError
from hostagent.torch_backend.group import NetsumProcessGroup, untraced
from hostagent.torch_backend.plans import GATHERED_BYTES, Member, all_reduce
from hostagent.torch_backend.tensors import parse_reduction
from hostagent.transport.loopback import local_channel
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


@pytest.mark.parametrize("operator", [SUM, dist.ReduceOp.PRODUCT])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_parts_of_different_sizes_are_gathered_and_reduced(operator, dtype):
    counts = [3, 0, 5]

    def body(group, rank):
        inputs = [ramp(rank + part, dtype, count) for part, count in enumerate(counts)]
        reduced = torch.empty(counts[rank], dtype=dtype)
        group.reduce_scatter([reduced], [inputs], reduce_options(operator)).wait()
        gathered = [torch.empty(count, dtype=dtype) for count in counts]
        group.allgather([gathered], [reduced]).wait()
        return gathered

    combine = torch.sum if operator == SUM else torch.prod
    for result in run_ranks(body, SIZE):
        for part, count in enumerate(counts):
            inputs = torch.stack([ramp(rank + part, dtype, count) for rank in range(SIZE)])
            assert torch.equal(result[part], combine(inputs, 0).to(dtype))


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


def random_tensor(dtype, count, seed):
    generator = torch.Generator().manual_seed(seed)
    low, high = (0, 2) if dtype in (torch.bool, torch.uint8) else (-9, 10)
    return torch.randint(low, high, (count,), generator=generator).to(dtype)


OP = dist.ReduceOp
COMBINED: dict[Any, Any] = {
    OP.PRODUCT: torch.mul,
    OP.BAND: torch.bitwise_and,
    OP.BOR: torch.bitwise_or,
    OP.BXOR: torch.bitwise_xor,
}
EVERY_DTYPE = [torch.int32, torch.uint8, torch.int64, torch.bool, torch.float32, torch.bfloat16, torch.float64]


@pytest.mark.parametrize("operator", COMBINED)
@pytest.mark.parametrize("dtype", [*EVERY_DTYPE, torch.complex64])
@pytest.mark.parametrize(("size", "count"), [(2, 7), (3, 0), (3, GATHERED_BYTES // 3 + 1)])
def test_what_the_network_does_not_compute_is_combined_in_rank_order(operator, dtype, size, count):
    if operator != OP.PRODUCT and (dtype.is_floating_point or dtype.is_complex):
        with pytest.raises(RefusedError, match=f"{operator.name} of .* takes int64"):
            make_groups(1)[0].allreduce([torch.ones(3, dtype=dtype)], reduce_options(operator))
        return
    inputs = [random_tensor(dtype, count, rank) for rank in range(size)]

    def body(group, rank):
        everywhere, at_root, part = inputs[rank].clone(), inputs[rank].clone(), torch.zeros(count, dtype=dtype)
        coalesced = [inputs[rank].clone(), inputs[rank][:5].clone()]
        group.allreduce([everywhere], reduce_options(operator)).wait()
        group.reduce([at_root], options(dist.ReduceOptions, reduceOp=operator, rootRank=1)).wait()
        opts = options(dist.ReduceScatterOptions, reduceOp=operator)
        group.reduce_scatter_single(part, torch.cat([inputs[rank]] * size), opts).wait()
        opts = options(dist.AllreduceCoalescedOptions, reduceOp=operator)
        work = group.allreduce_coalesced(coalesced, opts)
        assert all(value is given for value, given in zip(work.result(), coalesced, strict=True))
        work.wait()
        return everywhere, at_root, part, coalesced

    wanted = inputs[0]
    for other in inputs[1:]:
        wanted = COMBINED[operator](wanted, other).to(dtype)
    for rank, (everywhere, at_root, part, coalesced) in enumerate(run_ranks(body, size)):
        assert torch.equal(everywhere, wanted)
        assert torch.equal(at_root, wanted if rank == 1 else inputs[rank])
        assert torch.equal(part, wanted)
        assert torch.equal(coalesced[0], wanted)
        assert torch.equal(coalesced[1], wanted[:5])


def test_ranks_that_combine_differently_are_told():
    def body(group, rank):
        opts = options(dist.ReduceScatterOptions, reduceOp=(OP.BAND, OP.BOR)[rank])
        with pytest.raises(NetsumError, match=r"disagree.*reduce_scatter B(AND|OR)\(.*reduce_scatter B(AND|OR)\("):
            group.reduce_scatter_single(
                torch.zeros(2, dtype=torch.int32), torch.ones(4, dtype=torch.int32), opts
            ).wait()

    run_ranks(body, 2)


def test_a_premultiplied_sum_and_a_plain_one_disagree():
    def body(group, rank):
        operator = (SUM, c10d._make_nccl_premul_sum(0.5))[rank]
        with pytest.raises(
            NetsumError, match=r"disagree.*all_reduce( PREMUL_SUM)?\(SUM.*all_reduce( PREMUL_SUM)?\(SUM"
        ):
            group.allreduce([torch.ones(4)], reduce_options(operator)).wait()

    run_ranks(body, 2)


@pytest.mark.parametrize("operator", [SUM, OP.MAX, OP.MIN, OP.PRODUCT, OP.BAND, OP.BOR, OP.BXOR])
def test_truth_values(operator):
    inputs = [torch.tensor([True, True, False]), torch.tensor([True, False, False])]
    wanted = {SUM: [1, 1, 0], OP.MAX: [1, 1, 0], OP.BOR: [1, 1, 0], OP.BXOR: [0, 1, 0]}.get(operator, [1, 0, 0])

    def body(group, rank):
        tensor = inputs[rank].clone()
        group.allreduce([tensor], reduce_options(operator)).wait()
        return tensor

    for result in run_ranks(body, 2):
        assert result.view(torch.uint8).tolist() == wanted


@pytest.mark.parametrize("factor", [0.5, torch.tensor([0.5])])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex64])
def test_premultiplied_sums_and_complex_ones(factor, dtype):
    operator = c10d._make_nccl_premul_sum(factor)

    def body(group, rank):
        tensor, part, average = ramp(rank, dtype), torch.zeros(3, dtype=dtype), ramp(rank, dtype)
        group.allreduce([tensor], reduce_options(operator)).wait()
        opts = options(dist.ReduceScatterOptions, reduceOp=operator)
        group.reduce_scatter_single(part, ramp(rank, dtype), opts).wait()
        group.allreduce([average.t()], reduce_options(OP.AVG)).wait()
        return tensor, part, average

    wanted = sum(ramp(rank, dtype) for rank in range(2))
    for rank, (tensor, part, average) in enumerate(run_ranks(body, 2)):
        assert torch.equal(tensor, wanted / 2)
        assert torch.equal(part, wanted.chunk(2)[rank] / 2)
        assert torch.equal(average, wanted / 2)


def test_conjugated_and_strided_complex_tensors():
    def body(group, rank):
        whole = torch.full((4, 4), 1 + 2j * rank)
        group.allreduce([whole[::2].conj()], reduce_options()).wait()
        return whole

    for rank, whole in enumerate(run_ranks(body, 2)):
        assert torch.equal(whole[::2], torch.full((2, 4), 2 + 2j))
        assert torch.equal(whole[1::2], torch.full((2, 4), 1 + 2j * rank))


def test_sparse_tensors_are_added_as_gloo_does():
    def body(group, rank):
        tensor = torch.sparse_coo_tensor(torch.tensor([[rank, 2, 2]]), torch.tensor([1.0, 2.0, 1.0]), (4,))
        hybrid = torch.sparse_coo_tensor(torch.tensor([[rank], [1]]), torch.ones(1, 3, dtype=torch.int32), (4, 2, 3))
        empty = torch.sparse_coo_tensor(torch.empty(1, 0, dtype=torch.int64), torch.empty(0), (4,))
        group.allreduce([tensor], reduce_options()).wait()
        [value] = group.allreduce([hybrid], reduce_options()).get_future().wait()
        group.allreduce([empty], reduce_options()).wait()
        with pytest.raises(RefusedError, match="supports SUM only, not MAX"):
            group.allreduce([tensor], reduce_options(OP.MAX))
        with pytest.raises(RefusedError, match=r"shapes differ in group 'netsum' \(rank 0: \[4\], rank 1: \[5\]"):
            group.allreduce([torch.zeros(4 + rank).to_sparse()], reduce_options())
        assert value is hybrid
        return tensor, hybrid, empty

    for tensor, hybrid, empty in run_ranks(body, SIZE):
        assert tensor.is_coalesced()
        assert tensor.to_dense().tolist() == [1, 1, 10, 0]
        assert hybrid.to_dense()[:, 1].tolist() == [[1, 1, 1]] * SIZE + [[0, 0, 0]]
        assert empty.to_dense().tolist() == [0] * 4


def test_sparse_float16_is_added_though_pytorch_has_no_such_sum():
    def body(group, rank):
        tensor = torch.tensor([rank + 0.5, 0, 2048.0], dtype=torch.float16).to_sparse()
        group.allreduce([tensor], reduce_options()).wait()
        return tensor

    for tensor in run_ranks(body, SIZE):
        assert tensor.dtype == torch.float16
        assert tensor.to_dense().tolist() == [4.5, 0, 6144]


def test_only_sums_of_floats_are_asked_for_exactly():
    tensors = [torch.ones(2, dtype=dtype) for dtype in (torch.float16, torch.complex64, torch.int32)]
    for exact in (False, True):
        reductions = [parse_reduction(operator, "all_reduce", exact) for operator in (SUM, OP.AVG, OP.MAX)]
        planned = [
            all_reduce(tensor, reduction, Member(0, 2)).operations[0].exact
            for reduction, tensor in [
                *((reductions[0], tensor) for tensor in tensors),
                *((each, tensors[0]) for each in reductions[1:]),
            ]
        ]
        assert planned == ([True, True, False, True, False] if exact else [False] * 5)


def test_only_sums_of_16_bit_floats_are_packed():
    dtypes = (torch.bfloat16, torch.float16, torch.float32, torch.int16, torch.complex64)
    for operator, packed in ((SUM, [True, True, False, False, False]), (OP.MAX, [False] * 4)):
        reduction = parse_reduction(operator, "all_reduce", packed=True)
        plans = [all_reduce(torch.ones(2, dtype=dtype), reduction, Member(0, 2)) for dtype in dtypes[: len(packed)]]
        assert [plan.operations[0].packed for plan in plans] == packed


REFUSALS = [
    (torch.ones(2, dtype=torch.complex64), OP.MAX, "MAX of complex64.*no order"),
    (torch.ones(2, dtype=torch.bool), dist.ReduceOp.AVG, "AVG of bool"),
    (torch.ones(2), dist.ReduceOp.BXOR, "BXOR of float32"),
    (torch.ones(2, dtype=torch.float8_e4m3fn), SUM, "SUM of float8"),
    (torch.eye(2).to_sparse_csr(), SUM, r"sparse.*\.to_dense\(\)"),
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
    with pytest.raises(RefusedError, match="output tensor 0 has 2 elements of float32, expected 1 of float32"):
        group.allgather([[torch.zeros(2), torch.zeros(1)]], [torch.zeros(1)])
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


@pytest.mark.parametrize(("global_ranks", "ways"), [((), ["close"]), ((3,), ["leave"])])
def test_only_the_default_group_waits_for_the_other_ranks_to_leave(monkeypatch, global_ranks, ways):
    channel, called = local_channel(), []
    monkeypatch.setattr(channel, "close", lambda: called.append("close"))
    monkeypatch.setattr(channel, "leave", lambda: called.append("leave"))
    timeout = timedelta(seconds=1)
    NetsumProcessGroup(c10d.HashStore(), 0, 1, timeout, channel, global_ranks=global_ranks).shutdown()
    assert called == ways


def test_errors_of_a_sub_group_give_its_members_global_ranks():
    def body(group, rank):
        group._global_ranks = (4, 7)
        with pytest.raises(NetsumError, match=r"rank 1: .*global rank: 0 = 4, 1 = 7\)") as caught:
            group.allreduce([torch.ones(2 + rank)]).wait()
        return str(caught.value)

    run_ranks(body, 2)


def test_outputs_that_share_memory_are_refused_before_anything_is_sent():
    def body(group, rank):
        with pytest.raises(RefusedError, match=r"share memory, as after expand\(\)"):
            group.allreduce([torch.ones(1).expand(5)])
        whole = torch.ones(5)
        group.allreduce([whole]).wait()
        assert whole.tolist() == [2.0] * 5

    run_ranks(body, 2)


def test_an_exchange_is_described_with_its_messages():
    plan = plans.all_to_all([torch.ones(2), torch.ones(9)], [torch.ones(2), torch.ones(5)], Member(0, 2))
    assert plan.description()() == "all_to_all(float32, 2 messages of 5 to 9 elements)"
