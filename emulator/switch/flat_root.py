"""The root of a trie over prefixes, whose slots are entries (layout: ``emulator.p4.table_layout``).

A look-up in a large table waits for every place it reads, so the first entry of a chain lies in the slot itself: most
searches read one place. An entry that isn't the first lies at its *home*, further on in the table's entries, and moves
when it becomes the first; slots that lead to nodes, or hold nothing, match no key.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.p4.layout import WORD_BYTES
from emulator.p4.table_layout import (
    ENTRY_KEY,
    ENTRY_NEXT,
    LPM_SURE,
    SHARED,
    SLOTS_FROM,
    TABLE_BESTS,
    TABLE_SHIFT,
    WORD_BITS,
    TableLayout,
)
from emulator.ports.batch import address_of
from emulator.ports.pages import table_bytes
from emulator.switch.flat_entries import Entries
from emulator.switch.flat_trie import Node, Prefix

FEWEST_BITS, MOST_BITS, MOST_BYTES = 4, 19, 32 << 20
"""A root has about four times as many slots as the table entries: nine of ten entries are then the first of their
chains."""


def root_bits(layout: TableLayout) -> int:
    """Of the key, after the shared ones."""
    bits = min(MOST_BITS, max(FEWEST_BITS, layout.size.bit_length() + 2))
    return min(bits, (MOST_BYTES // layout.entry_bytes).bit_length() - 1, layout.lpm_bits - layout.shared_bits)


class RootSlots:
    """See ``flat_trie.Slots``. Indices are the key's first bits, shared ones included; only what begins with those has
    slots."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64], entries: Entries) -> None:
        self._entries = entries
        self._bits = root_bits(layout)
        self._shared_bits = layout.shared_bits
        self.count = 1 << self._bits
        self._first = SHARED << self._bits if layout.shared_bits else 0
        self._halves = layout.entry_bytes // 4
        self._bests = table_bytes(4 * self.count).view(np.uint32)
        self._is_free = np.ones(self.count, np.bool_)
        self._inside: dict[int, Prefix] = {}
        """The first of each chain, by slot."""
        self._no_key = bytes(ENTRY_KEY) + b"\xff" * (WORD_BYTES * layout.lpm_words)
        """For slot 0: its keys begin with zeros. For the others zeros will do."""
        record[TABLE_SHIFT] = WORD_BITS - self._bits
        record[TABLE_BESTS] = address_of(self._bests)
        self._clear(0)

    def node(self) -> Node:
        """The root as a trie knows it."""
        return Node(self, 0, 0, 0, 0, self._shared_bits + self._bits, first=self._first)

    @property
    def chains(self) -> int:
        """How many entries lie in slots."""
        return len(self._inside)

    def home(self, handle: int) -> int:
        """Number of the own place of the entry with this handle."""
        return SLOTS_FROM + self.count + handle - 1

    def reach(self, prefix: Prefix) -> int:
        """How many slots a search for the prefix's keys may read."""
        return min(self.count, 1 << max(0, self._shared_bits + self._bits - prefix.length))

    # --- flat_trie.Slots --------------------------------------------------------------------------------------------

    def put(self, index: int, reference: int) -> None:
        slot = index - self._first
        self._move_home(slot)
        self._clear(slot)
        self._is_free[slot] = not reference
        self._set_next(SLOTS_FROM + slot, reference or _sure(int(self._bests[slot])))

    def put_chain(self, index: int, chain: list[Prefix]) -> None:
        slot, first = index - self._first, chain[0]
        if self._inside.get(slot) is not first:
            self._move_home(slot)
            self._copy(first.home, SLOTS_FROM + slot)
            first.number = SLOTS_FROM + slot
            self._inside[slot] = first
            self._is_free[slot] = False
        following = 0
        for prefix in reversed(chain):
            self._set_next(prefix.number, following)
            following = prefix.number

    def put_best(self, first: int, last: int, which: NDArray[np.bool_], number: int) -> None:
        self._bests[first:last][which] = number
        halves, step = self._entries.array.view(np.uint32), self._halves
        origin = SLOTS_FROM * step + ENTRY_NEXT // 4
        nexts = halves[origin + first * step : origin + last * step : step]
        nexts[which & self._is_free[first:last]] = _sure(number)

    # --- How --------------------------------------------------------------------------------------------------------

    def _set_next(self, number: int, following: int) -> None:
        self._entries.halves[number * self._halves + ENTRY_NEXT // 4] = following

    def _clear(self, slot: int) -> None:
        size = 4 * self._halves
        start = (SLOTS_FROM + slot) * size
        content = self._no_key if slot == 0 else b""
        self._entries.memory[start : start + size] = content.ljust(size, b"\0")

    def _move_home(self, slot: int) -> None:
        prefix = self._inside.pop(slot, None)
        if prefix is not None:
            self._copy(prefix.number, prefix.home)
            prefix.number = prefix.home

    def _copy(self, source: int, target: int) -> None:
        size, memory = 4 * self._halves, self._entries.memory
        memory[target * size : (target + 1) * size] = memory[source * size : (source + 1) * size]


def _sure(number: int) -> int:
    return number | LPM_SURE if number else 0
