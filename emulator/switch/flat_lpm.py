"""Lpm tables in flat memory: a trie over the lpm key, or one for each value of the other keys, found by hash."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.p4.table_layout import (
    ENTRY_NEXT,
    PREFIX_SLOT_HEADER_WORDS,
    SHARED,
    SLOTS_FROM,
    TABLE_ARENA,
    TABLE_OUTSIDE,
    TABLE_SLOT_MASK,
    TABLE_SLOTS,
    WORD_BITS,
    TableLayout,
    hash_words,
    words_of,
)
from emulator.ports.batch import address_of, aligned_bytes
from emulator.switch.flat_root import RootSlots, root_bits
from emulator.switch.flat_table import FlatTable
from emulator.switch.flat_trie import Arena, Prefix, Trie
from emulator.switch.mirror import Entry

FIRST_SLOTS = 8
DEEP_FROM = 4
"""One entry of so many elsewhere than in a root's slot makes it worth the work to search ahead (measured)."""


class LpmTable(FlatTable):
    """See ``mirror.Mirror``."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64]) -> None:
        slots = (1 << root_bits(layout)) + SLOTS_FROM - 1 if layout.has_root else 0
        super().__init__(layout, record, slots + layout.size)
        self._lpm = layout.match_kinds.index("lpm")
        self._others = tuple(i for i in layout.order if i != self._lpm)
        self._words = layout.lpm_words
        self._width, self._shared_bits = layout.lpm_bits, layout.shared_bits
        self._left = WORD_BITS * self._words - self._width
        self._prefixes: dict[int, Prefix] = {}
        """By handle."""
        entries = self.entries  # not self: memory must go with the table, and not wait for the garbage collector
        self._link = lambda number, following: entries.set_half(number, ENTRY_NEXT, following)
        self._arena = Arena(4 * layout.size, lambda words: _note_place(record, words))
        self._tries: dict[int, Trie] = {}
        """By the packed other keys; 0 without any, for what is outside the root."""
        self._roots = _Roots(layout.other_words, record) if self._others else None
        self._root = RootSlots(layout, record, entries) if layout.has_root else None
        if self._root is not None:
            self._rooted = Trie(self._arena, self._width, self._link, self._root.node())
            self._tries[0] = self._new_trie()
            self._in_root = 0

    def _new_trie(self) -> Trie:
        return Trie(self._arena, self._width, self._link)

    # --- FlatTable --------------------------------------------------------------------------------------------------

    def number(self, handle: int) -> int:
        prefix = self._prefixes.get(handle)
        return prefix.number if prefix is not None else 0

    def key_of(self, entry: Entry) -> int:
        """Prefix, and where it ends (see ``table_layout.key_bytes``)."""
        value, mask = entry.keys[self._lpm]
        if self._words == 1:
            return self._from_the_top(value) | (WORD_BITS - mask.bit_count()) << WORD_BITS
        beyond = (1 << (WORD_BITS * self._words)) - 1 ^ self._from_the_top(mask)
        return self._from_the_top(value) | beyond << (WORD_BITS * self._words)

    def tag_of(self, entry: Entry) -> int:
        """The chain's link as it stands."""
        return self.entries.half(self.number(entry.handle), ENTRY_NEXT)

    def _from_the_top(self, part: int) -> int:
        """A key's words, the most significant one lowest; the key begins at the top of that one."""
        part <<= self._left
        if self._words == 1:
            return part
        return int.from_bytes(
            b"".join(word.to_bytes(8, "little") for word in words_of(part, self._words)[::-1]), "little"
        )

    def insert(self, entry: Entry) -> None:
        home = entry.handle if self._root is None else self._root.home(entry.handle)
        value, mask = entry.keys[self._lpm]
        prefix = self._prefixes[entry.handle] = Prefix(home, value, mask.bit_count(), home)
        self.entries.reserve(home)
        self.entries.set_half(home, ENTRY_NEXT, 0)
        self.entries.clear_rest(home)
        self.write_entry(home, entry)
        if self._root is not None and self._is_rooted(prefix):
            self._rooted.insert(prefix)
            self._note_reach(prefix, 1)
        if self._is_elsewhere(prefix):
            others = self._pack_others(entry)
            trie = self._tries.get(others)
            if trie is None:
                trie = self._tries[others] = self._new_trie()
            trie.insert(prefix)
            self._publish(others, trie)

    def take_out(self, entry: Entry) -> None:
        prefix = self._prefixes.pop(entry.handle)
        if self._root is not None and self._is_rooted(prefix):
            self._rooted.remove(prefix)
            self._note_reach(prefix, -1)
        if self._is_elsewhere(prefix):
            others = self._pack_others(entry)
            trie = self._tries[others]
            trie.remove(prefix)
            self._publish(others, trie)

    def is_deep(self) -> bool:
        if self._root is None:
            return True
        beyond = self._in_root - self._root.chains - len(self._rooted.root.own)
        return DEEP_FROM * beyond > self._in_root

    def _note_reach(self, prefix: Prefix, change: int) -> None:
        assert self._root is not None
        self._in_root += change
        slots = self._root.reach(prefix)
        if slots > 1:  # the prefix itself is counted as every entry
            self._count(change * (slots - 1))

    # --- Where a prefix belongs; a short one may belong into both tries -----------------------------------------------

    def _is_rooted(self, prefix: Prefix) -> bool:
        """Does it match keys that begin with the shared bits?"""
        shared = self._shared_bits
        length = min(shared, prefix.length)
        return not shared or prefix.value >> (self._width - length) == SHARED >> (shared - length)

    def _is_elsewhere(self, prefix: Prefix) -> bool:
        """Does it match keys that the root has no slots for?"""
        if self._root is None:
            return True
        shared = self._shared_bits
        return shared > 0 and (prefix.length < shared or not self._is_rooted(prefix))

    # --- The tries' roots -------------------------------------------------------------------------------------------

    def _pack_others(self, entry: Entry) -> int:
        if not self._others:
            return 0
        return self.layout.pack(tuple(value for value, _ in entry.keys), self._others)

    def _publish(self, others: int, trie: Trie) -> None:
        slot = self._arena.view[trie.root.place]
        if self._roots is None:
            self.record[TABLE_OUTSIDE] = slot
            return
        self._roots.put(others, slot)
        if trie.root.is_empty:
            self._arena.free(trie.root.place, 1)
            del self._tries[others]


def _note_place(record: NDArray[np.uint64], words: NDArray[np.uint64]) -> None:
    record[TABLE_ARENA] = address_of(words)


class _Roots:
    """The hash from other keys to the slots their tries hang from. A slot's first word is 0 when it is free."""

    def __init__(self, key_words: int, record: NDArray[np.uint64]) -> None:
        self._record = record
        self._key_words = key_words
        self._width = PREFIX_SLOT_HEADER_WORDS + key_words
        self._count = 0
        self._set(FIRST_SLOTS)

    def _set(self, slots: int) -> None:
        self._mask = slots - 1
        self._array = aligned_bytes(8 * slots * self._width).view(np.uint64)
        self._view = memoryview(self._array)  # type: ignore[arg-type]
        self._record[TABLE_SLOTS], self._record[TABLE_SLOT_MASK] = address_of(self._array), self._mask

    def put(self, others: int, slot: int) -> None:
        """0 removes."""
        words = words_of(others, self._key_words)
        place = self._search(words)
        if not slot:
            self._close_gap(place)
            return
        fresh = not self._view[place * self._width]
        self._write(place, slot, words)
        if fresh:
            self._count += 1
            if 2 * self._count > self._mask:
                self._grow()

    def _write(self, place: int, slot: int, words: tuple[int, ...]) -> None:
        start = place * self._width
        self._view[start] = slot
        for i, word in enumerate(words):
            self._view[start + PREFIX_SLOT_HEADER_WORDS + i] = word

    def _words(self, place: int) -> tuple[int, ...]:
        start = place * self._width + PREFIX_SLOT_HEADER_WORDS
        return tuple(self._view[start : start + self._key_words])

    def _search(self, words: tuple[int, ...]) -> int:
        place = hash_words(words) & self._mask
        while self._view[place * self._width] and self._words(place) != words:
            place = (place + 1) & self._mask
        return place

    def _close_gap(self, gap: int) -> None:
        """As in ``flat_exact``."""
        if not self._view[gap * self._width]:
            return
        self._count -= 1
        place = gap
        while True:
            place = (place + 1) & self._mask
            slot = self._view[place * self._width]
            if not slot:
                break
            words = self._words(place)
            if (place - hash_words(words)) & self._mask >= (place - gap) & self._mask:
                self._write(gap, slot, words)
                gap = place
        self._view[gap * self._width] = 0

    def _grow(self) -> None:
        """Doubling: each key is moved once on average."""
        old, width = self._view, self._width
        taken = [(old[s], tuple(old[s + 1 : s + width])) for s in range(0, len(old), width) if old[s]]
        self._set(2 * (self._mask + 1))
        for slot, words in taken:
            self._write(self._search(words), slot, words)
