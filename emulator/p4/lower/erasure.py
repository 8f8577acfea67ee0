"""Types erased to the IR's scalars and header types, and the constants and header fields of such a type."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Kind
from emulator.p4.lower.context import Context
from emulator.p4.lower.shapes import Parts, Value


def scalar(cx: Context, type_: t.Type) -> ir.Type:
    """The erased type of a scalar."""
    result = cx.erased.scalars.get(type_)
    if result is None:
        base = t.unwrapped(type_)
        if isinstance(base, t.BitsType):
            result = ir.Bits(base.width, base.is_signed)
        elif isinstance(base, t.VarbitType):
            result = ir.VarBits(base.width)
        else:
            result = ir.BOOL if base is t.BOOL else ir.INDEX
        cx.erased.scalars[type_] = result
    return result


def header_type(cx: Context, type_: t.StructLike) -> ir.HeaderType:
    """The erased type: structs inside the header become fields with dotted names."""
    result = cx.erased.header_types.get(type_)
    if result is None:
        fields: list[ir.HeaderField] = []
        _header_fields(cx, type_, "", fields)
        offset = fields[-1].offset_bits + fields[-1].width_bits if fields else 0
        at = type_.declaration.name_at if hasattr(type_.declaration, "name_at") else cx.at
        if offset % 8:
            fail(cx, at, f"header {type_} has {offset} bits: the target takes whole bytes only", Kind.TARGET)
        if sum(isinstance(f.type, ir.VarBits) for f in fields) > 1:
            fail(cx, at, f"header {type_} has two varbit fields: the target takes one", Kind.TARGET)
        result = cx.erased.header_types[type_] = ir.HeaderType(str(type_), tuple(fields))
        cx.erased.fields[id(result)] = {f.name: f for f in fields}
    return result


def _header_fields(cx: Context, type_: t.StructLike, prefix: str, fields: list[ir.HeaderField]) -> None:
    for field in type_.fields.values():
        cx.at = field.at or cx.at
        if isinstance(field.type, t.StructLike):
            _header_fields(cx, field.type, f"{prefix}{field.name}.", fields)
        elif not t.is_empty(field.type):
            offset = fields[-1].offset_bits + fields[-1].width_bits if fields else 0
            fields.append(ir.HeaderField(prefix + field.name, offset, scalar(cx, field.type)))


def header_part(cx: Context, header: ir.HeaderRef, name: str, type_: t.Type) -> Value:
    """The field of that (dotted) name and type: a place, or the parts of a struct inside the header."""
    if isinstance(type_, t.StructLike):
        names = {field: i for i, field in enumerate(type_.fields)}
        parts = [header_part(cx, header, f"{name}.{f.name}", f.type) for f in type_.fields.values()]
        return Parts(names, parts)
    if t.is_empty(type_):
        return Parts({}, [])
    return ir.FieldRef(header, cx.erased.fields[id(header.type)][name])


def constant(cx: Context, value: int | bool, type_: t.Type) -> Value:
    """A number of the type; an ``int`` gets as many bits as it needs, until a cast gives it a width."""
    base = t.unwrapped(type_)
    if base is t.INT:
        return ir.Constant(int(value), ir.Bits(int(value).bit_length() + 1, True))
    return Parts({}, []) if t.is_empty(base) else ir.Constant(int(value), scalar(cx, type_))
