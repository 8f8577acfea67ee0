"""Which part of an operation each of its chunk numbers is. Pure arithmetic, the same on every rank.

A float SUM of C data chunks is cut into groups of G, the last perhaps short. E(g) carries the exponents of group g
and D(g) its data, numbered E(0), E(1), D(0), E(2), D(1), ..., D(last): exponents are known one group ahead. Flagged
chunks (a NaN or Inf somewhere) follow once more in the same order, numbered from 0 among themselves: the tail. A
64-bit MIN or MAX is C chunks of high words, then C of low words; anything else is C data chunks. Those of moved bytes
are taken in turn from as many parts as there are ranks: of an allgather all ranks send and receive at a time.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit

LEAST_GROUP, LARGEST_GROUP = 64, 256
"""Chunks of a group, otherwise as many as the window holds: exponents are then known a window ahead, which leaves time
to repeat a lost one where a window takes longer than a round trip. Larger groups leave the cache before their second
reading: with a window of 64 chunks of 4 KiB, groups of 64 instead of 256 save a rank a quarter of its time."""
LINK_LANES = 336
"""Of frames up to this (an MTU of 1,500 bytes) a group is small, and the links may be long and lose frames: exponents
are known two windows ahead, as one that is lost would hold up all data of a window, by a round trip."""


@njit
def group_size(lanes: int, window: int) -> int:
    """G: data chunks whose exponents one chunk carries."""
    windows = 2 if lanes <= LINK_LANES else 1
    return min(lanes, LARGEST_GROUP, max(LEAST_GROUP, windows * window))


@njit
def group_count(chunks: int, group: int) -> int:
    """Groups that ``chunks`` data chunks make."""
    return (chunks + group - 1) // group


@njit
def grouped_part(position: int, chunks: int, group: int) -> tuple[bool, int]:
    """(is it data, index of the data chunk or of the group) of one position in the grouped order."""
    if position == 0:
        return False, 0
    last = group_count(chunks, group) - 1
    block = (position - 1) // (1 + group)
    within = (position - 1) - block * (1 + group)
    if block >= last:
        return True, last * group + (position - 1) - last * (1 + group)
    if within == 0:
        return False, block + 1
    return True, block * group + within - 1


@njit
def moved_index(position: int, chunks: int, part: int) -> Any:
    """The chunk at one position in the order that takes the first of each part, then the second of each, and so on.

    ``part``: chunks of a part; the last one may have fewer, and there may be fewer parts than ranks.
    """
    parts = group_count(chunks, part)
    last = chunks - (parts - 1) * part
    if position < last * parts:
        return position % parts * part + position // parts
    position -= last * parts
    return position % (parts - 1) * part + last + position // (parts - 1)


@njit
def exponent_position(number: int, group: int) -> int:
    """Position of E(number)."""
    return 0 if number == 0 else 1 + (number - 1) * (1 + group)


@njit
def data_position(index: int, chunks: int, group: int) -> int:
    """Position of data chunk ``index``."""
    number = index // group
    start = 1 + number * (1 + group)
    return start + index - number * group + (1 if number < group_count(chunks, group) - 1 else 0)
