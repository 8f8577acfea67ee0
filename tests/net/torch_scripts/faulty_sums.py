"""Sums with a known result: SECONDS TIMEOUT_SECONDS [PAUSE_SECONDS]. Each rank checks every one of them."""

from __future__ import annotations

import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("netsum", timeout=timedelta(seconds=float(sys.argv[2])))
    rank, size = dist.get_rank(), dist.get_world_size()
    values = torch.arange(50_000, dtype=torch.float32) % 1000
    wanted = values * size + size * (size - 1) / 2
    dist.all_reduce(torch.ones(1))  # faults' times count from here
    pause_s = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    end_s, step, going = time.monotonic() + float(sys.argv[1]), 0, torch.ones(1)
    while going.item():
        tensor = values + rank
        dist.all_reduce(tensor)
        if not torch.equal(tensor, wanted):
            raise SystemExit(f"rank {rank}: the sum of step {step} is wrong")
        going = torch.tensor([float(time.monotonic() < end_s)])
        dist.broadcast(going, 0)
        step += 1
        time.sleep(pause_s)
    sys.stdout.write(f"rank {rank} right after {step} sums\n")
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
