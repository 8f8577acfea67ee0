"""What a rank takes beyond torch and its tensors, and the CPU time of an idle rank: a line of JSON from each."""

import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from lines import say

ELEMENTS = 4 << 20
IDLE_S = 2.0


def resident_bytes() -> int:
    """Shared memory included."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def work(tensor: torch.Tensor, other: torch.Tensor) -> None:
    """Sums, moves, an exchange and messages of the whole tensor."""
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.all_reduce(tensor)
    dist.broadcast(tensor, 0)
    dist.all_to_all_single(other, tensor)
    works = [dist.irecv(other, (rank - 1) % size), dist.isend(tensor, (rank + 1) % size)]
    for each in works:
        each.wait()
    dist.barrier()


tensor, other = torch.ones(ELEMENTS), torch.ones(ELEMENTS)
torch.mm(torch.ones(64, 64), torch.ones(64, 64))  # what torch takes at its first calculation
before_bytes = resident_bytes()
dist.init_process_group("netsum")
for _ in range(3):
    work(tensor, other)
used_bytes = resident_bytes() - before_bytes
before_s = time.process_time()
time.sleep(IDLE_S)
idle_share = (time.process_time() - before_s) / IDLE_S
say(json.dumps({"used_bytes": used_bytes, "idle_share": idle_share}))
dist.destroy_process_group()
