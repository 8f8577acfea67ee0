"""Exact sums between live ranks: equal to math.fsum of what gloo gathers, whatever the values; every other reduction
beside gloo's answer."""

import math
import sys

import torch
import torch.distributed as dist

from hostagent import Options

dist.init_process_group("netsum")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
GLOO, EXACT = dist.new_group(backend="gloo"), dist.new_group(pg_options=Options("exact"))
OP = dist.ReduceOp
torch.manual_seed(RANK)
problems = []


def expect(what, got, wanted):
    if not torch.equal(got, wanted):
        problems.append(f"{what}: {got} instead of {wanted}")


def gathered(tensor):
    parts = [torch.empty_like(tensor) for _ in range(SIZE)]
    dist.all_gather(parts, tensor, group=GLOO)
    return parts


def rounded_sums(tensor):
    """float64 sums of elements that the type's own rounding follows; exact for what ``values`` draws."""
    columns = torch.stack([part.double() for part in gathered(tensor)]).t().tolist()
    return torch.tensor([math.fsum(column) for column in columns], dtype=torch.float64).to(tensor.dtype)


def values(dtype, count):
    """Far apart in magnitude; of the smaller types few bits, so that no sum is rounded twice by float64."""
    if dtype is torch.float64:
        return torch.randn(count, dtype=dtype) * 2.0 ** torch.randint(-500, 500, (count,)).double()
    return (torch.randn(count) * 2.0 ** torch.randint(-6, 6, (count,))).to(dtype)


for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
    for count in (1, 5, 1000, 40000):
        tensor = values(dtype, count)
        wanted, name = rounded_sums(tensor), f"{dtype} {count}"
        exact, part = tensor.clone(), torch.empty(count, dtype=dtype)
        dist.all_reduce(exact, group=EXACT)
        expect(f"exact {name}", exact, wanted)
        dist.reduce_scatter_single(part, tensor.repeat(SIZE), group=EXACT)
        expect(f"exact reduce_scatter {name}", part, wanted)
        if dtype is torch.float64 or count <= 5:  # exact in any case
            dist.all_reduce(tensor)
            expect(f"usual {name}", tensor, wanted)

for dtype in (torch.float64, torch.bool):
    for operator in (OP.MIN, OP.MAX):
        tensor = torch.randn(3000, dtype=torch.float64) > 0 if dtype is torch.bool else values(dtype, 3000)
        wanted = tensor.clone()
        dist.all_reduce(wanted, op=operator, group=GLOO)
        dist.all_reduce(tensor, op=operator)
        expect(f"{operator} {dtype}", tensor, wanted)

for operator in (OP.PRODUCT, OP.BAND, OP.BOR, OP.BXOR):
    for dtype in (torch.int64, torch.int32, torch.uint8, torch.int8):
        for count in (1, 1000, 100000):
            tensor = torch.randint(0, 100, (count,)).to(dtype)
            wanted = tensor.clone()
            dist.all_reduce(wanted, op=operator, group=GLOO)
            dist.all_reduce(tensor, op=operator)
            expect(f"{operator} {dtype} {count}", tensor, wanted)

sparse = torch.sparse_coo_tensor(torch.randint(0, 9, (2, 20 + RANK)), torch.randn(20 + RANK), (9, 9))
wanted = sparse.clone()
dist.all_reduce(wanted, group=GLOO)
dist.all_reduce(sparse)
expect("sparse", sparse.to_dense(), wanted.to_dense())

complexes = torch.randn(33, dtype=torch.complex128)
wanted = torch.view_as_complex(rounded_sums(torch.view_as_real(complexes).reshape(-1)).view(33, 2))
dist.all_reduce(complexes)
expect("complex", complexes, wanted)
print("\n".join(problems) or "all exact")
dist.destroy_process_group()
sys.exit(1 if problems else 0)
