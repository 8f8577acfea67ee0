"""Exact tables in flat memory: one hash table with linear probing whose slots are the entries.

A search should read one cache line, for a second one was not announced. So searches for small entries begin at the
first of two that share a line, and at most a quarter of the slots is taken (in tables of more than FULL_AT entries,
half): no more than one key in thirty then lies beyond its pair. A deletion closes the gap it leaves: no search ever
passes a deleted entry.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from emulator.p4.table_layout import (
    ENTRY_HANDLE,
    ENTRY_KEY,
    TABLE_SLOT_MASK,
    TableLayout,
    first_slot,
    hash_words,
    words_of,
)
from emulator.switch.flat_entries import MOST_AT_ONCE
from emulator.switch.flat_table import FlatTable
from emulator.switch.mirror import Entry

FULL_AT = MOST_AT_ONCE // 4
"""Entries; larger tables begin with as many slots, and grow."""


class ExactTable(FlatTable):
    """See ``mirror.Mirror``. Entry number n lies in slot n - 1."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64]) -> None:
        self._slots = 1 << (4 * min(max(layout.size, 1), FULL_AT) - 1).bit_length()
        self._in_pairs = layout.begins_in_pairs
        super().__init__(layout, record, self._slots)
        record[TABLE_SLOT_MASK] = self._slots - 1
        self._places: dict[int, int] = {}
        """Entry numbers by handle."""
        self._halves = layout.entry_bytes // 4
        self._words = layout.entry_bytes // 8
        self._key_words = layout.key_words
        self._parts = [(i, layout.key_widths_bits[i]) for i in layout.order]

    def number(self, handle: int) -> int:
        return self._places.get(handle, 0)

    def key_of(self, entry: Entry) -> int:
        packed, keys = 0, entry.keys
        for position, width_bits in self._parts:
            packed = packed << width_bits | keys[position][0]
        return packed

    def insert(self, entry: Entry) -> None:
        if 2 * (len(self._places) + 1) > self._slots:
            self._grow()
        key = self.key_of(entry)
        number = self._free_slot(hash_words((key,) if self._key_words == 1 else words_of(key, self._key_words)))
        self._places[entry.handle] = number
        self.entries.clear_rest(number)
        self.write_keyed(number, entry, key)

    def take_out(self, entry: Entry) -> None:
        """Knuth's deletion for linear probing (volume 3, algorithm 6.4R): later keys of the run move up."""
        mask, gap = self._slots - 1, self._places.pop(entry.handle) - 1
        slot = gap
        while True:
            slot = (slot + 1) & mask
            handle = self._handle(slot + 1)
            if not handle:
                break
            home = first_slot(self._hash_at(slot + 1), mask, self._in_pairs)
            if (slot - home) & mask >= (slot - gap) & mask:
                self._copy(slot + 1, gap + 1)
                self._places[handle] = gap + 1
                gap = slot
        self.entries.halves[(gap + 1) * self._halves + ENTRY_HANDLE // 4] = 0

    # --- How ------------------------------------------------------------------------------------------------------

    def _handle(self, number: int) -> int:
        return self.entries.halves[number * self._halves + ENTRY_HANDLE // 4]

    def _hash_at(self, number: int) -> int:
        start = number * self._words + ENTRY_KEY // 8
        return hash_words(tuple(self.entries.words[start : start + self.layout.key_words]))

    def _copy(self, source: int, target: int) -> None:
        size, memory = self.layout.entry_bytes, self.entries.memory
        memory[target * size : (target + 1) * size] = memory[source * size : (source + 1) * size]

    def _free_slot(self, hashed: int) -> int:
        mask, handles, stride = self._slots - 1, self.entries.halves, self._halves
        slot = first_slot(hashed, mask, self._in_pairs)
        while handles[(slot + 1) * stride + ENTRY_HANDLE // 4]:
            slot = (slot + 1) & mask
        return slot + 1

    def _grow(self) -> None:
        """Only tables larger than MOST_AT_ONCE come here."""
        taken = list(self._taken())
        old, size = self.entries.replace(2 * self._slots), self.layout.entry_bytes
        self._slots *= 2
        self.record[TABLE_SLOT_MASK] = self._slots - 1
        for handle, number, hashed in taken:
            place = self._free_slot(hashed)
            self.entries.memory[place * size : (place + 1) * size] = old[number * size : (number + 1) * size]
            self._places[handle] = place

    def _taken(self) -> Iterator[tuple[int, int, int]]:
        """(handle, number, hash) of every entry."""
        return ((handle, number, self._hash_at(number)) for handle, number in self._places.items())
