"""What stands on torch.distributed, on netsum and on gloo: each part that the arguments name gives the same on both.

A part is a function of a process group that returns tensors; see FRAMEWORKS.md.
"""

import sys
import tempfile

import torch
import torch._dynamo
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.checkpoint as dcp
from lines import say
from torch import nn
from torch.distributed import nn as differentiable
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B
from torch.distributed.pipelining.schedules import ScheduleInterleavedZeroBubble
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

TOLERANCE = 1e-5
STEPS = 4


def make_model(*, buffers=False):
    torch.manual_seed(1)
    middle = nn.BatchNorm1d(16) if buffers else nn.Identity()
    return nn.Sequential(nn.Linear(8, 16), middle, nn.ReLU(), nn.Linear(16, 8))


def batch(step, rows=4):
    return torch.randn(rows, 8, generator=torch.Generator().manual_seed(1000 * step + RANK))


def train(model, optimizer, loss_of, steps=STEPS):
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def mesh_of(group):
    return DeviceMesh.from_group(group, "cpu")


def mesh_2d(group):
    backend = dist.get_backend(group)
    ranks = torch.arange(SIZE).reshape(2, 2)
    return DeviceMesh.from_group(HALVES[backend], "cpu", mesh=ranks, mesh_dim_names=("replicas", "shards"))


# --- DDP and what belongs to it -------------------------------------------------------------------------------------


def ddp_variants(group):
    found = []
    for options in (
        {"static_graph": True},
        {"find_unused_parameters": True},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.001},
    ):
        model = DistributedDataParallel(make_model(buffers=True), process_group=group, **options)
        train(model, sgd(model), lambda step, model=model: model(batch(step)).square().mean())
        found += list(model.parameters()) + list(model.buffers())
    return found


def ddp_no_sync(group):
    model = DistributedDataParallel(make_model(), process_group=group)
    with model.no_sync():
        model(batch(0)).square().mean().backward()
    model(batch(1)).square().mean().backward()
    return [parameter.grad for parameter in model.parameters()]


def ddp_join(group):
    """Ranks with fewer batches; ZeroRedundancyOptimizer joins as well."""

    model = DistributedDataParallel(make_model(), process_group=group)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, process_group=group, lr=0.01)
    with Join([model, optimizer]):
        train(model, optimizer, lambda step: model(batch(step)).square().mean(), STEPS + RANK)
    return list(model.parameters())


def ddp_hooks(group):

    found = []
    for hook in (default_hooks.fp16_compress_hook, powerSGD_hook.powerSGD_hook):
        model = DistributedDataParallel(make_model(), process_group=group)
        state = group
        if hook is powerSGD_hook.powerSGD_hook:
            state = powerSGD_hook.PowerSGDState(group, matrix_approximation_rank=1, start_powerSGD_iter=2)
        model.register_comm_hook(state, hook)
        train(model, sgd(model), lambda step, model=model: model(batch(step)).square().mean())
        found += [parameter.half() for parameter in model.parameters()]  # rounded gradients
    return found


def zero(group):

    model = DistributedDataParallel(make_model(), process_group=group)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, process_group=group, lr=0.01)
    train(model, optimizer, lambda step: model(batch(step)).square().mean())
    optimizer.consolidate_state_dict(to=0)
    moments = optimizer.state_dict()["state"].values() if RANK == 0 else []
    return list(model.parameters()) + [state["exp_avg"] for state in moments]


def compiled_ddp(group):
    model = DistributedDataParallel(make_model(), process_group=group)
    step_of = torch.compile(lambda given: model(given).square().mean(), backend="aot_eager")
    losses = train(model, sgd(model), lambda step: step_of(batch(step)))
    return losses + list(model.parameters())


# --- Sharding -------------------------------------------------------------------------------------------------------


def fsdp2(group):

    found = []
    for mesh, policy in (
        (mesh_of(group), MixedPrecisionPolicy()),
        (mesh_2d(group), MixedPrecisionPolicy()),
        (mesh_of(group), MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)),
    ):
        model = make_model()
        for layer in (model[0], model[3], model):
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        train(model, sgd(model), lambda step, model=model: model(batch(step)).float().square().mean())
        found += [parameter.full_tensor() for parameter in model.parameters()]
    return found


def fsdp1(group):

    model = FullyShardedDataParallel(make_model(), process_group=group, device_id=torch.device("cpu"))
    train(model, sgd(model), lambda step: model(batch(step)).square().mean())
    with FullyShardedDataParallel.summon_full_params(model):
        return [parameter.clone() for parameter in model.parameters()]


def dtensor(group):

    mesh, generator = mesh_of(group), torch.Generator().manual_seed(3)
    one, other = torch.randn(10, 12, generator=generator), torch.randn(12, 6, generator=generator)
    rows, columns = distribute_tensor(one, mesh, [Shard(0)]), distribute_tensor(other, mesh, [Shard(1)])
    inner = distribute_tensor(one, mesh, [Shard(1)]) @ distribute_tensor(other, mesh, [Shard(0)])
    assert inner.placements == (Partial(),)
    own = DTensor.from_local(torch.full((2, 3), float(RANK)), mesh, [Partial("max")])
    return [
        (rows @ other_everywhere(columns)).full_tensor(),
        inner.redistribute(mesh, [Shard(0)]).to_local(),
        inner.full_tensor(),
        rows.redistribute(mesh, [Shard(1)]).to_local(),  # all_to_all
        own.redistribute(mesh, [Replicate()]).to_local(),
        rows.sum().full_tensor(),
    ]


def other_everywhere(columns):

    return columns.redistribute(placements=[Replicate()])


def tensor_parallel(group):

    torch.manual_seed(1)
    model = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8), nn.Linear(8, 12))
    plan = {
        "0": SequenceParallel(),
        "1": ColwiseParallel(input_layouts=Shard(1)),
        "3": RowwiseParallel(output_layouts=Shard(1)),
        "4": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False),
    }
    mesh = mesh_of(group)
    parallelize_module(model, mesh, plan)
    parallelize_module(model, mesh, PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1)))
    generator = torch.Generator().manual_seed(5)

    def loss_of(step):
        given = torch.randn(2, 8, 8, generator=generator)
        wanted = torch.randint(12, (16,), generator=generator)
        return nn.functional.cross_entropy(model(given).flatten(0, 1), wanted)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with loss_parallel():
        losses = train(model, optimizer, loss_of, steps=2)
    return [each.full_tensor() for each in (*losses, *model.parameters())]


# --- Pipelines ------------------------------------------------------------------------------------------------------


def pipelines(group):

    found = []
    for schedule_of, per_rank in (
        (ScheduleGPipe, 1),
        (Schedule1F1B, 1),
        (ScheduleInterleaved1F1B, 2),
        (ScheduleInterleavedZeroBubble, 2),
    ):
        torch.manual_seed(1)
        parts = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(SIZE * per_rank)]
        own = range(RANK, SIZE * per_rank, SIZE)
        stages = [PipelineStage(parts[i], i, SIZE * per_rank, torch.device("cpu"), group=group) for i in own]
        schedule = schedule_of(stages if per_rank > 1 else stages[0], 8, loss_fn=nn.MSELoss())
        generator = torch.Generator().manual_seed(2)
        given, wanted = torch.randn(16, 8, generator=generator), torch.randn(16, 8, generator=generator)
        losses = []
        arguments = (given,) if RANK == 0 else ()
        targets = {"target": wanted, "losses": losses} if RANK == SIZE - 1 else {}
        schedule.step(*arguments, **targets)
        found += [parameter.grad for i in own for parameter in parts[i].parameters()]
        found += [loss.detach() for loss in losses]
    return found


# --- Collectives of other layers ------------------------------------------------------------------------------------


def functional_collectives(group):

    tensor = torch.arange(8.0).reshape(4, 2) + RANK
    sizes = [1] * SIZE
    given = tensor.clone().requires_grad_()
    (functional.all_gather_single_autograd(given, 0, group).square().sum() * (RANK + 1)).backward()
    other = tensor.clone().requires_grad_()
    differentiable.functional.all_reduce(other, group=group).square().sum().backward()
    return [
        functional.wait_tensor(functional.all_reduce(tensor, "sum", group)),
        functional.wait_tensor(functional.all_reduce(tensor, "avg" if group is not GLOO else "sum", group))
        * (SIZE if group is not GLOO else 1),
        functional.wait_tensor(functional.broadcast(tensor, 1, group)),
        functional.wait_tensor(functional.all_gather_single(tensor, 0, group)),
        functional.wait_tensor(functional.all_gather_single(tensor, 1, group)),
        functional.wait_tensor(functional.reduce_scatter_single(tensor, "sum", 0, group)),
        functional.wait_tensor(functional.all_to_all_single(tensor, sizes, sizes, group)),
        functional.wait_tensor(functional.permute_tensor(tensor.flatten(), [1, 2, 3, 0], group)),
        *map(functional.wait_tensor, functional.all_reduce_coalesced([tensor, tensor + 1], "sum", group)),
        given.grad,
        other.grad,
    ]


def objects(group):
    given = {"rank": RANK, "text": "x" * (10 + 100 * RANK), "tensor": torch.full((2,), float(RANK))}
    gathered = [None] * SIZE
    dist.all_gather_object(gathered, given, group=group)
    at_root = [None] * SIZE if RANK == 1 else None
    dist.gather_object(given, at_root, dst=1, group=group)
    shared = [given if RANK == 2 else None, RANK]
    dist.broadcast_object_list(shared, src=2, group=group)
    part = [None]
    dist.scatter_object_list(part, [{"for": rank} for rank in range(SIZE)] if RANK == 3 else None, src=3, group=group)
    if RANK == 0:
        dist.send_object_list([given, 7], 3, group=group)
    received = [None, None]
    if RANK == 3:
        dist.recv_object_list(received, 0, group=group)
    assert [each["text"] for each in gathered] == ["x" * (10 + 100 * rank) for rank in range(SIZE)]
    assert at_root is None or [each["rank"] for each in at_root] == list(range(SIZE))
    assert shared[0]["rank"] == shared[1] == 2
    assert part == [{"for": RANK}]
    assert RANK != 3 or (received[0]["text"], received[1]) == ("x" * 10, 7)
    return [each["tensor"] for each in gathered]


def checkpoint(group):
    """Saved by four shards, loaded by four shards of another model."""

    folder = [tempfile.mkdtemp() if RANK == 0 else None]
    dist.broadcast_object_list(folder, 0, group=group)

    def make():
        model = make_model()
        fully_shard(model, mesh=mesh_of(group))
        return model, torch.optim.Adam(model.parameters(), lr=0.01)

    model, optimizer = make()
    train(model, optimizer, lambda step: model(batch(step)).square().mean())
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))
    dcp.save(state, checkpoint_id=folder[0], process_group=group)
    other, its_optimizer = make()
    state = dict(zip(("model", "optimizer"), get_state_dict(other, its_optimizer), strict=True))
    dcp.load(state, checkpoint_id=folder[0], process_group=group)
    set_state_dict(other, its_optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one.to_local(), two.to_local())
    train(other, its_optimizer, lambda step: other(batch(step)).square().mean())
    return [parameter.full_tensor() for parameter in other.parameters()]


def begin():
    """The groups, and for meshes of two dimensions those of two by two ranks."""
    global RANK, SIZE, GLOO, HALVES
    dist.init_process_group("netsum")
    RANK, SIZE = dist.get_rank(), dist.get_world_size()
    GLOO = dist.new_group(backend="gloo")
    HALVES = {}
    for backend in ("netsum", "gloo"):
        rows = [dist.new_group(ranks, backend=backend) for ranks in ([0, 1], [2, 3])]
        columns = [dist.new_group(ranks, backend=backend) for ranks in ([0, 2], [1, 3])]
        HALVES[backend] = [columns[RANK % 2], rows[RANK // 2]]


def main():
    begin()
    for name in sys.argv[1:]:
        ours, theirs = ([tensor.detach() for tensor in globals()[name](group)] for group in (dist.group.WORLD, GLOO))
        assert len(ours) == len(theirs) > 0, name
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            tolerance = 2e-3 if one.dtype is torch.float16 else TOLERANCE
            torch.testing.assert_close(
                one, other, rtol=tolerance, atol=tolerance, msg=lambda text, where=(name, number): f"{where}: {text}"
            )
        say(f"{name}: as gloo's")
    dist.destroy_process_group()
