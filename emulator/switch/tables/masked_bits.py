"""Changes of the bit rows of masked tables: a position's bit goes into, or out of, every row.

Compiled loops make them, but to have those numba must be loaded, which takes a second of CPU: as long as a thousand
changes by numpy. So a process without numba makes its first changes by numpy; one with few entries never loads it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from emulator.native.jit import njit

PLAIN_CHANGES = 1000
"""A process without numba makes this many by numpy."""

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
def _compiled_insert_bit(rows: Any, blocks_at: int, word: int, place: int, chunks: Any) -> None:
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
def _compiled_remove_bit(rows: Any, blocks_at: int, word: int, place: int) -> None:
    below = (ONE << np.uint64(place)) - ONE
    for index in range(rows.shape[0]):
        row = rows[index]
        old = row[blocks_at + word]
        _put(row, blocks_at, word, (old & below) | ((old >> ONE) & ~below))


@njit
def _compiled_move_half(rows: Any, blocks_at: int, source: int, target: int) -> None:
    for index in range(rows.shape[0]):
        row = rows[index]
        bits = row[blocks_at + source]
        _put(row, blocks_at, target, bits >> HALF)
        _put(row, blocks_at, source, bits & LOW_HALF)


# --- By numpy -------------------------------------------------------------------------------------------------------


def _plain_put(rows: Any, blocks_at: int, word: int, bits: Any) -> None:
    """Set the bits in all these rows at once."""
    rows[:, blocks_at + word] = bits
    bit = ONE << np.uint64(word % 64)
    summary = rows[:, word // 64]
    rows[:, word // 64] = np.where(bits != 0, summary | bit, summary & ~bit)


def _plain_insert_bit(rows: Any, blocks_at: int, word: int, place: int, chunks: Any) -> None:
    bit = ONE << np.uint64(place)
    below = bit - ONE
    for first_row, bits, is_range, low, high in chunks.tolist():
        values = np.arange(1 << bits)
        own = rows[first_row : first_row + len(values)]
        old = own[:, blocks_at + word]
        admits = (low <= values) & (values <= high) if is_range else values & high == low
        _plain_put(own, blocks_at, word, (old & below) | ((old & ~below) << ONE) | np.where(admits, bit, ONE - ONE))


def _plain_remove_bit(rows: Any, blocks_at: int, word: int, place: int) -> None:
    below = (ONE << np.uint64(place)) - ONE
    old = rows[:, blocks_at + word]
    _plain_put(rows, blocks_at, word, (old & below) | ((old >> ONE) & ~below))


def _plain_move_half(rows: Any, blocks_at: int, source: int, target: int) -> None:
    bits = rows[:, blocks_at + source].copy()
    _plain_put(rows, blocks_at, target, bits >> HALF)
    _plain_put(rows, blocks_at, source, bits & LOW_HALF)


# --- Either ---------------------------------------------------------------------------------------------------------

_changes = 0


def _is_plain() -> bool:
    global _changes
    _changes += 1
    return _changes <= PLAIN_CHANGES and "numba" not in sys.modules


def insert_bit(rows: Any, blocks_at: int, word: int, place: int, chunks: Any) -> None:
    """Make room at bit ``place`` of the word (later bits move up) and put a new entry there."""
    (_plain_insert_bit if _is_plain() else _compiled_insert_bit)(rows, blocks_at, word, place, chunks)


def remove_bit(rows: Any, blocks_at: int, word: int, place: int) -> None:
    """Later bits of the word move down."""
    (_plain_remove_bit if _is_plain() else _compiled_remove_bit)(rows, blocks_at, word, place)


def move_half(rows: Any, blocks_at: int, source: int, target: int) -> None:
    """The upper 32 bits of one word become the lower ones of an empty other."""
    (_plain_move_half if _is_plain() else _compiled_move_half)(rows, blocks_at, source, target)


def compile_loops() -> None:
    """Have them all in the cache: a first insertion would wait for the compiler."""
    rows, chunks = np.zeros((2, 2), np.uint64), np.zeros(1, CHUNK_DTYPE)
    _compiled_insert_bit(rows, 1, 0, 0, chunks)
    _compiled_remove_bit(rows, 1, 0, 0)
    rows = np.zeros((2, 3), np.uint64)
    _compiled_move_half(rows, 1, 0, 1)
