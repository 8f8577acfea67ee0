"""Flat memory for a table or a parser value set: the structure that its layout names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.p4.table_layout import Search, TableLayout
from emulator.switch.tables.exact import ExactTable
from emulator.switch.tables.flat_table import FlatTable
from emulator.switch.tables.lpm.lpm import LpmTable
from emulator.switch.tables.masked import MaskedTable
from emulator.switch.tables.mirror import Entry
from emulator.v1model.control_view import KeyParts

TABLES: dict[Search, type[FlatTable]] = {
    Search.EXACT: ExactTable,
    Search.LPM: LpmTable,
    Search.MASKED: MaskedTable,
}


def make_flat_table(layout: TableLayout, record: NDArray[np.uint64]) -> FlatTable:
    """An empty one; ``record`` are the table's words in the table area."""
    return TABLES[layout.search](layout, record)


class ValueSet:
    """A table of entries without actions."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64]) -> None:
        self._layout, self._record = layout, record
        self.fill(())

    def fill(self, members: tuple[KeyParts, ...]) -> None:
        """Replace all members."""
        self._table = make_flat_table(self._layout, self._record)
        for handle, keys in enumerate(dict.fromkeys(members), 1):
            self._table.put(Entry(handle, keys, 0, 0, ()))
