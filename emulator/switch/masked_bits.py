"""Changes of the bit rows of masked tables, compiled: a position's bit goes into, or out of, every row."""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.ports.jit import njit

ONE = np.uint64(1)
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFF_FFFF)

CHUNK_DTYPE = np.dtype([(name, np.int64) for name in ("first_row", "bits", "is_range", "low", "high")])
"""A chunk and what an entry admits there: values ``low .. high`` if ``is_range``, else ``value & high == low``."""


@njit
def _put(row: Any, blocks_at: int, word: int, bits: int) -> None:
    """Write one word of a row, and tell in the row's summary whether it has a bit."""
    row[blocks_at + word] = bits
    bit = ONE << np.uint64(word % 64)
    if bits:
        row[word // 64] |= bit
    else:
        row[word // 64] &= ~bit


@njit
def insert_bit(rows: Any, blocks_at: int, word: int, place: int, chunks: Any) -> None:
    """Make room at bit ``place`` of the word (later bits move up) and put a new entry there."""
    bit = ONE << np.uint64(place)
    below = bit - ONE
    for chunk in chunks:
        for value in range(1 << chunk.bits):
            row = rows[chunk.first_row + value]
            old = row[blocks_at + word]
            new = (old & below) | ((old & ~below) << ONE)
            if chunk.is_range:
                admits = chunk.low <= value <= chunk.high
            else:
                admits = value & chunk.high == chunk.low
            if admits:
                new |= bit
            _put(row, blocks_at, word, new)


@njit
def remove_bit(rows: Any, blocks_at: int, word: int, place: int) -> None:
    """Later bits of the word move down."""
    below = (ONE << np.uint64(place)) - ONE
    for index in range(rows.shape[0]):
        row = rows[index]
        old = row[blocks_at + word]
        _put(row, blocks_at, word, (old & below) | ((old >> ONE) & ~below))


@njit
def move_half(rows: Any, blocks_at: int, source: int, target: int) -> None:
    """The upper 32 bits of one word become the lower ones of an empty other."""
    for index in range(rows.shape[0]):
        row = rows[index]
        bits = row[blocks_at + source]
        _put(row, blocks_at, target, bits >> HALF)
        _put(row, blocks_at, source, bits & LOW_HALF)


def compile_loops() -> None:
    """Have them all in the cache: a first insertion would wait for the compiler."""
    rows, chunks = np.zeros((2, 2), np.uint64), np.zeros(1, CHUNK_DTYPE)
    insert_bit(rows, 1, 0, 0, chunks)
    remove_bit(rows, 1, 0, 0)
    rows = np.zeros((2, 3), np.uint64)
    move_half(rows, 1, 0, 1)
