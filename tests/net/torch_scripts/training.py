"""DDP on a small model with buffers and a parameter unused now and then: netsum's losses beside gloo's."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("netsum")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
GLOO = dist.new_group(backend="gloo")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU())
        self.sometimes = nn.Linear(64, 64)
        self.end = nn.Linear(64, 3)

    def forward(self, x, detour):
        x = self.start(x)
        return self.end(self.sometimes(x) if detour else x)


def losses(model, group):
    parallel = DistributedDataParallel(
        model, process_group=group, find_unused_parameters=True, bucket_cap_mb=0.01, broadcast_buffers=True
    )
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(100 + RANK)
    seen = []
    for step in range(30):
        inputs = torch.randn(32, 20, generator=generator)
        targets = (inputs[:, 0] > 0).long() + (inputs[:, 1] > 1).long()
        loss = nn.functional.cross_entropy(parallel(inputs, step % 2 == 0), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen, [parameter.detach().clone() for parameter in model.parameters()]


torch.manual_seed(1 + RANK)  # DDP itself brings the models together
model = Model()
beside = copy.deepcopy(model)
ours, parameters = losses(model, None)
theirs, _ = losses(beside, GLOO)
for step, (one, other) in enumerate(zip(ours, theirs, strict=True)):
    assert abs(one - other) <= 1e-4 * max(1.0, abs(other)), f"step {step}: loss {one}, with gloo {other}"
for parameter in parameters:
    mine = parameter.clone()
    dist.broadcast(mine, 0)
    assert torch.equal(mine, parameter), "the ranks' models have parted"
print(f"losses {ours[0]:.4f} to {ours[-1]:.4f}, as gloo's")
dist.destroy_process_group()
