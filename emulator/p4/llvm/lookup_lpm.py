"""Lpm tables: down a trie, remembering the longest prefix seen; see ``emulator.p4.table_layout``.

The key stands in words, the first bit on top; keys of more than one word lie in memory for the time of the search, for
a node may look at any 64 bits of them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4.layout import WORD_BYTES
from emulator.p4.llvm.bits import I16, I32, I64, PTR, Builder, Value, at, constant, i64, load, resize, store
from emulator.p4.llvm.lookup_exact import hash_of, probe
from emulator.p4.table_layout import (
    ENTRY_KEY,
    ENTRY_NEXT,
    ENTRY_SHIFT,
    LPM_BEST,
    LPM_CHILD,
    LPM_NODE,
    LPM_SURE,
    NODE_HEADER_WORDS,
    NODE_OFFSET,
    NODE_SHIFT,
    NODE_SKIP_MASK,
    NODE_SKIPPED,
    PREFIX_SLOT_HEADER_WORDS,
    SHARED,
    SLOTS_FROM,
    TABLE_ARENA,
    TABLE_BESTS,
    TABLE_ENTRIES,
    TABLE_OUTSIDE,
    TABLE_SHIFT,
    TABLE_SLOT_MASK,
    TABLE_SLOTS,
    WORD_BITS,
    TableLayout,
)


def lpm_function(module: llvm.Module, layout: TableLayout) -> Value:
    """``i64 number(ptr record, i64 other word..., i64 word...)``, one for all tables of the same shape."""
    return _function(module, layout, "lpm", _AnyTrie if layout.other_words else _RootedTrie)


def _function(module: llvm.Module, layout: TableLayout, kind: str, descent: type[_Descent]) -> Value:
    name = f"lookup_{kind}_{layout.other_words}_{layout.lpm_words}_{layout.shared_bits}_{layout.entry_bytes}"
    if name not in module.globals:
        words = [I64] * (layout.other_words + layout.lpm_words)
        function = llvm.Function(module, llvm.FunctionType(I64, [PTR, *words]), name)
        function.linkage = "internal"
        descent(layout, function).write()
    return module.globals[name]


def first_root(b: Builder, layout: TableLayout, record: Value, others: list[Value]) -> Value:
    """Where the search for the trie of these other keys begins."""
    slots = load(b, PTR, record, TABLE_SLOTS * WORD_BYTES, align=8)
    mask = load(b, I64, record, TABLE_SLOT_MASK * WORD_BYTES, align=8)
    size = (PREFIX_SLOT_HEADER_WORDS + layout.other_words) * WORD_BYTES
    return at(b, slots, b.mul(b.and_(hash_of(b, others), mask), i64(size)))


def find_root(b: Builder, layout: TableLayout, record: Value, others: list[Value]) -> tuple[Value, Value]:
    """(address of the slot that the trie of these other keys hangs from, is there one)."""
    slots = load(b, PTR, record, TABLE_SLOTS * WORD_BYTES, align=8)
    mask = load(b, I64, record, TABLE_SLOT_MASK * WORD_BYTES, align=8)
    size = (PREFIX_SLOT_HEADER_WORDS + len(others)) * WORD_BYTES
    first = b.and_(hash_of(b, others), mask)

    def following(steps: Value) -> Value:
        return b.and_(b.add(first, steps), mask)

    place = probe(b, slots, first, following, size, 0, I64, PREFIX_SLOT_HEADER_WORDS * WORD_BYTES, others)
    return at(b, slots, b.mul(place, i64(size))), b.icmp_signed(">=", place, i64(0))


def root_slot(b: Builder, layout: TableLayout, record: Value, words: list[Value]) -> tuple[Value, Value]:
    """(address of the root's slot 0, the key's slot): of the one trie, if the key is not `outside`."""
    shift = b.and_(load(b, I64, record, TABLE_SHIFT * WORD_BYTES, align=8), i64(WORD_BITS - 1))
    entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)
    index = b.lshr(b.shl(words[0], i64(layout.shared_bits)), shift)
    return at(b, entries, SLOTS_FROM * layout.entry_bytes), index


def outside(b: Builder, layout: TableLayout, words: list[Value]) -> Value:
    """Does the key lack the bits that the root takes for granted? Only of layouts with such bits."""
    return b.icmp_unsigned("!=", b.lshr(words[0], i64(WORD_BITS - layout.shared_bits)), i64(SHARED))


def slot_of(b: Builder, node: Value, window: Value) -> Value:
    """Address of the slot that the window's bits select in a node."""
    shift = load(b, I64, node, NODE_SHIFT * WORD_BYTES, align=8)
    index = b.and_(b.lshr(window, b.and_(shift, i64(WORD_BITS - 1))), b.lshr(shift, i64(32)))
    return at(b, node, b.mul(b.add(index, i64(NODE_HEADER_WORDS)), i64(WORD_BYTES)))


class _Descent:
    """Writes a search from a slot downwards."""

    def __init__(self, layout: TableLayout, function: llvm.Function) -> None:
        self.layout = layout
        self.b = b = llvm.IRBuilder(function.append_basic_block("entry"))
        self.record = record = function.args[0]
        self.others = list(function.args[1 : 1 + layout.other_words])
        self.words = words = list(function.args[1 + layout.other_words :])
        self.memory = b.alloca(I64, len(words) + 1)
        for i, word in enumerate((*words, i64(0))):
            store(b, word, self.memory, WORD_BYTES * i, align=8)
        self.arena = load(b, PTR, record, TABLE_ARENA * WORD_BYTES, align=8)
        self.entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)

    def first_slot(self) -> Value:
        """The slot that the trie hangs from; may answer already."""
        raise NotImplementedError

    def best_above(self) -> Value:
        """What to answer, an i32, if nothing below that slot matches."""
        return constant(0, 32)

    def write(self) -> None:
        """All of the function."""
        b = self.b
        step, node, inside, chain, verify, following, found, best_only = (
            b.function.append_basic_block(n)
            for n in ("step", "node", "inside", "chain", "verify", "following", "found", "best")
        )
        slot = self.first_slot()
        start = b.block
        b.branch(step)
        # a slot: {child, best}
        b.position_at_end(step)
        here, before = b.phi(I64), b.phi(I32)
        here.add_incoming(slot, start)
        before.add_incoming(constant(0, 32), start)
        child = b.trunc(b.lshr(here, i64(8 * LPM_CHILD)), I32)
        own = b.trunc(b.lshr(here, i64(8 * LPM_BEST)), I32)
        best = b.select(b.icmp_unsigned("!=", own, constant(0, 32)), own, before)
        is_node = b.icmp_unsigned("!=", b.and_(child, constant(LPM_NODE, 32)), constant(0, 32))
        b.cbranch(is_node, node, chain)
        b.position_at_end(node)
        matches, inner = self._node(b.and_(child, constant(LPM_NODE - 1, 32)))
        b.cbranch(matches, inside, best_only)
        b.position_at_end(inside)
        below = load(b, I64, inner, 0, align=8)
        here.add_incoming(below, inside)
        before.add_incoming(best, inside)
        b.branch(step)
        # a chain, or its end
        b.position_at_end(chain)
        number = b.phi(I32)
        number.add_incoming(child, step)
        b.cbranch(b.icmp_unsigned("==", number, constant(0, 32)), best_only, verify)
        b.position_at_end(verify)
        entry = at(b, self.entries, b.mul(resize(b, number, 64), i64(self.layout.entry_bytes)))
        b.cbranch(entry_has(b, entry, self.words), found, following)
        b.position_at_end(following)
        number.add_incoming(load(b, I32, entry, ENTRY_NEXT, align=4), following)
        b.branch(chain)
        b.position_at_end(found)
        b.ret(resize(b, number, 64))
        b.position_at_end(best_only)
        is_one = b.icmp_unsigned("!=", best, constant(0, 32))
        b.ret(resize(b, b.select(is_one, best, self.best_above()), 64))

    def _node(self, place: Value) -> tuple[Value, Value]:
        """(does the key have the bits that the node skips, address of the key's slot)."""
        b = self.b
        node = at(b, self.arena, b.mul(resize(b, place, 64), i64(WORD_BYTES)))
        offset, mask, skipped = (
            load(b, I64, node, w * WORD_BYTES, align=8) for w in (NODE_OFFSET, NODE_SKIP_MASK, NODE_SKIPPED)
        )
        window = window_of(b, self.words, self.memory, offset)
        return b.icmp_unsigned("==", b.and_(window, mask), skipped), slot_of(b, node, window)


class _AnyTrie(_Descent):
    """The trie of the other keys."""

    def first_slot(self) -> Value:
        b = self.b
        slot, exists = find_root(b, self.layout, self.record, self.others)
        with b.if_then(b.not_(exists)):
            b.ret(i64(0))
        return load(b, I64, slot, 0, align=8)


class _Outside(_Descent):
    """The trie of keys outside the root."""

    def first_slot(self) -> Value:
        return load(self.b, I64, self.record, TABLE_OUTSIDE * WORD_BYTES, align=8)


class _RootedTrie(_Descent):
    """The one trie, from its root on."""

    def first_slot(self) -> Value:
        b, layout = self.b, self.layout
        if layout.shared_bits:
            with b.if_then(outside(b, layout, self.words)):
                b.ret(b.call(_function(b.module, layout, "outside", _Outside), [self.record, *self.words]))
        slots, self.index = root_slot(b, layout, self.record, self.words)
        entry = at(b, slots, b.mul(self.index, i64(layout.entry_bytes)))
        with b.if_then(entry_has(b, entry, self.words)):
            b.ret(b.add(self.index, i64(SLOTS_FROM)))
        following = load(b, I32, entry, ENTRY_NEXT, align=4)
        with b.if_then(b.icmp_unsigned("!=", b.and_(following, constant(LPM_SURE, 32)), constant(0, 32))):
            b.ret(resize(b, b.and_(following, constant(LPM_SURE - 1, 32)), 64))
        return resize(b, following, 64)

    def best_above(self) -> Value:
        b = self.b
        bests = load(b, PTR, self.record, TABLE_BESTS * WORD_BYTES, align=8)
        return b.load(b.gep(bests, [self.index], source_etype=I32), typ=I32)


def entry_has(b: Builder, entry: Value, words: list[Value]) -> Value:
    """Does the entry's prefix match?"""
    count = len(words)
    if count == 1:
        shift = resize(b, load(b, I16, entry, ENTRY_SHIFT, align=2), 64)
        different = b.xor(words[0], load(b, I64, entry, ENTRY_KEY, align=8))
        return b.icmp_unsigned("==", b.lshr(different, b.and_(shift, i64(WORD_BITS - 1))), i64(0))
    difference: Value = i64(0)
    for i, word in enumerate(words):
        value = load(b, I64, entry, ENTRY_KEY + WORD_BYTES * i, align=8)
        beyond = load(b, I64, entry, ENTRY_KEY + WORD_BYTES * (count + i), align=8)
        difference = b.or_(difference, b.and_(b.xor(word, value), b.not_(beyond)))
    return b.icmp_unsigned("==", difference, i64(0))


def window_of(b: Builder, words: list[Value], memory: Value, offset: Value) -> Value:
    """The 64 bits of the key that start at an offset in bits; zeros follow the key. Keys of more than one word are read
    from ``memory``: the words, and a zero."""
    if len(words) == 1:
        return b.shl(words[0], b.and_(offset, i64(WORD_BITS - 1)))
    first = at(b, memory, b.mul(b.lshr(offset, i64(6)), i64(WORD_BYTES)))
    pair = load(b, I64, first, 0, align=8), load(b, I64, first, WORD_BYTES, align=8)
    return b.call(_funnel(b.module), [*pair, offset])


def _funnel(module: llvm.Module) -> Any:
    """Shift two words left as one and keep the upper; the amount counts modulo 64."""
    name = "llvm.fshl.i64"
    if name not in module.globals:
        llvm.Function(module, llvm.FunctionType(I64, [I64, I64, I64]), name)
    return module.globals[name]
