"""Changes of the bit rows of masked tables, compiled: a position's bit goes into, or out of, every row."""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.p4.table_layout import BLOCK_WORDS
from emulator.ports.jit import njit

ONE = np.uint64(1)
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFF_FFFF)

CHUNK_DTYPE = np.dtype([(name, np.int64) for name in ("first_row", "bits", "is_range", "low", "high")])
"""A chunk and what an entry admits there: values ``low .. high`` if ``is_range``, else ``value & high == low``."""


@njit
def _summarise(row: Any, blocks_at: int, word: int) -> None:
    """Tell in the row's summary whether the word's block has a bit."""
    block = word // BLOCK_WORDS
    first = blocks_at + block * BLOCK_WORDS
    together = row[first]
    for i in range(1, BLOCK_WORDS):
        together |= row[first + i]
    bit = ONE << np.uint64(block % 64)
    if together:
        row[block // 64] |= bit
    else:
        row[block // 64] &= ~bit


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
            row[blocks_at + word] = new
            _summarise(row, blocks_at, word)


@njit
def remove_bit(rows: Any, blocks_at: int, word: int, place: int) -> None:
    """Later bits of the word move down."""
    below = (ONE << np.uint64(place)) - ONE
    for index in range(rows.shape[0]):
        row = rows[index]
        old = row[blocks_at + word]
        row[blocks_at + word] = (old & below) | ((old >> ONE) & ~below)
        _summarise(row, blocks_at, word)


@njit
def move_half(rows: Any, blocks_at: int, source: int, target: int) -> None:
    """The upper 32 bits of one word become the lower ones of an empty other."""
    for index in range(rows.shape[0]):
        row = rows[index]
        row[blocks_at + target] = row[blocks_at + source] >> HALF
        row[blocks_at + source] &= LOW_HALF
        _summarise(row, blocks_at, source)
        _summarise(row, blocks_at, target)
