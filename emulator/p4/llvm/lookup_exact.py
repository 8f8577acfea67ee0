"""Exact tables: hash, then linear probing over the entries themselves."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4.layout import WORD_BYTES
from emulator.p4.llvm.bits import I32, I64, PTR, Builder, Value, at, constant, i64, load
from emulator.p4.table_layout import (
    ENTRY_HANDLE,
    ENTRY_KEY,
    HASH_MULTIPLIER,
    TABLE_ENTRIES,
    TABLE_SLOT_MASK,
    TableLayout,
)


def exact_function(module: llvm.Module, layout: TableLayout) -> Value:
    """``i64 number(ptr record, i64 word...)``, one for all tables of the same shape."""
    name = f"lookup_exact_{layout.key_words}_{layout.entry_bytes}"
    if name in module.globals:
        return module.globals[name]
    function = llvm.Function(module, llvm.FunctionType(I64, [PTR, *[I64] * layout.key_words]), name)
    function.linkage = "internal"
    record, *words = function.args
    b = llvm.IRBuilder(function.append_basic_block("entry"))
    entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)
    mask = load(b, I64, record, TABLE_SLOT_MASK * WORD_BYTES, align=8)
    slots = at(b, entries, layout.entry_bytes)
    place = probe(b, slots, mask, layout.entry_bytes, ENTRY_HANDLE, I32, ENTRY_KEY, words)
    b.ret(b.add(place, i64(1)))
    return function


def first_slot(b: Builder, layout: TableLayout, record: Value, words: list[Value]) -> Value:
    """Where a search begins."""
    entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)
    mask = load(b, I64, record, TABLE_SLOT_MASK * WORD_BYTES, align=8)
    number = b.add(b.and_(hash_of(b, words), mask), i64(1))
    return at(b, entries, b.mul(number, i64(layout.entry_bytes)))


def hash_of(b: Builder, words: list[Value]) -> Value:
    """As ``table_layout.hash_words``."""
    hashed: Value = i64(0)
    for word in words:
        hashed = b.mul(b.xor(hashed, word), i64(HASH_MULTIPLIER))
        hashed = b.xor(hashed, b.lshr(hashed, i64(32)))
    return hashed


def probe(
    b: Builder, slots: Value, mask: Value, slot_bytes: int, taken_at: int, taken: Any, key_at: int, words: list[Value]
) -> Value:
    """Index of the slot that holds exactly these words, -1 if none does. Leaves ``b`` at the block where it is known.
    A slot is free when its ``taken`` at ``taken_at`` is 0."""
    before = b.block
    loop, check, done = (b.function.append_basic_block(n) for n in ("probe", "compare", "probed"))
    start = b.and_(hash_of(b, words), mask)
    b.branch(loop)
    b.position_at_end(loop)
    index = b.phi(I64)
    slot = at(b, slots, b.mul(index, i64(slot_bytes)))
    occupied = load(b, taken, slot, taken_at, align=taken.width // 8)
    b.cbranch(b.icmp_unsigned("==", occupied, constant(0, taken.width)), done, check)
    b.position_at_end(check)
    difference: Value = i64(0)
    for i, word in enumerate(words):
        difference = b.or_(difference, b.xor(word, load(b, I64, slot, key_at + WORD_BYTES * i, align=8)))
    following = b.and_(b.add(index, i64(1)), mask)
    index.add_incoming(start, before)
    index.add_incoming(following, check)
    b.cbranch(b.icmp_unsigned("==", difference, i64(0)), done, loop)
    b.position_at_end(done)
    result = b.phi(I64)
    result.add_incoming(i64(-1), loop)
    result.add_incoming(index, check)
    return result
