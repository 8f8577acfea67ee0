"""Look-ups in lpm tables done ahead, for a group of packets side by side, so that their waits for memory overlap.

Each packet has a *cell*: the key, where its search stands, in the end the entry's number. The look-up in the packet's
turn then only compares keys; a packet whose key is another by then is looked up as if nothing had been done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir as llvm

from emulator.p4.layout import WORD_BYTES
from emulator.p4.llvm.bits import I32, I64, PTR, Builder, Value, at, i64, load, prefetch, resize, store
from emulator.p4.llvm.lookup_lpm import entry_has, find_root, first_root, outside, root_slot, slot_of, window_of
from emulator.p4.table_layout import (
    ENTRY_NEXT,
    LPM_BEST,
    LPM_CHILD,
    LPM_NODE,
    LPM_SURE,
    NODE_OFFSET,
    NODE_SKIP_MASK,
    NODE_SKIPPED,
    SLOTS_FROM,
    TABLE_ARENA,
    TABLE_ENTRIES,
    TableLayout,
)

CELL_PLACE = 0
"""Where the search stands, a slot's address or one of the marks below; `FOUND` at its end."""
CELL_NUMBER = 1
"""The longest prefix so far."""
CELL_KEY = 2
"""The other keys' words, the lpm key's, and a zero if that has several."""
IS_NODE, IS_ENTRY, IS_ROOT = 1 << 63, 1 << 62, 1 << 61
"""Marks: a node's place in the arena, an entry's number, nothing yet but the place to look for the trie."""
FOUND = 0


def cell_bytes(layout: TableLayout) -> int:
    return WORD_BYTES * (CELL_KEY + layout.other_words + layout.lpm_words + 1)


def begin(b: Builder, layout: TableLayout, record: Value, cell: Value, others: list[Value], words: list[Value]) -> None:
    """The first step: ask for the memory that the search reads first."""
    if layout.has_root:
        slots, index = root_slot(b, layout, record, words)
        prefetch(b, at(b, slots, b.mul(index, i64(layout.entry_bytes))))
        return
    prefetch(b, first_root(b, layout, record, others))
    _begin_cell(b, cell, [*others, *words], i64(IS_ROOT), i64(0))


def begin_below(b: Builder, layout: TableLayout, record: Value, cell: Value, words: list[Value]) -> None:
    """The second step from a root, whose slot has come: most searches end there, in its entry or its best. Which of
    them, and whether, no processor could foretell: so only what goes on takes a branch."""
    slots, index = root_slot(b, layout, record, words)
    entry = at(b, slots, b.mul(index, i64(layout.entry_bytes)))
    here = entry_has(b, entry, words)
    following = resize(b, load(b, I32, entry, ENTRY_NEXT, align=4), 64)
    number = b.select(here, b.or_(b.add(index, i64(SLOTS_FROM)), i64(LPM_SURE)), following)
    if layout.shared_bits:
        # another key's slot
        beside = outside(b, layout, words)
        number, following = b.select(beside, i64(0), number), b.select(beside, i64(0), following)
    is_sure = b.icmp_unsigned("!=", b.and_(number, i64(LPM_SURE)), i64(0))
    number = b.select(is_sure, b.and_(number, i64(LPM_SURE - 1)), i64(0))
    _begin_cell(b, cell, words, i64(FOUND), number)
    with b.if_then(b.icmp_unsigned("==", number, i64(0)), likely=False):
        _put(b, cell, CELL_PLACE, to_below(b, layout, record, following))


def to_below(b: Builder, layout: TableLayout, record: Value, child: Value) -> Value:
    """Ask for a node or a chain's next entry; the place that it is."""
    arena, entries = (load(b, PTR, record, word * WORD_BYTES, align=8) for word in (TABLE_ARENA, TABLE_ENTRIES))
    number = b.and_(child, i64(LPM_NODE - 1))
    is_node = b.icmp_unsigned("!=", number, child)
    size = b.select(is_node, i64(WORD_BYTES), i64(layout.entry_bytes))
    prefetch(b, at(b, b.select(is_node, arena, entries), b.mul(number, size)))
    place = b.or_(number, b.select(is_node, i64(IS_NODE), i64(IS_ENTRY)))
    return b.select(b.icmp_unsigned("==", child, i64(0)), i64(FOUND), place)


def forget(b: Builder, cell: Value) -> None:
    """Nothing is found ahead of this packet."""
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
    one, which it asks for and answers. It does as ``lookup_lpm.lpm_function``."""
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
        self.arena, self.entries = (
            load(b, PTR, self.record, word * WORD_BYTES, align=8) for word in (TABLE_ARENA, TABLE_ENTRIES)
        )
        first = CELL_KEY + layout.other_words
        self.others = [_get(b, self.cell, CELL_KEY + i) for i in range(layout.other_words)]
        self.words = [_get(b, self.cell, first + i) for i in range(layout.lpm_words)]
        self.key = at(b, self.cell, first * WORD_BYTES)
        self.number = b.and_(self.place, i64(IS_ROOT - 1))

    def write(self) -> None:
        b = self.b
        if self.others:
            self._when(IS_ROOT, self._at_root)
        self._when(IS_NODE, self._at_node)
        self._when(IS_ENTRY, self._at_entry)
        slot = load(b, I64, b.inttoptr(self.place, PTR), 0, align=8)
        best = resize(b, b.trunc(b.lshr(slot, i64(8 * LPM_BEST)), I32), 64)
        with b.if_then(b.icmp_unsigned("!=", best, i64(0))):
            _put(b, self.cell, CELL_NUMBER, best)
        child = resize(b, b.trunc(b.lshr(slot, i64(8 * LPM_CHILD)), I32), 64)
        b.ret(to_below(b, self.layout, self.record, child))

    def _when(self, mark: int, emit: Callable[[], None]) -> None:
        with self.b.if_then(self.b.icmp_unsigned("!=", self.b.and_(self.place, i64(mark)), i64(0))):
            emit()

    def _at_root(self) -> None:
        b = self.b
        slot, exists = find_root(b, self.layout, self.record, self.others)
        b.ret(b.select(exists, b.ptrtoint(slot, I64), i64(FOUND)))

    def _at_node(self) -> None:
        b = self.b
        node = at(b, self.arena, b.mul(self.number, i64(WORD_BYTES)))
        offset, mask, skipped = (
            load(b, I64, node, word * WORD_BYTES, align=8) for word in (NODE_OFFSET, NODE_SKIP_MASK, NODE_SKIPPED)
        )
        window = window_of(b, self.words, self.key, offset)
        slot = slot_of(b, node, window)
        prefetch(b, slot)
        inside = b.icmp_unsigned("==", b.and_(window, mask), skipped)
        b.ret(b.select(inside, b.ptrtoint(slot, I64), i64(FOUND)))

    def _at_entry(self) -> None:
        b = self.b
        entry = at(b, self.entries, b.mul(self.number, i64(self.layout.entry_bytes)))
        with b.if_then(entry_has(b, entry, self.words)):
            _put(b, self.cell, CELL_NUMBER, self.number)
            b.ret(i64(FOUND))
        following = load(b, I32, entry, ENTRY_NEXT, align=4)
        b.ret(to_below(b, self.layout, self.record, resize(b, following, 64)))


def _get(b: Builder, cell: Value, word: int) -> Value:
    return load(b, I64, cell, word * WORD_BYTES, align=8)


def _put(b: Builder, cell: Value, word: int, value: Value) -> None:
    store(b, value, cell, word * WORD_BYTES, align=8)
