"""A packet's whole state in memory, for packets that wait: variables, headers, registers, and what field lists keep.

Which slots there are is known when all code is written, so the blocks that save and load are made empty and filled
last. Headers that live in memory are saved by their bytes, wherever those are, and come back in ingress' scratch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.layout import CACHE_LINE_BYTES, Cell, cell_bytes, pack_cells, round_up, width_of
from emulator.p4.llvm import expressions
from emulator.p4.llvm.bits import I64, PTR, Builder, Value, at, constant, copy_bytes, i64, integer, load, resize, store
from emulator.p4.llvm.context import CodeGen
from emulator.p4.llvm.storage import header_bytes
from emulator.p4.passes.lower_varbits import holder_of
from emulator.v1model.features import Features
from emulator.v1model.llvm.registers import SAVED_REGISTERS

STRIDE = "$state_stride"


@dataclass(slots=True)
class SavedState:
    """Emits saving and loading; `finish` fills in what depends on all slots and returns a state's size."""

    cg: CodeGen
    ingress_scratch: Value
    _saves: list[tuple[Any, Value, Any]] = field(default_factory=list)
    """(block to fill, address to save to, block after it)."""
    _loads: list[tuple[Any, Value, Any]] = field(default_factory=list)
    _forgets: list[tuple[Any, Any]] = field(default_factory=list)

    def stride(self) -> Value:
        """Size of a state in memory, i64: known at the end only."""
        return self.cg.b.load(self.cg.storage.slot(STRIDE, I64), typ=I64)

    def save(self, memory: Value) -> None:
        self._later(self._saves, memory)

    def load(self, memory: Value) -> None:
        self._later(self._loads, memory)

    def forget(self) -> None:
        """All the program's variables become zero."""
        block, after = self.cg.new_block("forget"), self.cg.new_block("forgotten")
        self.cg.b.branch(block)
        self._forgets.append((block, after))
        self.cg.b.position_at_end(after)

    def _later(self, waiting: list[tuple[Any, Value, Any]], memory: Value) -> None:
        block, after = self.cg.new_block("state"), self.cg.new_block("state.done")
        self.cg.b.branch(block)
        waiting.append((block, memory, after))
        self.cg.b.position_at_end(after)

    # --- When all code is written -------------------------------------------------------------------------------

    def finish(self) -> int:
        """Size of a state, bytes."""
        slots = self._slots()
        offsets, end = [], 0
        for _, kind in slots:
            offsets.append(end)
            end += 8 if kind == PTR else round_up(cell_bytes(kind.width), 8)
        image = round_up(end, CACHE_LINE_BYTES)
        for block, memory, after in self._saves:
            self._fill_save(llvm.IRBuilder(block), memory, slots, offsets, image).branch(after)
        for block, memory, after in self._loads:
            self._fill_load(llvm.IRBuilder(block), memory, slots, offsets, image).branch(after)
        for block, after in self._forgets:
            self._fill_forget(llvm.IRBuilder(block)).branch(after)
        size = round_up(image + self.cg.storage.scratch_layout.size_bytes, CACHE_LINE_BYTES)
        if STRIDE in self.cg.storage.variables:
            self.cg.storage.allocas.store(i64(size), self.cg.storage.variables[STRIDE])
        return size

    def _slots(self) -> list[tuple[Value, Any]]:
        """All but the headers' base pointers, which are not valid for another packet."""
        bases = set(self.cg.storage.bases.values())
        kept = [(slot, kind) for slot, kind in self.cg.storage.packet_slots() if slot not in bases]
        return kept + [(r.slot(self.cg), r.kind) for r in SAVED_REGISTERS]

    def _in_memory(self) -> list[ir.Header]:
        return [h for h in self.cg.program.headers if h.name in self.cg.storage.bases]

    def _fill_save(self, b: Builder, memory: Value, slots: Any, offsets: list[int], image: int) -> Builder:
        for (slot, kind), offset in zip(slots, offsets, strict=True):
            value = b.load(slot, typ=kind)
            if kind != PTR:
                value = resize(b, value, cell_bytes(kind.width) * 8)
            store(b, value, memory, offset, align=8)
        for header in self._in_memory():
            home = at(b, memory, image + self.cg.storage.scratch_layout.offsets[header.name])
            copy_bytes(b, home, self.cg.storage.base(b, header), header_bytes(header.type))
        return b

    def _fill_load(self, b: Builder, memory: Value, slots: Any, offsets: list[int], image: int) -> Builder:
        for (slot, kind), offset in zip(slots, offsets, strict=True):
            stored = PTR if kind == PTR else integer(cell_bytes(kind.width) * 8)
            value = load(b, stored, memory, offset, align=8)
            b.store(value if kind == PTR else resize(b, value, kind.width), slot)
        for header in self._in_memory():
            offset = self.cg.storage.scratch_layout.offsets[header.name]
            home = at(b, self.ingress_scratch, offset)
            copy_bytes(b, home, at(b, memory, image + offset), header_bytes(header.type))
            b.store(home, self.cg.storage.bases[header.name])
        return b

    def _fill_forget(self, b: Builder) -> Builder:
        storage = self.cg.storage
        for variable in self.cg.program.variables:
            if variable.name in storage.variables:
                b.store(llvm.Constant(storage.types[variable.name], 0), storage.variables[variable.name])
        for header in self.cg.program.headers:
            if header.type.varbit is not None and header == holder_of(
                ir.Variable(header.name, header.type.varbit.type)
            ):
                storage.set_width(b, header, constant(0, 32))
        return b


@dataclass(frozen=True, slots=True)
class Kept:
    """What field lists keep, as a record in memory: all lists' variables, of which each list reads its own."""

    fields: tuple[ir.Variable, ...]
    cells: tuple[Cell, ...]
    size_bytes: int

    def store(self, cg: CodeGen, memory: Value) -> None:
        for variable, cell in zip(self.fields, self.cells, strict=True):
            value = resize(cg.b, expressions.value(cg, variable), cell.size_bytes * 8)
            store(cg.b, value, memory, cell.offset_bytes)

    def load(self, cg: CodeGen, memory: Value, number: Value, lists: tuple[tuple[ir.Variable, ...], ...]) -> None:
        """The variables of list ``number``, i32."""
        b, end = cg.b, cg.new_block("kept")
        node = b.switch(number, end)
        for index, fields in enumerate(lists):
            if not fields:
                continue
            start = cg.new_block("keep")
            node.add_case(constant(index, 32), start)
            b.position_at_end(start)
            for variable in fields:
                cell = self.cells[self.fields.index(variable)]
                stored = load(b, integer(cell.size_bytes * 8), memory, cell.offset_bytes)
                expressions.assign(cg, variable, resize(b, stored, cell.width_bits))
            b.branch(end)
        b.position_at_end(end)


def kept_of(uses: Features) -> Kept:
    cells, end = pack_cells(tuple(width_of(v.type) for v in uses.kept))
    return Kept(uses.kept, cells, round_up(end, 8))
