"""The loops over lanes: numbers in host order while a set fills, what travels (big-endian) once it is complete.

All work on lanes ``first`` to ``end`` only, so that several cores can share a frame (wide aggregation).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i32, load_i64, load_lane, store_i32, store_lane
from hostagent.rackserver.compiled_calls import COUNT_SHIFT, HAS_DATA, IS_LAST, IS_MAXIMUM


@njit
def begin_lanes(held: int, given: int, first: int, end: int) -> None:
    """The first contribution: its numbers."""
    for i in range(first, end):
        store_i32(held, i, load_lane(given, i))


@njit
def add_lanes(held: int, given: int, first: int, end: int) -> None:
    """One more, modulo 2^32."""
    for i in range(first, end):
        store_i32(held, i, load_i32(held, i) + load_lane(given, i))


@njit
def add_last_lanes(held: int, given: int, first: int, end: int) -> None:
    """The last: from here on the lanes are what travels."""
    for i in range(first, end):
        store_lane(held, i, load_i32(held, i) + load_lane(given, i))


@njit
def max_lanes(held: int, given: int, first: int, end: int) -> None:
    """The larger of two's complement numbers."""
    for i in range(first, end):
        mine, other = load_i32(held, i), load_lane(given, i)
        store_i32(held, i, mine if mine > other else other)


@njit
def max_last_lanes(held: int, given: int, first: int, end: int) -> None:
    """The last: from here on the lanes are what travels."""
    for i in range(first, end):
        mine, other = load_i32(held, i), load_lane(given, i)
        store_lane(held, i, mine if mine > other else other)


@njit
def close_lanes(held: int, first: int, end: int) -> None:
    """The last contribution had no data: the numbers become what travels."""
    for i in range(first, end):
        store_lane(held, i, load_i32(held, i))


@njit
def add_two(held: int, one: int, two: int, kept: int, mask: Any, first: int, end: int) -> None:
    """Two at once, to what ``kept`` has under the mask: nothing, or all. So are the next three."""
    for i in range(first, end):
        store_i32(held, i, (load_i32(kept, i) & mask) + load_lane(one, i) + load_lane(two, i))


@njit
def add_last_two(held: int, one: int, two: int, kept: int, mask: Any, first: int, end: int) -> None:
    """The last two."""
    for i in range(first, end):
        store_lane(held, i, (load_i32(kept, i) & mask) + load_lane(one, i) + load_lane(two, i))


@njit
def add_four(held: int, table: int, kept: int, mask: Any, first: int, end: int) -> None:
    """Four at once."""
    one, two, three, four = load_i64(table, 0), load_i64(table, 1), load_i64(table, 2), load_i64(table, 3)
    for i in range(first, end):
        both = (load_i32(kept, i) & mask) + load_lane(one, i) + load_lane(two, i)
        store_i32(held, i, both + load_lane(three, i) + load_lane(four, i))


@njit
def add_last_four(held: int, table: int, kept: int, mask: Any, first: int, end: int) -> None:
    """The last four."""
    one, two, three, four = load_i64(table, 0), load_i64(table, 1), load_i64(table, 2), load_i64(table, 3)
    for i in range(first, end):
        both = (load_i32(kept, i) & mask) + load_lane(one, i) + load_lane(two, i)
        store_lane(held, i, both + load_lane(three, i) + load_lane(four, i))


@njit
def put_one(held: int, given: int, how: int, first: int, end: int) -> None:
    """One contribution's lanes to a set's."""
    if how & HAS_DATA == 0:
        if how & IS_LAST:
            copy_bytes(held + 4 * first, given + 4 * first, 4 * (end - first))
        else:
            begin_lanes(held, given, first, end)
    elif how & IS_MAXIMUM:
        if how & IS_LAST:
            max_last_lanes(held, given, first, end)
        else:
            max_lanes(held, given, first, end)
    elif how & IS_LAST:
        add_last_lanes(held, given, first, end)
    else:
        add_lanes(held, given, first, end)


@njit
def combine(held: int, table: int, how: int, first: int, end: int) -> int:
    """Combine contributions' lanes with a set's. Called through ``compiled_calls.combine``, which packs ``how``.

    ``table``: addresses of as many contributions' lanes as ``how >> COUNT_SHIFT`` says, four at most (four or two are
    added in one pass). ``how`` also has HAS_DATA, others were here before; IS_LAST; IS_MAXIMUM, else they are added.
    """
    given, is_last = how >> COUNT_SHIFT, how & IS_LAST
    if given == 0:
        if is_last and how & HAS_DATA:
            close_lanes(held, first, end)
        return 0
    if how & IS_MAXIMUM or given == 1 or given == 3:
        one = 1 if how & IS_MAXIMUM == 0 and given == 3 else given
        for place in range(one):
            last = is_last if place == given - 1 else 0
            put_one(held, load_i64(table, place), how & ~IS_LAST | last, first, end)
            how |= HAS_DATA
        table, given = table + 8 * one, given - one
    # where nothing was here, any readable lanes serve under a mask of zeros
    kept, mask = (held, np.int32(-1)) if how & HAS_DATA else (load_i64(table, 0), np.int32(0))
    if given == 4:
        if is_last:
            add_last_four(held, table, kept, mask, first, end)
        else:
            add_four(held, table, kept, mask, first, end)
    elif given == 2:
        one, two = load_i64(table, 0), load_i64(table, 1)
        if is_last:
            add_last_two(held, one, two, kept, mask, first, end)
        else:
            add_two(held, one, two, kept, mask, first, end)
    return 0
