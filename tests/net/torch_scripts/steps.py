"""Sums until told to end: 20 in all, or as many as told, or for ever with ``endless``; ``raise`` fails on rank 1 after
two."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from lines import say

dist.init_process_group("netsum")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
how = sys.argv[1] if len(sys.argv) > 1 else ""
steps = int(how) if how.isdigit() else 20
step = 0
while step < steps or how == "endless":
    tensor = torch.full((50_000,), float(RANK + step))
    dist.all_reduce(tensor)
    assert (tensor == sum(range(SIZE)) + SIZE * step).all(), tensor
    if RANK == 0:
        say(f"step {step}")
    step += 1
    if step == 2 and RANK == 1 and how == "raise":
        raise ValueError("two is enough")
    if step == 2 and RANK == 1 and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "slow":
        time.sleep(0.3)
say(f"rank {RANK} of {SIZE} has done {step} steps")
