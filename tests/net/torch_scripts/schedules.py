"""Every built-in schedule on live ranks: sums, and bytes at the switch's ports.

Argument: the switch's lanes, or 0 on gloo, where there is no switch that counts. Prints a line for each schedule.
"""

import sys
from pathlib import Path

import torch.distributed as dist
from lines import say

sys.path.insert(0, str(Path(__file__).parents[3]))

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import GENERATORS
from emulator.network.schedule.msccl import chunks_of
from emulator.network.schedule.parts import Chunks, Operation
from emulator.network.schedule.verify import verify
from emulator.network.topology.builders import star
from hostagent.cli.schedule.rank import measure, run
from hostagent.collectives.execute.executor import Executor

LANES = int(sys.argv[1])
RANKS, SIZE = 4, 4 * 12_000


def allgather(topology):
    builder = Builder("allgather", topology, chunks_of("allgather", RANKS, RANKS, 4 * 700))
    for rank in range(RANKS):
        for other in range(RANKS):
            if rank != other:
                builder.send(rank, other, [rank])
    return builder.build()


def mixed(topology):
    """Computes, messages, a broadcast to half of the ranks, a reduce, and sums in the switch."""
    everybody = tuple(range(RANKS))
    chunks = [
        Chunks(2, 4 * 900, (0,), (1, 2)),
        Chunks(1, 4 * 500, (1, 2), (1,)),
        Chunks(1, 4 * 300, everybody, everybody),
    ]
    builder = Builder("mixed", topology, chunks)
    builder.compute(0, 1_000, "forward", writes=[0, 1])
    first = builder.send(0, 1, [0, 1])
    builder.collective(Operation.BROADCAST, (1, 2), [0, 1], after=[first])
    builder.collective(Operation.REDUCE, (1, 2), [2])
    builder.collective(Operation.ALLREDUCE, everybody, [3])
    return builder.build()


def main():
    dist.init_process_group("netsum" if LANES else "gloo")
    beside = dist.new_group(backend="gloo")
    dist.barrier()  # with the first operation a rank gets its port
    topology = star(RANKS)
    schedules = [build(topology, SIZE) for build in GENERATORS.values()]
    for schedule in [*schedules, allgather(topology), mixed(topology)]:
        verify(schedule)
        executor = Executor(schedule, calls={call: lambda held: None for call in schedule.calls})
        if LANES:
            outcome = measure(executor, LANES, 1, beside)
            if dist.get_rank() == 0:
                say(f"{schedule.name}: {outcome}")
            assert not outcome.is_wrong
            assert outcome.measured == outcome.expected or dist.get_rank()
        else:
            assert not run(executor, 3)[1], schedule.name
            say(f"{schedule.name}: right")
    dist.destroy_process_group()
