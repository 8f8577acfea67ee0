"""Many groups: in flight at once, made by members alone, destroyed and made again; monitored barriers."""

import itertools
from datetime import timedelta

import torch
import torch.distributed as dist
from lines import say

dist.init_process_group("netsum", timeout=timedelta(seconds=60))
RANK, SIZE = dist.get_rank(), dist.get_world_size()
SETS = [list(ranks) for count in range(2, SIZE + 1) for ranks in itertools.combinations(range(SIZE), count)]


def start(ranks, group, number):
    """A sum of 3,000 floats that is right only with exactly these ranks."""
    tensor = torch.full((3000,), float((number + 1) * (1 << RANK)))
    return dist.all_reduce(tensor, group=group, async_op=True), tensor, (number + 1) * sum(1 << rank for rank in ranks)


def finish(started):
    work, tensor, expected = started
    work.wait()
    assert (tensor == expected).all(), (tensor[:4], expected)


def in_flight_on_all():
    groups = [(ranks, dist.new_group(ranks)) for ranks in SETS]
    mine = [(ranks, group) for ranks, group in groups if RANK in ranks]
    started = [start(ranks, group, number) for number in range(5) for ranks, group in mine]
    for one in reversed(started):
        finish(one)
    for _, group in mine:
        dist.destroy_process_group(group)


def by_members_alone():
    """Two groups of the same two ranks, which nobody else knows of."""
    pair = [0, SIZE - 1]
    if RANK in pair:
        groups = [dist.new_group(pair, use_local_synchronization=True) for _ in range(2)]
        started = [start(pair, group, number) for number, group in enumerate(groups)]
        for one in reversed(started):
            finish(one)
        for group in reversed(groups):
            dist.destroy_process_group(group)


def again_and_again():
    for number in range(20):
        group = dist.new_group(list(range(SIZE)))
        finish(start(range(SIZE), group, number))
        dist.destroy_process_group(group)


def many(count):
    """All in use at once."""
    groups = [dist.new_group(list(range(SIZE))) for _ in range(count)]
    for one in [start(range(SIZE), group, number) for number, group in enumerate(groups)]:
        finish(one)
    return groups


def destroyed_in_other_orders():
    """Each rank waits for nobody, else each would wait for another one."""
    groups = many(30)
    for group in groups[RANK:] + groups[:RANK]:
        dist.destroy_process_group(group)


def barriers():
    dist.monitored_barrier()
    assert dist.group.WORLD._get_sequence_number_for_group() == 0
    try:
        if RANK != 1:
            dist.monitored_barrier(timeout=timedelta(seconds=8), wait_all_ranks=True)
            raise AssertionError("rank 1 did not come")
    except RuntimeError as error:
        say(f"{type(error).__name__} {error}")
    dist.barrier()
    assert dist.group.WORLD._get_sequence_number_for_group() == 1


barriers()
in_flight_on_all()
by_members_alone()
again_and_again()
destroyed_in_other_orders()
many(10)  # destroyed with the default group
finish(start(range(SIZE), None, 0))
dist.destroy_process_group()
say("all groups done")
