"""The flat table that a layout asks for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.p4.table_layout import Search, TableLayout
from emulator.switch.tables.exact import ExactTable
from emulator.switch.tables.flat_table import FlatTable
from emulator.switch.tables.lpm.lpm import LpmTable
from emulator.switch.tables.masked import MaskedTable

TABLES: dict[Search, type[FlatTable]] = {
    Search.EXACT: ExactTable,
    Search.LPM: LpmTable,
    Search.MASKED: MaskedTable,
}


def make_flat_table(layout: TableLayout, record: NDArray[np.uint64]) -> FlatTable:
    """An empty one; ``record`` are the table's words in the table area."""
    return TABLES[layout.search](layout, record)
