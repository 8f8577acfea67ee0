"""Tables with ternary, optional and range keys in flat memory: rows of bits, see ``emulator.p4.table_layout``.

The 64 positions of a word belong to one *bucket*: entries that are neighbours in the order of ranks, best first. A new
entry goes into the bucket of its neighbours, which splits when it is full, so the order costs nothing to keep.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, table_bytes
from emulator.p4.table_layout import (
    BLOCK_WORDS,
    POSITION_ENTRY,
    POSITION_RANK,
    TABLE_BLOCK_RANKS,
    TABLE_BLOCKS,
    TABLE_BLOCKS_AT,
    TABLE_POSITIONS,
    TABLE_ROW_BYTES,
    TABLE_ROWS,
    WORD_BITS,
    TableLayout,
)
from emulator.switch.tables.flat_table import FlatTable
from emulator.switch.tables.masked_bits import CHUNK_DTYPE, insert_bit, move_half, remove_bit
from emulator.switch.tables.mirror import Entry


def packed_rank(entry: Entry) -> int:
    """Priority, then smaller handle, as one number that is never 0."""
    return (entry.priority + (1 << 31)) << 32 | (0xFFFF_FFFF - entry.handle)


@dataclass(slots=True)
class _Bucket:
    word: int
    ranks: list[int]
    """Negative, so that they rise; the i-th entry has bit i."""


class MaskedTable(FlatTable):
    """See ``mirror.Mirror``. An entry's number is its handle."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64]) -> None:
        super().__init__(layout, record)
        self._handles: set[int] = set()
        self._buckets: list[_Bucket] = []
        self._starts: list[int] = []
        """First rank of each bucket."""
        self._free_words: list[int] = []
        self._words = 0
        self._chunks = layout.chunks
        self._ranges = {r.position: r for r in layout.ranges}
        self._best: list[int] = []
        """Best rank of each word, 0 where it is empty."""
        self._blocks = self._blocks_at = 0
        self._rows = np.zeros((layout.row_count, 0), np.uint64)
        self._positions = np.zeros((0, layout.position_bytes), np.uint8)
        self._ranks = np.zeros(0, np.uint64)
        self._allocate(1)

    def _allocate(self, blocks: int) -> None:
        """Room for ``blocks`` blocks; what is there is kept."""
        summary = -(-blocks * BLOCK_WORDS // WORD_BITS)
        width = summary + blocks * BLOCK_WORDS
        rows = table_bytes(8 * width * self.layout.row_count).view(np.uint64).reshape(-1, width)
        size = self.layout.position_bytes
        positions = table_bytes(blocks * BLOCK_WORDS * WORD_BITS * size).reshape(-1, size)
        rows[:, : self._blocks_at] = self._rows[:, : self._blocks_at]
        rows[:, summary : summary + self._blocks * BLOCK_WORDS] = self._rows[:, self._blocks_at :]
        positions[: len(self._positions)] = self._positions
        self._best += [0] * (blocks * BLOCK_WORDS - len(self._best))
        ranks = np.zeros(blocks, np.uint64)
        ranks[: len(self._ranks)] = self._ranks
        self._ranks = ranks
        self.record[TABLE_BLOCK_RANKS] = address_of(ranks)
        self._blocks, self._blocks_at, self._rows, self._positions = blocks, summary, rows, positions
        self.record[TABLE_ROWS], self.record[TABLE_POSITIONS] = address_of(rows), address_of(positions)
        self.record[TABLE_ROW_BYTES], self.record[TABLE_BLOCKS_AT] = 8 * width, 8 * summary

    # --- FlatTable --------------------------------------------------------------------------------------------------

    def number(self, handle: int) -> int:
        return handle if handle in self._handles else 0

    def insert(self, entry: Entry) -> None:
        self.entries.reserve(entry.handle)
        self.entries.clear_rest(entry.handle)
        self.write_entry(entry.handle, entry)
        self._handles.add(entry.handle)
        rank = -packed_rank(entry)
        index = self._bucket_for(rank)
        bucket = self._buckets[index]
        place = bisect_left(bucket.ranks, rank)
        first = bucket.word * WORD_BITS
        moved = self._positions[first + place : first + len(bucket.ranks)].copy()
        self._positions[first + place + 1 : first + len(bucket.ranks) + 1] = moved
        self._write_position(self._positions[first + place], entry, -rank)
        bucket.ranks.insert(place, rank)
        self._starts[index] = bucket.ranks[0]
        self._set_best(bucket)
        insert_bit(self._rows, self._blocks_at, bucket.word, place, self._admitted(entry))

    def take_out(self, entry: Entry) -> None:
        self._handles.remove(entry.handle)
        rank = -packed_rank(entry)
        index = bisect_right(self._starts, rank) - 1
        bucket = self._buckets[index]
        place = bisect_left(bucket.ranks, rank)
        first = bucket.word * WORD_BITS
        moved = self._positions[first + place + 1 : first + len(bucket.ranks)].copy()
        self._positions[first + place : first + len(bucket.ranks) - 1] = moved
        del bucket.ranks[place]
        remove_bit(self._rows, self._blocks_at, bucket.word, place)
        self._set_best(bucket)
        if bucket.ranks:
            self._starts[index] = bucket.ranks[0]
        else:
            self._free_words.append(bucket.word)
            del self._buckets[index], self._starts[index]

    # --- Buckets ----------------------------------------------------------------------------------------------------

    def _bucket_for(self, rank: int) -> int:
        """Index of one with room that the rank belongs to."""
        if not self._buckets:
            self._add_bucket(0, [])
        index = max(0, bisect_right(self._starts, rank) - 1)
        bucket = self._buckets[index]
        if len(bucket.ranks) < WORD_BITS:
            return index
        # entries that come in order fill their buckets
        if rank < bucket.ranks[0]:
            self._add_bucket(0, [])
            return 0
        if rank > bucket.ranks[-1]:
            following = index + 1
            if following == len(self._buckets) or len(self._buckets[following].ranks) == WORD_BITS:
                self._add_bucket(following, [])
            return following
        half = WORD_BITS // 2
        fresh = self._add_bucket(index + 1, bucket.ranks[half:])
        del bucket.ranks[half:]
        self._set_best(fresh)
        move_half(self._rows, self._blocks_at, bucket.word, fresh.word)
        source, target = bucket.word * WORD_BITS + half, fresh.word * WORD_BITS
        self._positions[target : target + half] = self._positions[source : source + half]
        return index + (rank > fresh.ranks[0])

    def _add_bucket(self, index: int, ranks: list[int]) -> _Bucket:
        if self._free_words:
            word = self._free_words.pop()
        else:
            word = self._words
            self._words += 1
            if self._words > self._blocks * BLOCK_WORDS:
                self._allocate(2 * self._blocks)
        bucket = _Bucket(word, ranks)
        self._buckets.insert(index, bucket)
        self._starts.insert(index, ranks[0] if ranks else 0)
        self.record[TABLE_BLOCKS] = -(-self._words // BLOCK_WORDS)
        return bucket

    def _set_best(self, bucket: _Bucket) -> None:
        """Tell the best rank of the bucket's block."""
        self._best[bucket.word] = -bucket.ranks[0] if bucket.ranks else 0
        block = bucket.word // BLOCK_WORDS
        self._ranks[block] = max(self._best[block * BLOCK_WORDS : (block + 1) * BLOCK_WORDS])

    # --- What an entry admits ---------------------------------------------------------------------------------------

    def _write_position(self, memory: NDArray[np.uint8], entry: Entry, rank: int) -> None:
        packed = rank << 8 * POSITION_RANK | entry.handle << 8 * POSITION_ENTRY
        for position, bounds in self._ranges.items():
            low, high = entry.keys[position]
            packed |= low << 8 * bounds.low.offset_bytes | high << 8 * bounds.high.offset_bytes
        memory[:] = np.frombuffer(packed.to_bytes(len(memory), "little"), np.uint8)

    def _admitted(self, entry: Entry) -> NDArray[np.void]:
        admitted = np.zeros(len(self._chunks), CHUNK_DTYPE)
        for i, chunk in enumerate(self._chunks):
            first, second = entry.keys[chunk.position]
            ones = (1 << chunk.bits) - 1
            low, high = first >> chunk.shift & ones, second >> chunk.shift & ones
            is_range = chunk.position in self._ranges
            if is_range and first >> chunk.shift + chunk.bits != second >> chunk.shift + chunk.bits:
                # the bits above tell; where they are a bound's, the position's own bounds decide
                low, high = 0, ones
            admitted[i] = (chunk.first_row, chunk.bits, is_range, low, high)
        return admitted
