"""The compiled side of a table look-up: keys in the form that the table's search takes, then the search."""

from __future__ import annotations

from emulator.p4.layout import WORD_BYTES
from emulator.p4.llvm.bits import I64, Builder, Value, constant, i64, load, resize
from emulator.p4.llvm.lookup_exact import exact_function, prefetch_exact
from emulator.p4.llvm.lookup_lpm import lpm_function
from emulator.p4.llvm.lookup_masked import masked_function
from emulator.p4.llvm.lookup_pipelined import CELL_NUMBER, begin, begin_below, found_ahead
from emulator.p4.table_layout import TABLE_IS_DEEP, WORD_BITS, Search, TableLayout


def emit_prefetch(b: Builder, layout: TableLayout, record: Value, keys: list[Value], cell: Value | None) -> None:
    """Begin a look-up ahead of its packet: prefetch the memory that it reads first. Lpm tables have a ``cell``."""
    if cell is None:
        words = _words(b, _packed(b, layout, keys, layout.order), layout.key_words)
        prefetch_exact(b, layout, record, words)
    else:
        begin(b, layout, record, cell, *_lpm_words(b, layout, keys))


def emit_lookup(b: Builder, layout: TableLayout, record: Value, keys: list[Value], cell: Value | None = None) -> Value:
    """Number of the best entry that matches, 0 if none. ``keys`` are the match keys, at least one; ``cell``: where
    the packet's search may have been done ahead."""
    match layout.search:
        case Search.EXACT:
            words = _words(b, _packed(b, layout, keys, layout.order), layout.key_words)
            return b.call(exact_function(b.module, layout), [record, *words])
        case Search.LPM:
            others, lpm = _lpm_words(b, layout, keys)
            if cell is None:
                return b.call(lpm_function(b.module, layout), [record, *others, *lpm])
            return _lpm_ahead(b, layout, record, [*others, *lpm], cell)
        case Search.MASKED:
            return b.call(masked_function(b.module, layout), [record, *keys])


def _lpm_words(b: Builder, layout: TableLayout, keys: list[Value]) -> tuple[list[Value], list[Value]]:
    """(words of the other keys, words of the lpm key)."""
    *others, lpm = layout.order
    words = _words(b, _packed(b, layout, keys, tuple(others)), layout.other_words) if others else []
    return words, _from_the_top(b, keys[lpm])


def emit_second_step(b: Builder, layout: TableLayout, record: Value, keys: list[Value], cell: Value) -> None:
    """The second step in tables with a root, after the first one's memory has been fetched."""
    _, lpm = _lpm_words(b, layout, keys)
    begin_below(b, layout, record, cell, lpm)


def _lpm_ahead(b: Builder, layout: TableLayout, record: Value, words: list[Value], cell: Value) -> Value:
    ahead, known, search, end = (b.function.append_basic_block(n) for n in ("ahead", "known", "search", "looked_up"))
    is_deep = load(b, I64, record, TABLE_IS_DEEP * WORD_BYTES, align=8)
    b.cbranch(b.icmp_unsigned("!=", is_deep, i64(0)), ahead, search)
    b.position_at_end(ahead)
    b.cbranch(found_ahead(b, cell, words), known, search)
    b.position_at_end(known)
    found_number = load(b, I64, cell, CELL_NUMBER * WORD_BYTES, align=8)
    b.branch(end)
    b.position_at_end(search)
    searched = b.call(lpm_function(b.module, layout), [record, *words])
    b.branch(end)
    b.position_at_end(end)
    number = b.phi(I64)
    number.add_incoming(found_number, known)
    number.add_incoming(searched, search)
    return number


def _packed(b: Builder, layout: TableLayout, keys: list[Value], positions: tuple[int, ...]) -> Value:
    """Several keys concatenated, the first most significant, in whole words."""
    total = sum(layout.key_widths_bits[p] for p in positions)
    width = -(-total // WORD_BITS) * WORD_BITS
    packed, below = constant(0, width), total
    for position in positions:
        below -= layout.key_widths_bits[position]
        packed = b.or_(packed, b.shl(resize(b, keys[position], width), constant(below, width)))
    return packed


def _words(b: Builder, packed: Value, count: int) -> list[Value]:
    """Least significant first."""
    width = packed.type.width
    return [resize(b, b.lshr(packed, constant(WORD_BITS * i, width)), WORD_BITS) for i in range(count)]


def _from_the_top(b: Builder, key: Value) -> list[Value]:
    """A key's words, most significant first; it begins at the top of the first."""
    count = -(-key.type.width // WORD_BITS)
    width = count * WORD_BITS
    wide = b.shl(resize(b, key, width), constant(width - key.type.width, width))
    return _words(b, wide, count)[::-1]
