"""Exact tables: hash, then linear probing over the entries themselves."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4.layout import WORD_BYTES
from emulator.p4.llvm.bits import I32, I64, PTR, Builder, Value, at, constant, i64, load, prefetch
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
    entries, mask = _entries_and_mask(b, record)
    slots = at(b, entries, layout.entry_bytes)
    first = _home(b, layout, mask, words)
    place = probe(b, slots, mask, first, layout.entry_bytes, ENTRY_HANDLE, I32, ENTRY_KEY, words)
    b.ret(b.add(place, i64(1)))
    return function


def announce_exact(b: Builder, layout: TableLayout, record: Value, words: list[Value]) -> None:
    """Ask for what a search reads first; if that is one entry only, for the next one too."""
    entries, mask = _entries_and_mask(b, record)
    number = b.add(_home(b, layout, mask, words), i64(1))
    entry = at(b, entries, b.mul(number, i64(layout.entry_bytes)))
    prefetch(b, entry)
    if not layout.begins_in_pairs:
        prefetch(b, at(b, entry, layout.entry_bytes))


def _entries_and_mask(b: Builder, record: Value) -> tuple[Value, Value]:
    entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)
    return entries, load(b, I64, record, TABLE_SLOT_MASK * WORD_BYTES, align=8)


def _home(b: Builder, layout: TableLayout, mask: Value, words: list[Value]) -> Value:
    """As ``table_layout.first_slot``."""
    return b.or_(b.and_(hash_of(b, words), mask), i64(int(layout.begins_in_pairs)))


def hash_of(b: Builder, words: list[Value]) -> Value:
    """As ``table_layout.hash_words``."""
    hashed: Value = i64(0)
    for word in words:
        hashed = b.mul(b.xor(hashed, word), i64(HASH_MULTIPLIER))
        hashed = b.xor(hashed, b.lshr(hashed, i64(32)))
    return hashed


def probe(
    b: Builder,
    slots: Value,
    mask: Value,
    first: Value,
    slot_bytes: int,
    taken_at: int,
    taken: Any,
    key_at: int,
    words: list[Value],
) -> Value:
    """Index of the slot from ``first`` on that holds exactly these words, -1 if none does. Leaves ``b`` at the block
    where it is known. A slot is free when its ``taken`` at ``taken_at`` is 0."""
    before = b.block
    loop, check, done = (b.function.append_basic_block(n) for n in ("probe", "compare", "probed"))
    b.branch(loop)
    b.position_at_end(loop)
    index = b.phi(I64)
    slot = at(b, slots, b.mul(index, i64(slot_bytes)))
    occupied = load(b, taken, slot, taken_at, align=taken.width // 8)
    b.cbranch(b.icmp_unsigned("==", occupied, constant(0, taken.width)), done, check)
    b.position_at_end(check)
    difference = _difference(b, slot, key_at, words)
    following = b.and_(b.add(index, i64(1)), mask)
    index.add_incoming(first, before)
    index.add_incoming(following, check)
    b.cbranch(b.icmp_unsigned("==", difference, i64(0)), done, loop)
    b.position_at_end(done)
    result = b.phi(I64)
    result.add_incoming(i64(-1), loop)
    result.add_incoming(index, check)
    return result


def _difference(b: Builder, slot: Value, key_at: int, words: list[Value]) -> Value:
    """0 if the slot holds these words."""
    difference: Value = i64(0)
    for i, word in enumerate(words):
        difference = b.or_(difference, b.xor(word, load(b, I64, slot, key_at + WORD_BYTES * i, align=8)))
    return difference
