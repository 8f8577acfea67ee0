"""The compiled side of a table look-up.

One mechanism serves exact, lpm, ternary and optional keys: a list of mask groups, best first, each an open-addressing
hash table of masked keys (linear probing). A group's ``best rank`` lets the search stop early: lpm searches from the
longest prefix and stops at the first hit, ternary goes on only while a group could hold something better. Range keys
are masked out of the hash; a slot then holds the best of a chain of entries, of which the first that has the keys counts.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4.layout import (
    ENTRY_NEXT,
    ENTRY_RANK,
    GROUP_BEST_RANK,
    GROUP_HEADER_WORDS,
    GROUP_SLOT_MASK,
    GROUP_SLOTS,
    HASH_MULTIPLIER,
    SLOT_HEADER_WORDS,
    TABLE_ENTRIES,
    TABLE_GROUP_COUNT,
    TABLE_GROUPS,
    Cell,
    TableLayout,
)
from emulator.p4.llvm.bits import I32, I64, PTR, Builder, Value, at, constant, i64, load, resize


def emit_lookup(b: Builder, layout: TableLayout, record: Value, keys: list[Value]) -> Value:
    """Number of the best entry that matches, 0 if none."""
    words = _pack(b, layout, keys)
    function = _lookup_function(b.module, layout)
    ranged = [keys[r.position] for r in layout.ranges]
    return b.call(function, [record, *words, *ranged])


def _pack(b: Builder, layout: TableLayout, keys: list[Value]) -> list[Value]:
    total = layout.key_words * 64
    packed, below = None, sum(layout.key_widths_bits)
    for key, width in zip(keys, layout.key_widths_bits, strict=True):
        below -= width
        part = b.shl(resize(b, key, total), constant(below, total))
        packed = part if packed is None else b.or_(packed, part)
    return [resize(b, b.lshr(packed, constant(64 * i, total)), 64) for i in range(layout.key_words)]


def _lookup_function(module: llvm.Module, layout: TableLayout) -> Value:
    """One function for all tables of the same shape; small, so LLVM may inline it."""
    words = layout.key_words
    name = f"lookup_exact_{words}" if layout.is_exact else f"lookup_masked_{words}_{layout.entry_bytes}"
    name += "".join(f"_{r.low.offset_bytes}w{r.low.width_bits}" for r in layout.ranges)
    if name in module.globals:
        return module.globals[name]
    ranged = [llvm.IntType(r.low.width_bits) for r in layout.ranges]
    function = llvm.Function(module, llvm.FunctionType(I64, [PTR, *[I64] * words, *ranged]), name)
    function.linkage = "internal"
    if layout.is_exact:
        _write_exact(function, layout)
    else:
        _write_masked(function, layout)
    return function


def _word(b: Builder, pointer: Value, index: int, kind: Any = I64) -> Value:
    return load(b, kind, pointer, index * 8, align=8)


def _write_exact(function: Any, layout: TableLayout) -> None:
    record, *words = function.args
    entry, search, miss = (function.append_basic_block(n) for n in ("entry", "search", "miss"))
    b = llvm.IRBuilder(entry)
    empty = b.icmp_unsigned("==", _word(b, record, TABLE_GROUP_COUNT), i64(0))
    b.cbranch(empty, miss, search)
    b = llvm.IRBuilder(miss)
    b.ret(i64(0))
    b = llvm.IRBuilder(search)
    group = _word(b, record, TABLE_GROUPS, PTR)
    found = _probe(b, layout, group, words)
    b.ret(found)


def _write_masked(function: Any, layout: TableLayout) -> None:
    record, words = function.args[0], function.args[1 : 1 + layout.key_words]
    ranged = function.args[1 + layout.key_words :]
    entry, head, body, better, following, end = (
        function.append_basic_block(n) for n in ("entry", "head", "body", "better", "following", "end")
    )
    b = llvm.IRBuilder(entry)
    first = _word(b, record, TABLE_GROUPS, PTR)
    count = _word(b, record, TABLE_GROUP_COUNT)
    entries = _word(b, record, TABLE_ENTRIES, PTR)
    b.branch(head)
    b = llvm.IRBuilder(head)
    index, group, best, rank = b.phi(I64), b.phi(PTR), b.phi(I64), b.phi(I64)
    b.cbranch(b.icmp_unsigned("<", index, count), body, end)
    b = llvm.IRBuilder(body)
    hopeful = b.icmp_unsigned(">", _word(b, group, GROUP_BEST_RANK), rank)
    go_on = b.or_(hopeful, b.icmp_unsigned("==", best, i64(0)))
    b.cbranch(go_on, better, end)
    b = llvm.IRBuilder(better)
    masked = [b.and_(w, _word(b, group, GROUP_HEADER_WORDS + i)) for i, w in enumerate(words)]
    found = _probe(b, layout, group, masked)
    if ranged:
        found = _walk(b, layout, entries, found, ranged)
    hit = b.icmp_unsigned("!=", found, i64(0))
    b.branch(following)
    b = llvm.IRBuilder(following)
    found_rank = _word(b, at(b, entries, b.mul(found, i64(layout.entry_bytes))), ENTRY_RANK // 8)
    wins = b.and_(hit, b.or_(b.icmp_unsigned(">", found_rank, rank), b.icmp_unsigned("==", best, i64(0))))
    new_best, new_rank = b.select(wins, found, best), b.select(wins, found_rank, rank)
    new_index, new_group = b.add(index, i64(1)), at(b, group, layout.group_bytes)
    b.branch(head)
    for node, start, later in (
        (index, i64(0), new_index),
        (group, first, new_group),
        (best, i64(0), new_best),
        (rank, i64(0), new_rank),
    ):
        node.add_incoming(start, entry)
        node.add_incoming(later, following)
    b = llvm.IRBuilder(end)
    b.ret(best)


def _walk(b: Builder, layout: TableLayout, entries: Value, first: Value, ranged: list[Value]) -> Value:
    """The first entry from ``first`` on, down its chain, whose bounds hold all range keys; 0 if none does."""
    before = b.block
    head, check, following, done = (b.function.append_basic_block(n) for n in ("chain", "bounds", "worse", "walked"))
    b.branch(head)
    b.position_at_end(head)
    number = b.phi(I64)
    b.cbranch(b.icmp_unsigned("==", number, i64(0)), done, check)
    b.position_at_end(check)
    entry = at(b, entries, b.mul(number, i64(layout.entry_bytes)))
    inside = constant(1, 1)
    for key, bounds in zip(ranged, layout.ranges, strict=True):
        low, high = (_cell(b, entry, cell) for cell in (bounds.low, bounds.high))
        inside = b.and_(inside, b.and_(b.icmp_unsigned(">=", key, low), b.icmp_unsigned("<=", key, high)))
    b.cbranch(inside, done, following)
    b.position_at_end(following)
    next_number = resize(b, load(b, I32, entry, ENTRY_NEXT, align=4), 64)
    b.branch(head)
    number.add_incoming(first, before)
    number.add_incoming(next_number, following)
    b.position_at_end(done)
    return number


def _cell(b: Builder, entry: Value, cell: Cell) -> Value:
    return resize(b, load(b, llvm.IntType(cell.size_bytes * 8), entry, cell.offset_bytes), cell.width_bits)


def _probe(b: Builder, layout: TableLayout, group: Value, words: list[Value]) -> Value:
    """Entry number of the slot that holds exactly these words, or 0. Leaves ``b`` at the block where it is known."""
    slots = _word(b, group, GROUP_SLOTS, PTR)
    slot_mask = _word(b, group, GROUP_SLOT_MASK)
    hashed: Value = i64(0)
    for word in words:
        hashed = b.mul(b.xor(hashed, word), i64(HASH_MULTIPLIER))
        hashed = b.xor(hashed, b.lshr(hashed, i64(32)))
    before = b.block
    loop, check, done = (b.function.append_basic_block(n) for n in ("probe", "compare", "probed"))
    start = b.and_(hashed, slot_mask)
    b.branch(loop)
    b.position_at_end(loop)
    index = b.phi(I64)
    slot = at(b, slots, b.mul(index, i64(layout.slot_bytes)))
    number = _word(b, slot, 0)
    b.cbranch(b.icmp_unsigned("==", number, i64(0)), done, check)
    b.position_at_end(check)
    difference: Value = i64(0)
    for i, word in enumerate(words):
        difference = b.or_(difference, b.xor(word, _word(b, slot, SLOT_HEADER_WORDS + i)))
    following = b.and_(b.add(index, i64(1)), slot_mask)
    index.add_incoming(start, before)
    index.add_incoming(following, check)
    b.cbranch(b.icmp_unsigned("==", difference, i64(0)), done, loop)
    b.position_at_end(done)
    result = b.phi(I64)
    result.add_incoming(i64(0), loop)
    result.add_incoming(number, check)
    return result
