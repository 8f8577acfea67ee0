"""CounterEntry and DirectCounterEntry (P4Runtime, "CounterEntry & DirectCounterEntry")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from emulator.p4.protos import p4runtime_pb2
from emulator.p4runtime.entity_tables import (
    MODIFY,
    counter_from_proto,
    counter_to_proto,
    find_entry,
)
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.schema import CounterSchema, TableSchema, check_index
from emulator.p4runtime.translate import entry_to_proto, key_from_proto, match_from_proto
from emulator.p4runtime.view import Change, View
from emulator.switch.control import CounterValue, FieldMatch


def _nothing() -> None:
    """A write without data changes nothing."""


# --- Indirect counters ------------------------------------------------------------------------------------------


def prepare_counter_write(view: View, update_type: int, message: Any) -> Change:
    counter = view.schema.counter(message.counter_id)
    if update_type != MODIFY:
        raise invalid(f"counter {counter.name}: counters can only be modified")
    indices = _indices(counter, message)
    if not message.HasField("data"):
        return _nothing
    value = counter_from_proto(message.data, f"counter {counter.name}")
    return lambda: _write_counter(view, counter, indices, value)


def _write_counter(view: View, counter: CounterSchema, indices: range, value: CounterValue) -> None:
    for index in indices:
        view.control.write_counter(counter.id, index, value)


def _indices(counter: CounterSchema, message: Any) -> range:
    if not message.HasField("index"):
        return range(counter.size)
    index = message.index.index
    check_index(index, counter.size, f"counter {counter.name}")
    return range(index, index + 1)


def read_counter(view: View, message: Any) -> Iterator[Any]:
    """One cell, all cells of a counter, or with id 0 all of all counters."""
    if not message.counter_id and message.HasField("index"):
        raise invalid("counter id 0 reads all counters: an index cannot be given with it")
    counters = [view.schema.counter(message.counter_id)] if message.counter_id else view.schema.counters.values()
    for counter in counters:
        indices = _indices(counter, message)
        with view.access():
            values = [view.control.read_counter(counter.id, index) for index in indices]
        for index, value in zip(indices, values, strict=True):
            answer = p4runtime_pb2.CounterEntry(counter_id=counter.id, data=counter_to_proto(value))
            answer.index.index = index
            yield p4runtime_pb2.Entity(counter_entry=answer)


# --- Direct counters --------------------------------------------------------------------------------------------


def prepare_direct_counter_write(view: View, update_type: int, message: Any) -> Change:
    table = _table_of(view, message.table_entry)
    if update_type != MODIFY:
        raise invalid(f"table {table.name}: its direct counter can only be modified")
    match, priority = key_from_proto(table, message.table_entry)
    value = counter_from_proto(message.data, f"table {table.name}") if message.HasField("data") else None
    return lambda: _write_direct_counter(view, table, match, priority, value)


def _write_direct_counter(
    view: View, table: TableSchema, match: tuple[FieldMatch, ...], priority: int, value: CounterValue | None
) -> None:
    entry = find_entry(view, table, match, priority)
    if value is not None:
        view.control.modify_entry(table.id, replace(entry, counter=value))


def _table_of(view: View, table_entry: Any) -> TableSchema:
    table = view.schema.table(table_entry.table_id)
    if not table.direct_counter_id:
        raise invalid(f"table {table.name} has no direct counter")
    if table_entry.is_default_action:
        # bmv2 counts hits only (behavioral-model, MatchTable), so there is nothing to read or set.
        raise RequestError(Code.UNIMPLEMENTED, f"table {table.name}: misses are not counted by a direct counter")
    return table


def read_direct_counter(view: View, message: Any) -> Iterator[Any]:
    """One entry's counter, a table's, or with table id 0 those of all tables. An absent entry is NOT_FOUND."""
    wanted = message.table_entry
    if wanted.table_id:
        tables = [_table_of(view, wanted)]
    else:
        tables = [table for table in view.schema.tables.values() if table.direct_counter_id]
    for table in tables:
        key = match_from_proto(table, wanted.match) if wanted.match else None
        with view.access():
            entries = list(view.control.entries(table.id))
        selected = [e for e in entries if key in (None, e.match) and wanted.priority in (0, e.priority)]
        if key is not None and not selected:
            raise RequestError(Code.NOT_FOUND, f"table {table.name} has no such entry")
        for entry in selected:
            answer = p4runtime_pb2.DirectCounterEntry(data=counter_to_proto(entry.counter or CounterValue(0, 0)))
            key_message = entry_to_proto(view.schema, table, entry)
            key_message.ClearField("action")
            answer.table_entry.CopyFrom(key_message)
            yield p4runtime_pb2.Entity(direct_counter_entry=answer)
