"""The memory of a running pipeline: what the compiled code finds in its context, and where.

The context is an array of 64-bit words: addresses first of fixed areas, then of the program's own arrays. Nothing else
ties machine code to a process, so code from the cache runs anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from emulator.p4 import ir, walk
from emulator.p4.layout import (
    CACHE_LINE_BYTES,
    TableLayout,
    cell_bytes,
    lay_out_table,
    pack_cells,
    round_up,
    width_of,
)
from emulator.p4.llvm.storage import ScratchLayout, lay_out_scratch


class Word(IntEnum):
    """Context words that every program has."""

    ZERO = 0
    """Address of zeros, as long as the largest header."""
    INGRESS_SCRATCH = 1
    EGRESS_SCRATCH = 2
    TX_PORTS = 3
    """Address of TX_RING[512]."""
    DROPS = 4
    """Address of u64[Drop]."""
    FAULTS = 5
    """Address of u64[Fault]."""
    RX_COUNTERS = 6
    """Address of {u64 frames, u64 bytes}[512]."""
    MULTICAST = 7
    """Address of {u64 replicas, u64 count}[65536]; a replica is {u32 port, u32 rid}."""
    TABLES = 8
    HASH_BUFFER = 9
    FIRST_FREE = 10


@dataclass(frozen=True, slots=True)
class RegisterLayout:
    """Cell i of a register lies at ``group address + i * row_bytes + offset_bytes``."""

    name: str
    word: int
    """Context word with the group's address."""
    row_bytes: int
    offset_bytes: int
    width_bits: int
    size: int


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """One allocation: context word and size."""

    word: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CounterLayout:
    """Counter i lies at ``address + 16 * i``: u64 packets, u64 bytes."""

    name: str
    word: int
    size: int


@dataclass(frozen=True, slots=True)
class PipelineLayout:
    """Everything a switch must allocate to run a program."""

    tables: tuple[TableLayout, ...]
    registers: tuple[RegisterLayout, ...]
    counters: tuple[CounterLayout, ...]
    arrays: tuple[ArrayLayout, ...]
    """Allocations of the program's own arrays."""
    scratch: ScratchLayout
    hash_buffer_bytes: int
    context_words: int


def lay_out(program: ir.Program) -> PipelineLayout:
    word = int(Word.FIRST_FREE)
    registers: list[RegisterLayout] = []
    arrays: list[ArrayLayout] = []
    by_name = {e.name: e for e in program.externs}
    for names in _groups(program):
        members = [by_name[name] for name in names]
        laid, array = _lay_out_group(members, word)
        registers.extend(laid)
        arrays.append(array)
        word += 1
    counters = []
    for instance in program.externs:
        if instance.extern == "counter":
            size = int(instance.arguments[0])
            counters.append(CounterLayout(instance.name, word, size))
            arrays.append(ArrayLayout(word, 16 * size))
            word += 1
    scratch = lay_out_scratch(program)
    return PipelineLayout(
        tuple(lay_out_table(program, t, i) for i, t in enumerate(program.tables)),
        tuple(registers),
        tuple(counters),
        tuple(arrays),
        scratch,
        hash_buffer_bytes(program),
        word,
    )


def _groups(program: ir.Program) -> list[tuple[str, ...]]:
    """The program's groups, and every other register as a group of its own."""
    grouped = {name for names in program.groups for name in names}
    alone = [(e.name,) for e in program.externs if e.extern == "register" and e.name not in grouped]
    return [*program.groups, *alone]


def _lay_out_group(members: list[ir.ExternInstance], word: int) -> tuple[list[RegisterLayout], ArrayLayout]:
    widths = tuple(width_of(m.type_arguments[0]) for m in members)
    cells, end = pack_cells(widths)
    size = int(members[0].arguments[0])
    row = _row_bytes(end, max(cell_bytes(w) for w in widths))
    laid = [
        RegisterLayout(m.name, word, row, cell.offset_bytes, cell.width_bits, size)
        for m, cell in zip(members, cells, strict=True)
    ]
    return laid, ArrayLayout(word, row * size)


def _row_bytes(end: int, largest_cell: int) -> int:
    """A small row doesn't straddle a cache line; a large one starts on one."""
    if end > CACHE_LINE_BYTES:
        return round_up(end, CACHE_LINE_BYTES)
    size = min(largest_cell, 8)
    while size < end:
        size *= 2
    return size


def hash_buffer_bytes(program: ir.Program) -> int:
    """Room for the longest list that is hashed, and for the longest payload after it."""
    longest = 0
    for block in walk.root_blocks(program):
        for statement in walk.statements(block):
            if isinstance(statement, ir.CallExtern):
                for argument in statement.arguments:
                    if isinstance(argument, tuple):
                        longest = max(longest, sum(width_of(e.type) for e in argument))
    return round_up(longest // 8 + 64, CACHE_LINE_BYTES) + MAX_PAYLOAD_BYTES


MAX_PAYLOAD_BYTES = 65_536
"""Longer payloads are hashed up to here; no port carries longer frames."""
