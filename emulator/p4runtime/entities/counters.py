"""CounterEntry and DirectCounterEntry (P4Runtime, "CounterEntry & DirectCounterEntry")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from emulator.p4runtime.entities.direct import fill_entry, find, key_of, put, select
from emulator.p4runtime.entities.indexed_arrays import check_modify, check_wildcard, indices_of, read_cells
from emulator.p4runtime.entities.resources import counter_from_proto, fill_counter
from emulator.p4runtime.pipeline.schema import CounterSchema
from emulator.p4runtime.view import Change, EntryKey, Undo, View, nothing
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import CounterValue

# --- Indirect counters ------------------------------------------------------------------------------------------


def prepare_counter_write(view: View, update_type: int, message: Any) -> Change:
    counter = view.schema.counter(message.counter_id)
    check_modify(update_type, f"counter {counter.name}")
    indices = indices_of(message, counter.size, f"counter {counter.name}")
    if not message.HasField("data"):
        return nothing()
    value = counter_from_proto(message.data, f"counter {counter.name}")
    return Change(lambda: _write(view, counter, indices, value), lambda: _remember(view, counter, indices))


def _write(view: View, counter: CounterSchema, indices: range, value: CounterValue) -> None:
    for index in indices:
        view.control.write_counter(counter.id, index, value)


def _remember(view: View, counter: CounterSchema, indices: range) -> Undo:
    old = [(index, view.control.read_counter(counter.id, index)) for index in indices]

    def undo() -> None:
        for index, value in old:
            view.control.write_counter(counter.id, index, value)

    return undo


def read_counter(view: View, message: Any) -> Iterator[Any]:
    """One cell, all cells of a counter, or with id 0 all of all counters."""
    check_wildcard(message.counter_id, message, "counter")
    counters = [view.schema.counter(message.counter_id)] if message.counter_id else view.schema.counters.values()
    for counter in counters:
        indices = indices_of(message, counter.size, f"counter {counter.name}")
        for index, value in read_cells(view, view.control.read_counter, counter.id, indices):
            entity = p4runtime_pb2.Entity()
            answer = entity.counter_entry
            answer.counter_id = counter.id
            answer.index.index = index
            answer.data.SetInParent()
            fill_counter(answer.data, value)
            yield entity


# --- Direct counters --------------------------------------------------------------------------------------------


def prepare_direct_counter_write(view: View, update_type: int, message: Any) -> Change:
    table, key = key_of(view, message.table_entry, "direct counter")
    check_modify(update_type, f"table {table.name}, direct counter")
    value = counter_from_proto(message.data, f"table {table.name}") if message.HasField("data") else None
    return Change(lambda: _write_direct(view, key, value), lambda: _remember_direct(view, key))


def _write_direct(view: View, key: EntryKey, value: CounterValue | None) -> None:
    entry = find(view, key)
    if value is not None:
        put(view, key, replace(entry, counter=value, meter_counts=None))


def _remember_direct(view: View, key: EntryKey) -> Undo:
    old = find(view, key).counter
    return lambda: _write_direct(view, key, old)


def read_direct_counter(view: View, message: Any) -> Iterator[Any]:
    """One entry's counter, a table's, or with table id 0 those of all tables. An absent entry is NOT_FOUND."""
    for table, entry in select(view, message.table_entry, "direct counter"):
        entity = p4runtime_pb2.Entity()
        answer = entity.direct_counter_entry
        fill_entry(answer.table_entry, table, entry, message.table_entry)
        answer.data.SetInParent()
        fill_counter(answer.data, entry.counter or CounterValue(0, 0))
        yield entity
