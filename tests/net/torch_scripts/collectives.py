"""Every collective of the backend beside gloo's answer to the same question, on the same tensors."""

import sys

import torch
import torch.distributed as dist

dist.init_process_group("netsum")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
GLOO = dist.new_group(backend="gloo")
OP = dist.ReduceOp
torch.manual_seed(RANK)
FLOATS = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 4e-2}
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
SHAPES = ((), (1,), (0,), (5,), (33, 77), (20000,))
problems = []


def make(dtype, shape):
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    limits = torch.iinfo(dtype)
    low, high = max(limits.min, -(10**12)), min(limits.max, 10**12)
    return torch.randint(low, high, shape, dtype=torch.int64).to(dtype)


def expect(what, got, wanted, tolerance=0.0):
    same = torch.allclose(got.double(), wanted.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
    if not (same if tolerance else torch.equal(got, wanted)):
        problems.append(f"{what}: {got} instead of {wanted}")


def reduced_by_gloo(tensor, operator):
    wide = tensor.to(torch.float32 if tensor.dtype in FLOATS else torch.int64, copy=True)
    dist.all_reduce(wide, op=OP.SUM if operator == OP.AVG else operator, group=GLOO)
    if operator == OP.AVG and tensor.dtype not in FLOATS:  # as NCCL: the wrapped sum, divided, truncated
        return torch.div(wide.to(tensor.dtype), SIZE, rounding_mode="trunc")
    return (wide / SIZE if operator == OP.AVG else wide).to(tensor.dtype)


def as_bytes(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def check_reductions(dtype, shape):
    for operator in (OP.SUM, OP.MIN, OP.MAX, OP.AVG):
        tolerance = FLOATS.get(dtype, 0.0) if operator in (OP.SUM, OP.AVG) else 0.0
        tensor = make(dtype, shape)
        wanted = reduced_by_gloo(tensor, operator)
        name = f"{operator} {dtype} {shape}"
        everywhere, at_root = tensor.clone(), tensor.clone()
        dist.all_reduce(everywhere, op=operator)
        expect(f"all_reduce {name}", everywhere, wanted, tolerance)
        dist.reduce(at_root, SIZE - 1, op=operator)
        expect(f"reduce {name}", at_root, wanted if RANK == SIZE - 1 else tensor, tolerance)
        if shape:
            check_reduce_scatter(name, operator, dtype, shape, tolerance)


def check_reduce_scatter(name, operator, dtype, shape, tolerance):
    parts = [make(dtype, shape) for _ in range(SIZE)]
    wanted = reduced_by_gloo(torch.cat(parts), operator).chunk(SIZE)[RANK] if parts[0].numel() else parts[0]
    one, other = torch.empty(shape, dtype=dtype), torch.empty(shape, dtype=dtype)
    dist.reduce_scatter(one, parts, op=operator)
    expect(f"reduce_scatter {name}", one, wanted, tolerance)
    dist.reduce_scatter_single(other, torch.cat(parts), op=operator)
    expect(f"reduce_scatter_single {name}", other, wanted, tolerance)


def check_moves(dtype, shape):
    tensor = make(torch.float32, shape).to(dtype)
    wanted = [torch.empty_like(as_bytes(tensor)) for _ in range(SIZE)]
    dist.all_gather(wanted, as_bytes(tensor).clone(), group=GLOO)
    name = f"{dtype} {shape}"
    for root in range(SIZE):
        copy = tensor.clone()
        dist.broadcast(copy, root)
        expect(f"broadcast {name}", as_bytes(copy), wanted[root])
    outputs = [torch.empty_like(tensor) for _ in range(SIZE)]
    dist.all_gather(outputs, tensor)
    collected = [torch.empty_like(tensor) for _ in range(SIZE)] if RANK == 1 else None
    dist.gather(tensor, collected, dst=1)
    for source in range(SIZE):
        expect(f"all_gather {name}", as_bytes(outputs[source]), wanted[source])
        if collected:
            expect(f"gather {name}", as_bytes(collected[source]), wanted[source])
    back = torch.empty_like(tensor)
    dist.scatter(back, outputs if RANK == 0 else None, src=0)
    expect(f"scatter {name}", as_bytes(back), wanted[RANK])
    stacked = torch.empty((SIZE, *shape), dtype=dtype)
    dist.all_gather_single(stacked, tensor)
    expect(f"all_gather_single {name}", as_bytes(stacked), torch.cat(wanted))


def check_objects():
    everyone = [None] * SIZE
    dist.all_gather_object(everyone, {"rank": RANK, "list": [1] * RANK})
    assert everyone == [{"rank": rank, "list": [1] * rank} for rank in range(SIZE)]
    told = [RANK, "text", None] if RANK == 0 else [None] * 3
    dist.broadcast_object_list(told, 0)
    assert told == [0, "text", None]


def check_all_to_all():
    even = torch.empty(3 * SIZE, dtype=torch.int64)
    dist.all_to_all_single(even, torch.arange(3 * SIZE) + 100 * RANK)
    expect("all_to_all_single", even.view(SIZE, 3)[:, 0], 100 * torch.arange(SIZE) + 3 * RANK)
    outputs = [torch.empty(RANK + 1 + source) for source in range(SIZE)]
    dist.all_to_all(outputs, [torch.full((target + 1 + RANK,), float(RANK)) for target in range(SIZE)])
    assert all((output == source).all() for source, output in enumerate(outputs))


def check_non_finite():
    tensor = torch.ones(1000)
    tensor[3 + RANK] = float("nan")
    tensor[500] = float("inf")
    tensor[700] = float("inf") if RANK == 0 else -float("inf")
    wanted = tensor.clone()
    dist.all_reduce(wanted, group=GLOO)
    dist.all_reduce(tensor)
    expect("NaN and Inf", tensor, wanted, 1e-5)


def check_groups_and_overlap():
    ends = dist.new_group([0, SIZE - 1])
    if RANK in (0, SIZE - 1):
        tensor = torch.full((100,), RANK + 1.0)
        dist.all_reduce(tensor, group=ends)
        expect("subset group", tensor, torch.full((100,), SIZE + 1.0))
    tensors = [torch.full((1000,), float(value)) for value in range(60)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
    for value, tensor in enumerate(tensors):
        expect("overlapping", tensor, torch.full((1000,), float(value * SIZE)))
    with dist._coalescing_manager():
        for tensor in tensors[:4]:
            dist.all_reduce(tensor)
    for value, tensor in enumerate(tensors[:4]):
        expect("coalesced", tensor, torch.full((1000,), float(value * SIZE * SIZE)))


for dtype in (*FLOATS, *INTEGERS):
    for shape in SHAPES:
        check_reductions(dtype, shape)
for dtype in (torch.float32, torch.float64, torch.bool, torch.complex64, torch.int64, torch.uint8):
    for shape in SHAPES:
        check_moves(dtype, shape)
check_objects()
check_all_to_all()
check_non_finite()
check_groups_and_overlap()
dist.destroy_process_group()

dist.init_process_group("netsum")  # a second life in the same process, over the same store
again = torch.ones(5)
dist.all_reduce(again)
expect("after a new init_process_group", again, torch.full((5,), float(SIZE)))
print("\n".join(problems) or "all equal")
sys.exit(1 if problems else 0)  # and no destroy_process_group: leaving must work without
