"""P4Data by a P4DataTypeSpec (P4Runtime, "Complex P4 types"): what digests carry, and elements of registers.

The switch gives a sample as the fields of its type in order, flattened, as unsigned numbers; a register's element is
one such number. Types have the data plane's widths: `emulator.p4runtime.translation` replaces translated ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4runtime.entities.bytestrings import BytestringError, decode, decode_signed, encode, encode_signed
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.pipeline.schema import Schema


def check_supported(schema: Schema, spec: Any, where: str) -> None:
    """Raises UNIMPLEMENTED for types that have no plain numbers."""
    try:
        _members(schema, spec)
    except _Unsupported as error:
        raise RequestError(Code.UNIMPLEMENTED, f"{where}: {error.args[0]} are not supported") from None


def fill_data(message: Any, schema: Schema, spec: Any, values: Iterator[int]) -> None:
    """Into a P4Data, taking as many values as the type has fields."""
    kind = spec.WhichOneof("type_spec")
    if kind == "bitstring":
        message.bitstring = _bits(spec.bitstring, next(values))
    elif kind == "bool":
        message.bool = bool(next(values))
    elif kind == "struct":
        message.struct.SetInParent()
        for member in schema.types.structs[spec.struct.name].members:
            fill_data(message.struct.members.add(), schema, member.type_spec, values)
    elif kind == "tuple":
        message.tuple.SetInParent()
        for member in spec.tuple.members:
            fill_data(message.tuple.members.add(), schema, member, values)
    elif kind == "header":
        message.header.is_valid = True
        for member in schema.types.headers[spec.header.name].members:
            message.header.bitstrings.append(_bits(member.type_spec, next(values)))
    elif kind == "serializable_enum":
        message.enum_value = encode(next(values))
    elif kind == "enum":
        message.enum = schema.types.enums[spec.enum.name].members[next(values)].name
    elif kind == "error":
        message.error = schema.types.error.members[next(values)]
    elif kind == "new_type":
        fill_data(message, schema, schema.types.new_types[spec.new_type.name].original_type, values)
    else:
        raise _Unsupported(f"values of type {kind}")


def _bits(spec: Any, value: int) -> bytes:
    if spec.WhichOneof("type_spec") == "int":
        sign_bit = 1 << (spec.int.bitwidth - 1)
        return encode_signed((value ^ sign_bit) - sign_bit)
    return encode(value)


# --- Registers ------------------------------------------------------------------------------------------------------

_FIELDS = {
    "bitstring": "bitstring",
    "bool": "bool",
    "serializable_enum": "enum_value",
    "enum": "enum",
    "error": "error",
}
"""Field of a P4Data message that holds the value, by the type's kind."""


def is_one_value(schema: Schema, spec: Any) -> bool:
    """Whether a value of the type is one plain number."""
    try:
        _members(schema, spec)
    except _Unsupported:
        return False
    return _plain(schema, spec).WhichOneof("type_spec") in _FIELDS


def value_of(message: Any, schema: Schema, spec: Any, where: str) -> int:
    """Value of a P4Data of such a type, as the switch holds it: in two's complement. Raises INVALID_ARGUMENT."""
    spec = _plain(schema, spec)
    kind, given = spec.WhichOneof("type_spec"), message.WhichOneof("data")
    expected = _FIELDS[kind]
    if given != expected:
        raise invalid(f"{where}: its elements are written as {expected}, the message gives {given or 'no data'}")
    if kind == "bool":
        return int(message.bool)
    if kind == "enum":
        names = [member.name for member in schema.types.enums[spec.enum.name].members]
        return _position(message.enum, names, where)
    if kind == "error":
        return _position(message.error, list(schema.types.error.members), where)
    try:
        if kind == "serializable_enum":
            enum = schema.types.serializable_enums[spec.serializable_enum.name]
            return decode(message.enum_value, int(enum.underlying_type.bitwidth))
        if spec.bitstring.WhichOneof("type_spec") == "int":
            width_bits = int(spec.bitstring.int.bitwidth)
            return decode_signed(message.bitstring, width_bits) & ((1 << width_bits) - 1)
        return decode(message.bitstring, int(spec.bitstring.bit.bitwidth))
    except BytestringError as error:
        raise invalid(f"{where}: {error}") from None


def _position(name: str, names: list[str], where: str) -> int:
    if name not in names:
        raise invalid(f"{where}: {name!r} is none of {', '.join(names)}")
    return names.index(name)


def _plain(schema: Schema, spec: Any) -> Any:
    """The type behind a new type's name: what its values are written as."""
    if spec.WhichOneof("type_spec") != "new_type":
        return spec
    return _plain(schema, schema.types.new_types[spec.new_type.name].original_type)


class _Unsupported(Exception):
    pass


def _members(schema: Schema, spec: Any) -> None:
    kind = spec.WhichOneof("type_spec")
    if kind == "struct":
        for member in schema.types.structs[spec.struct.name].members:
            _members(schema, member.type_spec)
    elif kind == "tuple":
        for member in spec.tuple.members:
            _members(schema, member)
    elif kind == "new_type":
        _members(schema, schema.types.new_types[spec.new_type.name].original_type)
    elif kind not in ("bitstring", "bool", "header", "serializable_enum", "enum", "error"):
        raise _Unsupported(f"values of type {kind or 'unknown'}")
    elif kind == "bitstring" and spec.bitstring.WhichOneof("type_spec") == "varbit":
        raise _Unsupported("varbit values")
