"""A match table in flat memory, as compiled code reads it (layout: ``emulator.p4.layout``).

Changes are deltas: an insertion writes one entry and one slot of one mask group, a deletion closes the gap it leaves.
Only growth copies. The caller keeps the data plane still during a change.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.p4.layout import (
    ENTRY_ACTION,
    ENTRY_BYTES,
    ENTRY_PACKETS,
    ENTRY_RANK,
    GROUP_BEST_RANK,
    GROUP_HEADER_WORDS,
    GROUP_SLOT_MASK,
    GROUP_SLOTS,
    SLOT_ENTRY,
    SLOT_HEADER_WORDS,
    TABLE_ENTRIES,
    TABLE_GROUP_COUNT,
    TABLE_GROUPS,
    Cell,
    TableLayout,
    hash_words,
)
from emulator.ports.batch import address_of, aligned_bytes
from emulator.switch.control import Code, ControlError, CounterValue, MeterConfig
from emulator.switch.profiles import Call
from emulator.switch.tables import Entry

FIRST_SLOTS = 8
FIRST_ENTRIES = 16


def packed_rank(entry: Entry) -> int:
    """Priority, then smaller handle, as one number that is never 0."""
    return entry.priority << 32 | (0xFFFF_FFFF - entry.handle)


@dataclass(slots=True)
class _Group:
    """Entries of one mask."""

    mask: tuple[int, ...]
    slots: NDArray[np.uint64]
    """[number of slots, words of a slot]"""
    chains: dict[tuple[int, ...], list[Entry]] = field(default_factory=dict)
    """Entries by masked key, best first; only the best has a slot."""
    ranks: dict[int, int] = field(default_factory=dict)
    """Rank by handle."""
    _best: list[tuple[int, int]] = field(default_factory=list)
    """Heap of (-rank, handle); removed entries stay in it until they come to the top."""

    def add(self, handle: int, rank: int) -> None:
        self.ranks[handle] = rank
        heapq.heappush(self._best, (-rank, handle))

    @property
    def best_rank(self) -> int:
        """0 in an empty group."""
        while self._best and self.ranks.get(self._best[0][1]) != -self._best[0][0]:
            heapq.heappop(self._best)
        return -self._best[0][0] if self._best else 0


class FlatTable:
    """The mirror of one table; ``record`` are its words in the table area."""

    def __init__(self, layout: TableLayout, record: NDArray[np.uint64]) -> None:
        self.layout = layout
        self.record = record
        self._groups: dict[tuple[int, ...], _Group] = {}
        self._group_words = np.zeros(0, np.uint64)
        self._set_entries(aligned_bytes(FIRST_ENTRIES * layout.entry_bytes))

    # --- Mirror ---------------------------------------------------------------------------------------------------

    def put_default(self, action: int, params: tuple[int, ...]) -> None:
        self._write_entry(0, 0, action, params)

    def put(self, entry: Entry) -> None:
        rank = packed_rank(entry)
        group = self._group_of(entry)
        key = self._key(entry)
        new = entry.handle not in group.ranks
        self._reserve_entry(entry.handle)
        if new:
            self._entry_words(entry.handle)[:] = 0
        self._write_entry(entry.handle, rank, entry.action, entry.params)
        if not new:
            return
        group.add(entry.handle, rank)
        chain = group.chains.setdefault(key, [])
        chain.append(entry)
        chain.sort(key=packed_rank, reverse=True)
        if len(chain) == 1 and 2 * len(group.chains) > len(group.slots):
            self._grow(group)
        self._place(group, key, chain[0].handle)
        self._publish()

    def remove(self, entry: Entry) -> None:
        group, key = self._group_of(entry), self._key(entry)
        chain = group.chains[key]
        chain[:] = [e for e in chain if e.handle != entry.handle]
        del group.ranks[entry.handle]
        if chain:
            self._place(group, key, chain[0].handle)
        else:
            del group.chains[key]
            self._close_gap(group, self._search(group, key))
        if not group.chains:
            del self._groups[group.mask]
        self._publish()

    def counter(self, handle: int) -> CounterValue:
        words = self._entry_words(handle)
        return CounterValue(int(words[ENTRY_PACKETS // 8]), int(words[ENTRY_BYTES // 8]))

    def set_counter(self, handle: int, value: CounterValue) -> None:
        words = self._entry_words(handle)
        words[ENTRY_PACKETS // 8], words[ENTRY_BYTES // 8] = value.packets, value.bytes

    def put_selection(self, number: int, calls: tuple[Call, ...]) -> None:
        raise ControlError(Code.UNIMPLEMENTED, f"table {self.layout.name}: no action profiles in compiled programs yet")

    def drop_selection(self, number: int) -> None:
        raise NotImplementedError

    def set_meter(self, handle: int, config: MeterConfig | None) -> None:
        raise ControlError(Code.UNIMPLEMENTED, f"table {self.layout.name}: no direct meters in compiled programs yet")

    def last_hit_ns(self, handle: int) -> int:
        return 0

    def set_last_hit_ns(self, handle: int, now_ns: int) -> None:
        pass

    # --- Entries --------------------------------------------------------------------------------------------------

    def _set_entries(self, memory: NDArray[np.uint8]) -> None:
        self._entries = memory
        self.record[TABLE_ENTRIES] = address_of(memory)

    def _reserve_entry(self, number: int) -> None:
        needed = (number + 1) * self.layout.entry_bytes
        if needed > len(self._entries):
            larger = aligned_bytes(max(2 * len(self._entries), needed))
            larger[: len(self._entries)] = self._entries
            self._set_entries(larger)

    def _entry_bytes(self, number: int) -> NDArray[np.uint8]:
        start = number * self.layout.entry_bytes
        return self._entries[start : start + self.layout.entry_bytes]

    def _entry_words(self, number: int) -> NDArray[np.uint64]:
        return self._entry_bytes(number).view(np.uint64)

    def _write_entry(self, number: int, rank: int, action: int, params: tuple[int, ...]) -> None:
        """Everything but the counters."""
        memory = self._entry_bytes(number)
        _write(memory, Cell(ENTRY_RANK, 64), rank)
        _write(memory, Cell(ENTRY_ACTION, 32), action)
        for cell, value in zip(self.layout.actions[action].parameters, params, strict=True):
            _write(memory, cell, value)

    # --- Groups ---------------------------------------------------------------------------------------------------

    def _key(self, entry: Entry) -> tuple[int, ...]:
        return self.layout.pack_key(tuple(value for value, _ in entry.keys))

    def _group_of(self, entry: Entry) -> _Group:
        mask = self.layout.pack_key(tuple(m for _, m in entry.keys))
        if mask not in self._groups:
            self._groups[mask] = _Group(mask, self._new_slots(FIRST_SLOTS))
        return self._groups[mask]

    def _new_slots(self, count: int) -> NDArray[np.uint64]:
        words = SLOT_HEADER_WORDS + self.layout.key_words
        return aligned_bytes(count * words * 8).view(np.uint64).reshape(count, words)

    def _search(self, group: _Group, key: tuple[int, ...]) -> int:
        """The slot that holds the key, else the free one where it belongs."""
        last = len(group.slots) - 1
        index = hash_words(key) & last
        while group.slots[index, SLOT_ENTRY]:
            if tuple(int(w) for w in group.slots[index, SLOT_HEADER_WORDS:]) == key:
                break
            index = (index + 1) & last
        return index

    def _place(self, group: _Group, key: tuple[int, ...], handle: int) -> None:
        slot = group.slots[self._search(group, key)]
        slot[SLOT_HEADER_WORDS:] = key
        slot[SLOT_ENTRY] = handle

    def _grow(self, group: _Group) -> None:
        """At most half full, so that a probe always meets a free slot, and soon."""
        old = group.slots
        group.slots = self._new_slots(4 * len(old))
        for slot in old:
            if slot[SLOT_ENTRY]:
                self._place(group, tuple(int(w) for w in slot[SLOT_HEADER_WORDS:]), int(slot[SLOT_ENTRY]))

    def _close_gap(self, group: _Group, gap: int) -> None:
        """Knuth's deletion for linear probing (volume 3, algorithm 6.4R): later keys of the run move up."""
        last = len(group.slots) - 1
        group.slots[gap, SLOT_ENTRY] = 0
        index = gap
        while True:
            index = (index + 1) & last
            slot = group.slots[index]
            if not slot[SLOT_ENTRY]:
                return
            home = hash_words(tuple(int(w) for w in slot[SLOT_HEADER_WORDS:])) & last
            if (index - home) & last >= (index - gap) & last:
                group.slots[gap] = slot
                slot[SLOT_ENTRY] = 0
                gap = index

    def _publish(self) -> None:
        """Write the list of groups, best first."""
        ordered = sorted(self._groups.values(), key=lambda g: g.best_rank, reverse=True)
        width = GROUP_HEADER_WORDS + self.layout.key_words
        words = self._group_words
        if len(words) < width * len(ordered):
            words = self._group_words = aligned_bytes(2 * width * len(ordered) * 8).view(np.uint64)
        for i, group in enumerate(ordered):
            record = words[i * width : (i + 1) * width]
            record[GROUP_SLOTS] = address_of(group.slots)
            record[GROUP_SLOT_MASK] = len(group.slots) - 1
            record[GROUP_BEST_RANK] = group.best_rank
            record[GROUP_HEADER_WORDS:] = group.mask
        self.record[TABLE_GROUPS] = address_of(words) if ordered else 0
        self.record[TABLE_GROUP_COUNT] = len(ordered)


def _write(memory: NDArray[Any], cell: Cell, value: int) -> None:
    content = value.to_bytes(cell.size_bytes, "little")
    memory[cell.offset_bytes : cell.offset_bytes + cell.size_bytes] = np.frombuffer(content, np.uint8)
