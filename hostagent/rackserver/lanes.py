"""The loops over lanes: numbers in host order while a set fills, what travels (big-endian) once it is complete.

All work on lanes ``first`` to ``end`` only, so that several cores can share a frame (wide aggregation).
"""

from __future__ import annotations

from emulator.ports.jit import njit
from hostagent.protocol.quantizer.machine import load_i32, load_lane, store_i32, store_lane


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
