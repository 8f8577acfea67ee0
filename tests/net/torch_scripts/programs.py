"""Random programs one after the other, on groups made for each: a line of JSON from every rank for each program.

python -m tests.labs.forked_ranks 5 programs.py FIRST COUNT LANES
"""

import json
import os
import sys
from datetime import timedelta

import torch.distributed as dist
from lines import say

from hostagent import Options
from tests.generators.collective_programs import Group, Program, draw
from tests.labs.program_ranks import Outcome, play

TIMEOUT = timedelta(seconds=60)


def make(group: Group) -> object:
    """The group; something else at ranks that are not in it."""
    precision = "exact" if group.exact else "block"
    return dist.new_group(list(group.members), backend="netsum", pg_options=Options(precision=precision))


def perform(program: Program, rank: int, lanes: int) -> Outcome:
    """One program; its groups are left at the end."""
    groups = [make(group) for group in program.groups]
    dist.monitored_barrier()  # a rank that leaves a group before others have joined it splits the group (test_core.py)
    outcome = play(program, rank, groups, lanes, lambda: None)
    if not outcome.problems:
        for group, made in zip(program.groups, groups, strict=True):
            if rank in group.members:
                dist.destroy_process_group(made)
    return outcome


def main() -> None:
    first, count, lanes = (int(argument) for argument in sys.argv[1:])
    rank = int(os.environ["RANK"])
    dist.init_process_group("netsum", timeout=TIMEOUT)
    for seed in range(first, first + count):
        outcome = perform(draw(seed), rank, lanes)
        say(json.dumps({"seed": seed, "rank": rank, "problems": outcome.problems, "digests": outcome.digests}))
        if outcome.problems:
            raise SystemExit(f"rank {rank}: program {seed} went wrong")
    dist.destroy_process_group()
