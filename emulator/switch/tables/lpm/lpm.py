"""Lpm tables in flat memory: a trie over the lpm key, or one for each value of the other keys, found by hash."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, aligned_bytes
from emulator.p4.table_layout import (
    ENTRY_NEXT,
    PREFIX_SLOT_BITMAP,
    PREFIX_SLOT_HEADER_WORDS,
    PREFIX_SLOT_PLACE,
    SHARED,
    SLOTS_FROM,
    TABLE_OUTSIDE,
    TABLE_SLOT_MASK,
    TABLE_SLOTS,
    TableLayout,
    hash_words,
    words_of,
)
from emulator.switch.tables.flat_table import FlatTable
from emulator.switch.tables.lpm.branch import Branch, Prefix
from emulator.switch.tables.lpm.branches import Branches, Places
from emulator.switch.tables.lpm.root import RootSlots, root_bits
from emulator.switch.tables.lpm.trie import Trie
from emulator.switch.tables.mirror import Entry

PLACES = 4
"""Room for so many places an entry: its home, and slots of branches; where more are needed there, it grows."""
FIRST_SLOTS = 8
DEEP_FROM = 4
"""One entry of so many elsewhere than in a root's slot makes it worth the work to search ahead (measured)."""


class LpmTable(FlatTable):
    """See ``mirror.Mirror``."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64]) -> None:
        slots = (1 << root_bits(layout)) + SLOTS_FROM - 1 if layout.has_root else 0
        super().__init__(layout, record, slots + PLACES * layout.size)
        self._lpm = layout.match_kinds.index("lpm")
        self._others = tuple(i for i in layout.order if i != self._lpm)
        self._width, self._shared_bits = layout.lpm_bits, layout.shared_bits
        self._prefixes: dict[int, Prefix] = {}
        """Prefixes by handle."""
        self._places = Places(self.entries, slots + 1)
        self._branches = Branches(layout, self.entries, self._places)
        self._tries: dict[int, Trie] = {}
        """Tries by the packed other keys; 0 without any, for what is outside the root."""
        self._roots = _Roots(layout.other_words, record) if self._others else None
        self._root = None
        if layout.has_root:
            self._root = RootSlots(layout, record, self.entries, self._branches)
            self._rooted = Trie(self._branches, self._root)
            self._in_root = 0

    # --- FlatTable --------------------------------------------------------------------------------------------------

    def number(self, handle: int) -> int:
        prefix = self._prefixes.get(handle)
        return prefix.number if prefix is not None else 0

    def key_of(self, entry: Entry) -> int:
        value, mask = entry.keys[self._lpm]
        return self._branches.keys.content(value, mask.bit_count())

    def tag_of(self, entry: Entry) -> int:
        """The chain's link as it stands."""
        return self.entries.half(self.number(entry.handle), ENTRY_NEXT)

    def insert(self, entry: Entry) -> None:
        home = self._places.take(1)
        value, mask = entry.keys[self._lpm]
        prefix = self._prefixes[entry.handle] = Prefix(home, value, mask.bit_count(), home)
        self.entries.set_half(home, ENTRY_NEXT, 0)
        self.entries.clear_rest(home)
        self.write_entry(home, entry)
        if self._root is not None and self._is_rooted(prefix):
            self._rooted.insert(prefix)
            self._note_reach(prefix, 1)
        if self._is_elsewhere(prefix):
            prefix.stays = self._root is not None and self._is_rooted(prefix)
            others = self._pack_others(entry)
            trie = self._tries.get(others)
            if trie is None:
                trie = self._tries[others] = Trie(self._branches, self._branches.make(0, 0, (), {}))
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
        self._places.free(prefix.home, 1)

    def is_deep(self) -> bool:
        if self._root is None:
            return True
        beyond = self._in_root - self._root.chains - len(self._root.own)
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
        top = trie.top
        assert isinstance(top, Branch)
        place, bitmap = (0, 0) if top.is_empty else (top.place, top.bitmap)
        if self._roots is not None:
            self._roots.put(others, place, bitmap)
        else:
            self.record[TABLE_OUTSIDE + PREFIX_SLOT_PLACE] = place
            self.record[TABLE_OUTSIDE + PREFIX_SLOT_BITMAP] = bitmap
        if top.is_empty:
            self._branches.free(top)
            del self._tries[others]


class _Roots:
    """The hash from other keys to the branches at the top of their tries."""

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

    def put(self, others: int, place: int, bitmap: int) -> None:
        """``place`` 0 removes."""
        words = words_of(others, self._key_words)
        slot = self._search(words)
        if not place:
            self._close_gap(slot)
            return
        fresh = not self._view[slot * self._width]
        self._write(slot, (place, bitmap, *words))
        if fresh:
            self._count += 1
            if 2 * self._count > self._mask:
                self._grow()

    def _write(self, slot: int, content: tuple[int, ...]) -> None:
        self._array[slot * self._width : (slot + 1) * self._width] = content

    def _content(self, slot: int) -> tuple[int, ...]:
        """Place (0 where the slot is free), bitmap, the other keys' words."""
        return tuple(self._view[slot * self._width : (slot + 1) * self._width])

    def _search(self, words: tuple[int, ...]) -> int:
        slot = hash_words(words) & self._mask
        while (content := self._content(slot))[0] and content[PREFIX_SLOT_HEADER_WORDS:] != words:
            slot = (slot + 1) & self._mask
        return slot

    def _close_gap(self, gap: int) -> None:
        """As in ``exact``."""
        if not self._view[gap * self._width]:
            return
        self._count -= 1
        slot = gap
        while True:
            slot = (slot + 1) & self._mask
            content = self._content(slot)
            if not content[0]:
                break
            home = hash_words(content[PREFIX_SLOT_HEADER_WORDS:])
            if (slot - home) & self._mask >= (slot - gap) & self._mask:
                self._write(gap, content)
                gap = slot
        self._view[gap * self._width] = 0

    def _grow(self) -> None:
        """Doubling: each key is moved once on average."""
        taken = [content for slot in range(self._mask + 1) if (content := self._content(slot))[0]]
        self._set(2 * (self._mask + 1))
        for content in taken:
            self._write(self._search(content[PREFIX_SLOT_HEADER_WORDS:]), content)
