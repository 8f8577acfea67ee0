"""A match table as its control plane sees it: entries, rules, errors. How it is searched is somebody else's business.

An entry's place in memory is its *handle*, the smallest free number from 1; of matching entries with equal priority the
one with the smallest handle wins (bmv2's rule). A *mirror* is told of every change: the compiled engine's flat memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from emulator.p4 import ir
from emulator.switch.control import Code, ControlError, CounterValue, Exact, FieldMatch, Lpm, TableEntry, Ternary
from emulator.v1model.view import ActionView, TableView

KeyBits: TypeAlias = tuple[tuple[int, int], ...]
"""(value, mask) of each key, value within the mask."""


@dataclass(slots=True)
class Entry:
    """An entry in place. ``priority`` counts only in tables that have priorities, else prefix lengths decide."""

    handle: int
    keys: KeyBits
    priority: int
    action: int
    """Index into the table's actions."""
    params: tuple[int, ...]
    is_const: bool
    packets: int = 0
    """Counted by the interpreter; the compiled engine counts in its own memory."""
    bytes: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        """The largest of the matching entries wins."""
        return self.priority, -self.handle


class Mirror(Protocol):
    """A copy of a table that something fast searches. Called after each change."""

    def put(self, entry: Entry) -> None:
        """A new entry, or an old one (same handle, keys, priority) with another action."""
        ...

    def remove(self, entry: Entry) -> None: ...
    def put_default(self, action: int, params: tuple[int, ...]) -> None: ...
    def counter(self, handle: int) -> CounterValue: ...
    def set_counter(self, handle: int, value: CounterValue) -> None: ...


class Table:
    """Entries by key; all methods raise `ControlError` and then have changed nothing."""

    def __init__(self, view: TableView, mirror: Mirror | None) -> None:
        self.view = view
        self.entries: dict[tuple[KeyBits, int], Entry] = {}
        self.default = view.default
        self._mirror = mirror
        self._free: list[int] = []
        self._highest = 0
        self._ids = {a.id: i for i, a in enumerate(view.actions)}
        self._positions = {k.id: i for i, k in enumerate(view.keys)}
        self._reset_default()
        for entry in view.entries:
            self._put(
                entry.keys,
                self._priority(entry.keys, entry.priority),
                entry.action,
                entry.params,
                const=view.entries_are_const,
            )

    # --- What the control plane does ------------------------------------------------------------------------------

    def insert(self, entry: TableEntry) -> None:
        self._check_mutable()
        key = self._key(entry)
        if key in self.entries:
            raise ControlError(Code.ALREADY_EXISTS, f"table {self.view.name}: an entry with this match exists")
        if len(self.entries) >= self.view.size:
            raise ControlError(
                Code.RESOURCE_EXHAUSTED, f"table {self.view.name} is full: it holds {self.view.size} entries"
            )
        index = self._action(entry, default=False)
        placed = self._put(key[0], key[1], index, entry.params, const=False)
        if entry.counter is not None:
            self._set_counter(placed, entry.counter)

    def modify(self, entry: TableEntry) -> None:
        placed = self._find(entry)
        index = self._action(entry, default=False)
        if self.view.entries_are_const and (index, entry.params) != (placed.action, placed.params):
            raise ControlError(Code.PERMISSION_DENIED, f"table {self.view.name}: its entries are constant")
        placed.action, placed.params = index, entry.params
        if self._mirror is not None:
            self._mirror.put(placed)
        if entry.counter is not None:
            self._set_counter(placed, entry.counter)

    def delete(self, entry: TableEntry) -> None:
        self._check_mutable()
        placed = self._find(entry)
        del self.entries[placed.keys, placed.priority]
        heapq.heappush(self._free, placed.handle)
        if self._mirror is not None:
            self._mirror.remove(placed)

    def set_default(self, entry: TableEntry) -> None:
        index = self._action(entry, default=True)
        if self.view.default_is_const and (index, entry.params) != self.view.default:
            raise ControlError(Code.PERMISSION_DENIED, f"table {self.view.name}: its default action is constant")
        self.default = (index, entry.params)
        if self._mirror is not None:
            self._mirror.put_default(index, entry.params)

    def reset_default(self) -> None:
        if self.view.default_is_const:
            raise ControlError(Code.PERMISSION_DENIED, f"table {self.view.name}: its default action is constant")
        self._reset_default()

    def listing(self) -> Iterator[TableEntry]:
        """All entries, the program's own first, in order of handles."""
        for entry in sorted(self.entries.values(), key=lambda e: e.handle):
            match = tuple(self._field_match(i, value, mask) for i, (value, mask) in enumerate(entry.keys))
            yield TableEntry(
                tuple(m for m in sorted_by_id(match)),
                entry.priority if self.view.has_priority else 0,
                self.view.actions[entry.action].id,
                entry.params,
                self._counter(entry) if self.view.has_counter else None,
                entry.is_const,
            )

    def default_entry(self) -> TableEntry:
        index, params = self.default
        counter = CounterValue(0, 0) if self.view.has_counter else None
        return TableEntry((), 0, self.view.actions[index].id, params, counter, self.view.default_is_const)

    # --- How ------------------------------------------------------------------------------------------------------

    def _reset_default(self) -> None:
        self.default = self.view.default
        if self._mirror is not None:
            self._mirror.put_default(*self.default)

    def _put(self, keys: KeyBits, priority: int, action: int, params: tuple[int, ...], *, const: bool) -> Entry:
        if self._free:
            handle = heapq.heappop(self._free)
        else:
            self._highest += 1
            handle = self._highest
        entry = Entry(handle, keys, priority, action, params, const)
        self.entries[keys, priority] = entry
        if self._mirror is not None:
            self._mirror.put(entry)
        return entry

    def _check_mutable(self) -> None:
        if self.view.entries_are_const:
            raise ControlError(Code.PERMISSION_DENIED, f"table {self.view.name}: its entries are constant")

    def _find(self, entry: TableEntry) -> Entry:
        placed = self.entries.get(self._key(entry))
        if placed is None:
            raise ControlError(Code.NOT_FOUND, f"table {self.view.name} has no entry with this match")
        return placed

    def _action(self, entry: TableEntry, *, default: bool) -> int:
        index = self._ids.get(entry.action_id)
        if index is None:
            raise ControlError(
                Code.INVALID_ARGUMENT, f"table {self.view.name} has no action with id {entry.action_id:#x}"
            )
        action = self.view.actions[index]
        forbidden = ir.ActionScope.TABLE_ONLY if default else ir.ActionScope.DEFAULT_ONLY
        if action.scope is forbidden:
            place = "the default action" if default else "an entry"
            raise ControlError(
                Code.PERMISSION_DENIED, f"table {self.view.name}: {action.name} can't be {place}'s action"
            )
        self._check_params(action, entry.params)
        return index

    def _check_params(self, action: ActionView, params: tuple[int, ...]) -> None:
        fits = len(params) == len(action.widths_bits) and all(
            0 <= p < 1 << w for p, w in zip(params, action.widths_bits, strict=True)
        )
        if not fits:
            raise ControlError(
                Code.INVALID_ARGUMENT,
                f"action {action.name} takes parameters of {action.widths_bits} bits, not {params}",
            )

    def _key(self, entry: TableEntry) -> tuple[KeyBits, int]:
        keys = [(0, 0)] * len(self.view.keys)
        for match in entry.match:
            position = self._positions.get(match.field_id)
            if position is None:
                raise ControlError(
                    Code.INVALID_ARGUMENT, f"table {self.view.name} has no match field with id {match.field_id}"
                )
            keys[position] = self._bits(position, match)
        return tuple(keys), self._priority(tuple(keys), entry.priority)

    def _bits(self, position: int, match: FieldMatch) -> tuple[int, int]:
        width = self.view.keys[position].width_bits
        ones = (1 << width) - 1
        match match:
            case Exact(_, value):
                mask = ones
            case Lpm(_, value, length):
                mask = ones ^ ones >> length
            case Ternary(_, value, mask):
                pass
        if not 0 <= value <= ones or value & ~mask:
            raise ControlError(
                Code.INVALID_ARGUMENT,
                f"table {self.view.name}, field {self.view.keys[position].name}: {value:#x} is not in {mask:#x}",
            )
        return value, mask

    def _priority(self, keys: KeyBits, priority: int) -> int:
        """Without priorities the longest prefix wins: its length stands in."""
        if self.view.has_priority:
            return priority
        lengths = (m.bit_count() for (_, m), k in zip(keys, self.view.keys, strict=True) if k.match_kind == "lpm")
        return sum(lengths)

    def _field_match(self, position: int, value: int, mask: int) -> FieldMatch | None:
        key = self.view.keys[position]
        if key.match_kind == "exact":
            return Exact(key.id, value)
        if mask == 0:
            return None
        if key.match_kind == "lpm":
            return Lpm(key.id, value, mask.bit_count())
        if key.match_kind == "optional":
            return Exact(key.id, value)
        return Ternary(key.id, value, mask)

    def _counter(self, entry: Entry) -> CounterValue:
        if self._mirror is not None:
            return self._mirror.counter(entry.handle)
        return CounterValue(entry.packets, entry.bytes)

    def _set_counter(self, entry: Entry, value: CounterValue) -> None:
        entry.packets, entry.bytes = value.packets, value.bytes
        if self._mirror is not None:
            self._mirror.set_counter(entry.handle, value)


def sorted_by_id(match: tuple[FieldMatch | None, ...]) -> list[FieldMatch]:
    """Present fields in ascending field id."""
    return sorted((m for m in match if m is not None), key=lambda m: m.field_id)


class Scan:
    """The naive search, over the entries as they are: the interpreter's tables."""

    def __init__(self, tables: dict[str, Table]) -> None:
        self.tables = tables

    def look_up(self, table: str, key: tuple[int, ...], counted_bytes: int) -> tuple[bool, int, tuple[int, ...]]:
        """See ``emulator.p4.interpreter.Tables``."""
        found: Entry | None = None
        for entry in self.tables[table].entries.values():
            matches = all(k & mask == value for k, (value, mask) in zip(key, entry.keys, strict=True))
            if matches and self.tables[table].view.keys and (found is None or entry.rank > found.rank):
                found = entry
        if found is None:
            return False, *self.tables[table].default
        found.packets += 1
        found.bytes += counted_bytes
        return True, found.action, found.params
