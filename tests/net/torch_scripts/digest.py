"""Deterministic collectives; each rank prints a digest of all results. Arguments: further controllers, HOST:PORT each,
on which the same is done again. ``slow`` in front: with pauses, so that something can happen meanwhile."""

import hashlib
import os
import sys
import time

import torch
import torch.distributed as dist
from lines import say

ROUNDS, PAUSE_S = 6, 0.2


def tensors(rank: int, step: int) -> list[torch.Tensor]:
    made = torch.Generator().manual_seed(1000 * step + rank)
    floats = torch.randn(9_001, generator=made) * 2.0 ** torch.randint(-30, 30, (9_001,), generator=made)
    special = floats[:500].clone()
    special[17] = float("nan") if rank else float("inf")
    return [
        floats,
        special,
        floats[:3_000].to(torch.bfloat16),
        torch.randint(-(2**31), 2**31 - 1, (2_000,), generator=made, dtype=torch.int32),
        torch.randint(-(2**62), 2**62, (700,), generator=made, dtype=torch.int64),
    ]


def digest(pause_s: float) -> str:
    told = hashlib.sha256()
    rank = dist.get_rank()
    for step in range(ROUNDS):
        for tensor in tensors(rank, step):
            dist.all_reduce(tensor)
            told.update(tensor.view(torch.uint8).numpy().tobytes())
        largest = tensors(rank, step)[3]
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        told.update(largest.numpy().tobytes())
        given = tensors(rank, step)[0]
        dist.broadcast(given, step % dist.get_world_size())
        told.update(given.numpy().tobytes())
        if rank == 0 and pause_s:
            say(f"step {step}")
            time.sleep(pause_s)
    return told.hexdigest()


arguments = sys.argv[1:]
slow = arguments[:1] == ["slow"]
for number, controller in enumerate([os.environ["NETSUM_CONTROLLER"], *arguments[slow:]]):
    os.environ["NETSUM_CONTROLLER"] = controller
    dist.init_process_group("netsum")
    found = digest(PAUSE_S if slow and number == 0 else 0.0)
    say(f"rank {dist.get_rank()} aggregator {number} digest {found}")
    dist.destroy_process_group()
