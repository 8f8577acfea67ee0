"""Large batches of table entries: what is plain of them goes from the request's bytes to the switch's rows.

`bulk_scan` takes the bytes apart, `bulk_recipes` makes rows of them; the rest, and whatever is refused, is prepared
update by update as in small batches, so there is one place for each rule's wording.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import numpy as np

from emulator.p4runtime.bulk import scan
from emulator.p4runtime.bulk.recipes import Recipe, Rows, Shape, recipe_of, shape_of
from emulator.p4runtime.bulk.rows import RowKeys, match_of
from emulator.p4runtime.bulk.scan import Updates
from emulator.p4runtime.entities import tables
from emulator.p4runtime.entities.tables import Note
from emulator.p4runtime.errors import RequestError
from emulator.p4runtime.pipeline.schema import TableSchema
from emulator.p4runtime.view import Change, Undo, View
from emulator.switch.control import Row

Prepare = Callable[[int], Change | RequestError]
"""One update the slow way, by its place in the request."""


def prepare_many(view: View, data: bytes, count: int, prepare: Prepare) -> list[Change | RequestError]:
    """Of each update of a WriteRequest that has so many; ``data`` are its bytes."""
    if not _loops.are_ready():
        return [prepare(number) for number in range(count)]
    changes = _Preparation(view, data, prepare).changes()
    assert len(changes) == count
    return changes


class _Preparation:
    def __init__(self, view: View, data: bytes, prepare: Prepare) -> None:
        self._view = view
        self._data = data
        self._prepare = prepare
        self._recipes: dict[tuple[int, ...], tuple[Shape, Recipe] | None] = {}
        self._changes: list[Change | RequestError] = []

    def changes(self) -> list[Change | RequestError]:
        data, at = np.frombuffer(self._data, np.uint8), 0
        while at < len(data):
            updates = scan.scan(data, at)
            self._add(updates)
            at = updates.end
        return self._changes

    def _add(self, updates: Updates) -> None:
        firsts = np.flatnonzero(~updates.is_like_last).tolist()
        for first, end in zip(firsts, [*firsts[1:], len(updates.is_plain)], strict=True):
            rows = self._rows(updates, first, end) if updates.is_plain[first] else None
            if rows is None:
                start = len(self._changes)
                self._changes += [self._prepare(number) for number in range(start, start + end - first)]
            else:
                self._changes += _changes_of(self._view, rows)

    def _rows(self, updates: Updates, first: int, end: int) -> Rows | None:
        codes = tuple(updates.shapes[updates.shape_starts[first] : updates.shape_starts[first + 1]].tolist())
        if codes not in self._recipes:
            shape = shape_of(codes)
            recipe = None if shape is None else recipe_of(shape, self._view.schema, self._view.control)
            self._recipes[codes] = None if shape is None or recipe is None else (shape, recipe)
        known = self._recipes[codes]
        if known is None:
            return None
        shape, recipe = known
        values = updates.values[updates.value_starts[first] : updates.value_starts[end]]
        columns = values.reshape(end - first, shape.count).T.tolist()
        for column in shape.wide:
            columns[column] = [self._wide(place) for place in columns[column]]
        return recipe.rows(columns, end - first, self._bytes_at)

    def _wide(self, place: int) -> int:
        return int.from_bytes(self._bytes_at(place), "big")

    def _bytes_at(self, place: int) -> bytes:
        start, length = place >> 32, place & 0xFFFF_FFFF
        return self._data[start : start + length]


def _changes_of(view: View, rows: Rows) -> list[Change]:
    run = {tables.INSERT: _insert, tables.MODIFY: _modify, tables.DELETE: _delete}
    carry_out, table, keys = run[rows.update_type], rows.table, view.control.row_keys(rows.table.id)
    return [
        Change(partial(carry_out, view, table, keys, row, note), partial(_remember, view, table, keys, row))
        for row, note in zip(rows.rows, rows.notes, strict=False)
    ]


# --- Changes ----------------------------------------------------------------------------------------------------


def _insert(view: View, table: TableSchema, keys: RowKeys, row: Row, note: Note) -> None:
    view.control.insert_row(table.id, row, view.now_ns() if table.has_idle_timeout else 0)
    if row.idle_timeout_ns or note is not None:
        _set_notes(view, table, keys, row, note)


def _modify(view: View, table: TableSchema, keys: RowKeys, row: Row, note: Note) -> None:
    view.control.modify_row(table.id, row)
    if table.has_idle_timeout or view.notes.entries or note is not None:
        _set_notes(view, table, keys, row, note)


def _delete(view: View, table: TableSchema, keys: RowKeys, row: Row, _: Note) -> None:
    view.control.delete_row(table.id, row)
    if table.has_idle_timeout or view.notes.entries:
        tables.forget_notes(view, (table.id, match_of(keys, row.keys), row.priority))


def _set_notes(view: View, table: TableSchema, keys: RowKeys, row: Row, note: Note) -> None:
    key = table.id, match_of(keys, row.keys), row.priority
    tables.set_notes(view, key, row.idle_timeout_ns, note)


def _remember(view: View, table: TableSchema, keys: RowKeys, row: Row) -> Undo:
    return tables.remember_entry(view, (table.id, match_of(keys, row.keys), row.priority))


# --- The compiled loop --------------------------------------------------------------------------------------------


class _Loops:
    """Compiled beside the work: the first time after an installation takes seconds, and nothing waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()

    def are_ready(self) -> bool:
        """Where they are not, they will be."""
        if not self._ready.is_set():
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self.compile, name="netsum-compile-bulk", daemon=True)
                    self._thread.start()
        return self._ready.is_set()

    def compile(self) -> None:
        scan.scan(np.frombuffer(bytes(1), np.uint8), 1)
        self._ready.set()


_loops = _Loops()
compile_loops = _loops.compile
