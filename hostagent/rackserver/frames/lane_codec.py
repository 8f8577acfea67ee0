"""Numbers in the lanes of announcements and their answers."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_lane, store_lane

MASK = 0xFFFFFFFF
MOST = 0x7FFFFFFF
"""The largest number that a lane keeps when the larger of two's complement numbers wins."""


@njit
def word(lanes: int, place: int) -> Any:
    """A lane as an unsigned number."""
    return load_lane(lanes, place) & MASK


@njit
def pair(lanes: int, place: int) -> Any:
    """Two lanes as a 64-bit number."""
    return word(lanes, place) << 32 | word(lanes, place + 1)


@njit
def write_pair(lanes: int, place: int, value: int) -> None:
    """A 64-bit number as two lanes."""
    store_lane(lanes, place, value >> 32)
    store_lane(lanes, place + 1, value)


@njit
def raise_lane(lanes: int, place: int, value: int) -> None:
    """A lane becomes the larger of what it was and a number, of which more than fits in 31 bits is cut off."""
    store_lane(lanes, place, max(word(lanes, place), min(value, MOST)))


@njit
def raise_halves(lanes: int, place: int, value: int) -> None:
    """The same for a number of 62 bits, in two lanes of 31."""
    store_lane(lanes, place, max(word(lanes, place), value >> 31))
    store_lane(lanes, place + 1, max(word(lanes, place + 1), value & MOST))


@njit
def halves(lanes: int, place: int) -> Any:
    """Such a number."""
    return word(lanes, place) << 31 | word(lanes, place + 1)
