"""Calls on tensors of a device, each beside the same call on host memory: the same bits.

device_calls.py cuda          on a GPU; with training, too
device_calls.py lazy|eager    on a device made of host memory (tests/fakes/fake_accelerator.py)
"""

import copy
import functools
import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from hostagent import Options
from hostagent.torch_backend import plans
from hostagent.torch_backend.device import accelerator, transfer
from tests.fakes.fake_accelerator import FakeAccelerator

KIND = sys.argv[1]
IS_CUDA = KIND == "cuda"
BACKEND = "cpu:netsum,cuda:netsum" if IS_CUDA else "netsum"
if IS_CUDA:
    torch.cuda.set_device(0)
dist.init_process_group(BACKEND, device_id=torch.device("cuda", 0) if IS_CUDA else None)
RANK, SIZE = dist.get_rank(), dist.get_world_size()
OP = dist.ReduceOp
FAKE = FakeAccelerator(lazy=KIND == "lazy")
if not IS_CUDA:
    accelerator.others.append(FAKE.find)
transfer.PIECE_BYTES, plans.LEAST_ELEMENTS = 1 << 18, 1 << 17
problems = []


def put(tensor):
    return tensor.cuda() if IS_CUDA else FAKE.tensor(tensor.clone())


def get(tensor):
    return tensor.cpu() if IS_CUDA else FAKE.read(tensor)


def bits(tensor):
    return tensor.contiguous().view(-1).view(torch.uint8)


def expect(what, got, wanted):
    if not torch.equal(bits(got), bits(wanted)):
        places = (bits(got) != bits(wanted)).nonzero().view(-1) // got.element_size()
        first = int(places[0])
        shown = got.view(-1)[first], wanted.view(-1)[first]
        problems.append(f"{what}: {len(places)} bytes differ, first at {first}: {shown[0]} instead of {shown[1]}")


def wild(dtype, count, special=False):
    """Numbers whose magnitudes differ from chunk to chunk and within; zeros; with NaN and infinities if asked for."""
    if not dtype.is_floating_point:
        return torch.randint(-(2**31), 2**31, (count,)).to(dtype)
    spread = 20 if dtype is torch.float16 else 130
    level = torch.randint(-spread, 14 if dtype is torch.float16 else 126, ((count + 63) // 64, 1)).double()
    values = torch.randn(len(level), 64, dtype=torch.float64) * 2.0 ** (level - torch.randint(0, 30, (len(level), 64)))
    values = values.to(dtype).view(-1)[:count].contiguous()
    values[torch.rand(count) < 0.05] = 0.0
    values[: min(count, 200) if RANK else 100] = 0.0
    values = torch.where(values.isfinite(), values, torch.ones_like(values))
    if special:
        values[RANK * 1000 % count], values[count // 2] = torch.inf, torch.nan
        values[-1] = -torch.inf if RANK % 2 else torch.inf
    return values


def beside(what, call, *tensors):
    """The call on the device, then on host memory; the first tensors of both compared."""
    here = [put(tensor) for tensor in tensors]
    call(*here)
    results = [get(tensor) for tensor in here]
    call(*tensors)
    for number, (got, wanted) in enumerate(zip(results, tensors, strict=True)):
        expect(f"{what}, tensor {number}", got, wanted)


LARGE = {(OP.SUM, torch.float32), (OP.AVG, torch.float32), (OP.SUM, torch.bfloat16), (OP.AVG, torch.float16)}
LARGE |= {(OP.SUM, torch.int32), (OP.MAX, torch.float64)}


def check_reductions():
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64):
        for operator in (OP.SUM, OP.AVG, OP.MAX):
            for count in (1, 1000, 300_001) if IS_CUDA or (operator, dtype) in LARGE else (1, 1000):
                name = f"{operator} {dtype} {count}"
                beside(f"all_reduce {name}", lambda t, op=operator: dist.all_reduce(t, op), wild(dtype, count))
        beside(f"reduce {dtype}", lambda t: dist.reduce(t, 1), wild(dtype, 1000))
        for count in (700, 100_003):
            beside(f"reduce_scatter {dtype}", dist.reduce_scatter_tensor, wild(dtype, count), wild(dtype, count * SIZE))
    for dtype in (torch.float32, torch.float16):
        beside(f"all_reduce {dtype} not finite", dist.all_reduce, wild(dtype, 300_001, special=True))
    packed = dist.new_group(backend=BACKEND, pg_options=Options(precision="packed"))
    for dtype, operator in ((torch.bfloat16, OP.SUM), (torch.float16, OP.AVG)):
        for special in (False, True):
            values = wild(dtype, 300_001, special)
            name = f"packed all_reduce {dtype}{' not finite' if special else ''}"
            beside(name, lambda t, op=operator: dist.all_reduce(t, op, group=packed), values)
    whole = wild(torch.bfloat16, 70_001 * SIZE)
    scatter = functools.partial(dist.reduce_scatter_tensor, group=packed)
    beside("packed reduce_scatter", scatter, wild(torch.bfloat16, 70_001), whole)
    special = wild(torch.float32, 100_003 * SIZE, special=True)
    beside("reduce_scatter not finite", dist.reduce_scatter_tensor, wild(torch.float32, 100_003), special)
    doubled = dist._make_nccl_premul_sum(3.0)
    beside("all_reduce PREMUL_SUM", lambda t: dist.all_reduce(t, doubled), wild(torch.float32, 1000).clamp(-1e3, 1e3))
    if IS_CUDA:
        beside("all_reduce PRODUCT", lambda t: dist.all_reduce(t, OP.PRODUCT), wild(torch.int32, 300_001))
        beside("all_reduce of a view", lambda t: dist.all_reduce(t.t()[1:7:2]), wild(torch.float32, 9000).view(90, 100))
        beside("all_reduce complex", lambda t: dist.all_reduce(torch.view_as_complex(t)), torch.randn(999, 2))
        places = torch.randperm(81)[: 20 + RANK]  # each once: a GPU adds those of one place in no certain order
        sparse = torch.sparse_coo_tensor(torch.stack([places // 9, places % 9]), torch.randn(20 + RANK), (9, 9))
        there = sparse.cuda()
        dist.all_reduce(there)
        dist.all_reduce(sparse)
        expect("all_reduce of sparse tensors", there.to_dense().cpu(), sparse.to_dense())


def check_moves():
    for count in (1, 1000, 300_001):
        beside(f"broadcast {count}", lambda t: dist.broadcast(t, 1), wild(torch.float32, count))
    part = wild(torch.bfloat16, 777)
    beside("all_gather_into_tensor", dist.all_gather_into_tensor, torch.zeros(777 * SIZE, dtype=part.dtype), part)
    parts = [torch.zeros(777, dtype=part.dtype) for _ in range(SIZE)]
    beside("all_gather", lambda t, *outputs: dist.all_gather(list(outputs), t), part, *parts)
    beside("gather", lambda t, *o: dist.gather(t, list(o) if RANK == 1 else None, 1), part, *parts)
    given = [wild(torch.float32, 50) for _ in range(SIZE)]
    beside("scatter", lambda t, *i: dist.scatter(t, list(i) if RANK == 0 else None, 0), torch.zeros(50), *given)
    whole = wild(torch.float32, 60 * SIZE)
    beside("all_to_all_single", dist.all_to_all_single, torch.zeros_like(whole), whole)
    following, before = (RANK + 1) % SIZE, (RANK - 1) % SIZE

    def exchange(received, sent):
        pair = [dist.P2POp(dist.isend, sent, following), dist.P2POp(dist.irecv, received, before)]
        for work in dist.batch_isend_irecv(pair):
            work.wait()

    beside("batch_isend_irecv", exchange, torch.zeros(5000), wild(torch.float32, 5000))


def check_many_in_flight():
    tensors = [put(torch.full((300_001 if i % 3 else 10,), float(i + RANK))) for i in range(12)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    dist.barrier()
    for i, (work, tensor) in reversed(list(enumerate(zip(works, tensors, strict=True)))):
        work.wait()
        expect(f"call {i} of 12", get(tensor), torch.full(tensor.shape, float(SIZE * i + SIZE * (SIZE - 1) // 2)))


def train(model, wrap, device, steps=3):
    """Its weights after some steps."""
    model = copy.deepcopy(model).to(device)
    wrapped = wrap(model)
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    draw = torch.Generator().manual_seed(RANK)
    for _ in range(steps):
        optimizer.zero_grad()
        wrapped(torch.randn(16, 512, generator=draw).to(device)).square().mean().backward()
        optimizer.step()
    return torch.cat([weights.detach().cpu().view(-1) for weights in model.parameters()])


def check_training():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(0)
    layers = [torch.nn.Linear(512, 512) for _ in range(4)]
    model = torch.nn.Sequential(*(each for layer in layers for each in (layer, torch.nn.GELU())))
    wanted = train(model, DistributedDataParallel, "cpu")

    def ddp(model):
        return DistributedDataParallel(model, bucket_cap_mb=1.5)

    there, again = train(model, ddp, "cuda"), train(model, ddp, "cuda")
    expect("DDP twice", again, there)
    if not torch.allclose(there, wanted, atol=1e-4):
        problems.append(f"DDP: the weights differ from the CPU's by {(there - wanted).abs().max()}")

    sharded = copy.deepcopy(model).cuda()
    fully_shard(sharded, mesh=init_device_mesh("cuda", (SIZE,)))
    optimizer = torch.optim.SGD(sharded.parameters(), lr=0.1)
    draw = torch.Generator().manual_seed(RANK)
    for _ in range(3):
        optimizer.zero_grad()
        sharded(torch.randn(16, 512, generator=draw).cuda()).square().mean().backward()
        optimizer.step()
    whole = torch.cat([weights.full_tensor().detach().cpu().view(-1) for weights in sharded.parameters()])
    if not torch.allclose(whole, wanted, atol=1e-4):
        problems.append(f"FSDP2: the weights differ from the CPU's by {(whole - wanted).abs().max()}")


torch.manual_seed(100 + RANK)
check_reductions()
check_moves()
check_many_in_flight()
if IS_CUDA:
    check_training()
elif FAKE.host_memory.in_use:
    problems.append(f"{FAKE.host_memory.in_use} buffers were not given back")
sys.stdout.write("\n".join(problems) + "\n" if problems else "the same bits\n")
dist.destroy_process_group()
sys.exit(1 if problems else 0)
