"""Trains to step 20 with a checkpoint every fifth; the last rank is killed in step 12, once.

Arguments: the checkpoint file, and the files' folder to which every rank writes the weights that it ends with.
"""

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from lines import say
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CHECKPOINT, RESULTS = Path(sys.argv[1]), Path(sys.argv[2])
KILLED = RESULTS / "killed"
STEPS = 20


def batch(step, rank):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(8, 4, generator=generator)


def train(model, rank, size):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step = 0
    if CHECKPOINT.exists():
        saved = torch.load(CHECKPOINT)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    say(f"rank {rank} of {size} begins at step {step}")
    while step < STEPS:
        optimizer.zero_grad()
        model(batch(step, rank)).square().sum().backward()
        if step == 12 and rank == size - 1 and not KILLED.exists():
            KILLED.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.step()
        step += 1
        if step % 5 == 0:
            if rank == 0:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
                torch.save(state, CHECKPOINT.with_suffix(".new"))
                CHECKPOINT.with_suffix(".new").rename(CHECKPOINT)
            dist.barrier()


def main():
    dist.init_process_group("netsum")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 3))
    rank = dist.get_rank()
    train(model, rank, dist.get_world_size())
    torch.save(model.module.state_dict(), RESULTS / f"rank-{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
