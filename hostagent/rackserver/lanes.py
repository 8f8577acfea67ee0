"""The loops over lanes: numbers in host order while a set fills, what travels (big-endian) once it is complete.

All work on lanes ``first`` to ``end`` only, so that several cores can share a frame (wide aggregation).
"""

from __future__ import annotations

from emulator.ports.jit import njit
from hostagent.protocol.quantizer.machine import copy_bytes, load_i32, load_lane, store_i32, store_lane

HAS_DATA, IS_LAST, IS_MAXIMUM = 1, 2, 4


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
def combine(held: int, given: int, how: int, first: int, end: int) -> int:
    """Put a contribution's lanes (none: ``given`` is 0) to a set's. An entry: called by address.

    ``how``: HAS_DATA, others were here before; IS_LAST; IS_MAXIMUM, else they are added.
    """
    if given == 0:
        if how & IS_LAST and how & HAS_DATA:
            close_lanes(held, first, end)
    elif how & HAS_DATA == 0:
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
    return 0
