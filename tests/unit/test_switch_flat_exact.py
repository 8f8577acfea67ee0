"""Exact tables in flat memory: where keys lie, as a search meets them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emulator.p4.table_layout import TABLE_WORDS, ActionLayout, TableLayout, first_slot, hash_words
from emulator.switch.flat_exact import ExactTable
from emulator.switch.mirror import Entry

SIZE = 2048


def make_table(entry_bytes: int) -> ExactTable:
    layout = TableLayout(
        "t", 0, SIZE, (32,), ("exact",), (ActionLayout("hit", ()),), entry_bytes, None, None, None, None
    )
    return ExactTable(layout, np.zeros(TABLE_WORDS, np.uint64))


def entries(count: int) -> list[Entry]:
    keys = random.Random(count).sample(range(1 << 32), count)
    return [Entry(handle, ((key, 0xFFFF_FFFF),), 0, 0, ()) for handle, key in enumerate(keys, 1)]


def steps_to(table: ExactTable, entry: Entry) -> int:
    """How many taken slots a search passes before it finds the entry."""
    mask = table._slots - 1
    slot = first_slot(hash_words((entry.keys[0][0],)), mask, table.layout.begins_in_pairs)
    for steps in range(table._slots):
        handle = table._handle(slot + 1)
        if handle == entry.handle:
            return steps
        assert handle, "a free slot ends the search"
        slot = (slot + 1) & mask
    raise AssertionError("not in the table")


def test_a_full_table_is_searched_in_one_cache_line_nearly_always() -> None:
    table, inserted = make_table(32), entries(SIZE)
    for entry in inserted:
        table.put(entry)
    beyond = sum(steps_to(table, entry) > 1 for entry in inserted)
    assert beyond <= SIZE // 20
    address = int(table.entries.array.ctypes.data)
    first = first_slot(hash_words((inserted[0].keys[0][0],)), table._slots - 1, True)
    assert (address + 32 * (first + 1)) % 64 == 0


@pytest.mark.parametrize("entry_bytes", [16, 32, 64])
def test_what_remains_is_found_after_any_removals(entry_bytes: int) -> None:
    table, source = make_table(entry_bytes), random.Random(entry_bytes)
    inside: dict[int, Entry] = {}
    for entry in entries(2 * SIZE):
        if len(inside) == SIZE or (inside and source.random() < 0.4):
            table.remove(inside.pop(source.choice(list(inside))))
        table.put(entry)
        inside[entry.handle] = entry
    assert len(inside) > SIZE // 2
    for entry in inside.values():
        steps_to(table, entry)
    for entry in inside.values():
        table.remove(entry)
    assert not any(table._handle(number) for number in range(1, table._slots + 1))
