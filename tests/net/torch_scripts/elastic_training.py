"""Trains to step 20 with a checkpoint every fifth; in some steps ranks of the last node wait to be killed, once each.

Arguments: the checkpoint file; the folder to which every rank writes the weights that it ends with, and a rank that
waits the file ``step-STEP-rank-RANK`` with its process; the steps.
"""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from lines import say
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CHECKPOINT, RESULTS = Path(sys.argv[1]), Path(sys.argv[2])
WAIT_IN = {int(step) for step in sys.argv[3:]}
STEPS = 20


def batch(step, rank):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(8, 4, generator=generator)


def wait_to_be_killed(step, rank):
    """Returns at once where that has happened in this step, or is to happen on another node."""
    told = RESULTS / f"step-{step}-rank-{rank}"
    if step in WAIT_IN and not told.exists() and os.environ["GROUP_RANK"] != "0":
        told.with_suffix(".new").write_text(str(os.getpid()))
        told.with_suffix(".new").rename(told)
        agent = os.getppid()
        while os.getppid() == agent:  # not longer than the test lasts
            time.sleep(0.1)
        sys.exit("the agent has gone")


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
        wait_to_be_killed(step, rank)
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
