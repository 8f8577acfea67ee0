"""Exact tables: hash, then probing over the entries themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm

from emulator.p4.layout import WORD_BYTES
from emulator.p4.llvm.bits import I32, I64, PTR, Builder, Value, at, constant, i64, load, prefetch
from emulator.p4.table_layout import (
    ENTRY_HANDLE,
    ENTRY_KEY,
    HASH_MULTIPLIER,
    SLOTS_FROM,
    TABLE_ENTRIES,
    TABLE_SHIFT,
    TABLE_SLOT_MASK,
    WORD_BITS,
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
    slots, home = _home(b, layout, record, words)
    slot = at(b, slots, b.mul(home, i64(layout.entry_bytes)))
    with b.if_then(_is_free(b, slot), likely=False):
        b.ret(i64(0))
    same = b.icmp_unsigned("==", _difference(b, slot, ENTRY_KEY, words), i64(0))
    with b.if_then(same, likely=True):
        b.ret(b.add(home, i64(SLOTS_FROM)))
    b.ret(b.call(_beyond_function(module, layout), [record, home, *words]))
    return function


def _beyond_function(module: llvm.Module, layout: TableLayout) -> Value:
    """``i64 number(ptr record, i64 home, i64 word...)``: the search from its second slot on."""
    name = f"lookup_exact_beyond_{layout.key_words}_{layout.entry_bytes}"
    function = llvm.Function(module, llvm.FunctionType(I64, [PTR, I64, *[I64] * layout.key_words]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    record, home, *words = function.args
    b = llvm.IRBuilder(function.append_basic_block("entry"))
    slots = at(b, load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8), SLOTS_FROM * layout.entry_bytes)
    mask = load(b, I64, record, TABLE_SLOT_MASK * WORD_BYTES, align=8)

    def following(steps: Value) -> Value:
        """As ``table_layout.slot_after``."""
        pair = b.and_(b.add(b.and_(home, i64(~1)), b.and_(steps, i64(~1))), mask)
        return b.or_(pair, b.and_(b.xor(home, steps), i64(1)))

    place = probe(b, slots, home, following, layout.entry_bytes, ENTRY_HANDLE, I32, ENTRY_KEY, words)
    with b.if_then(b.icmp_signed("<", place, i64(0))):
        b.ret(i64(0))
    b.ret(b.add(place, i64(SLOTS_FROM)))
    return function


def _is_free(b: Builder, slot: Value) -> Value:
    return b.icmp_unsigned("==", load(b, I32, slot, ENTRY_HANDLE, align=4), constant(0, 32))


def prefetch_exact(b: Builder, layout: TableLayout, record: Value, words: list[Value]) -> None:
    """Prefetch the memory that a search reads first."""
    slots, home = _home(b, layout, record, words)
    prefetch(b, at(b, slots, b.mul(home, i64(layout.entry_bytes))))


def _home(b: Builder, layout: TableLayout, record: Value, words: list[Value]) -> tuple[Value, Value]:
    """(address of slot 0, the slot where a search begins, as ``table_layout.first_slot``)."""
    *others, last = words
    product = b.mul(b.xor(hash_of(b, others), last), i64(HASH_MULTIPLIER))
    shift = b.and_(load(b, I64, record, TABLE_SHIFT * WORD_BYTES, align=8), i64(WORD_BITS - 1))
    entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)
    return at(b, entries, SLOTS_FROM * layout.entry_bytes), b.lshr(product, shift)


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
    first: Value,
    following: Callable[[Value], Value],
    slot_bytes: int,
    taken_at: int,
    taken: Any,
    key_at: int,
    words: list[Value],
) -> Value:
    """Index of the slot that holds exactly these words, -1 if none does before a free one: at ``first``, then at what
    ``following`` emits for that number of steps, from 1 on. Leaves ``b`` at the block where it is known. A slot is
    free when its ``taken`` at ``taken_at`` is 0."""
    before = b.block
    loop, check, done = (b.function.append_basic_block(n) for n in ("probe", "compare", "probed"))
    b.branch(loop)
    b.position_at_end(loop)
    index, steps = b.phi(I64), b.phi(I64)
    slot = at(b, slots, b.mul(index, i64(slot_bytes)))
    occupied = load(b, taken, slot, taken_at, align=taken.width // 8)
    b.cbranch(b.icmp_unsigned("==", occupied, constant(0, taken.width)), done, check)
    b.position_at_end(check)
    difference = _difference(b, slot, key_at, words)
    more = b.add(steps, i64(1))
    for node, start, then in ((index, first, following(more)), (steps, i64(0), more)):
        node.add_incoming(start, before)
        node.add_incoming(then, check)
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
