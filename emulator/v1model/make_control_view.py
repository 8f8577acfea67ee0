"""Makes the control plane's view of a program (``emulator.v1model.control_view``) from its IR and its P4Info."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.p4 import ir
from emulator.p4.layout import width_of
from emulator.p4.syntax.lexer import integer_value
from emulator.v1model.control_view import (
    SELECTOR,
    ActionView,
    ArrayView,
    ControlView,
    EntryView,
    KeyParts,
    KeyView,
    ProfileView,
    TableView,
    TupleView,
)
from emulator.v1model.layout import digests_of
from emulator.v1model.metadata import Algorithm

ACTIONS = "actions"
P4INFO_KINDS = ("tables", ACTIONS, "counters", "registers", "meters", "action_profiles", "digests", "value_sets")
PROFILES = ("action_profile", "action_selector")


class _Ids:
    """P4Info's ids by name; without P4Info (tests with hand-made IR) numbers from 1."""

    def __init__(self, p4info: Any | None) -> None:
        self.known: dict[tuple[str, str], int] = {}
        self.fields: dict[str, dict[str, int]] = {}
        self.hidden: dict[str, list[int]] = {}
        """Positions of each table's ``@hidden`` actions: it refers to them, but nothing describes them."""
        if p4info is None:
            return
        for kind in P4INFO_KINDS:
            for item in getattr(p4info, kind):
                self.known[kind, item.preamble.name] = item.preamble.id
        described = {action.preamble.id for action in p4info.actions}
        for table in p4info.tables:
            self.fields[table.preamble.name] = {f.name: f.id for f in table.match_fields}
            self.hidden[table.preamble.name] = [ref.id for ref in table.action_refs if ref.id not in described]

    def of(self, kind: str, name: str, position: int) -> int:
        return self.known.get((kind, name), position + 1)

    def actions(self, table: ir.Table, positions: Mapping[str, int]) -> list[int]:
        """Ids of the table's actions; hidden ones are the rest of its references, in the same order."""
        rest = iter(self.hidden.get(table.name, ()))
        names = ((r.action, ir.control_plane_action(r.action)) for r in table.actions)
        return [
            self.known[ACTIONS, name] if (ACTIONS, name) in self.known else next(rest, positions[action] + 1)
            for action, name in names
        ]

    def field(self, table: str, name: str, position: int) -> int:
        return self.fields.get(table, {}).get(name, position + 1)


def make_view(program: ir.Program, p4info: Any | None) -> ControlView:
    ids = _Ids(p4info)
    action_numbers = {a.name: i for i, a in enumerate(program.actions)}
    return ControlView(
        tuple(_table(program, t, i, ids, action_numbers) for i, t in enumerate(program.tables)),
        _arrays(program, "counter", ids),
        _arrays(program, "register", ids),
        _arrays(program, "meter", ids),
        tuple(_profile(e, i, ids) for i, e in enumerate(_instances(program, *PROFILES))),
        tuple(
            TupleView(ids.of("digests", name, i), name, widths, 0)
            for i, (name, widths) in enumerate(digests_of(program).items())
        ),
        tuple(_value_set(ids.of("value_sets", v.name, i), v) for i, v in enumerate(program.value_sets)),
    )


def _value_set(number: int, value_set: ir.ValueSet) -> TupleView:
    fields = value_set.fields
    widths, kinds = tuple(width_of(f.type) for f in fields), tuple(f.match_kind for f in fields)
    return TupleView(number, value_set.name, widths, value_set.size, kinds)


def _instances(program: ir.Program, *externs: str) -> list[ir.ExternInstance]:
    return [e for e in program.externs if e.extern in externs]


def _arrays(program: ir.Program, extern: str, ids: _Ids) -> tuple[ArrayView, ...]:
    return tuple(
        ArrayView(
            ids.of(f"{extern}s", e.name, i),
            e.name,
            int(e.arguments[0]),
            width_of(e.type_arguments[0]) if extern == "register" else 64,
        )
        for i, e in enumerate(_instances(program, extern))
    )


# --- Action profiles ---------------------------------------------------------------------------------------------


def _profile(instance: ir.ExternInstance, position: int, ids: _Ids) -> ProfileView:
    algorithm = None
    size = instance.arguments[0]
    if instance.extern == "action_selector":
        algorithm, size = algorithm_of(instance), instance.arguments[1]
    annotations = {a.name: a.body or "" for a in reversed(instance.annotations)}  # the first of a name counts
    return ProfileView(
        ids.of("action_profiles", instance.name, position),
        instance.name,
        int(size),
        algorithm,
        _group_size(annotations.get("max_group_size")),
        "sum_of_members" in annotations.get("selector_size_semantics", "").lower(),
    )


def _group_size(body: str | None) -> int:
    """The number in ``@max_group_size(120)`` or ``(32w120)``; 0: none."""
    literal = integer_value(body.strip()) if body is not None else None
    return literal[0] if literal is not None else 0


def algorithm_of(selector: ir.ExternInstance) -> Algorithm:
    """An action_selector's hash; its first argument is a member's name, or its number."""
    algorithm = selector.arguments[0]
    return Algorithm[algorithm.rpartition(".")[2].upper()] if isinstance(algorithm, str) else Algorithm(algorithm)


def profile_of(table: ir.Table) -> ir.ExternInstance | None:
    """The table's ``implementation``."""
    return next((e for e in table.attached if e.extern in PROFILES), None)


# --- Tables ------------------------------------------------------------------------------------------------------


def _table(program: ir.Program, table: ir.Table, position: int, ids: _Ids, numbers: dict[str, int]) -> TableView:
    order = [reference.action for reference in table.actions]
    actions = tuple(
        ActionView(
            number,
            ir.control_plane_action(r.action),
            tuple(width_of(p.type) for p in program.actions[numbers[r.action]].parameters),
            r.scope,
        )
        for number, r in zip(ids.actions(table, numbers), table.actions, strict=True)
    )
    keys = tuple(
        KeyView(ids.field(table.name, k.name, i), k.name, width_of(k.value.type), k.match_kind)
        for i, k in enumerate(table.keys)
        if k.match_kind != SELECTOR
    )

    def call(action: ir.ActionCall) -> tuple[int, tuple[int, ...]]:
        index = order.index(action.action)
        widths = actions[index].widths_bits
        return index, tuple(v & ((1 << w) - 1) for v, w in zip(action.arguments, widths, strict=True))

    externs = {e.extern for e in table.attached}
    profile = profile_of(table)
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
        "direct_counter" in externs,
        "direct_meter" in externs,
        table.support_timeout,
        profile.name if profile is not None else None,
    )


def _entry(entry: ir.TableEntry, keys: tuple[KeyView, ...], action: int, params: tuple[int, ...]) -> EntryView:
    parts: KeyParts = tuple(_part(keyset, key) for keyset, key in zip(entry.keysets, keys, strict=True))
    return EntryView(parts, action, params, entry.priority, entry.is_const)


def _part(keyset: ir.KeySet, key: KeyView) -> tuple[int, int]:
    ones = (1 << key.width_bits) - 1
    if isinstance(keyset, ir.Between):
        if key.match_kind != "range":
            raise ValueError(f"entry of key {key.name}: a {key.match_kind} key takes no range")
        return keyset.low & ones, keyset.high & ones
    value, mask = keyset.value & keyset.mask & ones, keyset.mask & ones
    if key.match_kind != "range":
        return value, mask
    rest = ones ^ mask
    if rest & (rest + 1):
        raise ValueError(f"entry of key {key.name}: a range key takes no mask {mask:#x}")
    return value, value | rest
