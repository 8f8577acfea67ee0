"""Table entries between P4Runtime's messages and the switch's control interface, by what P4Info says.

Everything that can be judged without looking at the switch's state is judged here (P4Runtime, "TableEntry", "Match
Format", "Action Specification"), so the switch gets only well-formed integers. Messages name table, field and fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emulator.p4.protos import p4runtime_pb2
from emulator.p4runtime.canonical import BytestringError, decode, encode
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.schema import ActionSchema, FieldSchema, MatchKind, Schema, Scope, TableSchema
from emulator.switch.control import Exact, FieldMatch, Lpm, TableEntry, Ternary

ActionCall = tuple[int, tuple[int, ...]]
"""(action id, parameter values in declaration order)."""


def decode_value(data: bytes, width_bits: int, where: str) -> int:
    """A ``bit<width_bits>`` value; INVALID_ARGUMENT naming ``where`` when it is none."""
    if width_bits == 0:
        raise RequestError(Code.UNIMPLEMENTED, f"{where}: values that P4Info gives no width are not supported")
    try:
        return decode(data, width_bits)
    except BytestringError as error:
        raise invalid(f"{where}: {error}") from None


# --- Match keys -------------------------------------------------------------------------------------------------


def match_from_proto(table: TableSchema, matches: Iterable[Any]) -> tuple[FieldMatch, ...]:
    """A complete match key, in ascending field id; don't-care fields are absent from it, as they are in the message."""
    found: dict[int, FieldMatch] = {}
    for match in matches:
        field = table.fields.get(match.field_id)
        if field is None:
            raise invalid(f"table {table.name} has no match field with id {match.field_id}")
        where = f"table {table.name}, field {field.name}"
        if field.id in found:
            raise invalid(f"{where}: given twice")
        found[field.id] = _field_from_proto(field, match, where)
    for field in table.fields.values():
        if field.kind is MatchKind.EXACT and field.id not in found:
            raise invalid(f"table {table.name}, field {field.name}: an exact field cannot be left out")
    return tuple(found[field_id] for field_id in sorted(found))


def match_to_proto(match: Iterable[FieldMatch]) -> list[Any]:
    return [_TO_PROTO[type(part)](part) for part in match]


def _field_from_proto(field: FieldSchema, match: Any, where: str) -> FieldMatch:
    decoder = _FROM_PROTO.get(field.kind)
    if decoder is None:
        raise RequestError(Code.UNIMPLEMENTED, f"{where}: {field.kind.value} keys are not supported")
    given = match.WhichOneof("field_match_type")
    if given != field.kind.value:
        raise invalid(f"{where}: the key is {field.kind.value}, the message gives {given or 'no match'}")
    return decoder(field, match, where)


def _exact_from_proto(field: FieldSchema, match: Any, where: str) -> Exact:
    return Exact(field.id, decode_value(match.exact.value, field.width_bits, where))


def _lpm_from_proto(field: FieldSchema, match: Any, where: str) -> Lpm:
    value = decode_value(match.lpm.value, field.width_bits, where)
    prefix_len = match.lpm.prefix_len
    if prefix_len == 0:
        raise invalid(f"{where}: prefix length 0 matches anything: leave the field out instead")
    if not 0 < prefix_len <= field.width_bits:
        raise invalid(f"{where}: prefix length {prefix_len} is outside 1 to {field.width_bits}")
    if value & ((1 << (field.width_bits - prefix_len)) - 1):
        raise invalid(f"{where}: 0x{value:x} has bits set beyond its prefix of {prefix_len} bits")
    return Lpm(field.id, value, prefix_len)


def _ternary_from_proto(field: FieldSchema, match: Any, where: str) -> Ternary:
    value = decode_value(match.ternary.value, field.width_bits, where)
    mask = decode_value(match.ternary.mask, field.width_bits, f"{where}, mask")
    if mask == 0:
        raise invalid(f"{where}: mask 0 matches anything: leave the field out instead")
    if value & ~mask:
        raise invalid(f"{where}: 0x{value:x} has bits set outside the mask 0x{mask:x}")
    return Ternary(field.id, value, mask)


_FROM_PROTO: Mapping[MatchKind, Callable[[FieldSchema, Any, str], FieldMatch]] = {
    MatchKind.EXACT: _exact_from_proto,
    MatchKind.LPM: _lpm_from_proto,
    MatchKind.TERNARY: _ternary_from_proto,
}


def _exact_to_proto(part: Any) -> Any:
    match = p4runtime_pb2.FieldMatch(field_id=part.field_id)
    match.exact.value = encode(part.value)
    return match


def _lpm_to_proto(part: Any) -> Any:
    match = p4runtime_pb2.FieldMatch(field_id=part.field_id)
    match.lpm.value = encode(part.value)
    match.lpm.prefix_len = part.prefix_len
    return match


def _ternary_to_proto(part: Any) -> Any:
    match = p4runtime_pb2.FieldMatch(field_id=part.field_id)
    match.ternary.value = encode(part.value)
    match.ternary.mask = encode(part.mask)
    return match


_TO_PROTO: Mapping[type, Callable[[Any], Any]] = {
    Exact: _exact_to_proto,
    Lpm: _lpm_to_proto,
    Ternary: _ternary_to_proto,
}


# --- Actions ----------------------------------------------------------------------------------------------------


def action_from_proto(schema: Schema, table: TableSchema, table_action: Any, *, as_default: bool) -> ActionCall:
    """The action of a direct table's entry. PERMISSION_DENIED when its scope forbids the place."""
    given = table_action.WhichOneof("type")
    if table.implementation_id:
        raise RequestError(Code.UNIMPLEMENTED, f"table {table.name}: action profiles are not supported")
    if given != "action":
        raise invalid(f"table {table.name}: an entry takes an action, the message gives {given or 'none'}")
    call = table_action.action
    scope = table.scopes.get(call.action_id)
    if scope is None:
        name = schema.actions[call.action_id].name if call.action_id in schema.actions else f"0x{call.action_id:08x}"
        raise invalid(f"table {table.name} does not have the action {name}")
    action = schema.action(call.action_id)
    forbidden = Scope.TABLE_ONLY if as_default else Scope.DEFAULT_ONLY
    if scope is forbidden:
        place = "as the default action" if as_default else "in an entry"
        raise RequestError(
            Code.PERMISSION_DENIED, f"table {table.name}: the program forbids the action {action.name} {place}"
        )
    return action.id, _parameters_from_proto(action, call.params)


def _parameters_from_proto(action: ActionSchema, params: Iterable[Any]) -> tuple[int, ...]:
    by_id = {parameter.id: parameter for parameter in action.parameters}
    values: dict[int, int] = {}
    for param in params:
        parameter = by_id.get(param.param_id)
        if parameter is None:
            raise invalid(f"action {action.name} has no parameter with id {param.param_id}")
        if parameter.id in values:
            raise invalid(f"action {action.name}, parameter {parameter.name}: given twice")
        where = f"action {action.name}, parameter {parameter.name}"
        values[parameter.id] = decode_value(param.value, parameter.width_bits, where)
    missing = [parameter.name for parameter in action.parameters if parameter.id not in values]
    if missing:
        raise invalid(f"action {action.name}: no value for {', '.join(missing)}")
    return tuple(values[parameter.id] for parameter in action.parameters)


def action_to_proto(schema: Schema, call: ActionCall) -> Any:
    action_id, values = call
    table_action = p4runtime_pb2.TableAction()
    table_action.action.action_id = action_id
    for parameter, value in zip(schema.action(action_id).parameters, values, strict=True):
        table_action.action.params.add(param_id=parameter.id, value=encode(value))
    return table_action


# --- Entries ----------------------------------------------------------------------------------------------------


def key_from_proto(table: TableSchema, message: Any) -> tuple[tuple[FieldMatch, ...], int]:
    """(match, priority) of an entry to write. INVALID_ARGUMENT for tables without keys."""
    if not table.fields:
        raise invalid(f"table {table.name} has no keys: it has a default action and no entries")
    match = match_from_proto(table, message.match)
    if table.needs_priority and message.priority <= 0:
        raise invalid(f"table {table.name} has ternary keys: priority must be positive, and is {message.priority}")
    if not table.needs_priority and message.priority != 0:
        raise invalid(f"table {table.name} has no ternary keys: priority must be 0, and is {message.priority}")
    return match, message.priority


def entry_to_proto(schema: Schema, table: TableSchema, entry: TableEntry, *, is_default: bool = False) -> Any:
    """Key, action and constancy; direct resources and the controller's notes are the caller's."""
    message = p4runtime_pb2.TableEntry(table_id=table.id, priority=entry.priority, is_default_action=is_default)
    message.match.extend(match_to_proto(entry.match))
    message.action.CopyFrom(action_to_proto(schema, (entry.action_id, entry.params)))
    if entry.is_const:
        message.is_const = True
    return message
