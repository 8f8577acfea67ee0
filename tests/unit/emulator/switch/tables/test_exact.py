"""Exact tables in flat memory: where keys lie, as a search meets them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emulator.p4.table_layout import (
    SLOTS_FROM,
    TABLE_WORDS,
    ActionLayout,
    TableLayout,
    first_slot,
    slot_after,
    steps_to,
)
from emulator.switch.tables.exact import ExactTable
from emulator.switch.tables.mirror import Entry

SIZE = 2048


def make_table(entry_bytes: int) -> ExactTable:
    layout = TableLayout(
        "t", 0, SIZE, (32,), ("exact",), (ActionLayout("hit", ()),), entry_bytes, None, None, None, None
    )
    return ExactTable(layout, np.zeros(TABLE_WORDS, np.uint64))


def entries(count: int) -> list[Entry]:
    keys = random.Random(count).sample(range(1 << 32), count)
    return [Entry(handle, ((key, 0xFFFF_FFFF),), 0, 0, ()) for handle, key in enumerate(keys, 1)]


def distance_to(table: ExactTable, entry: Entry) -> int:
    """How many taken slots a search passes before it finds the entry."""
    home = first_slot((entry.keys[0][0],), table._shift)
    for steps in range(table._slots):
        slot = slot_after(home, steps, table._slots - 1)
        assert steps_to(home, slot, table._slots - 1) == steps
        handle = table._handle(slot)
        if handle == entry.handle:
            return steps
        assert handle, "a free slot ends the search"
    raise AssertionError("not in the table")


def test_a_full_table_is_searched_at_one_place_nearly_always() -> None:
    table, inserted = make_table(32), entries(SIZE)
    for entry in inserted:
        table.put(entry)
    distances = [distance_to(table, entry) for entry in inserted]
    assert sum(distance > 0 for distance in distances) <= SIZE // 7
    assert sum(distance > 1 for distance in distances) <= SIZE // 20
    address = int(table.entries.array.ctypes.data)
    assert (address + 32 * SLOTS_FROM) % 64 == 0, "pairs of slots share a line"


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
        distance_to(table, entry)
    for entry in inside.values():
        table.remove(entry)
    assert not any(table._handle(slot) for slot in range(table._slots))
