"""Where a packet's state lives while compiled code works on it.

Variables are stack slots that LLVM turns into registers. So are short headers: extract loads them as big-endian words,
fields are bits of words, the deparser stores the words. (In memory they would be written in small pieces and read in
large ones right after, which stalls the processor each time.)

Long headers, and those that a Repeat goes over, stay in memory: a base pointer, which after extract points into the
frame, before anything at a static area of zeros; the first write moves the header into this thread's scratch memory,
still in the wire's format. So what the program doesn't write is never copied before the deparser copies it out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.layout import CACHE_LINE_BYTES, ScratchLayout, round_up, width_of
from emulator.p4.llvm.bits import (
    I1,
    I32,
    PTR,
    Builder,
    Value,
    at,
    constant,
    copy_bytes,
    integer,
    load,
    load_field,
    resize,
    store,
    store_field,
    swap_bytes,
)

MAX_NAME = 200
"""Longest name of a slot, from its end: LLVM cuts names at 1,024 characters, so that two could become the same."""
WORD_BITS = 64
LONGEST_IN_WORDS_BYTES = 64
"""Eight registers' worth; what is longer would only be spilled."""


def header_bytes(kind: ir.HeaderType) -> int:
    """Size in memory, a field of variable width at its largest."""
    return -(-kind.length_bits // 8)


def word_widths(kind: ir.HeaderType) -> list[int]:
    """Bits of each word of a header kept in words; the last takes the rest."""
    whole, rest = divmod(kind.length_bits, WORD_BITS)
    return [WORD_BITS] * whole + ([rest] if rest else [])


def types_in_memory(program: ir.Program) -> set[str]:
    """Names of the header types with headers in memory."""
    result = {
        h.type.name
        for h in program.headers
        if header_bytes(h.type) > LONGEST_IN_WORDS_BYTES or h.type.varbit is not None
    }
    for block in walk.root_blocks(program):
        for statement in walk.statements(block):
            if isinstance(statement, ir.Repeat):
                for inner in statement.body:
                    for root, _ in walk.own_expressions(inner):
                        lanes = (e for e in walk.subexpressions(root) if isinstance(e, ir.LaneField))
                        result.update(lane.header.type.name for lane in lanes)
    return result


def lay_out_scratch(program: ir.Program) -> ScratchLayout:
    in_memory = types_in_memory(program)
    offsets, offset, largest = {}, 0, CACHE_LINE_BYTES
    for header in program.headers:
        if header.type.name in in_memory:
            offsets[header.name] = offset
            size = header_bytes(header.type)
            largest = max(largest, size)
            offset += round_up(size, CACHE_LINE_BYTES)
    return ScratchLayout(offsets, max(offset, CACHE_LINE_BYTES), largest)


@dataclass(slots=True)
class Storage:
    """Stack slots by name, made on demand in the function's entry block."""

    allocas: Builder
    """Builder at the end of the entry block, before its branch is written."""
    scratch_layout: ScratchLayout
    zero: Value
    """Static area of zeros."""
    scratch: Value
    """Scratch of the phase being emitted; the replication engine switches it for egress."""
    variables: dict[str, Value] = field(default_factory=dict)
    types: dict[str, Any] = field(default_factory=dict)
    bases: dict[str, Value] = field(default_factory=dict)
    valids: dict[str, Value] = field(default_factory=dict)
    owned: set[str] = field(default_factory=set)
    """Headers known to be in the current scratch at this point of the code."""

    # --- Slots ------------------------------------------------------------------------------------------------

    def slot(self, name: str, kind: Any) -> Value:
        """A stack slot of an LLVM type. Names with a ``$`` in front aren't reset for a new packet."""
        if name not in self.variables:
            self.variables[name] = self.allocas.alloca(kind, name=name[-MAX_NAME:])
            self.types[name] = kind
        return self.variables[name]

    def variable(self, variable: ir.Variable) -> Value:
        return self.slot(variable.name, integer(width_of(variable.type)))

    def _words(self, header: ir.Header) -> list[tuple[Value, int]]:
        widths = word_widths(header.type)
        return [(self.slot(f"{header.name}.word{i}", integer(w)), w) for i, w in enumerate(widths)]

    def in_memory(self, header: ir.Header) -> bool:
        return header.name in self.scratch_layout.offsets

    def valid(self, b: Builder, header: ir.Header) -> Value:
        return b.load(self._valid_slot(header), typ=I1)

    def set_valid(self, b: Builder, header: ir.Header, valid: Value | bool) -> None:
        value = constant(valid, 1) if isinstance(valid, bool) else valid
        b.store(value, self._valid_slot(header))

    def _valid_slot(self, header: ir.Header) -> Value:
        if header.name not in self.valids:
            self.valids[header.name] = self.allocas.alloca(I1, name=f"{header.name[-MAX_NAME:]}.valid")
        return self.valids[header.name]

    def width(self, b: Builder, header: ir.Header) -> Value:
        """Current width of the header's varbit field, i32."""
        return b.load(self.slot(f"{header.name}.$width", I32), typ=I32)

    def set_width(self, b: Builder, header: ir.Header, width: Value) -> None:
        b.store(width, self.slot(f"{header.name}.$width", I32))

    def _base_slot(self, header: ir.Header) -> Value:
        if header.name not in self.bases:
            self.bases[header.name] = self.allocas.alloca(PTR, name=f"{header.name[-MAX_NAME:]}.base")
        return self.bases[header.name]

    # --- Headers in either form -------------------------------------------------------------------------------

    def read_bits(self, b: Builder, header: ir.Header, offset_bits: int, width_bits: int) -> Value:
        """A field, or any run of bits, as an integer of its width."""
        if self.in_memory(header):
            return load_field(b, self.base(b, header), offset_bits, width_bits)
        result, start = None, 0
        for slot, width in self._words(header):
            low, high = max(offset_bits, start), min(offset_bits + width_bits, start + width)
            if low < high:
                word = b.load(slot, typ=integer(width))
                right = start + width - high
                part = resize(b, b.lshr(word, constant(right, width)) if right else word, high - low)
                left = offset_bits + width_bits - high
                part = resize(b, part, width_bits)
                part = b.shl(part, constant(left, width_bits)) if left else part
                result = part if result is None else b.or_(result, part)
            start += width
        return result

    def write_bits(self, b: Builder, header: ir.Header, offset_bits: int, value: Value) -> None:
        width_bits = value.type.width
        if self.in_memory(header):
            store_field(b, value, self.own(b, header), offset_bits, width_bits)
            return
        start = 0
        for slot, width in self._words(header):
            low, high = max(offset_bits, start), min(offset_bits + width_bits, start + width)
            if low < high:
                left, right = offset_bits + width_bits - high, start + width - high
                part = b.lshr(value, constant(left, width_bits)) if left else value
                part = resize(b, resize(b, part, high - low), width)
                part = b.shl(part, constant(right, width)) if right else part
                if high - low < width:
                    kept = ~(((1 << (high - low)) - 1) << right)
                    part = b.or_(b.and_(b.load(slot, typ=integer(width)), constant(kept, width)), part)
                b.store(part, slot)
            start += width

    def load_header(self, b: Builder, header: ir.Header, pointer: Value) -> None:
        """Take the header's bytes from a frame, which stays as it is while the packet lives."""
        if self.in_memory(header):
            self.set_base(b, header, pointer)
            return
        for i, (slot, width) in enumerate(self._words(header)):
            b.store(swap_bytes(b, load(b, integer(width), pointer, i * WORD_BITS // 8)), slot)

    def store_header(self, b: Builder, header: ir.Header, pointer: Value) -> None:
        """Write the header's bytes to memory."""
        if self.in_memory(header):
            copy_bytes(b, pointer, self.base(b, header), header_bytes(header.type))
            return
        for i, (slot, width) in enumerate(self._words(header)):
            store(b, swap_bytes(b, b.load(slot, typ=integer(width))), pointer, i * WORD_BITS // 8)

    def keep_if(self, b: Builder, header: ir.Header, condition: Value) -> None:
        """Zero the header unless the condition holds."""
        if header.type.varbit is not None:
            self.set_width(b, header, b.select(condition, self.width(b, header), constant(0, 32)))
        if self.in_memory(header):
            self.set_base(b, header, b.select(condition, self.base(b, header), self.zero))
            return
        for slot, width in self._words(header):
            word = b.load(slot, typ=integer(width))
            b.store(b.select(condition, word, constant(0, width)), slot)

    def copy_header(self, b: Builder, target: ir.Header, source: ir.Header) -> None:
        """Bytes in memory are shared where nothing can write them."""
        if not self.in_memory(target):
            for (to, width), (origin, _) in zip(self._words(target), self._words(source), strict=True):
                b.store(b.load(origin, typ=integer(width)), to)
            return
        if source.type.varbit is not None:
            self.set_width(b, target, self.width(b, source))
        base = self.base(b, source)
        with b.if_else(b.icmp_unsigned("==", base, self.home(b, source))) as (mine, shared):
            with mine:
                home = self.home(b, target)
                copy_bytes(b, home, base, header_bytes(source.type))
                self.set_base(b, target, home)
            with shared:
                self.set_base(b, target, base)

    # --- Headers in memory ------------------------------------------------------------------------------------

    def base(self, b: Builder, header: ir.Header) -> Value:
        return b.load(self._base_slot(header), typ=PTR)

    def set_base(self, b: Builder, header: ir.Header, pointer: Value) -> None:
        """The header is now at ``pointer``, which it may not write (see ``own``)."""
        self.owned.discard(header.name)
        b.store(pointer, self._base_slot(header))

    def home(self, b: Builder, header: ir.Header) -> Value:
        """The header's place in the current scratch."""
        return at(b, self.scratch, self.scratch_layout.offsets[header.name])

    def own(self, b: Builder, header: ir.Header) -> Value:
        """Make the header writable: its bytes move home unless they are there. Returns its base."""
        home = self.home(b, header)
        if header.name in self.owned:
            return home
        base = self.base(b, header)
        with b.if_then(b.icmp_unsigned("!=", base, home)):
            copy_bytes(b, home, base, header_bytes(header.type))
        self.adopt(b, header)
        return home

    def adopt(self, b: Builder, header: ir.Header) -> Value:
        """The header is at its home from now on, with the bytes that are there: for code that overwrites them."""
        home = self.home(b, header)
        self.set_base(b, header, home)
        self.owned.add(header.name)
        return home

    # --- All slots --------------------------------------------------------------------------------------------

    def reset(self, b: Builder) -> None:
        """State of a new packet, for all slots that exist when the function is complete."""
        for name, slot in self.variables.items():
            if not name.startswith("$"):
                b.store(llvm.Constant(self.types[name], 0), slot)
        for slot in self.bases.values():
            b.store(self.zero, slot)
        for slot in self.valids.values():
            b.store(constant(0, 1), slot)

    def packet_slots(self) -> list[tuple[Value, Any]]:
        """(slot, type) of everything that belongs to a packet."""
        slots = [(slot, self.types[name]) for name, slot in self.variables.items() if not name.startswith("$")]
        slots += [(slot, PTR) for slot in self.bases.values()]
        return slots + [(slot, I1) for slot in self.valids.values()]
