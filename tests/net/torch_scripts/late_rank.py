"""Rank 1 comes late to the sums of step 2: LATE_SECONDS. Each rank says what it got, and how many ranks are in it."""

from __future__ import annotations

import sys
import time
from typing import Any

import torch
import torch.distributed as dist

STEPS, LATE_STEP = 5, 2
ELEMENTS = 100_000


def main() -> None:
    dist.init_process_group("netsum")
    rank, late_s = dist.get_rank(), float(sys.argv[1])
    said = []
    for step in range(STEPS):
        if rank == 1 and step == LATE_STEP:
            time.sleep(late_s)
        total, average = (torch.full((ELEMENTS,), 2.0**rank) for _ in range(2))
        numbers = torch.full((3,), 2**rank, dtype=torch.int64)
        begin_s = time.monotonic()
        works: Any = [
            dist.all_reduce(total, async_op=True),
            dist.all_reduce(average, dist.ReduceOp.AVG, async_op=True),
            dist.all_reduce(numbers, dist.ReduceOp.AVG, async_op=True),
        ]
        for work in works:
            work.wait()
        took_s = time.monotonic() - begin_s
        values = [sorted(set(tensor.tolist())) for tensor in (total, average, numbers)]
        assert all(len(value) == 1 for value in values), values
        counts = [work.contributions() for work in works]
        said.append(f"{step}: {[value[0] for value in values]} {counts} {'late' if took_s >= late_s else 'in time'}")
    # one write, or lines of several ranks mix
    sys.stdout.write("".join(f"rank {rank} step {line}\n" for line in said))
    sys.stdout.flush()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
