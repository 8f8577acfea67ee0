"""An entry of a match table in place, and what keeps a copy of it for packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from emulator.switch.control import CounterValue, MeterConfig, MeterCounts, Through
from emulator.switch.profiles import Call
from emulator.v1model.control_view import KeyParts

DEFAULT_HANDLE = 0
"""Handle of the default entry, which has direct resources like the others."""


@dataclass(slots=True)
class Entry:
    """An entry in place. ``priority`` counts only in tables that have priorities, else prefix lengths decide."""

    handle: int
    keys: KeyParts
    priority: int
    action: int
    """Index into the table's actions; -1 in tables with a profile."""
    params: tuple[int, ...]
    is_const: bool = False
    through: Through | None = None
    selection: int = 0
    """Number of what ``through`` leads to, for `Mirror.put_selection`; 0: nothing."""
    members: tuple[int, ...] = ()
    """Handles of a one-shot group."""
    meter: MeterConfig | None = None
    idle_timeout_ns: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        """The largest of the matching entries wins."""
        return self.priority, -self.handle


class Mirror(Protocol):
    """A copy of a table that packets search and change."""

    def put(self, entry: Entry) -> None:
        """A new entry, or an old one (same handle, keys, priority) with another action."""
        ...

    def remove(self, entry: Entry) -> None: ...
    def put_default(self, action: int, params: tuple[int, ...]) -> None: ...
    def put_selection(self, number: int, calls: tuple[Call, ...]) -> None:
        """What a member or group leads to: (index into the table's actions, parameters) of each choice."""
        ...

    def drop_selection(self, number: int) -> None: ...
    def counter(self, handle: int) -> CounterValue: ...
    def set_counter(self, handle: int, value: CounterValue) -> None: ...
    def set_meter(self, handle: int, config: MeterConfig | None) -> None: ...
    def meter_counts(self, handle: int) -> MeterCounts: ...
    def set_meter_counts(self, handle: int, counts: MeterCounts) -> None: ...
    def last_hit_ns(self, handle: int) -> int: ...
    def set_last_hit_ns(self, handle: int, now_ns: int) -> None: ...
