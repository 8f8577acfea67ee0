"""A parser value set in flat memory: an exact table whose entries do nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.p4.table_layout import TableLayout
from emulator.switch.flat_exact import ExactTable
from emulator.switch.tables import Entry


class ValueSet:
    def __init__(self, layout: TableLayout, record: NDArray[np.uint64]) -> None:
        self._layout, self._record = layout, record
        self.fill(())

    def fill(self, members: tuple[tuple[int, ...], ...]) -> None:
        """Instead of what it holds."""
        self._table = ExactTable(self._layout, self._record)
        for handle, values in enumerate(dict.fromkeys(members), 1):
            self._table.put(Entry(handle, tuple((value, value) for value in values), 0, 0, ()))
