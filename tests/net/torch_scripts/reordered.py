"""An allreduce that is a schedule, in a probed order. Prints the order, and whether the sum is that of all_reduce."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from lines import say

sys.path.insert(0, str(Path(__file__).parents[3]))

import hostagent
from emulator.network.schedule.generators import bcube
from emulator.network.topology.builders import star
from hostagent.collectives.execute.executor import Executor


def main():
    dist.init_process_group("netsum", pg_options=hostagent.Options(reorder="probe"))
    ranks, rank = dist.get_world_size(), dist.get_rank()
    executor = Executor(bcube(star(ranks), 4 * 1_000))
    mine = torch.arange(1_000, dtype=torch.int32) * (rank + 1)
    whole = mine.clone()
    dist.all_reduce(whole)
    sizes = (executor.schedule.chunk_bytes // 4).tolist()
    executor.run(dict(enumerate(mine.split(sizes))))
    orders = [None] * ranks
    dist.all_gather_object(orders, executor.order)
    assert orders == [executor.order] * ranks
    say(f"rank {rank}: order={executor.order} equal={torch.equal(mine, whole)}")
    dist.destroy_process_group()
