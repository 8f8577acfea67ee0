"""DDP under distributed autograd: its backward runs in threads of RPC, which have no Python frame.

The gradients equal those of a plain backward. Every rank trains in its main thread; then rank 0 has all ranks train in
RPC's threads, around a layer that lives on the last rank, with a group made there; then some ranks have fewer batches.
"""

import os

import torch
import torch.distributed as dist
import torch.distributed.autograd as dist_autograd
from lines import say
from torch import nn
from torch.distributed import rpc
from torch.nn.parallel import DistributedDataParallel

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
trainers = {}


def gradients(model, loss_of):
    """By distributed autograd, and by a plain backward."""
    with dist_autograd.context() as context:
        dist_autograd.backward(context, [loss_of()])
        found = dist_autograd.get_gradients(context)
        remote = [found[parameter].clone() for parameter in model.parameters()]
    model.zero_grad()
    loss_of().backward()
    return remote, [parameter.grad.clone() for parameter in model.parameters()]


def check(model, batches):
    for batch in batches:
        for one, other in zip(*gradients(model, lambda batch=batch: model(batch).norm()), strict=True):
            assert torch.equal(one, other), (one, other)


def train_here():
    torch.manual_seed(RANK)
    check(DistributedDataParallel(nn.Linear(2, 3)), [torch.rand(3, 2) for _ in range(3)])


class RemoteLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, given):
        return self.layer(given).relu()


def forward_of(layer, given):
    return layer.local_value()(given)


def make_trainer(layer):
    """In a thread of RPC, as what follows."""
    torch.manual_seed(7)
    trainers["group"] = dist.new_group(list(range(SIZE)))
    trainers["model"] = DistributedDataParallel(nn.Linear(4, 2), process_group=trainers["group"])
    trainers["layer"] = layer


def train(batches):
    model, layer = trainers["model"], trainers["layer"]
    with model.join():
        for batch in batches:
            with dist_autograd.context() as context:
                hidden = rpc.rpc_sync(layer.owner(), forward_of, args=(layer, batch))
                dist_autograd.backward(context, [model(hidden).sum()])
                found = dist_autograd.get_gradients(context)
    return [found[parameter] for parameter in model.module.parameters()]


def on_all(function, arguments):
    """Call a function in RPC's threads of all ranks at once."""
    calls = [rpc.rpc_async(f"rank{rank}", function, args=arguments(rank)) for rank in range(SIZE)]
    return [call.wait() for call in calls]


def train_there():
    layer = rpc.remote(f"rank{SIZE - 1}", RemoteLayer)
    on_all(make_trainer, lambda rank: (layer,))
    even = on_all(train, lambda rank: ([torch.full((2, 4), float(rank + step)) for step in range(3)],))
    assert all(torch.equal(one, other) for one, other in zip(even[0], even[-1], strict=True)), even
    uneven = on_all(train, lambda rank: ([torch.full((2, 4), float(rank + step)) for step in range(1 + rank % 2)],))
    assert len(uneven) == SIZE


dist.init_process_group("netsum")
rpc.init_rpc(f"rank{RANK}", rank=RANK, world_size=SIZE)
train_here()
dist.barrier()
if RANK == 0:
    train_there()
rpc.shutdown()
say("trained")
