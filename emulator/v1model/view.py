"""What a control plane can reach in a program: tables, actions, counters and registers with their ids.

Small and picklable. A switch is controlled by this and needs no IR, so that loading a compiled program from the cache
stays fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.p4.layout import width_of


@dataclass(frozen=True, slots=True)
class KeyView:
    id: int
    name: str
    width_bits: int
    match_kind: str


@dataclass(frozen=True, slots=True)
class ActionView:
    id: int
    name: str
    widths_bits: tuple[int, ...]
    """Of the parameters."""
    scope: ir.ActionScope


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry of the program: (value, mask) of each key, unsigned."""

    keys: tuple[tuple[int, int], ...]
    action: int
    """Index into the table's actions."""
    params: tuple[int, ...]
    priority: int


@dataclass(frozen=True, slots=True)
class TableView:
    id: int
    name: str
    keys: tuple[KeyView, ...]
    actions: tuple[ActionView, ...]
    default: tuple[int, tuple[int, ...]]
    """(index into actions, parameters)."""
    default_is_const: bool
    size: int
    entries: tuple[EntryView, ...]
    entries_are_const: bool
    has_counter: bool

    @property
    def has_priority(self) -> bool:
        """Do entries carry a priority (P4Runtime, "TableEntry")?"""
        return any(k.match_kind in ("ternary", "optional", "range") for k in self.keys)


@dataclass(frozen=True, slots=True)
class ArrayView:
    """A counter or register."""

    id: int
    name: str
    size: int
    width_bits: int


@dataclass(frozen=True, slots=True)
class ControlView:
    tables: tuple[TableView, ...]
    counters: tuple[ArrayView, ...]
    registers: tuple[ArrayView, ...]


class _Ids:
    """P4Info's ids by name; without P4Info (tests with hand-made IR) numbers from 1."""

    def __init__(self, p4info: Any | None) -> None:
        self.known: dict[tuple[str, str], int] = {}
        self.fields: dict[str, dict[str, int]] = {}
        if p4info is None:
            return
        for kind in ("tables", "actions", "counters", "registers"):
            for item in getattr(p4info, kind):
                self.known[kind, item.preamble.name] = item.preamble.id
        for table in p4info.tables:
            self.fields[table.preamble.name] = {f.name: f.id for f in table.match_fields}

    def of(self, kind: str, name: str, position: int) -> int:
        return self.known.get((kind, name), position + 1)

    def field(self, table: str, name: str, position: int) -> int:
        return self.fields.get(table, {}).get(name, position + 1)


def make_view(program: ir.Program, p4info: Any | None) -> ControlView:
    ids = _Ids(p4info)
    action_numbers = {a.name: i for i, a in enumerate(program.actions)}
    tables = tuple(_table(program, t, i, ids, action_numbers) for i, t in enumerate(program.tables))
    return ControlView(tables, _arrays(program, "counter", ids), _arrays(program, "register", ids))


def _arrays(program: ir.Program, extern: str, ids: _Ids) -> tuple[ArrayView, ...]:
    found = [e for e in program.externs if e.extern == extern]
    return tuple(
        ArrayView(
            ids.of(f"{extern}s", e.name, i),
            e.name,
            int(e.arguments[0]),
            width_of(e.type_arguments[0]) if extern == "register" else 64,
        )
        for i, e in enumerate(found)
    )


def _table(program: ir.Program, table: ir.Table, position: int, ids: _Ids, numbers: dict[str, int]) -> TableView:
    order = [reference.action for reference in table.actions]
    actions = tuple(
        ActionView(
            ids.of("actions", r.action, numbers[r.action]),
            r.action,
            tuple(width_of(p.type) for p in program.actions[numbers[r.action]].parameters),
            r.scope,
        )
        for r in table.actions
    )
    keys = tuple(
        KeyView(ids.field(table.name, k.name, i), k.name, width_of(k.value.type), k.match_kind)
        for i, k in enumerate(table.keys)
    )

    def call(action: ir.ActionCall) -> tuple[int, tuple[int, ...]]:
        index = order.index(action.action)
        widths = actions[index].widths_bits
        return index, tuple(v & ((1 << w) - 1) for v, w in zip(action.arguments, widths, strict=True))

    return TableView(
        ids.of("tables", table.name, position),
        table.name,
        keys,
        actions,
        call(table.default_action),
        table.default_is_const,
        table.size,
        tuple(_entry(e, keys, *call(e.call)) for e in table.entries),
        table.entries_are_const,
        any(a.extern == "direct_counter" for a in table.attached),
    )


def _entry(entry: ir.TableEntry, keys: tuple[KeyView, ...], action: int, params: tuple[int, ...]) -> EntryView:
    pairs = []
    for keyset, key in zip(entry.keysets, keys, strict=True):
        if not isinstance(keyset, ir.Masked):
            raise ValueError(f"entry of key {key.name}: ranges are not supported")
        mask = keyset.mask & ((1 << key.width_bits) - 1)
        pairs.append((keyset.value & mask, mask))
    return EntryView(tuple(pairs), action, params, entry.priority)
