"""Plain table entries: from a message directly to a row of the switch's table.

Plain is an update whose entry has an action, a member or a group, and at most an idle time-out and metadata besides,
all of it right by P4Info, parameters in declaration order. Everything else is left to `tables`, the one place that
words refusals: whichever of the two prepares an update, the effect is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from emulator.p4runtime.entities import tables
from emulator.p4runtime.entities.tables import DELETE, INSERT, Note
from emulator.p4runtime.pipeline.schema import MatchKind, Schema, Scope, TableSchema
from emulator.p4runtime.view import Change, EntryKey, Undo, View
from emulator.switch.control import (
    Exact,
    FieldMatch,
    Lpm,
    Optional,
    Range,
    Row,
    RowControl,
    RowKey,
    Ternary,
    Through,
    ToGroup,
    ToMember,
)
from emulator.v1model.control_view import KeyParts

RowKeys: TypeAlias = tuple[RowKey, ...]
Pair: TypeAlias = tuple[int, int]
Decode: TypeAlias = Callable[[Any, int], Pair | None]
"""Decoder of a FieldMatch message, given the field's largest value: the key's pair in a row, None for a wrong one."""


@dataclass(frozen=True, slots=True)
class RowForm:
    """What P4Info and the switch say of a table's rows."""

    table: TableSchema
    keys: RowKeys
    fields: Mapping[int, tuple[int, Decode, int]]
    """Fields by id: position among the keys, decoder, largest value."""
    anything: KeyParts
    """A row's keys where every field is left out."""
    exact_count: int
    """Fields that cannot be left out."""
    actions: Mapping[int, tuple[Pair, ...]]
    """Parameters, (id, width in bits), of each action that entries may have, by its id."""


def prepare_write(view: View, update_type: int, message: Any) -> Change:
    """Validate an update of a table entry. Raises RequestError."""
    table_id = message.table_id
    form = view.row_forms[table_id] if table_id in view.row_forms else _new_form(view, table_id)
    change = None if form is None else _prepare_row(view, form, update_type, message)
    return change or tables.prepare_write(view, update_type, message)


def _prepare_row(view: View, form: RowForm, update_type: int, message: Any) -> Change | None:
    """None for what is not plain."""
    table, priority = form.table, message.priority
    if message.is_const or message.is_default_action or (priority <= 0 if table.needs_priority else priority):
        return None
    keys = _keys(form, message.match)
    if keys is None:
        return None
    if update_type == DELETE:
        row = Row(keys, priority, 0, ())
        return Change(partial(_delete, view, form, row), partial(_remember, view, form, row))
    timeout_ns = message.idle_timeout_ns
    if _has_resources(message) or timeout_ns < 0 or (timeout_ns and not table.has_idle_timeout):
        return None
    action_id, through = 0, None
    params: tuple[int, ...] | None = ()
    if table.implementation_id:
        through = _through(view.schema, table, message.action)
    else:
        call = message.action.action
        action_id, params = call.action_id, _params(form, call)
    if params is None or (table.implementation_id and through is None):
        return None
    number, metadata = message.controller_metadata, message.metadata
    note = (number, metadata) if number or metadata else None
    row = Row(keys, priority, action_id, params, through, timeout_ns)
    run = _insert if update_type == INSERT else _modify
    return Change(partial(run, view, form, row, note), partial(_remember, view, form, row))


def _has_resources(message: Any) -> bool:
    has = message.HasField
    return bool(
        has("counter_data") or has("meter_config") or has("meter_counter_data") or has("time_since_last_hit")
    )  # fmt: skip


def _keys(form: RowForm, matches: Any) -> KeyParts | None:
    fields, anything, missing = form.fields, form.anything, form.exact_count
    parts = list(anything)
    for match in matches:
        field = fields.get(match.field_id)
        if field is None:
            return None
        position, decode, ones = field
        pair = decode(match, ones)
        if pair is None or parts[position] is not anything[position]:
            return None
        parts[position] = pair
        if decode is _exact:
            missing -= 1
    return None if missing else tuple(parts)


def _params(form: RowForm, call: Any) -> tuple[int, ...] | None:
    parameters, given = form.actions.get(call.action_id), call.params
    if parameters is None or len(given) != len(parameters):
        return None
    values = []
    for param, (number, width_bits) in zip(given, parameters, strict=True):
        data = param.value
        value = int.from_bytes(data, "big")
        if param.param_id != number or not data or value >> width_bits:
            return None
        values.append(value)
    return tuple(values)


def _through(schema: Schema, table: TableSchema, action: Any) -> Through | None:
    given = action.WhichOneof("type")
    if given == "action_profile_member_id":
        return ToMember(action.action_profile_member_id)
    if given == "action_profile_group_id" and schema.profiles[table.implementation_id].has_groups:
        return ToGroup(action.action_profile_group_id)
    return None


# --- Forms --------------------------------------------------------------------------------------------------------


def _new_form(view: View, table_id: int) -> RowForm | None:
    table = view.schema.tables.get(table_id)
    if table is None:
        return None
    form = view.row_forms[table_id] = _form_of(table, view.schema, view.control)
    return form


def _form_of(table: TableSchema, schema: Schema, control: RowControl) -> RowForm | None:
    """None for tables without entries to write, and where P4Info and the switch do not agree on the keys."""
    if not table.fields or table.is_const:
        return None
    keys = control.row_keys(table.id)
    fields: dict[int, tuple[int, Decode, int]] = {}
    for position, key in enumerate(keys):
        field = table.fields.get(key.field_id)
        if field is None or (field.kind.value, field.width_bits) != (key.match_kind, key.width_bits):
            return None
        fields[key.field_id] = position, _DECODERS[field.kind], (1 << key.width_bits) - 1
    if fields.keys() != table.fields.keys():
        return None
    actions = {}
    for action_id, scope in table.scopes.items():
        action = schema.actions.get(action_id)
        if scope is not Scope.DEFAULT_ONLY and action is not None and all(p.width_bits for p in action.parameters):
            actions[action_id] = tuple((p.id, p.width_bits) for p in action.parameters)
    exact_count = sum(key.match_kind == "exact" for key in keys)
    return RowForm(table, keys, fields, tuple(key.anything for key in keys), exact_count, actions)


# --- Keys ---------------------------------------------------------------------------------------------------------


def _exact(match: Any, ones: int) -> Pair | None:
    data = match.exact.value
    value = int.from_bytes(data, "big")
    return (value, ones) if data and value <= ones else None


def _lpm(match: Any, ones: int) -> Pair | None:
    lpm = match.lpm
    value, length = _value(lpm.value, ones), lpm.prefix_len
    if value < 0 or not 0 < length <= ones.bit_length() or value & ones >> length:
        return None
    return value, ones ^ ones >> length


def _ternary(match: Any, ones: int) -> Pair | None:
    ternary = match.ternary
    value, mask = _value(ternary.value, ones), _value(ternary.mask, ones)
    return None if value < 0 or mask <= 0 or value & ~mask else (value, mask)


def _range(match: Any, ones: int) -> Pair | None:
    bounds = match.range
    low, high = _value(bounds.low, ones), _value(bounds.high, ones)
    return None if low < 0 or high < low or (low, high) == (0, ones) else (low, high)


def _optional(match: Any, ones: int) -> Pair | None:
    value = _value(match.optional.value, ones)
    return None if value < 0 else (value, ones)


def _value(data: bytes, ones: int) -> int:
    """-1 for an empty bytestring (as of a field that has another kind of match), and for what is too large."""
    value = int.from_bytes(data, "big")
    return value if data and value <= ones else -1


_DECODERS: Mapping[MatchKind, Decode] = {
    MatchKind.EXACT: _exact,
    MatchKind.LPM: _lpm,
    MatchKind.TERNARY: _ternary,
    MatchKind.RANGE: _range,
    MatchKind.OPTIONAL: _optional,
}


def is_given(key: RowKey, pair: Pair) -> bool:
    """Whether a message has the field: it is left out where it matches anything."""
    return pair != key.anything or key.match_kind == "exact"


def match_of(keys: RowKeys, parts: KeyParts) -> tuple[FieldMatch, ...]:
    """Match fields in ascending field id, as an entry's key has it."""
    found = [
        MATCHES[key.match_kind](key.field_id, *pair)
        for key, pair in zip(keys, parts, strict=True)
        if is_given(key, pair)
    ]
    return tuple(sorted(found, key=lambda part: part.field_id))


def _lpm_match(number: int, value: int, mask: int) -> Lpm:
    return Lpm(number, value, mask.bit_count())


MATCHES: Mapping[str, Callable[[int, int, int], FieldMatch]] = {
    "exact": lambda number, value, _: Exact(number, value),
    "lpm": _lpm_match,
    "ternary": Ternary,
    "range": Range,
    "optional": lambda number, value, _: Optional(number, value),
}
"""Encoders of a FieldMatch, given the field's id and its pair in a row."""


# --- Changes ------------------------------------------------------------------------------------------------------


def _insert(view: View, form: RowForm, row: Row, note: Note) -> None:
    table = form.table
    view.control.insert_row(table.id, row, view.now_ns() if table.has_idle_timeout else 0)
    if row.idle_timeout_ns or note is not None:
        tables.set_notes(view, _entry_key(form, row), row.idle_timeout_ns, note)


def _modify(view: View, form: RowForm, row: Row, note: Note) -> None:
    view.control.modify_row(form.table.id, row)
    if form.table.has_idle_timeout or view.notes.entries or note is not None:
        tables.set_notes(view, _entry_key(form, row), row.idle_timeout_ns, note)


def _delete(view: View, form: RowForm, row: Row) -> None:
    view.control.delete_row(form.table.id, row)
    if form.table.has_idle_timeout or view.notes.entries:
        tables.forget_notes(view, _entry_key(form, row))


def _remember(view: View, form: RowForm, row: Row) -> Undo:
    return tables.remember_entry(view, _entry_key(form, row))


def _entry_key(form: RowForm, row: Row) -> EntryKey:
    return form.table.id, match_of(form.keys, row.keys), row.priority
