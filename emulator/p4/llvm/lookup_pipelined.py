"""Look-ups in lpm tables done ahead, for a group of packets side by side, so that their waits for memory overlap.

Each packet has a *cell*: the key, the place that its search has reached, in the end the entry's number. The look-up in
the packet's turn then only compares keys; a packet whose key is another by then is looked up as if nothing had been
done.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir as llvm

from emulator.p4.layout import WORD_BYTES
from emulator.p4.llvm.bits import I64, PTR, Builder, Value, at, i64, load, prefetch, store
from emulator.p4.llvm.lookup_lpm import Place, find_root, first_root, outside, root_slot, top_slot
from emulator.p4.table_layout import SLOTS_FROM, TABLE_ENTRIES, TableLayout

CELL_PLACE = 0
"""The place that the search has reached, a slot's or entry's number; `FOUND` at its end."""
CELL_NUMBER = 1
"""The longest prefix so far."""
CELL_KEY = 2
"""The other keys' words, the lpm key's, and a zero if that has several."""
AT_ROOT = 1 << 63
"""The trie is not known yet: the search has only prefetched the place that leads to it."""
FOUND = 0


def cell_bytes(layout: TableLayout) -> int:
    return WORD_BYTES * (CELL_KEY + layout.other_words + layout.lpm_words + 1)


def begin(b: Builder, layout: TableLayout, record: Value, cell: Value, others: list[Value], words: list[Value]) -> None:
    """The first step: prefetch the memory that the search reads first."""
    if layout.has_root:
        slots, index = root_slot(b, layout, record, words)
        prefetch(b, at(b, slots, b.mul(index, i64(layout.entry_bytes))))
        return
    prefetch(b, first_root(b, layout, record, others))
    _begin_cell(b, cell, [*others, *words], i64(AT_ROOT), i64(0))


def begin_below(b: Builder, layout: TableLayout, record: Value, cell: Value, words: list[Value]) -> None:
    """The second step from a root; its slot has been fetched."""
    _, index = root_slot(b, layout, record, words)
    _begin_cell(b, cell, words, i64(FOUND), i64(0))
    following = _go_on(b, layout, record, cell, b.add(index, i64(SLOTS_FROM)), i64(0), words)
    if layout.shared_bits:
        # another key's slot
        is_outside = outside(b, layout, words)
        following = b.select(is_outside, i64(FOUND), following)
        _put(b, cell, CELL_NUMBER, b.select(is_outside, i64(0), _get(b, cell, CELL_NUMBER)))
    _put(b, cell, CELL_PLACE, following)


def _go_on(
    b: Builder, layout: TableLayout, record: Value, cell: Value, number: Value, best: Value, words: list[Value]
) -> Value:
    """A step from a slot or an entry in the cache: the place to continue at, FOUND when the match is known. A
    branch on what it finds would be mispredicted, so there is none."""
    entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)
    place = Place(b, layout, entries, number, words)
    below = place.below(words, at(b, cell, (CELL_KEY + layout.other_words) * WORD_BYTES))
    is_entry, linked = b.not_(place.leads_to_branch), place.linked()
    here = b.and_(place.matches, is_entry)
    best = b.select(is_entry, best, place.best(best))
    best = b.select(here, number, b.select(place.is_sure, linked, best))
    following = b.select(b.or_(place.matches, place.is_sure), i64(FOUND), linked)
    following = b.select(is_entry, following, b.select(place.matches, below, i64(FOUND)))
    _put(b, cell, CELL_NUMBER, best)
    going = b.icmp_unsigned("!=", following, i64(FOUND))
    prefetch(b, at(b, entries, b.mul(b.select(going, following, best), i64(layout.entry_bytes))))
    return following


def forget(b: Builder, cell: Value) -> None:
    """No look-up is done ahead for this packet."""
    for word in (CELL_PLACE, CELL_NUMBER):
        _put(b, cell, word, i64(0))


def _begin_cell(b: Builder, cell: Value, words: list[Value], place: Value, number: Value) -> None:
    for i, word in enumerate(words):
        _put(b, cell, CELL_KEY + i, word)
    if len(words) > 1:
        _put(b, cell, CELL_KEY + len(words), i64(0))
    _put(b, cell, CELL_NUMBER, number)
    _put(b, cell, CELL_PLACE, place)


def found_ahead(b: Builder, cell: Value, words: Sequence[Value]) -> Value:
    """Is this key's entry in the cell? Of a miss nothing is."""
    different: Value = i64(0)
    for i, word in enumerate(words):
        different = b.or_(different, b.xor(word, _get(b, cell, CELL_KEY + i)))
    is_one = b.icmp_unsigned("!=", _get(b, cell, CELL_NUMBER), i64(0))
    return b.and_(is_one, b.icmp_unsigned("==", different, i64(0)))


def advance_function(module: llvm.Module, layout: TableLayout) -> Value:
    """``i64 place(ptr record, ptr cell, i64 place)``: one step of a search whose place is in the cache, to the next
    one, which it prefetches and returns. The result equals that of ``lookup_lpm.lpm_function``."""
    name = f"advance_lpm_{layout.other_words}_{layout.lpm_words}_{layout.shared_bits}_{layout.entry_bytes}"
    if name not in module.globals:
        function = llvm.Function(module, llvm.FunctionType(I64, [PTR, PTR, I64]), name)
        function.linkage = "internal"
        _Advance(layout, function).write()
    return module.globals[name]


class _Advance:
    def __init__(self, layout: TableLayout, function: llvm.Function) -> None:
        self.layout = layout
        self.record, self.cell, self.place = function.args
        b = self.b = llvm.IRBuilder(function.append_basic_block("entry"))
        first = CELL_KEY + layout.other_words
        self.others = [_get(b, self.cell, CELL_KEY + i) for i in range(layout.other_words)]
        self.words = [_get(b, self.cell, first + i) for i in range(layout.lpm_words)]

    def write(self) -> None:
        b = self.b
        if self.others:
            with b.if_then(b.icmp_unsigned("==", self.place, i64(AT_ROOT))):
                self._at_root()
        best = _get(b, self.cell, CELL_NUMBER)
        b.ret(_go_on(b, self.layout, self.record, self.cell, self.place, best, self.words))

    def _at_root(self) -> None:
        b = self.b
        reference, exists = find_root(b, self.layout, self.record, self.others)
        with b.if_then(b.not_(exists)):
            b.ret(i64(FOUND))
        slot = top_slot(b, reference, self.words, at(b, self.cell, (CELL_KEY + self.layout.other_words) * WORD_BYTES))
        entries = load(b, PTR, self.record, TABLE_ENTRIES * WORD_BYTES, align=8)
        prefetch(b, at(b, entries, b.mul(slot, i64(self.layout.entry_bytes))))
        b.ret(slot)


def _get(b: Builder, cell: Value, word: int) -> Value:
    return load(b, I64, cell, word * WORD_BYTES, align=8)


def _put(b: Builder, cell: Value, word: int, value: Value) -> None:
    store(b, value, cell, word * WORD_BYTES, align=8)
