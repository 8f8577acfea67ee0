"""TableEntry: writing entries and default entries (P4Runtime, "TableEntry"); `tables_read` reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emulator.p4runtime.action_calls import ActionCall, call_from_proto, target_from_proto
from emulator.p4runtime.entities.resources import counter_from_proto, counts_from_proto, meter_from_proto
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.match_keys import key_from_proto
from emulator.p4runtime.pipeline.schema import TableSchema
from emulator.p4runtime.view import Change, EntryKey, Undo, View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import Code as SwitchCode
from emulator.switch.control import ControlError, CounterValue, MeterConfig, MeterCounts, TableEntry, Through

INSERT, MODIFY, DELETE = (p4runtime_pb2.Update.Type.Value(name) for name in ("INSERT", "MODIFY", "DELETE"))

DEFAULT_PRIORITY = -1
"""Marks the default entry in keys of notes."""

Note = tuple[int, bytes] | None
"""(controller_metadata, metadata) where either is set."""


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
        return Change(lambda: _delete(view, key), lambda: remember_entry(view, key))
    entry = _entry_from_proto(view, table, key, message)
    note = _note_of(message)
    if update_type == INSERT:
        if not message.HasField("action"):
            raise invalid(f"table {table.name}: an entry to insert needs an action")
        return Change(lambda: _insert(view, key, entry, note), lambda: remember_entry(view, key))
    keeps_action = not message.HasField("action")
    return Change(lambda: _modify(view, key, entry, note, keeps_action), lambda: remember_entry(view, key))


def _entry_from_proto(view: View, table: TableSchema, key: EntryKey, message: Any) -> TableEntry:
    """The entry as the message has it, with action 0 where it has none."""
    counter, meter, counts = _resources_from_proto(table, message)
    call: ActionCall = (0, ())
    through: Through | None = None
    if message.HasField("action"):
        if table.is_const:
            raise RequestError(Code.PERMISSION_DENIED, f"table {table.name}: its entries' actions are constant")
        call, through = target_from_proto(view.schema, table, message.action, view.watch)
    idle_timeout_ns = message.idle_timeout_ns
    if idle_timeout_ns < 0:
        raise invalid(f"table {table.name}: the idle time-out is negative")
    if idle_timeout_ns and not table.has_idle_timeout:
        raise invalid(f"table {table.name} has no idle time-out")
    last_hit_ns = view.now_ns() if table.has_idle_timeout else 0
    return TableEntry(key[1], key[2], *call, counter, False, through, meter, idle_timeout_ns, last_hit_ns, counts)


def _resources_from_proto(
    table: TableSchema, message: Any
) -> tuple[CounterValue | None, MeterConfig | None, MeterCounts | None]:
    """Direct counter, meter and its counts to write; INVALID_ARGUMENT for resources the table does not have."""
    if message.HasField("time_since_last_hit"):
        raise invalid(f"table {table.name}: time_since_last_hit may not be set in a write")
    counter = meter = counts = None
    if message.HasField("counter_data"):
        if not table.direct_counter_id:
            raise invalid(f"table {table.name} has no direct counter")
        counter = counter_from_proto(message.counter_data, f"table {table.name}")
    has_config, has_counters = message.HasField("meter_config"), message.HasField("meter_counter_data")
    if has_config or has_counters:
        if not table.direct_meter_id:
            raise invalid(f"table {table.name} has no direct meter")
        if has_config:
            meter = meter_from_proto(message.meter_config, f"table {table.name}")
        if has_counters:
            counts = counts_from_proto(message.meter_counter_data, f"table {table.name}")
    return counter, meter, counts


def _note_of(message: Any) -> Note:
    number, data = message.controller_metadata, message.metadata
    return (number, data) if number or data else None


# --- Changes ----------------------------------------------------------------------------------------------------


def _insert(view: View, key: EntryKey, entry: TableEntry, note: Note) -> None:
    view.control.insert_entry(key[0], entry)
    set_notes(view, key, entry.idle_timeout_ns, note)


def _modify(view: View, key: EntryKey, entry: TableEntry, note: Note, keeps_action: bool) -> None:
    """MODIFY without an action: the action stays (section "Action Specification")."""
    if keeps_action:
        old = find_entry(view, key)
        kept = {name: getattr(old, name) for name in ("action_id", "params", "through", "is_const")}
        entry = replace(entry, **kept)
    view.control.modify_entry(key[0], entry)
    set_notes(view, key, entry.idle_timeout_ns, note)


def _delete(view: View, key: EntryKey) -> None:
    view.control.delete_entry(key[0], _key_only(key))
    forget_notes(view, key)


def forget_notes(view: View, key: EntryKey) -> None:
    """Forget the notes of an entry that is gone."""
    view.notes.entries.pop(key, None)
    view.notes.idle.forget(key)


def set_notes(view: View, key: EntryKey, idle_timeout_ns: int, note: Note) -> None:
    """Keep the notes of an entry that has come or changed."""
    notes = view.notes
    if note is not None:
        notes.entries[key] = note
    elif notes.entries:
        notes.entries.pop(key, None)
    if idle_timeout_ns:
        notes.idle.set(key, view.now_ns() + idle_timeout_ns)
    elif notes.idle:
        notes.idle.forget(key)


def _key_only(key: EntryKey) -> TableEntry:
    return TableEntry(key[1], key[2], action_id=0, params=())


def find_entry(view: View, key: EntryKey) -> TableEntry:
    """Raises ControlError (NOT_FOUND). Called inside ``access``."""
    return view.control.entry(key[0], _key_only(key))


def remember_entry(view: View, key: EntryKey) -> Undo:
    """What brings the entry back to what it is now, or is not."""
    note = view.notes.entries.get(key)
    try:
        old = find_entry(view, key)
    except ControlError as error:
        if error.code != SwitchCode.NOT_FOUND:
            raise
        return lambda: _delete_again(view, key)
    return lambda: _restore(view, key, old, note)


def _delete_again(view: View, key: EntryKey) -> None:
    try:
        _delete(view, key)
    except ControlError as error:  # the insertion itself may be what failed
        if error.code != SwitchCode.NOT_FOUND:
            raise


def _restore(view: View, key: EntryKey, old: TableEntry, note: Note) -> None:
    try:
        view.control.modify_entry(key[0], old)
    except ControlError as error:
        if error.code != SwitchCode.NOT_FOUND:
            raise
        view.control.insert_entry(key[0], old)
    set_notes(view, key, old.idle_timeout_ns, note)


# --- Default entries --------------------------------------------------------------------------------------------


def _prepare_default(view: View, update_type: int, table: TableSchema, message: Any) -> Change:
    where = f"table {table.name}"
    if update_type != MODIFY:
        raise invalid(f"{where}: the default entry always exists: it can only be modified")
    if message.match or message.priority:
        raise invalid(f"{where}: the default entry has no match and no priority")
    if table.default_is_const:
        raise RequestError(Code.PERMISSION_DENIED, f"{where}: its default action is constant")
    if table.implementation_id:
        raise RequestError(
            Code.PERMISSION_DENIED, f"{where}: with an action profile its default action is constant, and does nothing"
        )
    if message.idle_timeout_ns or message.HasField("time_since_last_hit"):
        raise invalid(f"{where}: the default entry has no idle time-out")
    counter, meter, counts = _resources_from_proto(table, message)
    key = (table.id, (), DEFAULT_PRIORITY)
    if not message.HasField("action"):
        return Change(lambda: _reset_default(view, key, counter, meter, counts), lambda: _remember_default(view, key))
    if message.action.WhichOneof("type") != "action":
        raise invalid(f"{where}: the default entry takes an action")
    call = call_from_proto(view.schema, table, message.action.action, as_default=True)
    entry, note = TableEntry((), 0, *call, counter, meter=meter, meter_counts=counts), _note_of(message)
    return Change(lambda: _set_default(view, key, entry, note), lambda: _remember_default(view, key))


def _set_default(view: View, key: EntryKey, entry: TableEntry, note: Note) -> None:
    view.control.set_default_entry(key[0], entry)
    set_notes(view, key, 0, note)
    view.notes.defaults.add(key[0])


def _reset_default(
    view: View, key: EntryKey, counter: CounterValue | None, meter: MeterConfig | None, counts: MeterCounts | None
) -> None:
    """Reset to the program's initial default action, with these resources."""
    view.control.reset_default_entry(key[0])
    if counter is not None or meter is not None or counts is not None:
        entry = view.control.default_entry(key[0])
        view.control.set_default_entry(key[0], replace(entry, counter=counter, meter=meter, meter_counts=counts))
    view.notes.entries.pop(key, None)
    view.notes.defaults.discard(key[0])


def _remember_default(view: View, key: EntryKey) -> Undo:
    was_set, note = key[0] in view.notes.defaults, view.notes.entries.get(key)
    old = view.control.default_entry(key[0])

    def undo() -> None:
        if not was_set:
            _reset_default(view, key, old.counter, old.meter, old.meter_counts)
        else:
            _set_default(view, key, replace(old, is_const=False), note)

    return undo
