"""Match keys between P4Runtime's messages and the switch's control interface, as P4Info describes them.

Everything that can be judged without looking at the switch's state is judged here (P4Runtime, "TableEntry", "Match
Format"), so the switch gets only well-formed integers. Messages name table, field and fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emulator.p4runtime.entities.bytestrings import BytestringError, decode, encode
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.pipeline.schema import FieldSchema, MatchKind, TableSchema, ValueSetSchema
from emulator.switch.control import Exact, FieldMatch, Lpm, Optional, Range, Ternary


def decode_value(data: bytes, width_bits: int, where: str = "") -> int:
    """A ``bit<width_bits>`` value; INVALID_ARGUMENT naming ``where`` when it is none."""
    if width_bits == 0:
        raise RequestError(Code.UNIMPLEMENTED, f"{where}: values that P4Info gives no width are not supported")
    try:
        return decode(data, width_bits)
    except BytestringError as error:
        raise invalid(f"{where}: {error}") from None


# --- Match keys -------------------------------------------------------------------------------------------------


def match_from_proto(table: TableSchema | ValueSetSchema, matches: Iterable[Any]) -> tuple[FieldMatch, ...]:
    """A complete match key, in ascending field id; don't-care fields are absent from it, as they are in the message."""
    found: dict[int, FieldMatch] = {}
    fields = table.fields
    for match in matches:
        number = match.field_id
        field = fields.get(number)
        if field is None:
            raise invalid(f"{_owner(table)} has no match field with id {number}")
        if number in found:
            raise invalid(f"{_owner(table)}, field {field.name} occurs twice")
        try:
            found[number] = _field_from_proto(field, match)
        except RequestError as error:
            raise RequestError(error.code, f"{_owner(table)}, field {field.name}{error.message}") from None
    if len(found) < len(fields):
        for field in fields.values():
            if field.kind is MatchKind.EXACT and field.id not in found:
                raise invalid(f"{_owner(table)}, field {field.name}: an exact field cannot be left out")
    return tuple(found[number] for number in sorted(found)) if len(found) > 1 else tuple(found.values())


def _owner(schema: TableSchema | ValueSetSchema) -> str:
    return f"{'table' if isinstance(schema, TableSchema) else 'value set'} {schema.name}"


def _field_from_proto(field: FieldSchema, match: Any) -> FieldMatch:
    """Raises RequestError; its text continues the field's name."""
    decoder = _FROM_PROTO.get(field.message_name)
    if decoder is None:
        raise RequestError(Code.UNIMPLEMENTED, ": keys of this kind are not supported")
    given = match.WhichOneof("field_match_type")
    if given != field.message_name:
        raise invalid(f": the key is {field.message_name}, the message gives {given or 'no match'}")
    return decoder(field, getattr(match, given))


def _exact_from_proto(field: FieldSchema, given: Any) -> Exact:
    return Exact(field.id, decode_value(given.value, field.width_bits))


def _lpm_from_proto(field: FieldSchema, given: Any) -> Lpm:
    value, prefix_len = decode_value(given.value, field.width_bits), given.prefix_len
    if prefix_len == 0:
        raise invalid(": prefix length 0 matches anything: leave the field out instead")
    if not 0 < prefix_len <= field.width_bits:
        raise invalid(f": prefix length {prefix_len} is outside 1 to {field.width_bits}")
    if value & ((1 << (field.width_bits - prefix_len)) - 1):
        raise invalid(f": 0x{value:x} has bits set beyond its prefix of {prefix_len} bits")
    return Lpm(field.id, value, prefix_len)


def _ternary_from_proto(field: FieldSchema, given: Any) -> Ternary:
    value = decode_value(given.value, field.width_bits)
    mask = decode_value(given.mask, field.width_bits, ", mask")
    if mask == 0:
        raise invalid(": mask 0 matches anything: leave the field out instead")
    if value & ~mask:
        raise invalid(f": 0x{value:x} has bits set outside the mask 0x{mask:x}")
    return Ternary(field.id, value, mask)


def _range_from_proto(field: FieldSchema, given: Any) -> Range:
    low = decode_value(given.low, field.width_bits, ", low end")
    high = decode_value(given.high, field.width_bits, ", high end")
    if low > high:
        raise invalid(f": the range's low end 0x{low:x} is above its high end 0x{high:x}")
    if low == 0 and high == (1 << field.width_bits) - 1:
        raise invalid(": the whole range matches anything: leave the field out instead")
    return Range(field.id, low, high)


def _optional_from_proto(field: FieldSchema, given: Any) -> Optional:
    return Optional(field.id, decode_value(given.value, field.width_bits))


_FROM_PROTO: Mapping[str, Callable[[FieldSchema, Any], FieldMatch]] = {
    "exact": _exact_from_proto,
    "lpm": _lpm_from_proto,
    "ternary": _ternary_from_proto,
    "range": _range_from_proto,
    "optional": _optional_from_proto,
}


def add_match(matches: Any, match: Iterable[FieldMatch]) -> None:
    """Append a key to a repeated FieldMatch."""
    for part in match:
        message = matches.add()
        message.field_id = part.field_id
        _TO_PROTO[type(part)](message, part)


def _exact_to_proto(message: Any, part: Any) -> None:
    message.exact.value = encode(part.value)


def _lpm_to_proto(message: Any, part: Any) -> None:
    given = message.lpm
    given.value, given.prefix_len = encode(part.value), part.prefix_len


def _ternary_to_proto(message: Any, part: Any) -> None:
    given = message.ternary
    given.value, given.mask = encode(part.value), encode(part.mask)


def _range_to_proto(message: Any, part: Any) -> None:
    given = message.range
    given.low, given.high = encode(part.low), encode(part.high)


def _optional_to_proto(message: Any, part: Any) -> None:
    message.optional.value = encode(part.value)


_TO_PROTO: Mapping[type, Callable[[Any, Any], None]] = {
    Exact: _exact_to_proto,
    Lpm: _lpm_to_proto,
    Ternary: _ternary_to_proto,
    Range: _range_to_proto,
    Optional: _optional_to_proto,
}


# --- Entries ----------------------------------------------------------------------------------------------------


def key_from_proto(table: TableSchema, message: Any) -> tuple[tuple[FieldMatch, ...], int]:
    """(match, priority) of an entry to write. INVALID_ARGUMENT for tables without keys."""
    if not table.fields:
        raise invalid(f"table {table.name} has no keys: it has a default action and no entries")
    match, priority = match_from_proto(table, message.match), message.priority
    if table.needs_priority and priority <= 0:
        raise invalid(f"table {table.name} has {_PRIORITY_KINDS} keys: priority must be positive, and is {priority}")
    if not table.needs_priority and priority != 0:
        raise invalid(f"table {table.name} has no {_PRIORITY_KINDS} keys: priority must be 0, and is {priority}")
    return match, priority


_PRIORITY_KINDS = "ternary, range or optional"
