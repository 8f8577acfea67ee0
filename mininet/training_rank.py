"""One rank of training.py: BACKEND MODEL STEPS; each step of DDP timed, a line of JSON at the end."""

from __future__ import annotations

import json
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from training_models import MODELS

from hostagent.cli.demo.training import SEED, digits

BATCH = 32
LEARNING_RATE = 0.05


def main() -> None:
    backend, name, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    dist.init_process_group(backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(SEED)
    model = DistributedDataParallel(MODELS[name]())
    images, labels = digits()[0].tensors
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE), nn.CrossEntropyLoss()
    times_s, alone_s, losses = [], [], []
    for step in range(steps + 1):
        places = [(step * ranks + rank) * BATCH % len(labels) + place for place in range(BATCH)]
        batch = [place % len(labels) for place in places]
        with model.no_sync():  # what a step takes without its gradients' sums
            started_s = time.perf_counter()
            criterion(model(images[batch]), labels[batch]).backward()
            alone = time.perf_counter() - started_s
        optimizer.zero_grad()
        dist.barrier()
        started_s = time.perf_counter()
        loss = criterion(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        ended_s = time.perf_counter()
        if step:  # the first one makes connections and buckets, and is not counted
            times_s.append(ended_s - started_s)
            alone_s.append(alone)
            losses.append(float(loss.detach()))
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    first = weights.clone()
    dist.broadcast(first, 0)
    if not torch.equal(weights, first):
        raise SystemExit(f"rank {rank}: its weights are not those of rank 0")
    said = {"times_s": times_s, "alone_s": alone_s, "losses": losses, "parameters": len(weights)}
    dist.barrier()
    print(json.dumps(said), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
