"""The compiled side of a table look-up: keys into the form that the table's search wants, then the search."""

from __future__ import annotations

from emulator.p4.llvm.bits import Builder, Value, constant, resize
from emulator.p4.llvm.lookup_exact import exact_function, first_slot
from emulator.p4.llvm.lookup_lpm import first_node, first_root, lpm_function, step_function
from emulator.p4.llvm.lookup_masked import masked_function
from emulator.p4.table_layout import WORD_BITS, Search, TableLayout


def emit_first_touch(b: Builder, layout: TableLayout, record: Value, keys: list[Value]) -> Value:
    """Address of what a look-up reads first of the memory that grows with an exact or lpm table."""
    if layout.search is Search.EXACT:
        return first_slot(b, layout, record, _words(b, _packed(b, layout, keys, layout.order), layout.key_words))
    *others, lpm = layout.order
    if others:
        return first_root(b, layout, record, _words(b, _packed(b, layout, keys, tuple(others)), layout.other_words))
    return first_node(b, record, _from_the_top(b, keys[lpm]))


def emit_step(b: Builder, layout: TableLayout, record: Value, keys: list[Value], place: Value) -> Value:
    """One step further into an lpm table, see ``lookup_lpm.step_function``."""
    return b.call(step_function(b.module, layout), [record, *_from_the_top(b, keys[layout.order[-1]]), place])


def emit_lookup(b: Builder, layout: TableLayout, record: Value, keys: list[Value]) -> Value:
    """Number of the best entry that matches, 0 if none. ``keys`` are the match keys, at least one."""
    match layout.search:
        case Search.EXACT:
            words = _words(b, _packed(b, layout, keys, layout.order), layout.key_words)
            return b.call(exact_function(b.module, layout), [record, *words])
        case Search.LPM:
            *others, lpm = layout.order
            words = _words(b, _packed(b, layout, keys, tuple(others)), layout.other_words) if others else []
            return b.call(lpm_function(b.module, layout), [record, *words, *_from_the_top(b, keys[lpm])])
        case Search.MASKED:
            return b.call(masked_function(b.module, layout), [record, *keys])


def _packed(b: Builder, layout: TableLayout, keys: list[Value], positions: tuple[int, ...]) -> Value:
    """Some keys side by side, the first most significant, in whole words."""
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
