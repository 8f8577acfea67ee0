"""The memory of a running pipeline: what the compiled code finds in its context, and where.

The context is an array of 64-bit words: addresses first of fixed areas, then of the program's own arrays. Nothing else
ties machine code to a process, so code from the cache runs anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from emulator.p4 import ir
from emulator.p4.layout import (
    CACHE_LINE_BYTES,
    WORD_BYTES,
    Cell,
    ScratchLayout,
    cell_bytes,
    pack_cells,
    round_up,
    width_of,
)
from emulator.p4.table_layout import TableLayout, lay_out_table, lay_out_value_set
from emulator.v1model.messages import LOG_CAPACITY, LOG_HEADER_BYTES, Format, formats_of, record_bytes
from emulator.v1model.meters import METER_BYTES
from emulator.v1model.table_resources import direct_meter_of

SYMBOL = "netsum_process"
"""The only function of a compiled program."""


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
    MULTICAST = 6
    """Address of {u64 replicas, u64 count}[65536]; a replica is {u32 port, u32 rid}."""
    TABLES = 7
    HASH_BUFFER = 8
    CLONE_SESSIONS = 9
    """Address of {u64 replicas, u32 count, u32 packet length in bytes (0: whole)}[32768]; replicas as MULTICAST's."""
    RANDOM = 10
    """Address of the random generator's u64; allocated where the program uses it, as are the two below."""
    LOG = 11
    """Address of the messages (``emulator.v1model.messages``)."""
    QUEUES = 12
    """Address of the queues of packets to be parsed or sent again (``emulator.v1model.llvm.queues``)."""
    EGRESS_QUEUES = 13
    """Address of the egress queues (``emulator.v1model.llvm.departures``); allocated where a switch has them."""
    FIRST_FREE = 14


CLONE_SESSIONS = 32_768
"""bmv2 mirroring sessions are 0 .. 32767."""
CLONE_SESSION_BYTES = 16


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
class MeterLayout:
    """Meter i is the cell (``emulator.v1model.meters``) at ``address + METER_BYTES * i``."""

    name: str
    word: int
    size: int
    in_bytes: bool
    """Counts the frame's bytes on arrival, else packets."""


# A digest queue: its header, in bytes, then a ring of DIGEST_SAMPLES samples. A writer that finds WRITTEN - TAKEN equal
# to DIGEST_SAMPLES counts Drop.DIGEST_FULL and leaves the queue alone.
DIGEST_WRITTEN = 0
"""u64: samples ever written; sample n lies at DIGEST_HEADER_BYTES + n % DIGEST_SAMPLES * sample_bytes."""
DIGEST_TAKEN = 8
DIGEST_HEADER_BYTES = 64
DIGEST_SAMPLES = 1024
"""bmv2's default limit for one digest list."""


@dataclass(frozen=True, slots=True)
class DigestLayout:
    """A digest's queue, at the address in its context word."""

    name: str
    word: int
    cells: tuple[Cell, ...]
    """The sample's fields."""
    sample_bytes: int


@dataclass(frozen=True, slots=True)
class PipelineLayout:
    """Everything a switch must allocate to run a program."""

    tables: tuple[TableLayout, ...]
    value_sets: tuple[TableLayout, ...]
    """Numbered after the tables, in the same area."""
    registers: tuple[RegisterLayout, ...]
    counters: tuple[CounterLayout, ...]
    arrays: tuple[ArrayLayout, ...]
    """Allocations of the program's own arrays."""
    meters: tuple[MeterLayout, ...]
    digests: tuple[DigestLayout, ...]
    messages: tuple[Format, ...]
    """The formats of log_msg, by number."""
    scratch: ScratchLayout
    hash_buffer_bytes: int
    context_words: int


def lay_out(program: ir.Program) -> PipelineLayout:
    from emulator.p4.llvm.storage import lay_out_scratch

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
    meters = _meters(program, word)
    digests = _digests(program, word + len(meters))
    arrays.extend(ArrayLayout(m.word, METER_BYTES * m.size) for m in meters)
    arrays.extend(ArrayLayout(d.word, DIGEST_HEADER_BYTES + DIGEST_SAMPLES * d.sample_bytes) for d in digests)
    word += len(meters) + len(digests)
    messages = formats_of(program)
    arrays.append(ArrayLayout(Word.RANDOM, WORD_BYTES))
    if messages:
        arrays.append(ArrayLayout(Word.LOG, LOG_HEADER_BYTES + LOG_CAPACITY * record_bytes(messages)))
    scratch = lay_out_scratch(program)
    return PipelineLayout(
        tuple(_lay_out_table(program, t, i) for i, t in enumerate(program.tables)),
        tuple(lay_out_value_set(v, len(program.tables) + i) for i, v in enumerate(program.value_sets)),
        tuple(registers),
        tuple(counters),
        tuple(arrays),
        meters,
        digests,
        messages,
        scratch,
        hash_buffer_bytes(program),
        word,
    )


def _lay_out_table(program: ir.Program, table: ir.Table, number: int) -> TableLayout:
    return lay_out_table(program, table, number, METER_BYTES if direct_meter_of(table) is not None else 0)


def _meters(program: ir.Program, word: int) -> tuple[MeterLayout, ...]:
    result = [e for e in program.externs if e.extern == "meter"]
    return tuple(
        MeterLayout(e.name, word + i, int(e.arguments[0]), e.arguments[1] == "bytes") for i, e in enumerate(result)
    )


def _digests(program: ir.Program, word: int) -> tuple[DigestLayout, ...]:
    made = []
    for i, (name, widths) in enumerate(digests_of(program).items()):
        cells, end = pack_cells(widths)
        made.append(DigestLayout(name, word + i, cells, round_up(max(end, 1), WORD_BYTES)))
    return tuple(made)


def digests_of(program: ir.Program) -> dict[str, tuple[int, ...]]:
    """Widths of the fields of each digest that the program sends, by the digest's name, in order of first mention."""
    from emulator.p4.ir import walk

    result: dict[str, tuple[int, ...]] = {}
    for block in walk.root_blocks(program):
        for statement in walk.statements(block):
            if isinstance(statement, ir.CallExtern) and statement.name == "digest":
                name, _, data = statement.arguments
                assert isinstance(name, ir.Text)
                assert isinstance(data, tuple)
                result[name.text] = tuple(width_of(e.type) for e in data)
    return result


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
    from emulator.p4.ir import walk

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
