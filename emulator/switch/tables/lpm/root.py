"""The root of a trie over prefixes, whose slots are entries (layout: ``emulator.p4.table_layout``).

A look-up in a large table waits for every place it reads, so the first entry of a chain lies in the slot itself: most
searches read one place. An entry that isn't the first lies at its *home*, further on in the table's entries, and moves
when it becomes the first; slots that lead to branches hold the branch's prefix, and those that hold nothing match no
key.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, table_bytes
from emulator.p4.layout import WORD_BYTES
from emulator.p4.table_layout import (
    BRANCH_BITS,
    ENTRY_KEY,
    ENTRY_NEXT,
    SHARED,
    SLOTS_FROM,
    TABLE_BESTS,
    TABLE_SHIFT,
    WORD_BITS,
    TableLayout,
)
from emulator.switch.tables.entries import Entries
from emulator.switch.tables.lpm.branch import Branch, Chain, Child, Prefix
from emulator.switch.tables.lpm.branches import Branches, sure

MOST_BITS, MOST_BYTES = 19, 32 << 20
"""A root has about four times as many slots as the table entries: nine of ten entries are then the first of their
chains."""


def root_bits(layout: TableLayout) -> int:
    """Bits of the key, after the shared ones, that index the root; no branch below begins at the key's first bit."""
    bits = min(MOST_BITS, max(BRANCH_BITS, layout.size.bit_length() + 2))
    return min(bits, (MOST_BYTES // layout.entry_bytes).bit_length() - 1, layout.lpm_bits - layout.shared_bits)


class RootSlots:
    """See ``trie.Root``. Parts are the key's first bits, shared ones included; only what begins with those has
    slots."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64], entries: Entries, branches: Branches) -> None:
        self._entries, self._branches = entries, branches
        self._bits = root_bits(layout)
        self.count = 1 << self._bits
        self.end = layout.shared_bits + self._bits
        self._shift = layout.lpm_bits - self.end
        self._first = SHARED << self._bits if layout.shared_bits else 0
        self._halves = layout.entry_bytes // 4
        self._children: dict[int, Branch | Chain] = {}
        """Children by slot."""
        self.own: dict[tuple[int, int], Prefix] = {}
        """Prefixes of at most ``end`` bits, by value and length."""
        self._bests = table_bytes(4 * self.count).view(np.uint32)
        self._lengths = np.zeros(self.count, np.uint8)
        """Length plus 1 of the best prefix of each slot, 0 where there is none."""
        self._is_free = np.ones(self.count, np.bool_)
        self._inside: dict[int, Prefix] = {}
        """The first of each chain, by slot."""
        self._no_key = bytes(ENTRY_KEY) + b"\xff" * (WORD_BYTES * layout.lpm_words)
        """A key that slot 0 cannot have, whose keys begin with zeros. For the others zeros will do."""
        record[TABLE_SHIFT] = WORD_BITS - self._bits
        record[TABLE_BESTS] = address_of(self._bests)
        self._clear(0)

    @property
    def chains(self) -> int:
        """How many entries lie in slots."""
        return len(self._inside)

    def reach(self, prefix: Prefix) -> int:
        """How many slots a search for the prefix's keys may read."""
        return min(self.count, 1 << max(0, self.end - prefix.length))

    # --- trie.Root --------------------------------------------------------------------------------------------------

    def part(self, value: int) -> int:
        return value >> self._shift

    def goes_on(self, prefix: Prefix) -> bool:
        return prefix.length > self.end

    def child(self, part: int) -> Child:
        return self._children.get(part - self._first)

    def put_child(self, part: int, child: Child) -> None:
        slot = part - self._first
        number, before = SLOTS_FROM + slot, self._inside.get(slot)
        if before is not None and not (isinstance(child, list) and child[0] is before):
            del self._inside[slot]
            if before.number == number:
                self._branches.send_home(before)
        self._is_free[slot] = child is None
        if child is None:
            self._children.pop(slot)
            self._clear(slot)
            self._set_next(number, sure(int(self._bests[slot])))
            return
        self._children[slot] = child
        if isinstance(child, Branch):
            size = 4 * self._halves
            self._entries.memory[number * size : (number + 1) * size] = self._branches.reference(child, 0)
            child.number = number
            return
        if before is not child[0]:
            self._branches.copy(child[0].number, number)
            child[0].number = number
            self._inside[slot] = child[0]
        self._branches.link(child, 0)

    def cover(self, prefix: Prefix) -> None:
        self.own[prefix.value, prefix.length] = prefix
        first, last = self._covered(prefix)
        lengths = self._lengths[first:last]
        shorter = lengths <= prefix.length
        self._put_best(first, last, shorter, prefix.number)
        lengths[shorter] = prefix.length + 1

    def uncover(self, prefix: Prefix) -> None:
        del self.own[prefix.value, prefix.length]
        best = next(self._shorter(prefix), None)
        first, last = self._covered(prefix)
        lengths = self._lengths[first:last]
        bared = lengths == prefix.length + 1
        self._put_best(first, last, bared, best.number if best is not None else 0)
        lengths[bared] = best.length + 1 if best is not None else 0

    # --- How --------------------------------------------------------------------------------------------------------

    def _covered(self, prefix: Prefix) -> tuple[int, int]:
        """The slots under a prefix: from which to before which."""
        first = self.part(prefix.value) - self._first
        return max(0, first), min(self.count, first + (1 << (self.end - prefix.length)))

    def _shorter(self, prefix: Prefix) -> Iterator[Prefix]:
        """Shorter prefixes that end in the root and cover this one, longest first."""
        for length in range(prefix.length - 1, -1, -1):
            shift = self._shift + self.end - length
            found = self.own.get((prefix.value >> shift << shift, length))
            if found is not None:
                yield found

    def _put_best(self, first: int, last: int, which: NDArray[np.bool_], number: int) -> None:
        """In the chosen ones of some slots; 0: none."""
        self._bests[first:last][which] = number
        halves, step = self._entries.array.view(np.uint32), self._halves
        origin = SLOTS_FROM * step + ENTRY_NEXT // 4
        nexts = halves[origin + first * step : origin + last * step : step]
        nexts[which & self._is_free[first:last]] = sure(number)

    def _set_next(self, number: int, following: int) -> None:
        self._entries.halves[number * self._halves + ENTRY_NEXT // 4] = following

    def _clear(self, slot: int) -> None:
        size = 4 * self._halves
        start = (SLOTS_FROM + slot) * size
        content = self._no_key if slot == 0 else b""
        self._entries.memory[start : start + size] = content.ljust(size, b"\0")
