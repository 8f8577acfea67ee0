"""TableEntry: reading (P4Runtime, "TableEntry", "Wildcard Reads")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from emulator.p4runtime.action_calls import fill_target
from emulator.p4runtime.entities.resources import fill_counter, fill_counts, fill_meter
from emulator.p4runtime.entities.rows_read import read_rows, suits_rows
from emulator.p4runtime.entities.tables import DEFAULT_PRIORITY, find_entry
from emulator.p4runtime.errors import invalid
from emulator.p4runtime.match_keys import add_match, match_from_proto
from emulator.p4runtime.pipeline.schema import TableSchema
from emulator.p4runtime.view import EntryKey, View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import Code as SwitchCode
from emulator.switch.control import ControlError, TableEntry


def read(view: View, message: Any) -> Iterator[Any]:
    """The entries a TableEntry filter selects, as Entity messages or such messages' bytes."""
    tables = _selected_tables(view, message)
    fill = _Filler(view, message)
    for table in tables:
        if suits_rows(view, table, message):
            yield from read_rows(view, table)
            continue
        passes = _filter_of(table, message)
        entries = defaults(view, table) if message.is_default_action else select_entries(view, table, message)
        for entry in entries:
            entity = p4runtime_pb2.Entity()
            fill(entity.table_entry, table, entry)
            if passes is None or passes(entity.table_entry):
                yield entity


def select_entries(view: View, table: TableSchema, query: Any) -> Iterator[TableEntry]:
    """Entries by the ``match`` and ``priority`` of a TableEntry filter."""
    if not query.match:
        return (e for e in _all_entries(view, table) if query.priority in (0, e.priority))
    match = match_from_proto(table, query.match)
    if table.needs_priority and not query.priority:
        return (entry for entry in _all_entries(view, table) if entry.match == match)
    if query.priority and not table.needs_priority:
        return iter(())  # its entries have none
    return _one_entry(view, (table.id, match, query.priority))


def _one_entry(view: View, key: EntryKey) -> Iterator[TableEntry]:
    try:
        with view.access():
            entry = find_entry(view, key)
    except ControlError as error:
        if error.code != SwitchCode.NOT_FOUND:
            raise
        return
    yield entry


def _all_entries(view: View, table: TableSchema) -> Iterable[TableEntry]:
    entries = view.control.entries(table.id)
    # only the control plane changes the others, and it waits for us
    has_moving_parts = table.direct_counter_id or table.direct_meter_id or table.has_idle_timeout
    return view.in_steps(entries) if has_moving_parts else entries


def defaults(view: View, table: TableSchema) -> list[TableEntry]:
    """The table's default entry."""
    with view.access():
        return [view.control.default_entry(table.id)]


def _selected_tables(view: View, message: Any) -> Iterable[TableSchema]:
    if not message.table_id:
        if message.match or message.priority or message.HasField("action"):
            raise invalid("table id 0 reads all tables: match, action and priority cannot be given with it")
        return view.schema.tables.values()
    table = view.schema.table(message.table_id)
    where = f"table {table.name}"
    if message.is_default_action:
        if message.match or message.priority:
            raise invalid(f"{where}: the default entry has no match and no priority")
        if message.HasField("time_since_last_hit"):
            raise invalid(f"{where}: the default entry has no idle time-out")
    if message.HasField("time_since_last_hit") and not table.has_idle_timeout:
        raise invalid(f"{where} has no idle time-out")
    return [table]


def _filter_of(table: TableSchema, query: Any) -> Callable[[Any], bool] | None:
    """Filter by what match and priority do not say."""
    number, metadata = query.controller_metadata, query.metadata
    action = query.action if query.HasField("action") else None
    if not number and not metadata and action is None:
        return None

    def passes(answer: Any) -> bool:
        if number not in (0, answer.controller_metadata) or metadata not in (b"", answer.metadata):
            return False
        return action is None or _same_action(action, answer.action)

    return passes


def _same_action(query: Any, answer: Any) -> bool:
    kind = query.WhichOneof("type")
    if kind is None:
        return True
    if kind != answer.WhichOneof("type"):
        return False
    if kind == "action":
        return query.action.action_id in (0, answer.action.action_id)
    if kind == "action_profile_action_set":
        return bool(query.action_profile_action_set == answer.action_profile_action_set)
    return getattr(query, kind) in (0, getattr(answer, kind))


class _Filler:
    """Fills TableEntry messages with what one request asks for."""

    def __init__(self, view: View, query: Any) -> None:
        self._schema, self._notes = view.schema, view.notes.entries
        self._is_default = query.is_default_action
        self._counter = query.HasField("counter_data")
        self._meter = query.HasField("meter_config")
        self._meter_counts = query.HasField("meter_counter_data")
        self._idle = query.HasField("time_since_last_hit")
        self._now_ns = view.now_ns()

    def __call__(self, message: Any, table: TableSchema, entry: TableEntry) -> None:
        fill_key(message, table, entry)
        fill_target(message.action, self._schema, entry)
        if entry.is_const:
            message.is_const = True
        if self._is_default:
            message.is_default_action = True
        if self._notes:
            key = (table.id, entry.match, DEFAULT_PRIORITY if self._is_default else entry.priority)
            if key in self._notes:
                message.controller_metadata, message.metadata = self._notes[key]
        if entry.idle_timeout_ns:
            message.idle_timeout_ns = entry.idle_timeout_ns
        if self._counter and entry.counter is not None:
            message.counter_data.SetInParent()
            fill_counter(message.counter_data, entry.counter)
        if self._meter and entry.meter is not None:
            message.meter_config.SetInParent()
            fill_meter(message.meter_config, entry.meter)
        if self._meter_counts and entry.meter_counts is not None:
            fill_counts(message.meter_counter_data, entry.meter_counts)
        if self._idle and table.has_idle_timeout:
            message.time_since_last_hit.elapsed_ns = max(0, self._now_ns - entry.last_hit_ns)


def fill_key(message: Any, table: TableSchema, entry: TableEntry) -> None:
    """Table, match and priority, into a TableEntry."""
    message.table_id = table.id
    add_match(message.match, entry.match)
    if entry.priority:
        message.priority = entry.priority
