"""A match table as its control plane sees it: entries, rules, errors. Lookup is in other modules.

An entry's place in memory is its *handle*, the smallest free number from 1; of matching entries with equal priority the
one with the smallest handle wins (bmv2's rule). A *mirror* gets every change and keeps what packets change: the
compiled engine's flat memory, or `Cells` for the interpreter.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace

from emulator.p4 import ir
from emulator.switch.control import (
    Code,
    ControlError,
    CounterValue,
    MeterConfig,
    MeterCounts,
    OneShot,
    Row,
    TableEntry,
    Through,
)
from emulator.switch.profiles import ActionProfile, Call, Target
from emulator.switch.tables.match_keys import MatchKeys
from emulator.switch.tables.mirror import DEFAULT_HANDLE, Entry, Mirror
from emulator.v1model.control_view import ActionView, KeyParts, TableView

NO_COUNTS: MeterCounts = (CounterValue(0, 0), CounterValue(0, 0), CounterValue(0, 0))


class Table:
    """Entries by key; all methods raise `ControlError` and then have changed nothing."""

    def __init__(self, view: TableView, mirror: Mirror, profile: ActionProfile | None = None) -> None:
        self.view = view
        self.keys = MatchKeys(view)
        self.entries: dict[tuple[KeyParts, int], Entry] = {}
        self.default = view.default
        self.profile = profile
        self._default_meter: MeterConfig | None = None
        self._mirror = mirror
        self._has_priority = view.has_priority
        self._free: list[int] = []
        self._highest = 0
        self._ids = {a.id: i for i, a in enumerate(view.actions)}
        self._selections: dict[Target | int, int] = {}
        """Numbers by member or group, or by handle for one-shot groups."""
        self._free_selections: list[int] = []
        # P4Runtime, "Preinitialized tables": others' entries may be changed but for those that are const themselves
        self._is_fixed = view.entries_are_const
        if profile is not None:
            profile.add_user(self)
        self._reset_default()
        self._put_program_entries()

    def _put_program_entries(self) -> None:
        """Insert the program's entries; of those with the same match and priority the first wins."""
        for given in self.view.entries:
            key = given.keys, self.keys.priority(given.keys, given.priority)
            if key not in self.entries:
                is_const = given.is_const or self._is_fixed
                entry = Entry(self._take_handle(), *key, given.action, given.params, is_const)
                self._place(entry)

    # --- What the control plane does ------------------------------------------------------------------------------

    def insert(self, given: TableEntry) -> None:
        key = self._key(given)
        self._check_room(key)
        action = self._check_target(given)
        entry = Entry(self._take_handle(), *key, action, given.params, idle_timeout_ns=given.idle_timeout_ns)
        self._lead(entry, given.through)
        self._place(entry)
        self._set_resources(entry, given)
        if self.view.support_timeout:
            self._mirror.set_last_hit_ns(entry.handle, given.last_hit_ns)

    def modify(self, given: TableEntry) -> None:
        entry = self._find(given)
        action = self._check_target(given)
        self._change(entry, action, given)
        self._set_resources(entry, given)

    def delete(self, given: TableEntry) -> None:
        self._remove(self._find(given))

    def insert_row(self, row: Row, now_ns: int) -> None:
        key = row.keys, self._rank_of(row.keys, row.priority)
        self._check_room(key)
        action = self._action_of(row)
        entry = Entry(self._take_handle(), *key, action, row.params, idle_timeout_ns=row.idle_timeout_ns)
        if row.through is not None:
            self._lead(entry, row.through)
        self._place(entry)
        if self.view.support_timeout:
            self._mirror.set_last_hit_ns(entry.handle, now_ns)

    def modify_row(self, row: Row) -> None:
        entry = self._at((row.keys, self._rank_of(row.keys, row.priority)))
        self._change(entry, self._action_of(row), row)
        if entry.meter is not None:
            self._configure(entry, None)

    def delete_row(self, row: Row) -> None:
        self._remove(self._at((row.keys, self._rank_of(row.keys, row.priority))))

    def set_default(self, given: TableEntry) -> None:
        """Its action, where that is not constant, and its direct resources."""
        index = self._check_action(given.action_id, given.params, ir.ActionScope.TABLE_ONLY)
        if (index, given.params) != self.view.default:
            self._check_default_is_free()
        if given.meter is not None:
            self._check_meter(given.meter)
        self.default = (index, given.params)
        if self.profile is None:
            self._mirror.put_default(*self.default)
        self._set_default_resources(given.counter, given.meter, given.meter_counts)

    def reset_default(self) -> None:
        self._check_default_is_free()
        self._reset_default()
        self._set_default_resources(CounterValue(0, 0), None, NO_COUNTS)

    def listing(self) -> Iterator[TableEntry]:
        """All entries, the program's own first, in order of handles."""
        for entry in sorted(self.entries.values(), key=lambda e: e.handle):
            yield self._tell(entry)

    def rows(self) -> Iterator[Row]:
        """All entries, in order of handles."""
        ids, has_priority = [action.id for action in self.view.actions], self._has_priority
        for entry in sorted(self.entries.values(), key=lambda e: e.handle):
            priority = entry.priority if has_priority else 0
            action_id = ids[entry.action] if entry.through is None else 0
            yield Row(
                entry.keys, priority, action_id, entry.params, entry.through, entry.idle_timeout_ns, entry.is_const
            )

    def entry(self, given: TableEntry) -> TableEntry:
        return self._tell(self._find(given))

    def default_entry(self) -> TableEntry:
        index, params = self.default
        counter = self._mirror.counter(DEFAULT_HANDLE) if self.view.has_counter else None
        action_id, is_const = self.view.actions[index].id, self.view.default_is_const
        counts = self._mirror.meter_counts(DEFAULT_HANDLE) if self.view.has_meter else None
        return TableEntry((), 0, action_id, params, counter, is_const, meter=self._default_meter, meter_counts=counts)

    # --- Changes of its profile -------------------------------------------------------------------------------------

    def check_call(self, call: Call) -> None:
        self._check_action(*call, ir.ActionScope.DEFAULT_ONLY)

    def select(self, target: Target | int, calls: tuple[Call, ...]) -> None:
        """``target`` leads to these calls, one of them chosen by hash."""
        number = self._selections.get(target)
        if number is None:
            number = self._free_selections.pop() if self._free_selections else len(self._selections) + 1
            self._selections[target] = number
        self._mirror.put_selection(number, tuple((self._ids[action], params) for action, params in calls))

    def deselect(self, target: Target | int) -> None:
        number = self._selections.pop(target)
        self._free_selections.append(number)
        self._mirror.drop_selection(number)

    def choose_again(self) -> None:
        for entry in self.entries.values():
            through = entry.through
            if isinstance(through, OneShot) and any(action.watch_port is not None for action in through.actions):
                assert self.profile is not None
                self.select(self._one_shot_key(entry), self.profile.one_shot_calls(through, entry.members))

    # --- How ------------------------------------------------------------------------------------------------------

    def _error(self, code: Code, message: str) -> ControlError:
        return ControlError(code, f"table {self.view.name}: {message}")

    def _reset_default(self) -> None:
        self.default = self.view.default
        if self.profile is None:
            self._mirror.put_default(*self.default)

    def _check_default_is_free(self) -> None:
        if self.profile is not None:
            raise self._error(Code.PERMISSION_DENIED, "a table with an action profile does nothing on a miss")
        if self.view.default_is_const:
            raise self._error(Code.PERMISSION_DENIED, "its default action is constant")

    def _set_default_resources(
        self, counter: CounterValue | None, meter: MeterConfig | None, counts: MeterCounts | None
    ) -> None:
        """``counter``, ``counts``: None leaves them alone."""
        if counts is not None and self.view.has_meter:
            self._mirror.set_meter_counts(DEFAULT_HANDLE, counts)
        if counter is not None and self.view.has_counter:
            self._mirror.set_counter(DEFAULT_HANDLE, counter)
        if meter != self._default_meter:
            self._default_meter = meter
            self._mirror.set_meter(DEFAULT_HANDLE, meter)

    def _take_handle(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        self._highest += 1
        return self._highest

    def _place(self, entry: Entry) -> None:
        self.entries[entry.keys, entry.priority] = entry
        self._mirror.put(entry)

    def _change(self, entry: Entry, action: int, given: TableEntry | Row) -> None:
        """What it leads to, and its time-out."""
        self._check_may_change(entry, action, given)
        entry.action, entry.params, entry.idle_timeout_ns = action, given.params, given.idle_timeout_ns
        if given.through != entry.through:
            before = replace(entry)
            self._lead(entry, given.through)
            self._forsake(before)
        self._mirror.put(entry)

    def _lead(self, entry: Entry, through: Through | None) -> None:
        entry.through, entry.members, entry.selection = through, (), 0
        if self.profile is None or through is None:
            return
        self.profile.use(through, 1)
        if isinstance(through, OneShot):
            entry.members, calls = self.profile.open_one_shot(through)
            # another group for each version of the entry, since the old one goes after the new one came
            self.select(self._one_shot_key(entry), calls)
            entry.selection = self._selections[self._one_shot_key(entry)]
        else:
            entry.selection = self._selections[through]

    def _forsake(self, entry: Entry) -> None:
        """The entry no longer leads to what it led to."""
        if self.profile is None or entry.through is None:
            return
        self.profile.use(entry.through, -1)
        if isinstance(entry.through, OneShot):
            self.profile.close_one_shot(entry.members)
            self.deselect(self._one_shot_key(entry))

    @staticmethod
    def _one_shot_key(entry: Entry) -> int:
        return entry.members[0]

    def _set_resources(self, entry: Entry, given: TableEntry) -> None:
        if given.counter is not None and self.view.has_counter:
            self._mirror.set_counter(entry.handle, given.counter)
        if self.view.has_meter and given.meter != entry.meter:
            self._configure(entry, given.meter)
        if self.view.has_meter and given.meter_counts is not None:
            self._mirror.set_meter_counts(entry.handle, given.meter_counts)

    def _configure(self, entry: Entry, meter: MeterConfig | None) -> None:
        entry.meter = meter
        self._mirror.set_meter(entry.handle, meter)

    def _check_mutable(self) -> None:
        if self._is_fixed:
            raise self._error(Code.PERMISSION_DENIED, "its entries are constant")

    def _check_may_change(self, entry: Entry, action: int, given: TableEntry | Row) -> None:
        """A constant entry takes resources from one that is declared constant, and so has the action it had."""
        if entry.is_const and not (given.is_const and (action, given.params) == (entry.action, entry.params)):
            raise self._error(Code.PERMISSION_DENIED, self._constant())

    def _check_room(self, key: tuple[KeyParts, int]) -> None:
        self._check_mutable()
        if key in self.entries:
            raise self._error(Code.ALREADY_EXISTS, "an entry with this match exists")
        if len(self.entries) >= self.view.size:
            raise self._error(Code.RESOURCE_EXHAUSTED, f"it is full: it holds {self.view.size} entries")
        if not self.view.keys:
            raise self._error(Code.INVALID_ARGUMENT, "it has no keys, so it takes no entries")

    def _constant(self) -> str:
        return "its entries are constant" if self._is_fixed else "this entry of the program is constant"

    def _remove(self, entry: Entry) -> None:
        if entry.is_const:
            raise self._error(Code.PERMISSION_DENIED, self._constant())
        del self.entries[entry.keys, entry.priority]
        heapq.heappush(self._free, entry.handle)
        self._mirror.remove(entry)
        self._forsake(entry)

    def _key(self, given: TableEntry) -> tuple[KeyParts, int]:
        parts = self.keys.parts(given.match)
        return parts, self._rank_of(parts, given.priority)

    def _rank_of(self, keys: KeyParts, priority: int) -> int:
        return priority if self._has_priority else self.keys.priority(keys, priority)

    def _find(self, given: TableEntry) -> Entry:
        return self._at(self._key(given))

    def _at(self, key: tuple[KeyParts, int]) -> Entry:
        entry = self.entries.get(key)
        if entry is None:
            raise self._error(Code.NOT_FOUND, "there is no entry with this match")
        return entry

    def _check_target(self, given: TableEntry) -> int:
        """Index of the entry's action, -1 where a profile chooses it."""
        if (given.through is None) is not (self.profile is None):
            wanted = "an action" if self.profile is None else "a member or group"
            raise self._error(Code.INVALID_ARGUMENT, f"an entry leads to {wanted}")
        if given.meter is not None:
            self._check_meter(given.meter)
        if self.profile is None:
            return self._check_action(given.action_id, given.params, ir.ActionScope.DEFAULT_ONLY)
        assert given.through is not None
        self.profile.check(given.through)
        return -1

    def _action_of(self, row: Row) -> int:
        """`_check_target` of what P4Info has been asked about."""
        if row.through is None:
            return self._ids[row.action_id]
        assert self.profile is not None
        self.profile.check(row.through)
        return -1

    def _check_meter(self, config: MeterConfig) -> None:
        if not self.view.has_meter:
            raise self._error(Code.INVALID_ARGUMENT, "it has no direct meter")
        check_meter(config, f"table {self.view.name}")

    def _check_action(self, action_id: int, params: tuple[int, ...], forbidden: ir.ActionScope) -> int:
        index = self._ids.get(action_id)
        if index is None:
            raise self._error(Code.INVALID_ARGUMENT, f"it has no action with id {action_id:#x}")
        action = self.view.actions[index]
        if action.scope is forbidden:
            place = "the default action" if forbidden is ir.ActionScope.TABLE_ONLY else "an entry"
            raise self._error(Code.PERMISSION_DENIED, f"{action.name} can't be {place}'s action")
        _check_params(action, params)
        return index

    def _tell(self, entry: Entry) -> TableEntry:
        view = self.view
        return TableEntry(
            self.keys.match(entry.keys),
            entry.priority if view.has_priority else 0,
            view.actions[entry.action].id if entry.through is None else 0,
            entry.params,
            self._mirror.counter(entry.handle) if view.has_counter else None,
            entry.is_const,
            entry.through,
            entry.meter,
            entry.idle_timeout_ns,
            self._mirror.last_hit_ns(entry.handle) if view.support_timeout else 0,
            self._mirror.meter_counts(entry.handle) if view.has_meter else None,
        )


def _check_params(action: ActionView, params: tuple[int, ...]) -> None:
    widths = action.widths_bits
    if len(params) != len(widths) or any(p < 0 or p >> w for p, w in zip(params, widths, strict=True)):
        raise ControlError(
            Code.INVALID_ARGUMENT, f"action {action.name} takes parameters of {widths} bits, not {params}"
        )


def check_meter(config: MeterConfig, where: str) -> None:
    """bmv2 refuses a peak rate below the committed one."""
    rates = (config.committed.per_us, config.peak.per_us)
    if min(rates) < 0 or rates[0] > rates[1] or min(config.committed.burst, config.peak.burst) < 0:
        raise ControlError(
            Code.INVALID_ARGUMENT, f"{where}: a meter's peak rate is at least its committed one, none is negative"
        )
    if max(config.committed.burst, config.peak.burst) >> 63:
        raise ControlError(Code.INVALID_ARGUMENT, f"{where}: a burst has 63 bits")
