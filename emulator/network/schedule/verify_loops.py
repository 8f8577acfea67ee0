"""The compiled loops of `verify`."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

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


class State(NamedTuple):
    """Of one chunk at all ranks, after some of its tasks in their order."""

    present: Array
    """bool [ranks]."""
    held: Array
    """uint64 [ranks, words]: whose contributions are in what a rank holds."""
    access: Array
    """int8 [ranks]: of the latest phase of tasks: one that writes, or those that read, or add."""
    latest: Array
    """int64 [ranks]: newest entry of the list of the phase's tasks; -1: none."""
    before: Array
    """The same of the phase before."""
    task: Array
    """int64 [entries]: of the lists."""
    older: Array
    """int64 [entries]: next entry of its list."""
    used: Array
    """int64 [1]: entries so far."""


class Search(NamedTuple):
    """Memory of `_happens_before`."""

    seen: Array
    stack: Array


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


@njit(internal=True)
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


@njit(internal=True)
def _happens_before(first: int, second: int, after: Ragged, search: Search) -> bool:
    """Are they the same, or is there a path of ``after`` from ``second`` back to ``first``?"""
    if first == second:
        return True
    for each in range(after.offsets[second], after.offsets[second + 1]):
        if after.values[each] == first:
            return True
    seen, stack = search.seen, search.stack
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


@njit(internal=True)
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
    """(fault, task, rank, chunk, other): chunk by chunk, all tasks that touch it in their order.

    ``entries`` [chunks]: row of a chunk in ``sources`` and ``destinations``, uint64 [rows, words] with a bit a rank.
    """
    chunks, tasks, words = len(entries), len(columns.kind), sources.shape[1]
    starts, users = _by_chunk(columns.chunks, chunks)
    read_starts, readers = _by_chunk(columns.reads, chunks)
    most = 2 * max(1, (columns.group.offsets[1:] - columns.group.offsets[:-1]).max() if tasks else 0)
    accesses = np.empty((most, 2), np.int64)
    longest = max(1, _longest(columns, starts, users) + (read_starts[1:] - read_starts[:-1]).max())
    state = State(
        np.zeros(ranks, np.bool_),
        np.zeros((ranks, words), np.uint64),
        np.zeros(ranks, np.int8),
        np.zeros(ranks, np.int64),
        np.zeros(ranks, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.zeros(1, np.int64),
    )
    search = Search(np.full(tasks, -1, np.int64), np.empty(tasks + 1, np.int64))
    sums = np.zeros(words, np.uint64)
    left = (0, -1, -1, -1, -1)  # what is only missing in the end is said last
    for chunk in range(chunks):
        own = sources[entries[chunk]]
        user, reader = starts[chunk], read_starts[chunk]
        user_end, reader_end = starts[chunk + 1], read_starts[chunk + 1]
        _begin(columns, users[user:user_end], own, state)
        while user < user_end or reader < reader_end:
            if user == user_end or (reader < reader_end and readers[reader] <= users[user]):
                task, count = readers[reader], 1
                accesses[0, 0], accesses[0, 1] = columns.source[task], READ
                reader += 1
            else:
                task = users[user]
                count = _accesses(columns, task, accesses)
                user += 1
            for each in range(count):
                rank, other = accesses[each, 0], _unordered(task, accesses[each], columns.after, state, search)
                if other >= 0:
                    return UNORDERED, task, rank, chunk, other
            sums[:] = 0
            for each in range(count):
                fault, other = _carry_out(accesses[each], own, sums, state)
                if fault:
                    return fault, task, accesses[each, 0], chunk, other
        for rank in range(ranks):
            if _has(destinations[entries[chunk]], rank):
                other = _missing(rank, own, state)
                if other >= 0 and not left[0]:
                    left = (INCOMPLETE, -1, rank, chunk, other)
    return left


@njit(internal=True)
def _longest(columns: Columns, starts: Array, users: Array) -> int:
    """Most accesses to one chunk, without those of readers."""
    longest = 0
    for chunk in range(len(starts) - 1):
        count = 0
        for each in range(starts[chunk], starts[chunk + 1]):
            task = users[each]
            count += 2 * max(1, columns.group.offsets[task + 1] - columns.group.offsets[task])
        longest = max(longest, count)
    return longest


@njit(internal=True)
def _begin(columns: Columns, users: Array, own: Array, state: State) -> None:
    """Each source holds its own contribution, but where a Compute makes it."""
    state.held[:] = 0
    state.used[0] = 0
    for rank in range(len(state.present)):
        state.present[rank] = _has(own, rank)
        if state.present[rank]:
            state.held[rank, rank >> 6] = _bit(rank)
        state.access[rank] = WRITE
        state.latest[rank] = state.before[rank] = -1
    for task in users:
        if columns.kind[task] == COMPUTE:
            state.present[columns.source[task]] = False


@njit(internal=True)
def _unordered(task: int, one: Array, after: Ragged, state: State, search: Search) -> Any:
    """An earlier task with another kind of access that does not happen before; -1: none.

    Tasks of a phase have been found to happen after those of the phase before: so they are enough.
    """
    rank, access = one[0], min(one[1], WRITE)
    joins = state.access[rank] == access and access != WRITE
    if not joins:
        state.before[rank], state.latest[rank], state.access[rank] = state.latest[rank], -1, access
    entry = state.before[rank]
    while entry >= 0:
        if not _happens_before(state.task[entry], task, after, search):
            return state.task[entry]
        entry = state.older[entry]
    new = state.used[0]
    state.task[new], state.older[new] = task, state.latest[rank]
    state.latest[rank] = new
    state.used[0] += 1
    return -1


@njit(internal=True)
def _carry_out(one: Array, own: Array, sums: Array, state: State) -> tuple[int, int]:
    """(fault, other) of one access; what is read is added to ``sums``, which is written or added."""
    rank, access = one
    held = state.held[rank]
    if access == OWN and not _has(own, rank):
        return NO_SOURCE, -1
    if access in (READ, ADD):
        if not state.present[rank]:
            return ABSENT, -1
        for word in range(len(sums)):
            if sums[word] & held[word]:
                return TWICE, 64 * word + _lowest(sums[word] & held[word])
    state.present[rank] = True
    if access == READ:
        sums |= held
    elif access == ADD:
        held |= sums
    elif access == WRITE:
        held[:] = sums
    else:
        held[:] = 0
        held[rank >> 6] = _bit(rank)
    return 0, -1


@njit(internal=True)
def _missing(rank: int, own: Array, state: State) -> Any:
    """A source whose contribution a destination does not hold; -1: none."""
    for word in range(len(own)):
        missing = own[word] & ~state.held[rank, word] if state.present[rank] else own[word]
        if missing:
            return 64 * word + _lowest(missing)
    return -1


@njit(internal=True)
def _has(bits: Array, rank: int) -> Any:
    return (bits[rank >> 6] >> np.uint64(rank & 63)) & np.uint64(1) != 0


@njit(internal=True)
def _bit(rank: int) -> Any:
    """In word ``rank // 64``."""
    return np.uint64(1) << np.uint64(rank & 63)


@njit(internal=True)
def _lowest(bits: Any) -> int:
    """Number of the lowest bit that is set."""
    place = 0
    while not (bits >> np.uint64(place)) & np.uint64(1):
        place += 1
    return place
