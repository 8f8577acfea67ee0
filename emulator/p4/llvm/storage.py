"""Where a packet's state lives while compiled code works on it.

Variables are stack slots that LLVM turns into registers. A header is a base pointer and a validity bit: after extract
the base points into the frame, before anything it points at a static area of zeros, and the first write moves the
header into this thread's scratch memory, still in the wire's format. So what the program doesn't write is never copied
before the deparser copies it out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.layout import CACHE_LINE_BYTES, round_up, width_of
from emulator.p4.llvm.bits import I1, PTR, Builder, Value, at, constant, copy_bytes, integer


def header_bytes(kind: ir.HeaderType) -> int:
    return kind.length_bits // 8


@dataclass(frozen=True, slots=True)
class ScratchLayout:
    """Offsets of all headers in a scratch area, and its size."""

    offsets: dict[str, int]
    size_bytes: int
    zero_bytes: int
    """Size of the largest header: the static area of zeros must be as large."""


def lay_out_scratch(program: ir.Program) -> ScratchLayout:
    offsets, offset, largest = {}, 0, CACHE_LINE_BYTES
    for header in program.headers:
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
    headers: dict[str, ir.Header] = field(default_factory=dict)
    owned: set[str] = field(default_factory=set)
    """Headers known to be in the current scratch at this point of the code."""

    def slot(self, name: str, kind: Any) -> Value:
        """A stack slot of an LLVM type."""
        if name not in self.variables:
            self.variables[name] = self.allocas.alloca(kind, name=name)
            self.types[name] = kind
        return self.variables[name]

    def variable(self, variable: ir.Variable) -> Value:
        return self.slot(variable.name, integer(width_of(variable.type)))

    def _header(self, header: ir.Header) -> None:
        if header.name not in self.bases:
            self.headers[header.name] = header
            self.bases[header.name] = self.allocas.alloca(PTR, name=f"{header.name}.base")
            self.valids[header.name] = self.allocas.alloca(I1, name=f"{header.name}.valid")

    def base(self, b: Builder, header: ir.Header) -> Value:
        self._header(header)
        return b.load(self.bases[header.name], typ=PTR)

    def set_base(self, b: Builder, header: ir.Header, pointer: Value) -> None:
        """The header now lies at ``pointer``, which it may not write (see ``own``)."""
        self._header(header)
        self.owned.discard(header.name)
        b.store(pointer, self.bases[header.name])

    def valid(self, b: Builder, header: ir.Header) -> Value:
        self._header(header)
        return b.load(self.valids[header.name], typ=I1)

    def set_valid(self, b: Builder, header: ir.Header, valid: Value | bool) -> None:
        self._header(header)
        value = constant(valid, 1) if isinstance(valid, bool) else valid
        b.store(value, self.valids[header.name])

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
        """The header is at home from now on, whatever bytes are there: for code that overwrites all of them."""
        home = self.home(b, header)
        self.set_base(b, header, home)
        self.owned.add(header.name)
        return home

    def reset(self, b: Builder) -> None:
        """State of a new packet, for all slots that exist when the function is complete."""
        for name, slot in self.variables.items():
            if name.startswith("$"):
                continue
            b.store(llvm.Constant(self.types[name], 0), slot)
        for name in self.bases:
            b.store(self.zero, self.bases[name])
            b.store(constant(0, 1), self.valids[name])
