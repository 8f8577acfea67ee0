"""A parser value set in flat memory: a table whose entries do nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.p4.table_layout import TableLayout
from emulator.switch.tables.flat_tables import make_flat_table
from emulator.switch.tables.mirror import Entry
from emulator.v1model.view import KeyParts


class ValueSet:
    def __init__(self, layout: TableLayout, record: NDArray[np.uint64]) -> None:
        self._layout, self._record = layout, record
        self.fill(())

    def fill(self, members: tuple[KeyParts, ...]) -> None:
        """Instead of what it holds."""
        self._table = make_flat_table(self._layout, self._record)
        for handle, keys in enumerate(dict.fromkeys(members), 1):
            self._table.put(Entry(handle, keys, 0, 0, ()))
