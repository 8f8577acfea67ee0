"""What may stand in a struct, header or header union."""

from __future__ import annotations

from emulator.p4.check import type_system as t


def is_legal_field(kind: str, type_: t.Type) -> bool:
    """Section 7.2.8's table: what may stand in a struct, header or header union."""
    base = t.unwrapped(type_)
    if isinstance(base, t.TypeVariable) or base is t.UNKNOWN:
        return True
    if kind == "header_union":
        return isinstance(base, t.StructLike) and base.kind == "header"
    if kind == "header":
        return isinstance(base, t.VarbitType) or _is_wire_type(base)
    if isinstance(base, t.BitsType | t.VarbitType | t.EnumType | t.StructLike | t.StackType | t.TupleType):
        return True
    return base in (t.BOOL, t.ERROR)


def _is_wire_type(type_: t.Type) -> bool:
    """Of fixed width in a header: numbers, bools, serializable enums, and structs of them."""
    base = t.unwrapped(type_)
    if isinstance(base, t.StructLike):
        return base.kind == "struct" and all(_is_wire_type(f.type) for f in base.fields.values())
    return isinstance(base, t.BitsType | t.TypeVariable) or base in (t.BOOL, t.UNKNOWN)
