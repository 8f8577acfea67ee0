"""P4Data from plain numbers, by a P4DataTypeSpec (P4Runtime, "Complex P4 types"): what digests carry.

The switch gives a sample as the fields of its type in order, flattened, as unsigned numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4runtime.canonical import encode, encode_signed
from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.schema import Schema


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
        _fill_new_type(message, schema, spec, values)
    else:
        raise _Unsupported(f"values of type {kind}")


def _fill_new_type(message: Any, schema: Schema, spec: Any, values: Iterator[int]) -> None:
    new_type = schema.types.new_types[spec.new_type.name]
    if new_type.WhichOneof("representation") == "original_type":
        fill_data(message, schema, new_type.original_type, values)
    else:
        message.bitstring = encode(next(values))


def _bits(spec: Any, value: int) -> bytes:
    if spec.WhichOneof("type_spec") == "int":
        sign_bit = 1 << (spec.int.bitwidth - 1)
        return encode_signed((value ^ sign_bit) - sign_bit)
    return encode(value)


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
        new_type = schema.types.new_types[spec.new_type.name]
        if new_type.WhichOneof("representation") == "original_type":
            _members(schema, new_type.original_type)
        elif new_type.translated_type.WhichOneof("sdn_type") == "sdn_string":
            raise _Unsupported("values that are translated to strings")
    elif kind not in ("bitstring", "bool", "header", "serializable_enum", "enum", "error"):
        raise _Unsupported(f"values of type {kind or 'unknown'}")
    elif kind == "bitstring" and spec.bitstring.WhichOneof("type_spec") == "varbit":
        raise _Unsupported("varbit values")
