"""TableEntry: writing and reading entries and default entries (P4Runtime, "TableEntry")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from emulator.p4.protos import p4runtime_pb2
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.schema import TableSchema
from emulator.p4runtime.translate import action_from_proto, entry_to_proto, key_from_proto, match_from_proto
from emulator.p4runtime.view import Change, EntryKey, View
from emulator.switch.control import Code as SwitchCode
from emulator.switch.control import ControlError, CounterValue, FieldMatch, TableEntry

INSERT, MODIFY, DELETE = (p4runtime_pb2.Update.Type.Value(name) for name in ("INSERT", "MODIFY", "DELETE"))

DEFAULT_PRIORITY = -1
"""Stands in keys of notes for the default entry."""


# --- Writing ----------------------------------------------------------------------------------------------------


def prepare_write(view: View, update_type: int, message: Any) -> Change:
    """Validate an update of a table entry."""
    table = view.schema.table(message.table_id)
    if message.is_const:
        raise invalid(f"table {table.name}: is_const may not be set in a write")
    if message.is_default_action:
        return _prepare_default(view, update_type, table, message)
    match, priority = key_from_proto(table, message)
    key = (table.id, match, priority)
    if table.is_const and update_type != MODIFY:
        raise RequestError(Code.PERMISSION_DENIED, f"table {table.name}: its entries are constant")
    if update_type == DELETE:
        return lambda: _delete(view, table, key)
    counter = _check_resources(table, message)
    if message.HasField("action"):
        if table.is_const:
            raise RequestError(Code.PERMISSION_DENIED, f"table {table.name}: its entries' actions are constant")
        action_id, params = action_from_proto(view.schema, table, message.action, as_default=False)
        entry = TableEntry(match, priority, action_id, params, counter)
        if update_type == INSERT:
            return lambda: _insert(view, key, entry, message)
        return lambda: _modify(view, table, key, entry, message)
    if update_type == INSERT:
        raise invalid(f"table {table.name}: an entry to insert needs an action")
    return lambda: _modify_resources(view, table, key, counter, message)


def _check_resources(table: TableSchema, message: Any) -> CounterValue | None:
    """The direct counter's value to write, if any; INVALID_ARGUMENT for resources the table does not have."""
    if message.HasField("meter_config") or message.HasField("meter_counter_data"):
        raise invalid(f"table {table.name} has no direct meter")
    if message.HasField("time_since_last_hit"):
        raise invalid(f"table {table.name}: time_since_last_hit may not be set in a write")
    if message.idle_timeout_ns:
        if table.has_idle_timeout:
            raise RequestError(Code.UNIMPLEMENTED, f"table {table.name}: idle time-outs are not supported")
        raise invalid(f"table {table.name} has no idle time-out")
    if not message.HasField("counter_data"):
        return None
    if not table.direct_counter_id:
        raise invalid(f"table {table.name} has no direct counter")
    return counter_from_proto(message.counter_data, f"table {table.name}")


def _insert(view: View, key: EntryKey, entry: TableEntry, message: Any) -> None:
    view.control.insert_entry(key[0], entry)
    view.notes.set_entry(key, message)


def _modify(view: View, table: TableSchema, key: EntryKey, entry: TableEntry, message: Any) -> None:
    view.control.modify_entry(table.id, entry)
    view.notes.set_entry(key, message)


def _modify_resources(
    view: View, table: TableSchema, key: EntryKey, counter: CounterValue | None, message: Any
) -> None:
    """MODIFY without an action: the action stays (section "Action Specification")."""
    entry = find_entry(view, table, key[1], key[2])
    if counter is not None:
        view.control.modify_entry(table.id, replace(entry, counter=counter))
    view.notes.set_entry(key, message)


def _delete(view: View, table: TableSchema, key: EntryKey) -> None:
    view.control.delete_entry(table.id, TableEntry(key[1], key[2], action_id=0, params=()))
    view.notes.entries.pop(key, None)


def _prepare_default(view: View, update_type: int, table: TableSchema, message: Any) -> Change:
    if update_type != MODIFY:
        raise invalid(f"table {table.name}: the default entry always exists: it can only be modified")
    if message.match or message.priority:
        raise invalid(f"table {table.name}: the default entry has no match and no priority")
    if table.default_is_const:
        raise RequestError(Code.PERMISSION_DENIED, f"table {table.name}: its default action is constant")
    counter = _check_resources(table, message)
    key = (table.id, (), DEFAULT_PRIORITY)
    if not message.HasField("action"):
        return lambda: _reset_default(view, key)
    action_id, params = action_from_proto(view.schema, table, message.action, as_default=True)
    return lambda: _set_default(view, key, TableEntry((), 0, action_id, params, counter), message)


def _set_default(view: View, key: EntryKey, entry: TableEntry, message: Any) -> None:
    view.control.set_default_entry(key[0], entry)
    view.notes.set_entry(key, message)
    view.notes.defaults.add(key[0])


def _reset_default(view: View, key: EntryKey) -> None:
    view.control.reset_default_entry(key[0])
    view.notes.entries.pop(key, None)
    view.notes.defaults.discard(key[0])


def find_entry(view: View, table: TableSchema, match: tuple[FieldMatch, ...], priority: int) -> TableEntry:
    """Raises ControlError (NOT_FOUND). Called inside ``access``."""
    for entry in view.control.entries(table.id):
        if entry.match == match and entry.priority == priority:
            return entry
    raise ControlError(SwitchCode.NOT_FOUND, f"table {table.name} has no such entry")


# --- Reading ----------------------------------------------------------------------------------------------------


def read(view: View, message: Any) -> Iterator[Any]:
    """The entries a TableEntry filter selects (section "Wildcard Reads"), as Entity messages."""
    for table in _selected_tables(view, message):
        key = match_from_proto(table, message.match) if message.match else None
        for entry in _fetch(view, table, is_default=message.is_default_action):
            if key is not None and entry.match != key:
                continue
            answer = _to_proto(view, table, entry, message)
            if _passes(message, answer):
                yield p4runtime_pb2.Entity(table_entry=answer)


def _selected_tables(view: View, message: Any) -> Iterable[TableSchema]:
    if message.table_id:
        table = view.schema.table(message.table_id)
        if message.is_default_action and (message.match or message.priority):
            raise invalid(f"table {table.name}: the default entry has no match and no priority")
        if message.HasField("time_since_last_hit") and not table.has_idle_timeout:
            raise invalid(f"table {table.name} has no idle time-out")
        return [table]
    if message.match or message.priority or message.HasField("action"):
        raise invalid("table id 0 reads all tables: match, action and priority cannot be given with it")
    return view.schema.tables.values()


def _fetch(view: View, table: TableSchema, *, is_default: bool) -> list[TableEntry]:
    with view.access():
        return [view.control.default_entry(table.id)] if is_default else list(view.control.entries(table.id))


def _to_proto(view: View, table: TableSchema, entry: TableEntry, wanted: Any) -> Any:
    is_default = wanted.is_default_action
    answer = entry_to_proto(view.schema, table, entry, is_default=is_default)
    key = (table.id, (), DEFAULT_PRIORITY) if is_default else (table.id, entry.match, entry.priority)
    if key in view.notes.entries:
        answer.controller_metadata, answer.metadata = view.notes.entries[key]
    if wanted.HasField("counter_data") and entry.counter is not None:
        answer.counter_data.CopyFrom(counter_to_proto(entry.counter))
    return answer


def _passes(wanted: Any, answer: Any) -> bool:
    return (
        wanted.priority in (0, answer.priority)
        and wanted.controller_metadata in (0, answer.controller_metadata)
        and wanted.metadata in (b"", answer.metadata)
        and wanted.action.action.action_id in (0, answer.action.action.action_id)
    )


# --- Counter values, which direct and indirect counters share ----------------------------------------------------


def counter_from_proto(data: Any, where: str) -> CounterValue:
    if data.packet_count < 0 or data.byte_count < 0:
        raise invalid(f"{where}: a counter cannot be negative")
    return CounterValue(data.packet_count, data.byte_count)


def counter_to_proto(value: CounterValue) -> Any:
    # The data plane counts modulo 2**64; the message has int64, so a counter set close to 2**63 may read negative.
    wrapped = [number - (1 << 64) if number >= 1 << 63 else number for number in (value.packets, value.bytes)]
    return p4runtime_pb2.CounterData(packet_count=wrapped[0], byte_count=wrapped[1])
