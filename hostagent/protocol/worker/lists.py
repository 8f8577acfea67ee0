"""Chunks in flight, in four doubly linked lists through their records, each in the order of its last sending.

So the heads of FRESH, REPEATED and WAITED are the first to be overtaken. Those of FRESH and REPEATED are what the
congestion window counts.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_i64, store_i64
from hostagent.protocol.worker.records import CHUNK_BYTES, FRESH, NO_LIST, REPEATED, chunk_at

LISTS = 5
NONE = -1


@njit
def chunk_in(core: Any, place: int) -> Any:
    """Record of the chunk at a place of the ring."""
    return chunk_at(core.chunks + place * CHUNK_BYTES)


@njit
def chunk_of(core: Any, number: int) -> Any:
    """Record at the place of a chunk number; it may hold another chunk."""
    return chunk_at(core.chunks + (number & (core.ring - 1)) * CHUNK_BYTES)


@njit
def head(core: Any, which: int) -> Any:
    """Place of a list's first chunk, or NONE."""
    return load_i64(core.lists, 2 * which)


@njit
def tail(core: Any, which: int) -> Any:
    """Place of a list's last chunk, or NONE."""
    return load_i64(core.lists, 2 * which + 1)


@njit
def clear_lists(core: Any) -> None:
    """All lists empty; the records' own ``list`` is the caller's."""
    for which in range(LISTS):
        store_i64(core.lists, 2 * which, NONE)
        store_i64(core.lists, 2 * which + 1, NONE)


@njit
def leave_list(core: Any, place: int) -> None:
    """Take a chunk out of the list it is in, if any."""
    chunk = chunk_in(core, place)
    which = chunk.list
    if which == NO_LIST:
        return
    if chunk.previous == NONE:
        store_i64(core.lists, 2 * which, chunk.next)
    else:
        chunk_in(core, chunk.previous).next = chunk.next
    if chunk.next == NONE:
        store_i64(core.lists, 2 * which + 1, chunk.previous)
    else:
        chunk_in(core, chunk.next).previous = chunk.previous
    chunk.list = NO_LIST
    if which in (FRESH, REPEATED):
        core.in_flight -= 1


@njit
def enter_list(core: Any, place: int, which: int) -> None:
    """Put a chunk, in no list so far, into one: behind all that were sent before it. Usually that is the end."""
    chunk = chunk_in(core, place)
    after = tail(core, which)
    while after != NONE and chunk_in(core, after).sent_ns > chunk.sent_ns:
        after = chunk_in(core, after).previous
    before = head(core, which) if after == NONE else chunk_in(core, after).next
    chunk.previous = after
    chunk.next = before
    chunk.list = which
    if which in (FRESH, REPEATED):
        core.in_flight += 1
    if after == NONE:
        store_i64(core.lists, 2 * which, place)
    else:
        chunk_in(core, after).next = place
    if before == NONE:
        store_i64(core.lists, 2 * which + 1, place)
    else:
        chunk_in(core, before).previous = place


@njit
def move_to(core: Any, place: int, which: int) -> None:
    """From whatever list to another."""
    leave_list(core, place)
    enter_list(core, place, which)
