"""Names that the control plane sees: ``@name`` texts and match fields (p4c: frontends/p4/tableKeyNames.cpp)."""

from __future__ import annotations

from emulator.p4.check import known
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context
from emulator.p4.syntax import tree as s


def annotation_text(annotations: s.Annotations, name: str) -> str | None:
    """The string of ``@name("...")`` (pieces joined by ``++``), None when it is not there."""
    for annotation in annotations:
        if annotation.name == name and annotation.tokens is not None:
            return "".join(token[1:-1] for token in annotation.tokens if token.startswith('"'))
    return None


def control_name(type_: t.StructLike) -> str:
    """Of a declared struct or header."""
    return (type_.control_name or type_.name).removeprefix(".")


def written_key(cx: Context, node: s.Expr, value: r.Expr | None) -> str | None:
    """A path of names, ``h.$valid$``, ``s[1]``, ``x[7:4]``, ``x & 0xf``; None for what needs a ``@name``."""
    number = known.number_text(cx, node)
    if number is not None:
        return number
    if isinstance(node, s.Name):
        return node.name
    if isinstance(node, s.Member):
        base = written_key(cx, node.base, value.base if isinstance(value, r.FieldOf) else None)
        if base is None:
            return None
        own = _field_name(value) or node.name
        return own[1:] if own.startswith(".") else f"{base}.{own}"
    if isinstance(node, s.Call) and isinstance(node.callee, s.Member) and node.callee.name == "isValid":
        base = written_key(cx, node.callee.base, value.base if isinstance(value, r.BuiltinCall) else None)
        return None if base is None else f"{base}.$valid$"
    if isinstance(node, s.Index):
        base = written_key(cx, node.base, value.base if isinstance(value, r.ElementOf) else None)
        index = written_key(cx, node.index, None)
        return None if base is None or index is None else f"{base}[{index}]"
    if isinstance(node, s.SliceOf) and isinstance(value, r.SliceOf):
        base = written_key(cx, node.base, value.base)
        return None if base is None else f"{base}[{value.high}:{value.low}]"
    if isinstance(node, s.Binary) and node.op == "&":
        left = written_key(cx, node.left, value.left if isinstance(value, r.Binary) else None)
        right = written_key(cx, node.right, value.right if isinstance(value, r.Binary) else None)
        return None if left is None or right is None else f"{left} & {right}"
    return None


def _field_name(value: r.Expr | None) -> str | None:
    """A field's own ``@name``."""
    if isinstance(value, r.FieldOf) and isinstance(value.base.type, t.StructLike):
        field = value.base.type.fields.get(value.name)
        if field is not None:
            return annotation_text(field.annotations, "name")
    return None
