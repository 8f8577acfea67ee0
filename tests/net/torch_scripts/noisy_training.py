"""A small model by DDP; at the end its losses next to gloo's, and a digest of its parameters. Half-way
rank 0 says so and waits for the file that the argument names; rank 1 has sent its part of the next sum by then."""

import copy
import hashlib
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from lines import say
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 12
PATIENCE_S = 60

dist.init_process_group("netsum")
RANK = dist.get_rank()
GLOO = dist.new_group(backend="gloo")
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 3))
reference = copy.deepcopy(model)


def wait_for(path):
    say("half-way")
    end_s = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < end_s, f"{path} was not written"
        time.sleep(0.02)


def losses(model, group, pause):
    parallel = DistributedDataParallel(model, process_group=group)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(100 + RANK)
    seen = []
    for step in range(STEPS):
        inputs = torch.randn(32, 20, generator=generator)
        loss = nn.functional.cross_entropy(parallel(inputs), (inputs[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
        if pause and RANK == 0 and step == STEPS // 2:
            wait_for(pause)
    return seen


ours, theirs = losses(model, None, Path(sys.argv[1])), losses(reference, GLOO, None)
for step, (one, other) in enumerate(zip(ours, theirs, strict=True)):
    assert abs(one - other) <= 1e-4 * max(1.0, abs(other)), f"step {step}: loss {one}, with gloo {other}"
told = hashlib.sha256(b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters()))
say(f"rank {RANK} parameters {told.hexdigest()}")
dist.destroy_process_group()
