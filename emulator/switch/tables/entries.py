"""Entries in flat memory, as compiled code reads them (layout: ``emulator.p4.table_layout``)."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, table_bytes
from emulator.p4.table_layout import (
    ENTRY_HEADER_BYTES,
    TABLE_ENTRIES,
    ActionLayout,
    TableLayout,
    key_bytes,
)

MOST_AT_ONCE = 1 << 21
"""Larger tables grow into their size; memory that nobody touches costs nothing, but addresses do."""


_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""The struct module's, by a parameter's size in bytes."""


class Entries:
    """A table's entries; number 0 is the default action. Adding one may move them all: addresses don't keep."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64], count: int) -> None:
        self.layout = layout
        self._record = record
        self._stride = layout.entry_bytes
        self.key_bytes = key_bytes(layout.match_kinds, layout.key_widths_bits)
        ends = [c.offset_bytes + c.size_bytes for a in layout.actions for c in a.parameters]
        self._written = max([ENTRY_HEADER_BYTES + self.key_bytes, *ends])
        """Bytes of an entry that only the control plane writes; the rest is counters and the like."""
        self._rest = bytes(self._stride - self._written)
        self._packers = [self._packer(a) for a in layout.actions]
        self._shifts = [[8 * c.offset_bytes for c in a.parameters] for a in layout.actions]
        self._set(table_bytes((1 + min(count, MOST_AT_ONCE)) * self._stride))

    def _packer(self, action: ActionLayout) -> struct.Struct | None:
        """For an entry with this action: header, key, parameters; None where one is wider than a word."""
        form, end = f"<II{self.key_bytes}s", ENTRY_HEADER_BYTES + self.key_bytes
        for cell in action.parameters:
            if cell.size_bytes not in _CODES:
                return None
            form += f"{cell.offset_bytes - end}x{_CODES[cell.size_bytes]}"
            end = cell.offset_bytes + cell.size_bytes
        return struct.Struct(f"{form}{self._written - end}x")

    def _set(self, array: NDArray[np.uint8]) -> None:
        self.array = array
        self.memory = memoryview(array)  # type: ignore[arg-type]
        self.words = self.memory.cast("Q")
        self.halves = self.memory.cast("I")
        self._record[TABLE_ENTRIES] = address_of(array)

    def reserve(self, number: int) -> None:
        """Make room for the entry with this number."""
        needed = (number + 1) * self._stride
        if needed > len(self.array):
            larger = table_bytes(max(2 * len(self.array), needed))
            larger[: len(self.array)] = self.array
            self._set(larger)

    def replace(self, slots: int) -> memoryview:
        """New memory for that many entries and the default one; returns the old."""
        old = self.memory
        fresh = table_bytes((1 + slots) * self._stride)
        fresh[: self._stride] = self.array[: self._stride]
        self._set(fresh)
        return old

    def half(self, number: int, offset_bytes: int) -> int:
        """A u32."""
        return self.halves[(number * self._stride + offset_bytes) // 4]

    def set_half(self, number: int, offset_bytes: int, value: int) -> None:
        self.halves[(number * self._stride + offset_bytes) // 4] = value

    def write(self, number: int, tag: int, key: int, action: int, params: tuple[int, ...]) -> None:
        """Everything that packets don't change. ``tag``: the header's second half; ``key``: what follows the header,
        as one number."""
        start = number * self._stride
        packer = self._packers[action] if action < len(self._packers) else None
        if packer is not None:
            packer.pack_into(self.memory, start, action, tag, key.to_bytes(self.key_bytes, "little"), *params)
        else:
            self.memory[start : start + self._written] = self._pack(tag, key, action, params)

    def record(self, action: int, params: tuple[int, ...]) -> bytes:
        """A choice of an action profile: action and parameters where an entry has them."""
        return self._pack(0, 0, action, params) + self._rest

    def _pack(self, tag: int, key: int, action: int, params: tuple[int, ...]) -> bytes:
        packed = action | tag << 32 | key << 8 * ENTRY_HEADER_BYTES
        if params:
            for shift, value in zip(self._shifts[action], params, strict=True):
                packed |= value << shift
        return packed.to_bytes(self._written, "little")

    def clear_rest(self, number: int) -> None:
        """Counters and the like of a new entry are zero."""
        if self._rest:
            start = number * self._stride + self._written
            self.memory[start : start + len(self._rest)] = self._rest

    def bytes_of(self, number: int) -> NDArray[np.uint8]:
        return self.array[number * self._stride : (number + 1) * self._stride]

    def word(self, number: int, offset_bytes: int) -> int:
        return self.words[(number * self._stride + offset_bytes) // 8]

    def set_word(self, number: int, offset_bytes: int, value: int) -> None:
        self.words[(number * self._stride + offset_bytes) // 8] = value
