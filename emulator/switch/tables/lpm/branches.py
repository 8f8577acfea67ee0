"""Branches of tries in flat memory: how a ``branch.Branch`` is laid out for packets to read."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from emulator.p4.layout import WORD_BYTES
from emulator.p4.table_layout import (
    BRANCH_BITS,
    ENTRY_ACTION,
    ENTRY_KEY,
    ENTRY_NEXT,
    LPM_BRANCH,
    LPM_SURE,
    SHARED,
    WORD_BITS,
    WORD_MASK,
    TableLayout,
)
from emulator.switch.tables.entries import Entries
from emulator.switch.tables.lpm.branch import PARTS, Branch, Chain, Child, Prefix, Run, length_of, runs_of, same

ROOMS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Sizes in which slots are allocated; what a branch does not use is at most a third."""
Numbers: TypeAlias = dict["Prefix | None", int]
"""Entry number where each of a branch's own prefixes is to lie; 0 for None."""


class Places:
    """Allocator of adjacent entries, by number, from ``first`` on."""

    def __init__(self, entries: Entries, first: int) -> None:
        self._entries = entries
        self._next = first
        self._free: dict[int, list[int]] = {}

    def take(self, room: int) -> int:
        """Number of the first of ``room`` free entries; ``room`` is one of ROOMS."""
        free = self._free.get(room)
        if free:
            return free.pop()
        number = self._next
        self._next += room
        self._entries.reserve(self._next - 1)
        return number

    def free(self, number: int, room: int) -> None:
        if room:
            self._free.setdefault(room, []).append(number)


class Keys:
    """Prefixes in the form in which entries hold them (see ``table_layout.key_bytes``)."""

    def __init__(self, layout: TableLayout) -> None:
        self.width = layout.lpm_bits
        self._words = layout.lpm_words
        self._left = WORD_BITS * self._words - self.width
        self._ones = (1 << self.width) - 1

    def content(self, value: int, length: int) -> int:
        if self._words == 1:
            return value << self._left | (WORD_BITS - length) << WORD_BITS
        bits = WORD_BITS * self._words
        mask = self._ones ^ self._ones >> length
        return self._from_the_top(value) | ((1 << bits) - 1 ^ self._from_the_top(mask)) << bits

    def _from_the_top(self, part: int) -> int:
        """A key's words, the most significant one lowest; the key begins at the top of that one."""
        part <<= self._left
        turned = 0
        for _ in range(self._words):
            turned = turned << WORD_BITS | part & WORD_MASK
            part >>= WORD_BITS
        return turned


class Branches:
    """Writes branches where packets read them."""

    def __init__(self, layout: TableLayout, entries: Entries, places: Places) -> None:
        self.keys = Keys(layout)
        self._entries, self._places = entries, places
        self._size = layout.entry_bytes
        self._key_bytes = entries.key_bytes
        self._bitmap = layout.branch_bitmap
        self._absent = SHARED << (layout.lpm_bits - layout.shared_bits) if layout.shared_bits else None
        """A key that no search brings to the top of a trie for what the root lacks."""
        gap = layout.branch_start - ENTRY_KEY - self._key_bytes
        wide = self._bitmap - layout.branch_start - 4
        self._packer = struct.Struct(f"<II{self._key_bytes}s{gap}xI{wide}xQ{self._size - self._bitmap - WORD_BYTES}x")

    def make(self, value: int, start: int, own: Sequence[Prefix], children: Mapping[int, Child]) -> Branch:
        """A new branch for prefixes with the first ``start`` bits of ``value``, written; its prefixes lie at home."""
        rest = self.keys.width - start
        branch = Branch(value >> rest << rest, start, rest - BRANCH_BITS, sorted(own, key=length_of))
        self.write(branch, runs_of(branch, children))
        return branch

    def free(self, branch: Branch) -> None:
        self._places.free(branch.place, branch.room)

    def write(self, branch: Branch, runs: list[Run]) -> None:
        """Write the branch's new slots; those that it has already are only moved. Entries move into slots and out of
        them."""
        before, old, room, size = branch.runs, branch.place, branch.room, self._size
        head, tail = same(before, runs)
        if len(runs) > room or 4 * len(runs) < room:
            branch.room = next(r for r in ROOMS if r >= len(runs))
            branch.place = self._places.take(branch.room)
        place, kept = branch.place, len(runs) - tail
        numbers, moved = _numbers(branch, runs)
        content: list[bytes | memoryview] = [self._slot(branch, run, numbers) for run in runs[head:kept]]
        for prefix in moved:
            if numbers[prefix] == prefix.home:
                self.send_home(prefix)
        memory = self._entries.memory
        content.append(memory[(old + len(before) - tail) * size : (old + len(before)) * size])
        if place != old:
            content.insert(0, memory[old * size : (old + head) * size])
        first = head if place == old else 0
        memory[(place + first) * size : (place + len(runs)) * size] = b"".join(content)
        stand = place == old and len(runs) == len(before)
        _note_places(runs[:kept] if stand else runs, place, first)
        for at in range(len(runs)) if moved else range(head, kept):
            _, _, best, inside = runs[at]
            if head <= at < kept or (best is not None and best in moved and (best is not inside or not best.length)):
                self._link(runs[at], place + at, numbers)
        branch.runs = runs
        if head + tail < max(len(before), len(runs)):
            bits = branch.bitmap
            for part, _, _, _ in before[head : len(before) - tail]:
                bits &= ~(1 << part)
            for part, _, _, _ in runs[head:kept]:
                bits |= 1 << part
            branch.bitmap = bits
        if branch.number:
            self._entries.set_half(branch.number, ENTRY_NEXT, LPM_BRANCH | place)
            self._entries.set_word(branch.number, self._bitmap, branch.bitmap)
        if place != old:
            self._places.free(old, room)

    def reference(self, branch: Branch, best: int) -> bytes:
        """A slot that leads to a branch; ``best`` as in ENTRY_ACTION."""
        return self._pack(best, LPM_BRANCH | branch.place, self.keys.content(branch.prefix, branch.start),
                          branch.start, branch.bitmap)  # fmt: skip

    def send_home(self, prefix: Prefix) -> None:
        if prefix.number != prefix.home:
            self.copy(prefix.number, prefix.home)
            prefix.number = prefix.home

    def copy(self, source: int, target: int) -> None:
        size, memory = self._size, self._entries.memory
        memory[target * size : (target + 1) * size] = memory[source * size : (source + 1) * size]

    def link(self, chain: Chain, end: int) -> None:
        """Link each entry of the chain to the next, the last to ``end``."""
        for prefix, following in pairwise(chain):
            self._entries.set_half(prefix.number, ENTRY_NEXT, following.number)
        self._entries.set_half(chain[-1].number, ENTRY_NEXT, end)

    # --- Slots ------------------------------------------------------------------------------------------------------

    def _slot(self, branch: Branch, run: Run, numbers: Numbers) -> bytes:
        """Content of a slot, but for the links of entries; the entry that belongs into it is still where it was."""
        part, child, best, inside = run
        if isinstance(child, Branch):
            return self.reference(child, numbers[best])
        if inside is None:
            return self._pack(0, 0, self.keys.content(self._no_key(branch, part), self.keys.width), 0, 0)
        start = inside.number * self._size
        content = bytes(self._entries.memory[start : start + self._size])
        for prefix in child[1:] if child is not None else ():
            self.send_home(prefix)
        return content

    def _no_key(self, branch: Branch, part: int) -> int:
        """A key that no search brings to the slot that begins with this part: that of the part before, unless there is
        no other slot; then only a prefix that stays elsewhere is its best, and keys of the root do not come here."""
        if branch.start == 0 and self._absent is not None:
            return self._absent
        before = (part - 1) % PARTS
        return branch.prefix | (before << branch.shift if branch.shift >= 0 else before >> -branch.shift)

    def _link(self, run: Run, number: int, numbers: Numbers) -> None:
        """Write a slot's links, when all entries are where they belong."""
        _, child, best, _ = run
        if isinstance(child, Branch):
            self._entries.set_half(number, ENTRY_ACTION, numbers[best])
        elif child is not None:
            self.link(child, sure(numbers[best]))
        elif best is None or (best.length > 0 and numbers[best] == number):
            self._entries.set_half(number, ENTRY_NEXT, 0)
        else:  # also a prefix of no bits, where it lies: no key is compared with it
            self._entries.set_half(number, ENTRY_NEXT, sure(numbers[best]))

    def _pack(self, action: int, following: int, key: int, start: int, bitmap: int) -> bytes:
        return self._packer.pack(action, following, key.to_bytes(self._key_bytes, "little"), start, bitmap)


def _note_places(runs: Sequence[Run], place: int, first: int) -> None:
    """Set the numbers of the entries and branches in the slots from ``first`` on."""
    for number, (_, child, _, inside) in enumerate(runs[first:], place + first):
        if inside is not None:
            inside.number = number
        elif isinstance(child, Branch):
            child.number = number


def _numbers(branch: Branch, runs: Sequence[Run]) -> tuple[Numbers, set[Prefix]]:
    """(where its own prefixes will lie, in the slot that has one inside or at home; those that lie elsewhere now)."""
    numbers: Numbers = {None: 0}
    if not branch.own:
        return numbers, set()
    for number, (_, child, _, inside) in enumerate(runs, branch.place):
        if child is None and inside is not None:
            numbers[inside] = number
    for prefix in branch.own:
        numbers.setdefault(prefix, prefix.home)
    return numbers, {prefix for prefix in branch.own if prefix.number != numbers[prefix]}


def sure(number: int) -> int:
    """Link to an entry that matches every key that comes there."""
    return number | LPM_SURE if number else 0
