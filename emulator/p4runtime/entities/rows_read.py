"""Many entries to a controller: each is written into a message that is made once for all entries of its form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from emulator.p4runtime.action_calls import fill_through
from emulator.p4runtime.entities.bytestrings import encode
from emulator.p4runtime.entities.rows import MATCHES, is_given, match_of
from emulator.p4runtime.match_keys import add_match
from emulator.p4runtime.pipeline.schema import TableSchema
from emulator.p4runtime.view import View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import OneShot, Row, RowKey, ToGroup, ToMember

Form = tuple[int, bool, type | None, bool, tuple[bool, ...]]
"""(action, whether it is constant, what it leads to, whether it has a time-out, for each key whether it is given)"""


def suits_rows(view: View, table: TableSchema, query: Any) -> bool:
    """Whether all entries of a table are asked for, with nothing that rows do not hold."""
    return bool(view.control.row_keys(table.id)) and not (
        query.match
        or query.priority
        or query.HasField("action")
        or query.controller_metadata
        or query.metadata
        or query.is_default_action
        or (query.HasField("counter_data") and table.direct_counter_id)
        or ((query.HasField("meter_config") or query.HasField("meter_counter_data")) and table.direct_meter_id)
        or (query.HasField("time_since_last_hit") and table.has_idle_timeout)
    )


def read_rows(view: View, table: TableSchema) -> Iterator[bytes]:
    """All entries, as serialized Entity messages."""
    keys = view.control.row_keys(table.id)
    forms: dict[Form, Callable[[Row], bytes]] = {}
    for row in view.control.rows(table.id):
        given = tuple([is_given(key, pair) for pair, key in zip(row.keys, keys, strict=True)])
        kind = None if row.through is None else type(row.through)
        form = row.action_id, row.is_const, kind, row.idle_timeout_ns != 0, given
        writer = forms.get(form)
        if writer is None:
            writer = forms[form] = _writer(view, table, keys, form)
        yield writer(row)


def _writer(view: View, table: TableSchema, keys: tuple[RowKey, ...], form: Form) -> Callable[[Row], bytes]:
    action_id, is_const, kind, has_timeout, given = form
    notes = view.notes.entries
    entity = p4runtime_pb2.Entity()
    message = entity.table_entry
    message.table_id, message.is_const = table.id, is_const
    positions = [i for i in sorted(range(len(keys)), key=lambda i: keys[i].field_id) if given[i]]
    add_match(message.match, [MATCHES[keys[i].match_kind](keys[i].field_id, 0, 0) for i in positions])
    matches = [(i, _SETTERS[keys[i].match_kind](match)) for i, match in zip(positions, message.match, strict=True)]
    put_target = _put_call(view, message.action.action, action_id) if kind is None else _THROUGH[kind](view, message)

    def write(row: Row) -> bytes:
        if notes:
            note = notes.get((table.id, match_of(keys, row.keys), row.priority))
            message.controller_metadata, message.metadata = note or (0, b"")
        if row.priority:
            message.priority = row.priority
        if has_timeout:
            message.idle_timeout_ns = row.idle_timeout_ns
        for position, put in matches:
            put(*row.keys[position])
        put_target(row)
        return bytes(entity.SerializeToString())

    return write


# --- What rows lead to --------------------------------------------------------------------------------------------

PutTarget = Callable[[Row], None]


def _put_call(view: View, call: Any, action_id: int) -> PutTarget:
    call.action_id = action_id
    if action_id not in view.schema.actions:  # ``@hidden``
        return lambda row: None
    for parameter in view.schema.actions[action_id].parameters:
        call.params.add(param_id=parameter.id)
    params = list(call.params)

    def put(row: Row) -> None:
        for param, value in zip(params, row.params, strict=True):
            param.value = encode(value)

    return put


def _put_member(view: View, message: Any) -> PutTarget:
    action = message.action

    def put(row: Row) -> None:
        action.action_profile_member_id = row.through.member_id  # type: ignore[union-attr]

    return put


def _put_group(view: View, message: Any) -> PutTarget:
    action = message.action

    def put(row: Row) -> None:
        action.action_profile_group_id = row.through.group_id  # type: ignore[union-attr]

    return put


def _put_one_shot(view: View, message: Any) -> PutTarget:
    action = message.action

    def put(row: Row) -> None:
        action.Clear()
        assert row.through is not None
        fill_through(action, view.schema, row.through)

    return put


_THROUGH: Mapping[type, Callable[[View, Any], PutTarget]] = {
    ToMember: _put_member,
    ToGroup: _put_group,
    OneShot: _put_one_shot,
}

# --- Keys -----------------------------------------------------------------------------------------------------------

Put = Callable[[int, int], None]
"""A key's pair into its message."""


def _put_exact(match: Any) -> Put:
    exact = match.exact

    def put(value: int, mask: int) -> None:
        exact.value = encode(value)

    return put


def _put_lpm(match: Any) -> Put:
    lpm = match.lpm

    def put(value: int, mask: int) -> None:
        lpm.value, lpm.prefix_len = encode(value), mask.bit_count()

    return put


def _put_ternary(match: Any) -> Put:
    ternary = match.ternary

    def put(value: int, mask: int) -> None:
        ternary.value, ternary.mask = encode(value), encode(mask)

    return put


def _put_range(match: Any) -> Put:
    bounds = match.range

    def put(low: int, high: int) -> None:
        bounds.low, bounds.high = encode(low), encode(high)

    return put


def _put_optional(match: Any) -> Put:
    optional = match.optional

    def put(value: int, mask: int) -> None:
        optional.value = encode(value)

    return put


_SETTERS: dict[str, Callable[[Any], Put]] = {
    "exact": _put_exact,
    "lpm": _put_lpm,
    "ternary": _put_ternary,
    "range": _put_range,
    "optional": _put_optional,
}
