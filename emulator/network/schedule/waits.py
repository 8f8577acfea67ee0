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
from emulator.network.schedule.parts import Operation, ScheduleError

Array: TypeAlias = NDArray[Any]
READ, ADD, WRITE = range(3)
MOST_USES = 1 << 27
"""Of chunks at ranks by tasks, all together."""
BLOCK_PLACES = 1 << 23
"""So many at a time, for the memory they take."""


def waits(columns: Columns, ranks: int, chunks: int) -> Ragged:
    """The tasks for which each one waits, those of ``columns.after`` included. Raises ScheduleError for too many tasks,
    or chunks of them."""
    check_count(tasks := len(columns.kind))
    uses = _uses(columns)
    if (total := int(uses[:, 4].sum())) > MOST_USES:
        raise ScheduleError(f"tasks use chunks {total:,} times: at most {MOST_USES:,}", ("tasks",))
    found = [columns.after.owners * tasks + columns.after.values]
    parts = max(1, min(chunks, -(-ranks * chunks // BLOCK_PLACES)))
    for low, high in pairwise(np.linspace(0, chunks, parts + 1).astype(np.int64).tolist()):
        found.append(_pairs(uses, tasks, ranks, low, high))
    pairs = np.sort(np.concatenate(found))
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    lengths = np.bincount(pairs // max(1, tasks), minlength=tasks)
    return Ragged(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), (pairs % max(1, tasks)).astype(np.int32))


def _uses(columns: Columns) -> Array:
    """int32 [uses, 5]: task, rank, access, first chunk, count; by task, of which what it reads comes first."""
    kind, members = columns.kind, columns.group.values
    moves, computes = np.flatnonzero((kind == Kind.SEND) | (kind == Kind.REDUCE)), np.flatnonzero(kind == Kind.COMPUTE)
    owner = columns.group.owners
    is_root = np.diff(owner, prepend=-1) != 0
    reads = is_root | (columns.label[owner] != OPERATIONS.index(Operation.BROADCAST))
    writes = is_root | (columns.label[owner] != OPERATIONS.index(Operation.REDUCE))
    found = []
    for rows, task, rank, access in (
        (columns.chunks, moves, columns.source[moves], READ),
        (columns.chunks, owner[reads], members[reads], READ),
        (columns.reads, computes, columns.source[computes], READ),
        (columns.chunks, moves, columns.destination[moves], np.where(kind[moves] == Kind.SEND, WRITE, ADD)),
        (columns.chunks, owner[writes], members[writes], WRITE),
        (columns.chunks, computes, columns.source[computes], WRITE),
    ):
        runs = rows.take(task)
        each = runs.owners
        part = (task[each], rank[each], np.broadcast_to(access, task.shape)[each], *runs.values.T)
        found.append(np.stack(part, axis=1).astype(np.int32))
    uses = np.concatenate(found)
    return uses[np.argsort(uses[:, 0], kind="stable")]


@njit
def _pairs(uses: Array, tasks: int, ranks: int, low: int, high: int) -> Array:
    """``task * tasks + other`` of waits for the sake of chunks ``low`` to ``high`` - 1, a few of them twice.

    Phases are lists of entries (task, next entry): of each place the latest one and that before.
    """
    width = high - low
    access = np.full(ranks * width, -1, np.int8)
    latest, before = np.full(ranks * width, -1, np.int32), np.full(ranks * width, -1, np.int32)
    total = 0
    for use in range(len(uses)):
        total += max(0, min(uses[use, 3] + uses[use, 4], high) - max(uses[use, 3], low))
    entry_task, entry_next = np.empty(total, np.int32), np.empty(total, np.int32)
    seen = np.full(tasks, -1, np.int32)  # by which task that waits for it
    found, count, entry = np.empty(max(16, total), np.int64), 0, 0
    for use in range(len(uses)):
        task, rank, how, first = uses[use, 0], uses[use, 1], uses[use, 2], uses[use, 3]
        for chunk in range(max(first, low), min(first + uses[use, 4], high)):
            place = rank * width + chunk - low
            if access[place] != how or how == WRITE:
                before[place], latest[place], access[place] = latest[place], -1, how
            other = before[place]
            while other >= 0:
                earlier = entry_task[other]
                if earlier != task and seen[earlier] != task:
                    seen[earlier] = task
                    if count == len(found):
                        found = np.concatenate((found, np.empty(count, np.int64)))
                    found[count] = task * tasks + earlier
                    count += 1
                other = entry_next[other]
            entry_task[entry], entry_next[entry] = task, latest[place]
            latest[place] = entry
            entry += 1
    return found[:count]
