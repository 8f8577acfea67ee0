"""Names that the control plane sees: ``@name`` texts and match fields (facts: p4c's rules for key names)."""

from __future__ import annotations

from emulator.p4 import resolved as r
from emulator.p4 import syntax as s
from emulator.p4 import types as t
from emulator.p4.reporting import Reporter


def annotation_text(annotations: s.Annotations, name: str) -> str | None:
    """The string of ``@name("...")`` (pieces joined by ``++``), None when it is not there."""
    for annotation in annotations:
        if annotation.name == name and annotation.tokens is not None:
            return "".join(token[1:-1] for token in annotation.tokens if token.startswith('"'))
    return None


def key_name(reporter: Reporter, key: r.KeyElement) -> str:
    """``@name``, else what is written: a path of names, ``h.$valid$``, ``s[1]``, ``x[7:4]``, ``x & 0xf``."""
    text = annotation_text(key.annotations, "name")
    if text is not None:
        return text
    written = _written(reporter, key.node, key.value)
    if written is None:
        reporter.fail(key.node, "a key that is computed needs a @name annotation")
    return written


def _written(reporter: Reporter, node: s.Expr, value: r.Expr | None) -> str | None:
    if isinstance(node, s.Name):
        return node.name
    if isinstance(node, s.IntLiteral):
        return reporter.tokens.texts[node.at]
    if isinstance(node, s.Member):
        base = _written(reporter, node.base, value.base if isinstance(value, r.FieldOf) else None)
        if base is None:
            return None
        own = _field_name(value) or node.name
        return own[1:] if own.startswith(".") else f"{base}.{own}"
    if isinstance(node, s.Call) and isinstance(node.callee, s.Member) and node.callee.name == "isValid":
        base = _written(reporter, node.callee.base, value.base if isinstance(value, r.BuiltinCall) else None)
        return None if base is None else f"{base}.$valid$"
    if isinstance(node, s.Index):
        base = _written(reporter, node.base, value.base if isinstance(value, r.ElementOf) else None)
        index = _written(reporter, node.index, None) if isinstance(node.index, s.IntLiteral) else None
        return None if base is None or index is None else f"{base}[{index}]"
    if isinstance(node, s.SliceOf) and isinstance(value, r.SliceOf):
        base = _written(reporter, node.base, value.base)
        return None if base is None else f"{base}[{value.high}:{value.low}]"
    if isinstance(node, s.Binary) and node.op == "&":
        left = _written(reporter, node.left, value.left if isinstance(value, r.Binary) else None)
        right = _written(reporter, node.right, None)
        return None if left is None or right is None else f"{left} & {right}"
    return None


def _field_name(value: r.Expr | None) -> str | None:
    """A field's own ``@name``."""
    if isinstance(value, r.FieldOf) and isinstance(value.base.type, t.StructLike):
        field = value.base.type.fields.get(value.name)
        if field is not None:
            return annotation_text(field.annotations, "name")
    return None
