"""Software prefetch of table entries for later packets of the batch.

A look-up in a large table waits for memory, several times in a row in a trie. The packets of a batch are known ahead,
though not yet parsed; where a table's keys lie at the same place of every packet that has them, the code here begins
their look-ups ahead, and between two steps of a look-up a group of other packets is run: so the memory that a step
requests has arrived when the next one reads it. Before each group of packets the memory where the look-ups of a later
group begin is prefetched. That is all where a search reads one place; in tries where many read more, searches are done
ahead whole (``lookup_pipelined``): those of the groups between a step further, those of the group itself to their ends,
which are seldom far. Frames are not prefetched: it gains nothing, not even for frames that another core has written.

Nothing depends on the result: for a packet that is parsed otherwise, or changed before its look-up, the prefetch has
no use and no other effect.

    void prefetch(ptr tables, ptr addresses, ptr lengths, i64 index, i64 count, ptr cells...)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.ir import walk
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
    store,
)
from emulator.p4.llvm.lookup import emit_prefetch, emit_second_step
from emulator.p4.llvm.lookup_pipelined import CELL_PLACE, FOUND, advance_function, cell_bytes, forget
from emulator.p4.table_layout import TABLE_IS_DEEP, TABLE_IS_LARGE, TABLE_WORDS, Search, TableLayout

FUNCTION = "prefetch"
GROUP = 8
"""Packets that are run between two steps: that takes longer than memory does, and no more requests come at once than a
core has under way."""
STEPS = 2
"""Steps of a search ahead in one of many tries, besides beginning and end: the slot it hangs from, then most often
the entry."""
CELLS = GROUP * (STEPS + 2)
"""Searches under way."""
MOST_TABLES = 4
MOST_PATHS = 1000
"""Most paths of a parser that are followed to find out where headers are."""


@dataclass(frozen=True, slots=True)
class PrefetchedTable:
    """A table and where its keys are in a packet."""

    layout: TableLayout
    offsets_bits: tuple[int, ...]

    @property
    def steps(self) -> int:
        """Between a search's beginning and its end; exact tables read one place only, and the root of a trie
        usually has the answer."""
        if self.layout.search is Search.EXACT:
            return 0
        return 1 if self.layout.has_root else STEPS

    @property
    def reach_bytes(self) -> int:
        """A packet must be this long."""
        ends = (o + w for o, w in zip(self.offsets_bits, self.layout.key_widths_bits, strict=True))
        return max((end + 7) // 8 for end in ends)


def prefetched_tables(
    program: ir.Program, parser: ir.Parser, block: ir.Block, layouts: Mapping[str, TableLayout]
) -> tuple[PrefetchedTable, ...]:
    """The tables applied in ``block`` that can be looked up ahead."""
    places = fixed_places(parser)
    result: dict[str, PrefetchedTable] = {}
    for statement in walk.statements(block):
        if isinstance(statement, ir.ApplyTable) and statement.table not in result:
            table, layout = program.table(statement.table), layouts[statement.table]
            offsets = _offsets([k.value for k in table.keys if k.match_kind != "selector"], places)
            if offsets and layout.search is not Search.MASKED:
                result[statement.table] = PrefetchedTable(layout, offsets)
    return tuple(result.values())[:MOST_TABLES]


def _offsets(keys: list[ir.Expr], places: Mapping[str, int]) -> tuple[int, ...]:
    """Where the keys are; empty if not all of them are fields of headers with a place."""
    offsets = []
    for key in keys:
        if not (isinstance(key, ir.FieldRef) and isinstance(key.header, ir.Header) and key.header.name in places):
            return ()
        offsets.append(places[key.header.name] + key.field.offset_bits)
    return tuple(offsets)


def fixed_places(parser: ir.Parser) -> dict[str, int]:
    """Offsets in bits of the headers that every path through the parser extracts from the same place."""
    states = {state.name: state for state in parser.states}
    result: dict[str, set[int]] = {}
    seen: set[tuple[str, int]] = set()
    waiting = [("start", 0)]
    while waiting and len(seen) < MOST_PATHS:
        name, offset = waiting.pop()
        if (name, offset) in seen or name not in states:
            continue
        seen.add((name, offset))
        end = _follow(states[name].body, offset, result)
        if end is not None:
            waiting += [(following, end) for following in _next_states(states[name].transition)]
    return {} if waiting else {name: places.pop() for name, places in result.items() if len(places) == 1}


def _follow(body: ir.Block, offset: int, offsets: dict[str, set[int]]) -> int | None:
    """Where the state leaves the packet; None if that isn't known."""
    for statement in body:
        match statement:
            case ir.Extract(ir.Header() as header) if header.type.varbit is None:
                offsets.setdefault(header.name, set()).add(offset)
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


class Prefetcher:
    """The function, in the module; ``cells`` are what it leaves of lpm look-ups."""

    def __init__(self, allocas: Builder, tables: tuple[PrefetchedTable, ...]) -> None:
        self._tables = tables
        self._cells: dict[str, Value] = {}
        self.no_cells: dict[str, Value] = {}
        """Cell of each table for packets that are not of the batch: nothing is done ahead for them."""
        for table in tables:
            if table.layout.search is Search.LPM:
                words = cell_bytes(table.layout) // WORD_BYTES
                self._cells[table.layout.name] = allocas.alloca(I64, CELLS * words)
                self.no_cells[table.layout.name] = allocas.alloca(I64, words)
                forget(allocas, self.no_cells[table.layout.name])
        kind = llvm.FunctionType(VOID, [PTR, PTR, PTR, I64, I64, *[PTR] * len(self._cells)])
        self._function = llvm.Function(allocas.module, kind, FUNCTION)
        self._function.linkage = "internal"
        self._write(llvm.IRBuilder(self._function.append_basic_block("entry")))

    def call(self, b: Builder, area: Value, addresses: Value, lengths: Value, index: Value, count: Value) -> None:
        """``index``: the next packet's, a multiple of GROUP."""
        b.call(self._function, [area, addresses, lengths, index, count, *self._cells.values()])

    def cells(self, b: Builder, index: Value) -> dict[str, Value]:
        """Cells of one packet by table."""
        return {t.layout.name: _cell(b, t, self._cells[t.layout.name], index)
                for t in self._tables if t.layout.name in self._cells}  # fmt: skip

    def _write(self, b: Builder) -> None:
        area, addresses, lengths, index, count, *cells = self._function.args
        arguments = dict(zip(self._cells, cells, strict=True))
        packets = _Packets(b, addresses, lengths, index, count, b.alloca(I64))
        for table in self._tables:
            record = at(b, area, table.layout.number * TABLE_WORDS * WORD_BYTES)
            cells = arguments.get(table.layout.name)
            with _if_set(b, record, TABLE_IS_LARGE):
                packets.begin(table, record, cells)
                if cells is not None:
                    with _if_set(b, record, TABLE_IS_DEEP):
                        packets.search(table, record, cells)
        b.ret_void()


@dataclass(frozen=True, slots=True)
class _Packets:
    """A batch, before one of its groups."""

    b: Builder
    addresses: Value
    lengths: Value
    index: Value
    """Index of the group's first packet."""
    count: Value
    going: Value
    """A word of memory for itself."""

    def frame(self, number: Value) -> Value:
        return self.b.load(self.b.gep(self.addresses, [number], source_etype=PTR), typ=PTR)

    def ahead(self, name: str, steps: int) -> Iterator[Value]:
        """A loop over the group that number of steps on; before the batch's first group, over those between too."""
        b = self.b
        is_first = b.icmp_unsigned("==", self.index, i64(0))
        last = b.add(self.index, i64(steps * GROUP))
        return self._each(name, b.select(is_first, i64(0), last), b.add(last, i64(GROUP)))

    def begin(self, table: PrefetchedTable, record: Value, cells: Value | None) -> None:
        b = self.b
        for number in self.ahead("begin", table.steps + 1):
            cell = None if cells is None else _cell(b, table, cells, number)
            if cell is not None and not table.layout.has_root:
                forget(b, cell)
            with b.if_then(_long_enough(b, self.lengths, number, table)):
                emit_prefetch(b, table.layout, record, _keys(b, table, self.frame(number)), cell)

    def search(self, table: PrefetchedTable, record: Value, cells: Value) -> None:
        """A step for each group under way, and all that are left for the group itself."""
        b = self.b
        advance = advance_function(b.module, table.layout)
        for step in range(table.steps, 0, -1):
            for number in self.ahead("step", step):
                cell = _cell(b, table, cells, number)
                if table.layout.has_root:
                    self._second_step(table, record, number, cell)
                else:
                    self._step(advance, record, cell)
        again, end = (b.function.append_basic_block(n) for n in ("again", "searched"))
        b.branch(again)
        b.position_at_end(again)
        b.store(i64(0), self.going)
        for number in self.ahead("rest", 0):
            self._step(advance, record, _cell(b, table, cells, number))
        b.cbranch(b.icmp_unsigned("!=", b.load(self.going, typ=I64), i64(0)), again, end)
        b.position_at_end(end)

    def _second_step(self, table: PrefetchedTable, record: Value, number: Value, cell: Value) -> None:
        b = self.b
        forget(b, cell)
        with b.if_then(_long_enough(b, self.lengths, number, table)):
            emit_second_step(b, table.layout, record, _keys(b, table, self.frame(number)), cell)

    def _step(self, advance: Value, record: Value, cell: Value) -> None:
        """A search a step further, if it has one left."""
        b = self.b
        place = load(b, I64, cell, CELL_PLACE * WORD_BYTES, align=8)
        with b.if_then(b.icmp_unsigned("!=", place, i64(FOUND))):
            following = b.call(advance, [record, cell, place])
            store(b, following, cell, CELL_PLACE * WORD_BYTES, align=8)
            b.store(b.or_(b.load(self.going, typ=I64), following), self.going)

    def _each(self, name: str, start: Value, stop: Value) -> Iterator[Value]:
        """A loop over packets that the batch has, whose body is what is emitted between this generator's one value and
        its end."""
        b = self.b
        stop = b.select(b.icmp_unsigned("<", stop, self.count), stop, self.count)
        before = b.block
        head, body, end = (b.function.append_basic_block(f"{name}{n}") for n in ("", ".body", ".end"))
        b.branch(head)
        b.position_at_end(head)
        number = b.phi(I64)
        number.add_incoming(start, before)
        b.cbranch(b.icmp_unsigned("<", number, stop), body, end)
        b.position_at_end(body)
        yield number
        number.add_incoming(b.add(number, i64(1)), b.block)
        b.branch(head)
        b.position_at_end(end)


def _if_set(b: Builder, record: Value, word: int) -> AbstractContextManager[Value]:
    """What is emitted in this context runs if a word of the table's record is not 0."""
    is_set = b.icmp_unsigned("!=", load(b, I64, record, word * WORD_BYTES, align=8), i64(0))
    context: AbstractContextManager[Value] = b.if_then(is_set)
    return context


def _cell(b: Builder, table: PrefetchedTable, cells: Value, index: Value) -> Value:
    return at(b, cells, b.mul(b.urem(index, i64(CELLS)), i64(cell_bytes(table.layout))))


def _long_enough(b: Builder, lengths: Value, index: Value, table: PrefetchedTable) -> Value:
    length = b.load(b.gep(lengths, [index], source_etype=I32), typ=I32)
    return b.icmp_unsigned(">=", length, constant(table.reach_bytes, 32))


def _keys(b: Builder, table: PrefetchedTable, frame: Value) -> list[Value]:
    places = zip(table.offsets_bits, table.layout.key_widths_bits, strict=True)
    return [load_field(b, frame, offset, width) for offset, width in places]
