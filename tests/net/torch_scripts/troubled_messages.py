"""Exchanges of 2 MB from each rank to each other, until the trouble that the argument names has been met and outlived.

``restart``: the aggregator is killed and started again meanwhile. ``flips``: the ports flip bits.
"""

import sys

import torch
import torch.distributed as dist
from lines import say

COUNT = 500_000
TROUBLES = {"restart": "message/resumptions", "flips": "message/rejected_checksum"}


def pattern(source, target, number):
    return torch.arange(COUNT, dtype=torch.int32) * 7 + 1000 * source + 100 * target + number


dist.init_process_group("netsum")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
met = torch.zeros(1, dtype=torch.int64)
number = 0
while not met[0]:
    outputs = [torch.zeros(COUNT, dtype=torch.int32) for _ in range(SIZE)]
    dist.all_to_all(outputs, [pattern(RANK, target, number) for target in range(SIZE)])
    for source, output in enumerate(outputs):
        assert torch.equal(output, pattern(source, RANK, number)), (source, number)
    got = torch.zeros(COUNT, dtype=torch.int32)
    works = [dist.irecv(got, (RANK - 1) % SIZE), dist.isend(pattern(RANK, RANK + 1, number), (RANK + 1) % SIZE)]
    for work in works:
        work.wait()
    assert torch.equal(got, pattern((RANK - 1) % SIZE, (RANK - 1) % SIZE + 1, number))
    met[0] = dist.group.WORLD._channel.statistics()[TROUBLES[sys.argv[1]]]
    dist.all_reduce(met, dist.ReduceOp.MAX)
    number += 1
    if RANK == 0:
        say(f"exchange {number}")
say(f"rank {RANK} has all")
dist.destroy_process_group()
