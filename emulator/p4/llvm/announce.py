"""Bringing tables into the cache before their packets come: what is announced is not waited for.

A look-up in a large table waits for memory, several times in a row in a trie. The packets of a batch are known ahead,
though not yet parsed; where a table's keys lie at the same place of every packet that has them, the code here looks
them up ahead, a group of packets at a time, side by side so that their waits overlap. Nothing depends on the result: a
packet that is parsed otherwise, or changed before its look-up, has merely been announced in vain. Searches in tries are
done ahead whole (``lookup_ahead``).

    void announce(ptr tables, ptr addresses, ptr lengths, i64 count, ptr cells...)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from llvmlite import ir as llvm

from emulator.p4 import ir, walk
from emulator.p4.layout import WORD_BYTES
from emulator.p4.llvm.bits import (
    I32,
    I64,
    PTR,
    VOID,
    Builder,
    Value,
    at,
    constant,
    i64,
    load,
    load_field,
    prefetch,
    store,
)
from emulator.p4.llvm.lookup import emit_announcement
from emulator.p4.llvm.lookup_ahead import CELL_PLACE, NO_KEY, advance_function, cell_bytes
from emulator.p4.table_layout import TABLE_IS_LARGE, TABLE_WORDS, Search, TableLayout

FUNCTION = "announce"
GROUP = 16
"""Packets announced at once: more than a core has misses under way, few enough to stay in the first cache."""
MOST_TABLES = 4
MOST_PATHS = 1000
"""Of a parser, to find out where headers lie."""


@dataclass(frozen=True, slots=True)
class Announced:
    """A table and where its keys lie in a packet."""

    layout: TableLayout
    offsets_bits: tuple[int, ...]

    @property
    def reach_bytes(self) -> int:
        """A packet must be this long."""
        ends = (o + w for o, w in zip(self.offsets_bits, self.layout.key_widths_bits, strict=True))
        return max((end + 7) // 8 for end in ends)


def announced(
    program: ir.Program, parser: ir.Parser, block: ir.Block, layouts: Mapping[str, TableLayout]
) -> tuple[Announced, ...]:
    """The tables applied in ``block`` that can be looked up ahead."""
    places = fixed_places(parser)
    found: dict[str, Announced] = {}
    for statement in walk.statements(block):
        if isinstance(statement, ir.ApplyTable) and statement.table not in found:
            table, layout = program.table(statement.table), layouts[statement.table]
            offsets = _offsets([k.value for k in table.keys if k.match_kind != "selector"], places)
            if offsets and layout.search is not Search.MASKED:
                found[statement.table] = Announced(layout, offsets)
    return tuple(found.values())[:MOST_TABLES]


def _offsets(keys: list[ir.Expr], places: Mapping[str, int]) -> tuple[int, ...]:
    """Where the keys lie; empty if not all of them are fields of headers with a place."""
    offsets = []
    for key in keys:
        if not (isinstance(key, ir.FieldRef) and isinstance(key.header, ir.Header) and key.header.name in places):
            return ()
        offsets.append(places[key.header.name] + key.field.offset_bits)
    return tuple(offsets)


def fixed_places(parser: ir.Parser) -> dict[str, int]:
    """Offsets in bits of the headers that every path through the parser extracts from the same place."""
    states = {state.name: state for state in parser.states}
    found: dict[str, set[int]] = {}
    seen: set[tuple[str, int]] = set()
    waiting = [("start", 0)]
    while waiting and len(seen) < MOST_PATHS:
        name, offset = waiting.pop()
        if (name, offset) in seen or name not in states:
            continue
        seen.add((name, offset))
        end = _follow(states[name].body, offset, found)
        if end is not None:
            waiting += [(following, end) for following in _next_states(states[name].transition)]
    return {} if waiting else {name: places.pop() for name, places in found.items() if len(places) == 1}


def _follow(body: ir.Block, offset: int, found: dict[str, set[int]]) -> int | None:
    """Where the state leaves the packet; None if that isn't known."""
    for statement in body:
        match statement:
            case ir.Extract(ir.Header() as header) if header.type.varbit is None:
                found.setdefault(header.name, set()).add(offset)
                offset += header.type.length_bits
            case ir.Extract() | ir.Advance() | ir.If() | ir.Switch() | ir.Loop() | ir.Region():
                return None
    return offset


def _next_states(transition: ir.Select | ir.Goto) -> Iterator[str]:
    if isinstance(transition, ir.Goto):
        yield transition.next_state
    else:
        yield from (case.next_state for case in transition.cases)


# --- Code -------------------------------------------------------------------------------------------------------


class Announcer:
    """The function, in the module; ``cells`` are what it leaves of lpm look-ups."""

    def __init__(self, allocas: Builder, tables: tuple[Announced, ...]) -> None:
        self._tables = tables
        self._cells: dict[str, Value] = {}
        for table in tables:
            if table.layout.search is Search.LPM:
                words = GROUP * cell_bytes(table.layout) // WORD_BYTES
                self._cells[table.layout.name] = allocas.alloca(I64, words)
        kind = llvm.FunctionType(VOID, [PTR, PTR, PTR, I64, *[PTR] * len(self._cells)])
        self._function = llvm.Function(allocas.module, kind, FUNCTION)
        self._function.linkage = "internal"
        self._write(llvm.IRBuilder(self._function.append_basic_block("entry")))

    def call(self, b: Builder, area: Value, addresses: Value, lengths: Value, count: Value) -> None:
        b.call(self._function, [area, addresses, lengths, count, *self._cells.values()])

    def cells(self, b: Builder, index: Value) -> dict[str, Value]:
        """By table, the cell of one packet of the group."""
        return {t.layout.name: _cell(b, t, self._cells[t.layout.name], index)
                for t in self._tables if t.layout.name in self._cells}  # fmt: skip

    def _write(self, b: Builder) -> None:
        area, addresses, lengths, count, *cells = self._function.args
        arguments = dict(zip(self._cells, cells, strict=True))
        group = _Group(b, addresses, lengths, count, b.alloca(I64))
        for index in group.each("frames"):
            prefetch(b, group.frame(index))
        for table in self._tables:
            record = at(b, area, table.layout.number * TABLE_WORDS * WORD_BYTES)
            large = load(b, I64, record, TABLE_IS_LARGE * WORD_BYTES, align=8)
            with b.if_then(b.icmp_unsigned("!=", large, i64(0))):
                group.announce(table, record, arguments.get(table.layout.name))
        b.ret_void()


@dataclass(frozen=True, slots=True)
class _Group:
    """Packets announced together."""

    b: Builder
    addresses: Value
    lengths: Value
    count: Value
    going: Value
    """A word of memory for itself."""

    def frame(self, index: Value) -> Value:
        return self.b.load(self.b.gep(self.addresses, [index], source_etype=PTR), typ=PTR)

    def each(self, name: str) -> Iterator[Value]:
        return _each(self.b, self.count, name)

    def announce(self, table: Announced, record: Value, cells: Value | None) -> None:
        b = self.b
        for index in self.each("first"):
            cell = None if cells is None else _cell(b, table, cells, index)
            if cell is not None:
                store(b, i64(NO_KEY), cell, CELL_PLACE * WORD_BYTES, align=8)
            with b.if_then(_long_enough(b, self.lengths, index, table)):
                emit_announcement(b, table.layout, record, _keys(b, table, self.frame(index)), cell)
        if cells is not None:
            self._search(table, record, cells)

    def _search(self, table: Announced, record: Value, cells: Value) -> None:
        """All packets a step further, until none has one left."""
        b = self.b
        advance = advance_function(b.module, table.layout)
        again, end = (b.function.append_basic_block(n) for n in ("again", "searched"))
        b.branch(again)
        b.position_at_end(again)
        b.store(i64(0), self.going)
        for index in self.each("step"):
            cell = _cell(b, table, cells, index)
            place = load(b, I64, cell, CELL_PLACE * WORD_BYTES, align=8)
            with b.if_then(b.icmp_unsigned(">", place, i64(NO_KEY))):
                following = b.call(advance, [record, cell, place])
                store(b, following, cell, CELL_PLACE * WORD_BYTES, align=8)
                b.store(b.or_(b.load(self.going, typ=I64), following), self.going)
        b.cbranch(b.icmp_unsigned("!=", b.load(self.going, typ=I64), i64(0)), again, end)
        b.position_at_end(end)


def _cell(b: Builder, table: Announced, cells: Value, index: Value) -> Value:
    return at(b, cells, b.mul(index, i64(cell_bytes(table.layout))))


def _each(b: Builder, count: Value, name: str) -> Iterator[Value]:
    """A loop over the group, whose body is what is emitted between this generator's one value and its end."""
    before = b.block
    head, body, end = (b.function.append_basic_block(f"{name}{n}") for n in ("", ".body", ".end"))
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(I64)
    index.add_incoming(i64(0), before)
    b.cbranch(b.icmp_unsigned("<", index, count), body, end)
    b.position_at_end(body)
    yield index
    index.add_incoming(b.add(index, i64(1)), b.block)
    b.branch(head)
    b.position_at_end(end)


def _long_enough(b: Builder, lengths: Value, index: Value, table: Announced) -> Value:
    length = b.load(b.gep(lengths, [index], source_etype=I32), typ=I32)
    return b.icmp_unsigned(">=", length, constant(table.reach_bytes, 32))


def _keys(b: Builder, table: Announced, frame: Value) -> list[Value]:
    places = zip(table.offsets_bits, table.layout.key_widths_bits, strict=True)
    return [load_field(b, frame, offset, width) for offset, width in places]
