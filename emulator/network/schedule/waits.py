"""What waits for what, from what tasks read and write in the order of the list. Compiled.

At each place, which is a chunk at a rank, tasks come in phases: one that writes, or some that read, or some that add.
All of a phase wait for all of the phase before.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.network.schedule.check import check_count
from emulator.network.schedule.columns import OPERATIONS, Columns, Kind, Ragged
from emulator.network.schedule.parts import ScheduleError

Array: TypeAlias = NDArray[Any]
COMPUTE, _, REDUCE, COLLECTIVE = map(int, Kind)
_, SUM_AT_FIRST, BROADCAST = range(len(OPERATIONS))
READ, ADD, WRITE = range(3)
MOST_USES = 1 << 27
"""Of chunks at ranks by tasks, all together."""
BLOCK_PLACES = 1 << 23
"""So many at a time, for the memory they take."""


def waits(columns: Columns, ranks: int, chunks: int) -> Ragged:
    """The tasks for which each one waits, those of ``columns.after`` included. Raises ScheduleError for too many tasks,
    or chunks of them."""
    check_count(tasks := len(columns.kind))
    if (total := _uses(columns, 0, chunks)) > MOST_USES:
        raise ScheduleError(f"tasks use chunks {total:,} times: at most {MOST_USES:,}", ("tasks",))
    found = [columns.after.owners * tasks + columns.after.values] if len(columns.after.values) else []
    parts = max(1, min(chunks, -(-ranks * chunks // BLOCK_PLACES)))
    for low, high in pairwise(np.linspace(0, chunks, parts + 1).astype(np.int64).tolist()):
        uses = _listed(columns, low, high, _uses(columns, low, high))
        found.append(_pairs(*uses, ranks * (high - low), tasks))
    pairs = np.concatenate(found)
    pairs.sort()
    once = np.ones(len(pairs), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=once[1:])
    waiting, others = np.divmod(pairs[once], max(1, tasks))
    lengths = np.bincount(waiting, minlength=tasks)
    return Ragged(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), others.astype(np.int32))


@njit(internal=True)
def _accesses(columns: Columns, task: int, found: Array) -> int:
    """(rank, access) into ``found``, reads first; returns how many. A Compute reads other chunks than it writes."""
    if columns.kind[task] != COLLECTIVE:
        found[0, 0], found[0, 1] = columns.source[task], READ
        found[1, 0], found[1, 1] = columns.destination[task], ADD if columns.kind[task] == REDUCE else WRITE
        return 2
    count, begin = 0, columns.group.offsets[task]
    for access, root_only in ((READ, BROADCAST), (WRITE, SUM_AT_FIRST)):
        for member in range(begin, columns.group.offsets[task + 1]):
            if member == begin or columns.label[task] != root_only:
                found[count, 0], found[count, 1] = columns.group.values[member], access
                count += 1
    return count


@njit(internal=True)
def _runs(columns: Columns, task: int, access: int) -> Ragged:
    return columns.reads if columns.kind[task] == COMPUTE and access == READ else columns.chunks


@njit(internal=True)
def _room(columns: Columns) -> Array:
    """For the accesses of any task."""
    most = 1
    for task in range(len(columns.kind)):
        most = max(most, columns.group.offsets[task + 1] - columns.group.offsets[task])
    return np.empty((2 * most, 2), np.int64)


@njit
def _uses(columns: Columns, low: int, high: int) -> int:
    """Of chunks ``low`` to ``high`` - 1 at ranks by tasks."""
    accesses, total = _room(columns), 0
    for task in range(len(columns.kind)):
        for each in range(_accesses(columns, task, accesses)):
            runs = _runs(columns, task, accesses[each, 1])
            for run in range(runs.offsets[task], runs.offsets[task + 1]):
                first, end = runs.values[run, 0], runs.values[run, 0] + runs.values[run, 1]
                total += max(0, min(end, high) - max(first, low))
    return total


@njit
def _listed(columns: Columns, low: int, high: int, total: int) -> tuple[Array, Array, Array]:
    """Of the ``total`` uses of chunks ``low`` to ``high`` - 1, in their order: task, place, access."""
    task_of, place, access_of = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int8)
    accesses, use = _room(columns), 0
    for task in range(len(columns.kind)):
        for each in range(_accesses(columns, task, accesses)):
            rank, access = accesses[each]
            runs = _runs(columns, task, access)
            for run in range(runs.offsets[task], runs.offsets[task + 1]):
                first, count = runs.values[run]
                for chunk in range(max(first, low), min(first + count, high)):
                    task_of[use], place[use], access_of[use] = task, rank * (high - low) + chunk - low, access
                    use += 1
    return task_of, place, access_of


@njit
def _pairs(task_of: Array, place_of: Array, access_of: Array, places: int, tasks: int) -> Array:
    """``task * tasks + other`` for each wait.

    Phases are lists of uses: of each place the latest one and that before.
    """
    access = np.full(places, -1, np.int8)
    latest, before = np.full(places, -1, np.int32), np.full(places, -1, np.int32)
    older = np.empty(len(task_of), np.int32)  # the next use of its list
    seen = np.full(tasks, -1, np.int32)  # by which task that waits for it
    found, count = np.empty(max(16, len(task_of)), np.int64), 0
    for use in range(len(task_of)):
        task, place = task_of[use], place_of[use]
        if access[place] != access_of[use] or access_of[use] == WRITE:
            before[place], latest[place], access[place] = latest[place], -1, access_of[use]
        other = before[place]
        while other >= 0:
            earlier = task_of[other]
            if earlier != task and seen[earlier] != task:
                seen[earlier] = task
                if count == len(found):
                    found = np.concatenate((found, np.empty(count, np.int64)))
                found[count] = task * tasks + earlier
                count += 1
            other = older[other]
        older[use], latest[place] = latest[place], use
    return found[:count]
