"""Lpm tables in flat memory: entries move between a root's slots and their homes, and nothing is lost on the way."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emulator.p4.table_layout import TABLE_IS_DEEP, TABLE_IS_LARGE, TABLE_WORDS, ActionLayout, TableLayout
from emulator.switch.control import CounterValue
from emulator.switch.tables.lpm.lpm import LpmTable
from emulator.switch.tables.mirror import Entry
from tests.labs.lookup_rig import LookupRig

SHARED = 1 << 125
"""2000::/3"""


def entry(handle: int, value: int, length: int) -> Entry:
    return wide(handle, value, length, 32, ())


def wide(handle: int, value: int, length: int, width: int = 128, params: tuple[int, ...] = (1,)) -> Entry:
    ones = (1 << width) - 1
    mask = ones ^ ones >> length
    return Entry(handle, ((value & mask, mask),), 0, 0, params)


def table_with_counters(size: int = 1024) -> LpmTable:
    layout = TableLayout("t", 0, size, (32,), ("lpm",), (ActionLayout("a", ()),), 64, 32, None, None, None)
    return LpmTable(layout, np.zeros(TABLE_WORDS, np.uint64))


def test_counters_go_with_their_entries() -> None:
    table = table_with_counters()
    inserted = [entry(n, 0x0A000000, length) for n, length in enumerate((24, 28, 26, 32, 30, 29, 4, 0), 1)]
    for e in inserted:
        table.put(e)
        table.set_counter(e.handle, CounterValue(e.handle, 100 * e.handle))
    rest = list(inserted)
    while rest:
        assert [table.counter(e.handle) for e in rest] == [CounterValue(e.handle, 100 * e.handle) for e in rest]
        assert len({table.number(e.handle) for e in rest}) == len(rest)
        table.remove(rest.pop(len(rest) // 2))
    table.put(entry(3, 0x0A000000, 27))
    assert table.counter(3) == CounterValue(0, 0)


def test_an_address_finds_what_lies_in_the_root_and_outside() -> None:
    rig = LookupRig(("lpm",), (128,), 16)
    routes = {
        1: (0, 0),
        2: (0, 1),
        3: (0, 2),
        4: (SHARED, 3),
        5: (SHARED, 20),
        6: (SHARED | 1 << 60, 70),
        7: (7 << 125, 7),
    }
    for handle, (value, length) in routes.items():
        rig.put(wide(handle, value, length))
    questions = (1 << 127, 1 << 126, 1 << 124, SHARED | 1 << 124, SHARED, SHARED | 1 << 60, 7 << 125, 0)
    assert [rig.look_up((q,)) for q in questions] == [1, 2, 3, 4, 5, 6, 7, 3]
    for handle in (3, 5, 2, 4):
        rig.remove(wide(handle, *routes.pop(handle)))
    assert [rig.look_up((q,)) for q in questions] == [1, 1, 1, 1, 1, 6, 7, 1]
    rig.remove(wide(1, 0, 0))
    assert [rig.look_up((q,)) for q in questions] == [0, 0, 0, 0, 0, 6, 7, 0]


@pytest.mark.parametrize(("block_bits", "deep"), [(0, 0), (10, 1)])
def test_searches_are_done_ahead_where_entries_crowd(block_bits: int, deep: int) -> None:
    table, source = table_with_counters(), random.Random(block_bits)
    values = source.sample(range(1 << 24 - block_bits), 1024)
    inserted = [entry(n, value << 8, 24) for n, value in enumerate(values, 1)]
    for e in inserted:
        table.put(e)
    assert (int(table.record[TABLE_IS_LARGE]), int(table.record[TABLE_IS_DEEP])) == (1, deep)
    for e in inserted:
        table.remove(e)
    assert (int(table.record[TABLE_IS_LARGE]), int(table.record[TABLE_IS_DEEP])) == (0, 0)


def test_a_route_for_everything_makes_a_table_large() -> None:
    """Every slot of the root may be read."""
    table = table_with_counters()
    table.put(entry(1, 0, 0))
    assert table.record[TABLE_IS_LARGE] == 1
