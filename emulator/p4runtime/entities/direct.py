"""How direct counters and meters are addressed: by the table entry they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from emulator.p4runtime.entities.tables import DEFAULT_PRIORITY, find_entry
from emulator.p4runtime.entities.tables_read import defaults, fill_key, select_entries
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.match_keys import key_from_proto
from emulator.p4runtime.pipeline.schema import TableSchema
from emulator.p4runtime.view import EntryKey, View
from emulator.switch.control import TableEntry

Kind = Literal["direct counter", "direct meter"]


def key_of(view: View, table_entry: Any, kind: Kind) -> tuple[TableSchema, EntryKey]:
    """Table and key of the one entry that a write addresses."""
    table = _table_of(view, table_entry, kind)
    if table_entry.is_default_action:
        return table, (table.id, (), DEFAULT_PRIORITY)
    match, priority = key_from_proto(table, table_entry)
    return table, (table.id, match, priority)


def select(view: View, table_entry: Any, kind: Kind) -> Iterator[tuple[TableSchema, TableEntry]]:
    """What a read addresses: one entry, a table's entries, or with table id 0 those of all tables that have the kind.

    Raises NOT_FOUND where a match is given and nothing is found.
    """
    if not table_entry.table_id:
        if table_entry.match or table_entry.priority:
            raise invalid(f"table id 0 reads the {kind}s of all tables: match and priority cannot be given with it")
        for table in view.schema.tables.values():
            if _resource_id(table, kind):
                yield from ((table, entry) for entry in _entries(view, table, table_entry))
        return
    table = _table_of(view, table_entry, kind)
    found = False
    for entry in _entries(view, table, table_entry):
        found = True
        yield table, entry
    if table_entry.match and not found:
        raise RequestError(Code.NOT_FOUND, f"table {table.name} has no such entry")


def _entries(view: View, table: TableSchema, table_entry: Any) -> Iterable[TableEntry]:
    return defaults(view, table) if table_entry.is_default_action else select_entries(view, table, table_entry)


def find(view: View, key: EntryKey) -> TableEntry:
    """Raises ControlError (NOT_FOUND). Called inside ``access``, as is `put`."""
    return view.control.default_entry(key[0]) if key[2] == DEFAULT_PRIORITY else find_entry(view, key)


def put(view: View, key: EntryKey, entry: TableEntry) -> None:
    if key[2] == DEFAULT_PRIORITY:
        view.control.set_default_entry(key[0], entry)
    else:
        view.control.modify_entry(key[0], entry)


def fill_entry(message: Any, table: TableSchema, entry: TableEntry, asked: Any) -> None:
    """The TableEntry of an answer; ``asked``: that of the request."""
    fill_key(message, table, entry)
    if asked.is_default_action:
        message.is_default_action = True


def _resource_id(table: TableSchema, kind: Kind) -> int:
    return table.direct_counter_id if kind == "direct counter" else table.direct_meter_id


def _table_of(view: View, table_entry: Any, kind: Kind) -> TableSchema:
    table = view.schema.table(table_entry.table_id)
    if not _resource_id(table, kind):
        raise invalid(f"table {table.name} has no {kind}")
    if table_entry.is_default_action and (table_entry.match or table_entry.priority):
        raise invalid(f"table {table.name}: the default entry has no match and no priority")
    return table
