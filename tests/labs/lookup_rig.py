"""One compiled look-up and the flat table it searches, without a program around them."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence

import numpy as np
from llvmlite import ir as llvm

from emulator.p4.layout import pack_cells
from emulator.p4.llvm.bits import I64, PTR, integer, load, resize
from emulator.p4.llvm.lookup import emit_lookup
from emulator.p4.llvm.machine import LoadedCode, make_object
from emulator.p4.table_layout import (
    ENTRY_HANDLE,
    ENTRY_HEADER_BYTES,
    TABLE_WORDS,
    ActionLayout,
    Search,
    TableLayout,
    key_bytes,
    least_bytes,
)
from emulator.switch.tables.flat_tables import make_flat_table
from emulator.switch.tables.mirror import Entry


def make_layout(kinds: Sequence[str], widths_bits: Sequence[int], size: int = 1024) -> TableLayout:
    """Of a table with one action that has one 32-bit parameter."""
    kinds, widths_bits = tuple(kinds), tuple(widths_bits)
    cells, end = pack_cells((32,), ENTRY_HEADER_BYTES + key_bytes(kinds, widths_bits))
    stride = 8 * -(-max(end, least_bytes(kinds, widths_bits)) // 8)
    return TableLayout("t", 0, size, widths_bits, kinds, (ActionLayout("a", cells),), stride, None, None, None, None)


@functools.cache
def compiled_lookup(kinds: tuple[str, ...], widths_bits: tuple[int, ...]) -> LoadedCode:
    """``i64 go(ptr record, ptr keys)``; keys lie in cells one after the other."""
    layout = make_layout(kinds, widths_bits)
    module = llvm.Module("lookup")
    function = llvm.Function(module, llvm.FunctionType(I64, [PTR, PTR]), "go")
    b = llvm.IRBuilder(function.append_basic_block("entry"))
    record, memory = function.args
    cells, _ = pack_cells(widths_bits)
    keys = [resize(b, load(b, integer(c.size_bytes * 8), memory, c.offset_bytes), c.width_bits) for c in cells]
    b.ret(emit_lookup(b, layout, record, keys))
    return LoadedCode(make_object(str(module)), "go")


class LookupRig:
    """``look_up`` answers with the handle of the entry found, 0 for a miss."""

    def __init__(self, kinds: Sequence[str], widths_bits: Sequence[int], size: int = 1024) -> None:
        self.layout = make_layout(kinds, widths_bits, size)
        self._record = np.zeros(TABLE_WORDS, np.uint64)
        self.table = make_flat_table(self.layout, self._record)
        self._handles: set[int] = set()
        self._cells, end = pack_cells(tuple(widths_bits))
        self._keys = np.zeros(max(8, end), np.uint8)
        self._code = compiled_lookup(tuple(kinds), tuple(widths_bits))
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        self._function = kind(self._code.address)

    def put(self, entry: Entry) -> None:
        self.table.put(entry)
        self._handles.add(entry.handle)

    def remove(self, entry: Entry) -> None:
        self.table.remove(entry)
        self._handles.remove(entry.handle)

    def look_up(self, values: Sequence[int]) -> int:
        for cell, value in zip(self._cells, values, strict=True):
            content = value.to_bytes(cell.size_bytes, "little")
            self._keys[cell.offset_bytes : cell.offset_bytes + cell.size_bytes] = np.frombuffer(content, np.uint8)
        number = self._function(self._record.ctypes.data, self._keys.ctypes.data)
        return self.handle_of(number)

    def handle_of(self, number: int) -> int:
        """Address of an entry; 0 for the default action."""
        if number == 0 or self.layout.search is Search.MASKED:
            return number
        if self.layout.search is Search.EXACT:
            return self.table.entries.half(number, ENTRY_HANDLE)
        return next(handle for handle in self._handles if self.table.number(handle) == number)
