"""Lpm tables: down a trie, remembering the longest prefix seen; see ``emulator.p4.table_layout``.

The key is in words, the first bit on top; keys of more than one word are in memory for the time of the search, for
a branch may look at any bits of them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4.layout import WORD_BYTES
from emulator.p4.llvm.bits import I16, I32, I64, PTR, Builder, Value, at, constant, i64, load, resize, store
from emulator.p4.llvm.lookup_exact import hash_of, probe
from emulator.p4.table_layout import (
    BRANCH_BITS,
    ENTRY_ACTION,
    ENTRY_KEY,
    ENTRY_NEXT,
    ENTRY_SHIFT,
    LPM_BRANCH,
    LPM_SURE,
    PREFIX_SLOT_BITMAP,
    PREFIX_SLOT_HEADER_WORDS,
    PREFIX_SLOT_PLACE,
    SHARED,
    SLOTS_FROM,
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
    """(address of what leads to the branch at the top of the trie of these other keys, is there one)."""
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


def in_branch(b: Builder, start: Value, place: Value, bitmap: Value, words: list[Value], memory: Value) -> Value:
    """Number of the key's slot in the branch at that bit of the key, with that first slot and bitmap. ``memory`` as in
    ``window_of``."""
    part = b.lshr(window_of(b, words, memory, start), i64(WORD_BITS - BRANCH_BITS))
    begun = b.and_(bitmap, b.sub(b.shl(i64(2), part), i64(1)))
    return b.sub(b.add(place, b.ctpop(begun)), i64(1))


def top_slot(b: Builder, reference: Value, words: list[Value], memory: Value) -> Value:
    """The same in the branch at a trie's top; ``reference``: address of what leads to it."""
    place, bitmap = (load(b, I64, reference, w * WORD_BYTES, align=8) for w in (PREFIX_SLOT_PLACE, PREFIX_SLOT_BITMAP))
    return in_branch(b, i64(0), place, bitmap, words, memory)


def outside_branch(b: Builder, record: Value) -> tuple[Value, Value]:
    """As ``find_root``, of the trie of what is ``outside``."""
    reference = at(b, record, TABLE_OUTSIDE * WORD_BYTES)
    place = load(b, I64, reference, PREFIX_SLOT_PLACE * WORD_BYTES, align=8)
    return reference, b.icmp_unsigned("!=", place, i64(0))


class Place:
    """A slot or an entry of a chain, compared with a key."""

    def __init__(self, b: Builder, layout: TableLayout, entries: Value, number: Value, words: list[Value]) -> None:
        self.b, self.layout, self.number = b, layout, number
        self.entry = at(b, entries, b.mul(number, i64(layout.entry_bytes)))
        self.matches = entry_has(b, self.entry, words)
        self._link = load(b, I32, self.entry, ENTRY_NEXT, align=4)
        self.leads_to_branch = self._has(LPM_BRANCH)
        self.is_sure = self._has(LPM_SURE)

    def _has(self, mark: int) -> Value:
        return self.b.icmp_unsigned("!=", self.b.and_(self._link, constant(mark, 32)), constant(0, 32))

    def linked(self) -> Value:
        """The number in the link."""
        return resize(self.b, self.b.and_(self._link, constant(LPM_SURE - 1, 32)), 64)

    def best(self, before: Value) -> Value:
        """The longest prefix known after a place that leads to a branch."""
        own = resize(self.b, load(self.b, I32, self.entry, ENTRY_ACTION, align=4), 64)
        return self.b.select(self.b.icmp_unsigned("!=", own, i64(0)), own, before)

    def below(self, words: list[Value], memory: Value) -> Value:
        """The key's slot in the branch that this leads to; any number if it leads to none."""
        b, layout = self.b, self.layout
        start = resize(b, load(b, I32, self.entry, layout.branch_start, align=4), 64)
        start = b.select(self.leads_to_branch, start, i64(0))  # an entry has parameters there
        bitmap = load(b, I64, self.entry, layout.branch_bitmap, align=8)
        return in_branch(b, start, self.linked(), bitmap, words, memory)


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
        self.entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)

    def first(self) -> Value:
        """Number of the slot where the search begins; may answer already."""
        raise NotImplementedError

    def best_above(self) -> Value:
        """What to answer if nothing below that slot matches."""
        return i64(0)

    def write(self) -> None:
        """All of the function."""
        b = self.b
        step, same, inside, matched, other, diverged, nothing, following, end = (
            b.function.append_basic_block(n)
            for n in ("step", "same", "inside", "matched", "other", "diverged", "nothing", "following", "end")
        )
        first = self.first()
        before = b.block
        b.branch(step)
        b.position_at_end(step)
        number, best = b.phi(I64), b.phi(I64)
        place = Place(b, self.layout, self.entries, number, self.words)
        b.cbranch(place.matches, same, other)
        b.position_at_end(same)
        b.cbranch(place.leads_to_branch, inside, matched)
        b.position_at_end(inside)
        below, best_inside = place.below(self.words, self.memory), place.best(best)
        b.branch(step)
        b.position_at_end(matched)
        b.ret(number)
        # an entry with another prefix, or a branch
        b.position_at_end(other)
        with b.if_then(place.is_sure):
            b.ret(place.linked())
        b.cbranch(place.leads_to_branch, diverged, following)
        b.position_at_end(following)
        linked = place.linked()
        b.cbranch(b.icmp_unsigned("==", linked, i64(0)), nothing, step)
        b.position_at_end(diverged)
        best_diverged = place.best(best)
        b.branch(end)
        b.position_at_end(nothing)
        b.branch(end)
        for node, at_first, at_inside, at_following in (
            (number, first, below, linked),
            (best, i64(0), best_inside, best),
        ):
            node.add_incoming(at_first, before)
            node.add_incoming(at_inside, inside)
            node.add_incoming(at_following, following)
        b.position_at_end(end)
        answer = b.phi(I64)
        answer.add_incoming(best_diverged, diverged)
        answer.add_incoming(best, nothing)
        with b.if_then(b.icmp_unsigned("!=", answer, i64(0))):
            b.ret(answer)
        b.ret(self.best_above())


class _AnyTrie(_Descent):
    """The trie of the other keys."""

    def first(self) -> Value:
        return self._below_top(*find_root(self.b, self.layout, self.record, self.others))

    def _below_top(self, reference: Value, exists: Value) -> Value:
        with self.b.if_then(self.b.not_(exists)):
            self.b.ret(i64(0))
        return top_slot(self.b, reference, self.words, self.memory)


class _Outside(_AnyTrie):
    """The trie of keys outside the root."""

    def first(self) -> Value:
        return self._below_top(*outside_branch(self.b, self.record))


class _RootedTrie(_Descent):
    """The one trie, from its root on."""

    def first(self) -> Value:
        b, layout = self.b, self.layout
        if layout.shared_bits:
            with b.if_then(outside(b, layout, self.words)):
                b.ret(b.call(_function(b.module, layout, "outside", _Outside), [self.record, *self.words]))
        _, self.index = root_slot(b, layout, self.record, self.words)
        return b.add(self.index, i64(SLOTS_FROM))

    def best_above(self) -> Value:
        b = self.b
        bests = load(b, PTR, self.record, TABLE_BESTS * WORD_BYTES, align=8)
        return resize(b, b.load(b.gep(bests, [self.index], source_etype=I32), typ=I32), 64)


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
