"""Schedules of files on live ranks. Prints a line for each, which says whether all chunks are right.

Arguments: the switch's lanes, then the files. Chunks are random int32, and what a rank has to hold is summed by torch.
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from lines import say

sys.path.insert(0, str(Path(__file__).parents[3]))

from emulator.network.schedule.files import read_schedule
from hostagent.cli.schedule.rank import contribution, measure
from hostagent.collectives.execute.executor import Executor


def sum_is_equal(executor: Executor) -> bool:
    """Of an allreduce: to that of all_reduce of the process group; else whatever arrives is right or wrong."""
    schedule, everybody = executor.schedule, set(range(executor.schedule.ranks))
    if any(set(part.sources) != everybody or set(part.destinations) != everybody for part in schedule.chunks):
        return True
    count = sum(part.count for part in schedule.chunks)
    held = {chunk: contribution(schedule, chunk, executor.rank, 99) for chunk in range(count)}
    whole = torch.cat(list(held.values()))
    dist.all_reduce(whole)
    executor.run(held)
    return torch.equal(whole, torch.cat(list(held.values())))


def main():
    dist.init_process_group("netsum")
    beside = dist.new_group(backend="gloo")
    dist.barrier()
    for file in sys.argv[2:]:
        executor = Executor(read_schedule(file))
        outcome = measure(executor, int(sys.argv[1]), 1, beside)
        assert outcome.measured == outcome.expected or dist.get_rank()
        assert sum_is_equal(executor)
        if dist.get_rank() == 0:
            say(f"{executor.schedule.name}: is_wrong={outcome.is_wrong}")
    dist.destroy_process_group()
