"""Tables with ternary, optional and range keys: AND the rows that the key's chunks select, see ``table_layout``.

Rows are read by their summaries first: a block of four words is looked at only if in one of them every row has a bit.
Of a word's positions the first counts (ranks fall within a word), of several words the best; positions with ranges are
checked against their bounds, for rows give those only roughly.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4.layout import WORD_BYTES, Cell
from emulator.p4.llvm.bits import I64, PTR, Builder, Value, at, constant, i64, integer, load, resize
from emulator.p4.table_layout import (
    BLOCK_WORDS,
    POSITION_ENTRY,
    POSITION_RANK,
    TABLE_BLOCK_RANKS,
    TABLE_BLOCKS,
    TABLE_BLOCKS_AT,
    TABLE_POSITIONS,
    TABLE_ROW_BYTES,
    TABLE_ROWS,
    WORD_BITS,
    TableLayout,
)

BLOCK = llvm.VectorType(I64, BLOCK_WORDS)
MOST_UNROLLED = 40
"""Rows ANDed by straight code; more (keys of over 320 bits) by a loop."""


def masked_function(module: llvm.Module, layout: TableLayout) -> Value:
    """``i64 number(ptr record, key...)``, one for all tables of the same shape."""
    shape = "_".join(
        f"{kind[0]}{width}" for kind, width in zip(layout.match_kinds, layout.key_widths_bits, strict=True)
    )
    name = f"lookup_masked_{shape}"
    if name in module.globals:
        return module.globals[name]
    kinds = [integer(width) for width in layout.key_widths_bits]
    function = llvm.Function(module, llvm.FunctionType(I64, [PTR, *kinds]), name)
    function.linkage = "internal"
    b = llvm.IRBuilder(function.append_basic_block("entry"))
    _Search(b, layout, function.args[0], list(function.args[1:])).write()
    return function


class _Loop:
    """``while state: body``, for code that is written in one go: phis first, their later values at the end."""

    def __init__(self, b: Builder, name: str, *states: tuple[Any, Value]) -> None:
        self.b = b
        before = b.block
        self.head, self.body, self.end = (b.function.append_basic_block(f"{name}{n}") for n in ("", ".body", ".end"))
        b.branch(self.head)
        b.position_at_end(self.head)
        self.states = [b.phi(kind) for kind, _ in states]
        for state, (_, start) in zip(self.states, states, strict=True):
            state.add_incoming(start, before)

    def enter(self, condition: Value) -> None:
        """Go into the body while the condition holds."""
        self.b.cbranch(condition, self.body, self.end)
        self.b.position_at_end(self.body)

    def again(self, *later: Value) -> None:
        for state, value in zip(self.states, later, strict=True):
            state.add_incoming(value, self.b.block)
        self.b.branch(self.head)

    def leave(self) -> None:
        """Go on after the loop; the states are the last ones."""
        self.b.position_at_end(self.end)


class _Search:
    def __init__(self, b: Builder, layout: TableLayout, record: Value, keys: list[Value]) -> None:
        self.b = b
        self.layout = layout
        self.keys = keys
        self.blocks = load(b, I64, record, TABLE_BLOCKS * WORD_BYTES, align=8)
        self.blocks_at = load(b, I64, record, TABLE_BLOCKS_AT * WORD_BYTES, align=8)
        self.positions = load(b, PTR, record, TABLE_POSITIONS * WORD_BYTES, align=8)
        self.block_ranks = load(b, PTR, record, TABLE_BLOCK_RANKS * WORD_BYTES, align=8)
        rows = load(b, PTR, record, TABLE_ROWS * WORD_BYTES, align=8)
        row_bytes = load(b, I64, record, TABLE_ROW_BYTES * WORD_BYTES, align=8)
        self.rows = [self._row(rows, row_bytes, c.position, c.shift, c.bits, c.first_row) for c in layout.chunks]
        self.memory = None
        if len(self.rows) > MOST_UNROLLED:
            self.memory = b.alloca(PTR, len(self.rows))
            for i, row in enumerate(self.rows):
                b.store(row, at(b, self.memory, WORD_BYTES * i), align=8)

    def _row(self, rows: Value, row_bytes: Value, position: int, shift: int, bits: int, first: int) -> Value:
        b, key = self.b, self.keys[position]
        moved = b.lshr(key, constant(shift, key.type.width)) if shift else key
        value = b.and_(resize(b, moved, 64), i64((1 << bits) - 1))
        return at(b, rows, b.mul(b.add(value, i64(first)), row_bytes))

    def _together(self, kind: Any, offset: Value) -> Value:
        """AND of what all rows have at an offset in bytes."""
        b = self.b
        if self.memory is None:
            result = load(b, kind, self.rows[0], offset, align=8)
            for row in self.rows[1:]:
                result = b.and_(result, load(b, kind, row, offset, align=8))
            return result
        first = load(b, kind, self.rows[0], offset, align=8)
        loop = _Loop(b, "row", (I64, i64(1)), (kind, first))
        index, result = loop.states
        loop.enter(b.icmp_unsigned("<", index, i64(len(self.rows))))
        row = load(b, PTR, self.memory, b.mul(index, i64(WORD_BYTES)), align=8)
        loop.again(b.add(index, i64(1)), b.and_(result, load(b, kind, row, offset, align=8)))
        loop.leave()
        return result

    def write(self) -> None:
        """All of the function."""
        b = self.b
        words = b.udiv(b.add(b.mul(self.blocks, i64(BLOCK_WORDS)), i64(WORD_BITS - 1)), i64(WORD_BITS))
        outer = _Loop(b, "summary", (I64, i64(0)), (I64, i64(0)), (I64, i64(0)))
        word, best, rank = outer.states
        outer.enter(b.icmp_unsigned("<", word, words))
        candidates = self._blocks_of(self._together(I64, b.mul(word, i64(WORD_BYTES))))
        inner = _Loop(b, "block", (I64, candidates), (I64, best), (I64, rank))
        left, best_here, rank_here = inner.states
        inner.enter(b.icmp_unsigned("!=", left, i64(0)))
        first = b.mul(word, i64(WORD_BITS // BLOCK_WORDS))
        block = b.add(first, b.udiv(b.cttz(left, constant(1, 1)), i64(BLOCK_WORDS)))
        best_later, rank_later = self._block(block, best_here, rank_here)
        inner.again(b.and_(left, b.sub(left, i64(1))), best_later, rank_later)
        inner.leave()
        outer.again(b.add(word, i64(1)), best_here, rank_here)
        outer.leave()
        b.ret(best)

    def _blocks_of(self, words: Value) -> Value:
        """For each block that has a word among these, the bit of its first word."""
        b, result = self.b, words
        for i in range(1, BLOCK_WORDS):
            result = b.or_(result, b.lshr(words, i64(i)))
        return b.and_(result, i64(sum(1 << i for i in range(0, WORD_BITS, BLOCK_WORDS))))

    def _block(self, block: Value, best: Value, rank: Value) -> tuple[Value, Value]:
        """The better of what is known and the block's best position that holds the key."""
        b = self.b
        before = b.block
        look, end = b.function.append_basic_block("look"), b.function.append_basic_block("block.done")
        hope = load(b, I64, self.block_ranks, b.mul(block, i64(WORD_BYTES)), align=8)
        b.cbranch(b.icmp_unsigned(">", hope, rank), look, end)
        b.position_at_end(look)
        together = self._together(BLOCK, b.add(self.blocks_at, b.mul(block, i64(BLOCK_WORDS * WORD_BYTES))))
        words = [b.extract_element(together, constant(i, 32)) for i in range(BLOCK_WORDS)]
        anything = words[0]
        for word in words[1:]:
            anything = b.or_(anything, word)
        nothing = b.block
        some = b.function.append_basic_block("some")
        b.cbranch(b.icmp_unsigned("!=", anything, i64(0)), some, end)
        b.position_at_end(some)
        best_in, rank_in = best, rank
        for i, word in enumerate(words):
            first = b.shl(b.add(b.mul(block, i64(BLOCK_WORDS)), i64(i)), i64(6))
            best_in, rank_in = self._word(first, word, best_in, rank_in)
        something = b.block
        b.branch(end)
        b.position_at_end(end)
        results = []
        for known, after in ((best, best_in), (rank, rank_in)):
            node = b.phi(I64)
            node.add_incoming(known, before)
            node.add_incoming(known, nothing)
            node.add_incoming(after, something)
            results.append(node)
        return results[0], results[1]

    def _word(self, first: Value, word: Value, best: Value, rank: Value) -> tuple[Value, Value]:
        """The better of what is known and the word's first position that holds the key."""
        b = self.b
        loop = _Loop(b, "position", (I64, word), (I64, best), (I64, rank))
        left, best_here, rank_here = loop.states
        loop.enter(b.icmp_unsigned("!=", left, i64(0)))
        place = b.add(first, b.cttz(left, constant(1, 1)))
        position = at(b, self.positions, b.mul(place, i64(self.layout.position_bytes)))
        holds = self._holds(position)
        its_rank = load(b, I64, position, POSITION_RANK, align=8)
        better = b.and_(holds, b.icmp_unsigned(">", its_rank, rank_here))
        number = load(b, I64, position, POSITION_ENTRY, align=8)
        # what follows in the word is worse: stop at the first that holds
        rest = b.select(holds, i64(0), b.and_(left, b.sub(left, i64(1))))
        loop.again(rest, b.select(better, number, best_here), b.select(better, its_rank, rank_here))
        loop.leave()
        return best_here, rank_here

    def _holds(self, position: Value) -> Value:
        """Is every range key within the position's bounds?"""
        b = self.b
        inside: Value = constant(1, 1)
        for bounds in self.layout.ranges:
            key = self.keys[bounds.position]
            low, high = (_cell(b, position, cell) for cell in (bounds.low, bounds.high))
            inside = b.and_(inside, b.and_(b.icmp_unsigned(">=", key, low), b.icmp_unsigned("<=", key, high)))
        return inside


def _cell(b: Builder, record: Value, cell: Cell) -> Value:
    return resize(b, load(b, integer(cell.size_bytes * 8), record, cell.offset_bytes), cell.width_bits)
