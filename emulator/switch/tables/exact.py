"""Exact tables in flat memory: one hash table with open addressing whose slots are the entries.

A search should find its key at the first probe and in one cache line: a second probe mispredicts and misses the cache;
only the first line is prefetched. So at most a quarter of the slots is taken (in tables of more than FULL_AT entries,
half), and a search that finds another key goes on in the other slot of the pair, which for small entries is the same
line: nine keys in ten lie in their own slots, and one in thirty beyond its pair. A deletion closes the gap it leaves:
no search ever passes a deleted entry.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.p4.table_layout import (
    ENTRY_HANDLE,
    ENTRY_KEY,
    SLOTS_FROM,
    TABLE_SHIFT,
    TABLE_SLOT_MASK,
    WORD_BITS,
    TableLayout,
    first_slot,
    slot_after,
    steps_to,
    words_of,
)
from emulator.switch.tables.entries import MOST_AT_ONCE
from emulator.switch.tables.flat_table import FlatTable
from emulator.switch.tables.mirror import Entry

FULL_AT = MOST_AT_ONCE // 4
"""Entries; larger tables begin with as many slots, and grow."""


class ExactTable(FlatTable):
    """See ``mirror.Mirror``. Slot n is entry number n + SLOTS_FROM."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64]) -> None:
        self._slots = 1 << (4 * min(max(layout.size, 1), FULL_AT) - 1).bit_length()
        super().__init__(layout, record, self._slots + SLOTS_FROM - 1)
        self._note_slots()
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
        slot = self._free_slot((key,) if self._key_words == 1 else words_of(key, self._key_words))
        number = self._places[entry.handle] = slot + SLOTS_FROM
        self.entries.clear_rest(number)
        self.write_keyed(number, entry, key)

    def take_out(self, entry: Entry) -> None:
        """Knuth's deletion for linear probing (volume 3, algorithm 6.4R), by pairs: whatever would be found sooner in
        the gap moves there, up to the first pair with a free slot, which no search passes."""
        mask, gap = self._slots - 1, self._places.pop(entry.handle) - SLOTS_FROM
        pair = gap & ~1
        while True:
            for slot in (pair, pair + 1, pair):
                handle = self._handle(slot)
                if slot == gap or not handle:
                    continue
                home = first_slot(self._words_at(slot), self._shift)
                if steps_to(home, gap, mask) < steps_to(home, slot, mask):
                    self._copy(slot, gap)
                    self._places[handle] = gap + SLOTS_FROM
                    gap = slot
            if not (self._handle(pair) and self._handle(pair + 1)):
                break
            pair = (pair + 2) & mask
        self.entries.set_half(gap + SLOTS_FROM, ENTRY_HANDLE, 0)

    # --- How ------------------------------------------------------------------------------------------------------

    def _note_slots(self) -> None:
        self._shift = WORD_BITS + 1 - self._slots.bit_length()
        self.record[TABLE_SLOT_MASK], self.record[TABLE_SHIFT] = self._slots - 1, self._shift

    def _handle(self, slot: int) -> int:
        return self.entries.halves[(slot + SLOTS_FROM) * self._halves + ENTRY_HANDLE // 4]

    def _words_at(self, slot: int) -> tuple[int, ...]:
        start = (slot + SLOTS_FROM) * self._words + ENTRY_KEY // 8
        return tuple(self.entries.words[start : start + self._key_words])

    def _copy(self, source: int, target: int) -> None:
        memory = self.entries.memory
        memory[self._bytes(target)] = memory[self._bytes(source)]

    def _bytes(self, slot: int) -> slice:
        start, size = (slot + SLOTS_FROM) * self.layout.entry_bytes, self.layout.entry_bytes
        return slice(start, start + size)

    def _free_slot(self, words: tuple[int, ...]) -> int:
        home = slot = first_slot(words, self._shift)
        steps, handles, stride = 0, self.entries.halves, self._halves
        while handles[(slot + SLOTS_FROM) * stride + ENTRY_HANDLE // 4]:
            steps += 1
            slot = slot_after(home, steps, self._slots - 1)
        return slot

    def _grow(self) -> None:
        """Only tables larger than MOST_AT_ONCE come here."""
        taken = [(handle, slot := number - SLOTS_FROM, self._words_at(slot)) for handle, number in self._places.items()]
        old = self.entries.replace(2 * self._slots + SLOTS_FROM - 1)
        self._slots *= 2
        self._note_slots()
        for handle, slot, words in taken:
            place = self._free_slot(words)
            self.entries.memory[self._bytes(place)] = old[self._bytes(slot)]
            self._places[handle] = place + SLOTS_FROM
