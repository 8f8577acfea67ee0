"""A match table in flat memory: the mirror of what the control plane did, for compiled code to read.

Changes are deltas: an insertion or deletion writes one entry and its place in the search structure, whatever the
table's size. The caller keeps the data plane still during a change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, aligned_bytes
from emulator.p4.table_layout import MEMBERS_BYTES, NOTHING_RUN, TABLE_IS_DEEP, TABLE_IS_LARGE, TableLayout
from emulator.switch.control import CounterValue, MeterConfig, MeterCounts
from emulator.switch.memory import configure_meter, counts_in, set_counts_in
from emulator.switch.profiles import Call
from emulator.switch.tables.entries import Entries
from emulator.switch.tables.mirror import Entry
from emulator.v1model.meters import METER_BYTES

NEAR_BYTES = 16 << 10
"""Half of a first-level cache: tables with more entries wait for memory now and then."""


class FlatTable(ABC):
    """What the searches have in common; ``record`` are the table's words in the table area. See ``mirror.Mirror``."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64], entries: int | None = None) -> None:
        self.layout = layout
        self.record = record
        self.entries = Entries(layout, record, layout.size if entries is None else entries)
        self._entries = 0
        self._near_entries = NEAR_BYTES // layout.entry_bytes
        self._how = (False, False)
        """As the record says: large, deep."""
        self._selections: dict[int, tuple[NDArray[np.uint64], NDArray[np.uint8]]] = {}
        if layout.members is not None:
            self.entries.write(0, 0, 0, NOTHING_RUN, ())

    @abstractmethod
    def number(self, handle: int) -> int:
        """Number of an entry that is in the table, else 0."""

    @abstractmethod
    def insert(self, entry: Entry) -> None:
        """Into the search structure, with `write_entry`."""

    @abstractmethod
    def take_out(self, entry: Entry) -> None:
        """Remove the entry from the search structure."""

    # --- Mirror ---------------------------------------------------------------------------------------------------

    def put_default(self, action: int, params: tuple[int, ...]) -> None:
        self.entries.write(0, 0, 0, action, params)

    def put(self, entry: Entry) -> None:
        number = self.number(entry.handle)
        if number:
            self.write_entry(number, entry)
        else:
            self.insert(entry)
            self._count(1)

    def remove(self, entry: Entry) -> None:
        self.take_out(entry)
        self._count(-1)

    def _count(self, change: int) -> None:
        """That many more places that a search may read."""
        self._entries += change
        is_large = self._entries > self._near_entries
        how = is_large, is_large and self.is_deep()
        if how != self._how:
            self._how = how
            self.record[TABLE_IS_LARGE], self.record[TABLE_IS_DEEP] = how

    def is_deep(self) -> bool:
        """Do many searches go on from the first place they read to others?"""
        return False

    def key_of(self, entry: Entry) -> int:
        """What an entry holds of its key, as one number."""
        return 0

    def tag_of(self, entry: Entry) -> int:
        """The second half of the entry's header."""
        return entry.handle

    def write_entry(self, number: int, entry: Entry) -> None:
        """All but the counters."""
        self.write_keyed(number, entry, self.key_of(entry))

    def write_keyed(self, number: int, entry: Entry, key: int) -> None:
        """``key``: that of `key_of`."""
        if entry.through is None:
            self.entries.write(number, self.tag_of(entry), key, entry.action, entry.params)
            return
        assert self.layout.members is not None
        self.entries.write(number, self.tag_of(entry), key, NOTHING_RUN, ())
        cell, _ = self._selections[entry.selection]
        self.entries.set_word(number, self.layout.members, address_of(cell))

    def put_selection(self, number: int, calls: tuple[Call, ...]) -> None:
        if number not in self._selections:
            self._selections[number] = (aligned_bytes(MEMBERS_BYTES).view(np.uint64), np.zeros(0, np.uint8))
        cell, _ = self._selections[number]
        content = b"".join(self.entries.record(action, params) for action, params in calls)
        records = aligned_bytes(len(content))
        records[:] = np.frombuffer(content, np.uint8)
        cell[:] = (len(calls), address_of(records))
        self._selections[number] = (cell, records)

    def drop_selection(self, number: int) -> None:
        del self._selections[number]

    def counter(self, handle: int) -> CounterValue:
        assert self.layout.counter is not None
        number = self.number(handle)
        return CounterValue(*(self.entries.word(number, self.layout.counter + offset) for offset in (0, 8)))

    def set_counter(self, handle: int, value: CounterValue) -> None:
        assert self.layout.counter is not None
        number = self.number(handle)
        self.entries.set_word(number, self.layout.counter, value.packets)
        self.entries.set_word(number, self.layout.counter + 8, value.bytes)

    def set_meter(self, handle: int, config: MeterConfig | None) -> None:
        configure_meter(self.meter_cell(handle), config)

    def meter_counts(self, handle: int) -> MeterCounts:
        return counts_in(self.meter_cell(handle))

    def set_meter_counts(self, handle: int, counts: MeterCounts) -> None:
        set_counts_in(self.meter_cell(handle), counts)

    def meter_cell(self, handle: int) -> NDArray[np.uint8]:
        """See ``emulator.v1model.meters``."""
        assert self.layout.attached is not None
        memory = self.entries.bytes_of(self.number(handle))
        return memory[self.layout.attached : self.layout.attached + METER_BYTES]

    def last_hit_ns(self, handle: int) -> int:
        assert self.layout.last_hit is not None
        return self.entries.word(self.number(handle), self.layout.last_hit)

    def set_last_hit_ns(self, handle: int, now_ns: int) -> None:
        assert self.layout.last_hit is not None
        self.entries.set_word(self.number(handle), self.layout.last_hit, now_ns)
