"""Tables and their entries, by name and with readable values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from emulator.harness.catalogue import Catalogue
from emulator.harness.errors import WrongTest
from emulator.harness.externs import Meter, config_of
from emulator.harness.matches import entry_match, match_text
from emulator.harness.profiles import ActionCall, GroupOf, MemberOf, as_call
from emulator.harness.values import duration_ns, shown
from emulator.switch.control import (
    Control,
    CounterValue,
    OneShot,
    TableEntry,
    Through,
    ToGroup,
    ToMember,
    WeightedAction,
)
from emulator.v1model.control_view import TableView

Does: TypeAlias = str | ActionCall | MemberOf | GroupOf | list[Any]
"""An action by name, a call, a member, a group, or a one-shot group: a list of calls or (call, weight)."""


@dataclass(slots=True, repr=False)
class Entry:
    """An entry of a table, as it was when it was added or read; its counter and so on are asked for."""

    table: Table
    key: TableEntry

    def __repr__(self) -> str:
        view, key = self.table.view, self.key
        parts = (
            match_text(view, key.match) or "anything",
            f"priority {key.priority}" if view.has_priority else "",
            f"-> {self.table.does(key)}",
        )
        return f"<{view.name}: {' '.join(filter(None, parts))}>"

    def _now(self) -> TableEntry:
        return self.table.control.entry(self.table.view.id, self.key)

    @property
    def packets(self) -> int:
        """Packets that the table's direct counter counted."""
        return self._counter().packets

    @property
    def bytes(self) -> int:
        return self._counter().bytes

    def _counter(self) -> CounterValue:
        value = self._now().counter
        if value is None:
            raise WrongTest(f"table {self.table.view.name} has no direct counter: say counters = ... in the program")
        return value

    @property
    def last_hit_ns(self) -> int:
        """Time of the last hit, virtual; the table has support_timeout."""
        return self._now().last_hit_ns

    @property
    def is_idle(self) -> bool:
        """Has its ``idle_timeout`` passed since it was hit, or added? The switch notifies its controller, and keeps
        the entry."""
        now = self._now()
        if not now.idle_timeout_ns:
            raise WrongTest(f"this entry of table {self.table.view.name} has no time-out: add it with idle_timeout=...")
        return bool(self.table.now() - now.last_hit_ns >= now.idle_timeout_ns)

    def set_meter(self, committed: Meter | tuple[int, int], peak: tuple[int, int] | None = None) -> None:
        """Rates of the direct meter: a `Meter`, or what one is made of."""
        if not self.table.view.has_meter:
            raise WrongTest(f"table {self.table.view.name} has no direct meter: say meters = ... in the program")
        meter = committed if isinstance(committed, Meter) else Meter(committed, peak)
        self._change(replace(self._now(), meter=config_of(meter)))

    def modify(self, action: Does, /, **parameters: Any) -> None:
        target = self.table.target(action, parameters)
        self._change(replace(self._now(), action_id=target[0], params=target[1], through=target[2], counter=None))

    def delete(self) -> None:
        self.table.control.delete_entry(self.table.view.id, self.key)

    def _change(self, entry: TableEntry) -> None:
        self.table.control.modify_entry(self.table.view.id, replace(entry, counter=None))


@dataclass(slots=True, repr=False)
class Table:
    """``switch.table(NAME)``."""

    view: TableView
    control: Control
    catalogue: Catalogue
    now: Any
    """Gives the time, in ns."""

    def add(
        self,
        match: dict[str, Any],
        action: Does,
        /,
        *,
        priority: int | None = None,
        idle_timeout: str | int = 0,
        **parameters: Any,
    ) -> Entry:
        """Insert an entry: ``add({"hdr.ipv4.dst": "10.0.0.0/8"}, "forward", port=2)``. See ``matches`` for values."""
        target = self.target(action, parameters)
        entry = TableEntry(
            entry_match(self.view, match), self._priority(priority), target[0], target[1], through=target[2],
            idle_timeout_ns=duration_ns(idle_timeout), last_hit_ns=self.now(),
        )  # fmt: skip
        self.control.insert_entry(self.view.id, entry)
        return Entry(self, entry)

    def set_default(self, action: str | ActionCall, /, **parameters: Any) -> None:
        action_id, params, _ = self.target(action, parameters)
        self.control.set_default_entry(self.view.id, TableEntry((), 0, action_id, params))

    def reset_default(self) -> None:
        self.control.reset_default_entry(self.view.id)

    def entries(self) -> list[Entry]:
        """All, the program's own too."""
        return [Entry(self, entry) for entry in self.control.entries(self.view.id)]

    def clear(self) -> None:
        """Delete all entries."""
        for entry in self.entries():
            entry.delete()

    def __repr__(self) -> str:
        return f"<table {self.view.name}: {len(self.entries())} of {self.view.size} entries>"

    def does(self, entry: TableEntry) -> str:
        """What an entry leads to, as text."""
        match entry.through:
            case ToMember(number):
                return f"member {number}"
            case ToGroup(number):
                return f"group {number}"
            case OneShot(actions):
                return f"one of {len(actions)} actions"
        action = next(a for a in self.view.actions if a.id == entry.action_id)
        names = self.catalogue.parameters.get(action.id, ())
        given = zip(names, entry.params, action.widths_bits, strict=True)
        return f"{action.name}({', '.join(f'{name}={shown(value, width)}' for name, value, width in given)})"

    def _priority(self, priority: int | None) -> int:
        if self.view.has_priority and (priority is None or priority < 1):
            kinds = ", ".join(f"{k.name}: {k.match_kind}" for k in self.view.keys)
            raise WrongTest(
                f"table {self.view.name} ({kinds}) needs priority=N from 1 with each entry; the larger number wins"
            )
        if not self.view.has_priority and priority:
            raise WrongTest(f"table {self.view.name} has no priorities: its keys are all exact or lpm")
        return priority or 0

    def target(self, action: Does, parameters: dict[str, Any]) -> tuple[int, tuple[int, ...], Through | None]:
        """(action's id, its parameters, what replaces them in tables with a profile)."""
        if isinstance(action, MemberOf):
            return 0, (), ToMember(action.member_id)
        if isinstance(action, GroupOf):
            return 0, (), ToGroup(action.group_id)
        if isinstance(action, list):
            return 0, (), OneShot(tuple(map(self._weighted, action)))
        if self.view.profile is not None:
            raise WrongTest(
                f"table {self.view.name} has the action profile {self.view.profile}: give a member or group "
                f"(switch.profile({self.view.profile!r}).member(...)), or a list of calls"
            )
        return *self._call(action, parameters), None

    def _call(self, action: str | ActionCall, parameters: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
        one = as_call(action, parameters)
        view = self.catalogue.action(self.view, one.action)
        return view.id, self.catalogue.arguments(view, one.parameters)

    def _weighted(self, choice: Any) -> WeightedAction:
        one, weight = choice if isinstance(choice, tuple) else (choice, 1)
        return WeightedAction(*self._call(one, {}), weight)
