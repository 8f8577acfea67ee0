"""The compiled loops of `verify`."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.network.schedule.columns import OPERATIONS, Columns, Kind, Ragged

Array: TypeAlias = NDArray[Any]
UNORDERED, ABSENT, TWICE, NO_SOURCE, INCOMPLETE = 1, 2, 3, 4, 5
"""Faults; 0: none."""
COMPUTE, SEND, REDUCE, COLLECTIVE = map(int, Kind)
ALLREDUCE, SUM_AT_FIRST, BROADCAST = range(len(OPERATIONS))
READ, ADD, WRITE, OWN = 0, 1, 2, 3
"""Accesses of a task to one chunk at one rank; OWN: a Compute writes the rank's own contribution."""


@njit
def first_broken_route(columns: Columns, begins: Array, ends: Array, places: Array) -> int:
    """The first Send or Reduce whose links do not lead from its source to its destination, or -1."""
    route = columns.route
    for task in range(len(columns.kind)):
        if columns.kind[task] != SEND and columns.kind[task] != REDUCE:
            continue
        at = places[columns.source[task]]
        for hop in range(route.offsets[task], route.offsets[task + 1]):
            if begins[route.values[hop]] != at:
                return task
            at = ends[route.values[hop]]
        if at != places[columns.destination[task]]:
            return task
    return -1


@njit
def _accesses(columns: Columns, task: int, found: Array) -> int:
    """(rank, access) of a task's chunks into ``found`` [most, 2]; returns how many. Reads come first."""
    if columns.kind[task] == COMPUTE:
        found[0, 0], found[0, 1] = columns.source[task], OWN
        return 1
    if columns.kind[task] != COLLECTIVE:
        found[0, 0], found[0, 1] = columns.source[task], READ
        found[1, 0], found[1, 1] = columns.destination[task], ADD if columns.kind[task] == REDUCE else WRITE
        return 2
    members, first_member = columns.group.values, columns.group.offsets[task]
    end = columns.group.offsets[task + 1]
    count = 0
    for member in range(first_member, end):
        if columns.label[task] != BROADCAST or member == first_member:
            found[count, 0], found[count, 1] = members[member], READ
            count += 1
    for member in range(first_member, end):
        if columns.label[task] != SUM_AT_FIRST or member == first_member:
            found[count, 0], found[count, 1] = members[member], WRITE
            count += 1
    return count


@njit
def _happens_before(first: int, second: int, after: Ragged, seen: Array, stack: Array) -> bool:
    """Are they the same, or is there a path of ``after`` from ``second`` back to ``first``?"""
    if first == second:
        return True
    for each in range(after.offsets[second], after.offsets[second + 1]):
        if after.values[each] == first:
            return True
    depth = 1
    stack[0] = second
    while depth:
        depth -= 1
        task = stack[depth]
        for each in range(after.offsets[task], after.offsets[task + 1]):
            earlier = after.values[each]
            if earlier == first:
                return True
            if earlier > first and seen[earlier] != second * np.int64(len(seen)) + first:
                seen[earlier] = second * np.int64(len(seen)) + first
                stack[depth] = earlier
                depth += 1
    return False


@njit
def _by_chunk(rows: Ragged, chunks: int) -> tuple[Array, Array]:
    """Tasks of each chunk in their order: (offsets [chunks + 1], tasks)."""
    offsets, runs = rows.offsets, rows.values
    starts = np.zeros(chunks + 1, np.int64)
    for run in range(len(runs)):
        for chunk in range(runs[run, 0], runs[run, 0] + runs[run, 1]):
            starts[chunk + 1] += 1
    for chunk in range(chunks):
        starts[chunk + 1] += starts[chunk]
    tasks = np.empty(starts[chunks], np.int32)
    filled = starts[:-1].copy()
    for task in range(len(offsets) - 1):
        for run in range(offsets[task], offsets[task + 1]):
            for chunk in range(runs[run, 0], runs[run, 0] + runs[run, 1]):
                tasks[filled[chunk]] = task
                filled[chunk] += 1
    return starts, tasks


@njit
def first_data_fault(
    columns: Columns, entries: Array, sources: Array, destinations: Array, ranks: int
) -> tuple[int, int, int, int, int]:
    """(fault, task, rank, chunk, other): chunk by chunk, all tasks that touch it in their order."""
    chunks, tasks = len(entries), len(columns.kind)
    words = sources.shape[1]
    starts, users = _by_chunk(columns.chunks, chunks)
    read_starts, readers = _by_chunk(columns.reads, chunks)
    held = np.zeros((ranks, words), np.uint64)
    sums = np.zeros(words, np.uint64)
    present = np.zeros(ranks, np.bool_)
    written = np.full(ranks, -1, np.int64)  # last writer of the chunk at a rank
    reads = np.full(ranks, -1, np.int64)  # the newest entry of a list of readers since, and of those that added
    adds = np.full(ranks, -1, np.int64)
    seen = np.full(tasks, -1, np.int64)
    stack = np.empty(tasks + 1, np.int64)
    most = 2
    for task in range(tasks):
        most = max(most, 2 * (columns.group.offsets[task + 1] - columns.group.offsets[task]))
    accesses = np.empty((most + 1, 2), np.int64)
    listed = np.empty((1024, 2), np.int64)  # entries of the lists: (task, next entry)
    for chunk in range(chunks):
        own = sources[entries[chunk]]
        for rank in range(ranks):
            held[rank, :] = 0
            present[rank] = (own[rank >> 6] >> np.uint64(rank & 63)) & np.uint64(1) != 0
            if present[rank]:
                held[rank, rank >> 6] = np.uint64(1) << np.uint64(rank & 63)
            written[rank] = reads[rank] = adds[rank] = -1
        for user in range(starts[chunk], starts[chunk + 1]):
            if columns.kind[users[user]] == COMPUTE:
                present[columns.source[users[user]]] = False
        entries_used = 0
        user, reader = starts[chunk], read_starts[chunk]
        while user < starts[chunk + 1] or reader < read_starts[chunk + 1]:
            reading = user == starts[chunk + 1] or (reader < read_starts[chunk + 1] and readers[reader] <= users[user])
            if reading:
                task = readers[reader]
                reader += 1
                accesses[0, 0], accesses[0, 1] = columns.source[task], READ
                count = 1
            else:
                task = users[user]
                user += 1
                count = _accesses(columns, task, accesses)
            if entries_used + count > len(listed):
                larger = np.empty((2 * len(listed) + count, 2), np.int64)
                larger[:entries_used] = listed[:entries_used]
                listed = larger
            # order of the accesses to each place
            for each in range(count):
                rank, access = accesses[each]
                other = written[rank]
                if other >= 0 and not _happens_before(other, task, columns.after, seen, stack):
                    return UNORDERED, task, rank, chunk, other
                for other_access in (READ, ADD):
                    if access == other_access:
                        continue
                    entry = reads[rank] if other_access == READ else adds[rank]
                    while entry >= 0:
                        other = listed[entry, 0]
                        if not _happens_before(other, task, columns.after, seen, stack):
                            return UNORDERED, task, rank, chunk, other
                        entry = listed[entry, 1]
                if access in (READ, ADD):
                    listed[entries_used, 0] = task
                    listed[entries_used, 1] = reads[rank] if access == READ else adds[rank]
                    if access == READ:
                        reads[rank] = entries_used
                    else:
                        adds[rank] = entries_used
                    entries_used += 1
                else:
                    written[rank] = task
                    reads[rank] = adds[rank] = -1
            # what the places then hold
            sums[:] = 0
            for each in range(count):
                rank, access = accesses[each]
                if access == READ:
                    if not present[rank]:
                        return ABSENT, task, rank, chunk, -1
                    for word in range(words):
                        if sums[word] & held[rank, word]:
                            return TWICE, task, rank, chunk, _first_bit(sums[word] & held[rank, word], word)
                        sums[word] |= held[rank, word]
                elif access == OWN:
                    if (own[rank >> 6] >> np.uint64(rank & 63)) & np.uint64(1) == 0:
                        return NO_SOURCE, task, rank, chunk, -1
                    present[rank] = True
                    held[rank, :] = 0
                    held[rank, rank >> 6] = np.uint64(1) << np.uint64(rank & 63)
                elif access == WRITE:
                    present[rank] = True
                    held[rank, :] = sums
                else:
                    if not present[rank]:
                        return ABSENT, task, rank, chunk, -1
                    for word in range(words):
                        if sums[word] & held[rank, word]:
                            return TWICE, task, rank, chunk, _first_bit(sums[word] & held[rank, word], word)
                        held[rank, word] |= sums[word]
        wanted = destinations[entries[chunk]]
        for rank in range(ranks):
            if (wanted[rank >> 6] >> np.uint64(rank & 63)) & np.uint64(1):
                for word in range(words):
                    missing = own[word] & ~held[rank, word]
                    if missing:
                        return INCOMPLETE, -1, rank, chunk, _first_bit(missing, word)
                    if not present[rank]:
                        return INCOMPLETE, -1, rank, chunk, rank
    return 0, -1, -1, -1, -1


@njit
def _first_bit(bits: int, word: int) -> int:
    for bit in range(64):
        if (bits >> np.uint64(bit)) & np.uint64(1):
            return word * 64 + bit
    return -1
