"""Implicit and explicit conversions (sections 8.11, 8.12), and l-values (section 6.6)."""

from __future__ import annotations

from typing import Any

from emulator.p4.check import constants, types
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.constants import cast_value, fits, wrap
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import fail, warn
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s

_PLACES = (r.Ref, r.FieldOf, r.ElementOf, r.SliceOf, r.SliceAt, r.StackProperty)


def typed(cx: Context, node: s.Expr, target: t.Type, what: str) -> r.Expr:
    """An expression as a value of that type, by implicit casts."""
    return assign(cx, cx.value(node), target, node, what)


def assign(cx: Context, expr: r.Expr, target: t.Type, at: Any, what: str) -> r.Expr:  # noqa: RET503
    """``expr`` as a value of type ``target``, by implicit casts only; reports and abandons otherwise."""
    source = expr.type
    if source is target or source is t.UNKNOWN or target is t.UNKNOWN:
        return expr
    if source is t.INT and isinstance(target, t.BitsType):
        if isinstance(expr, r.Literal):
            return literal_in(cx, expr, target)
        return r.Cast(expr.at, target, expr)
    if source is t.INT and isinstance(target, t.NewType) and isinstance(t.unwrapped(target), t.BitsType):
        return converted(assign(cx, expr, t.unwrapped(target), at, what), target)
    if isinstance(source, t.EnumType) and source.base is target:
        return converted(expr, target)
    if target is t.INT and isinstance(source, t.BitsType) and constants.is_known(expr):
        return converted(expr, target)  # as p4c does; section 8.12.2 has only the other way
    if isinstance(expr, r.Aggregate) and isinstance(source, t.ListLiteralType | t.StructLiteralType):
        return _aggregate(cx, expr, target, at, what)
    if isinstance(expr, r.InvalidHeader) and isinstance(target, t.StructLike) and target.kind != "struct":
        return r.InvalidHeader(expr.at, target)
    if source is t.DEFAULTS:
        return _default_value(cx, expr.at, target, at)
    if isinstance(source, t.SetType) and isinstance(target, t.SetType):
        return expr
    fail(cx, at, f"{what}: {source} where {target} is needed")


def converted(expr: r.Expr, target: t.Type) -> r.Expr:
    """A legal cast, folded when the value is known."""
    if isinstance(expr, r.Literal):
        return r.Literal(expr.at, target, cast_value(expr.value, target))
    return r.Cast(expr.at, target, expr)


def literal_in(cx: Context, literal: r.Literal, target: t.BitsType) -> r.Literal:
    """An ``int`` value in a fixed width: cut with a warning when it does not fit, as p4c does."""
    if not fits(literal.value, target):
        value = wrap(literal.value, target)
        warn(cx, literal, f"{literal.value} does not fit in {target}: it becomes {value}")
        return r.Literal(literal.at, target, value)
    return r.Literal(literal.at, target, literal.value)


def operand(expr: r.Expr) -> r.Expr:
    """A serializable enum becomes its representation in arithmetic (section 8.3)."""
    if isinstance(expr.type, t.EnumType) and expr.type.base is not None:
        return converted(expr, expr.type.base)
    return expr


def _aggregate(cx: Context, expr: r.Aggregate, target: t.Type, at: Any, what: str) -> r.Expr:
    """``{...}`` as a struct, header, tuple, stack or list."""
    parts = _parts(cx, expr, target, at, what)
    items = tuple(assign(cx, item, type_, item.at, what) for item, type_ in parts)
    return r.Aggregate(expr.at, target, items)


def _parts(cx: Context, expr: r.Aggregate, target: t.Type, at: Any, what: str) -> list[tuple[r.Expr, t.Type]]:
    if isinstance(expr.type, t.StructLiteralType):
        return _named_parts(cx, expr, expr.type, target, at, what)
    items = list(expr.items)
    if isinstance(target, t.StructLike) and target.kind != "header_union":
        expected = [f.type for f in target.fields.values()]
    elif isinstance(target, t.TupleType):
        expected = list(target.items)
    elif isinstance(target, t.StackType):
        expected = [target.element] * target.size
    elif isinstance(target, t.ListType):
        return [(item, target.element) for item in items]
    else:
        fail(cx, at, f"{what}: a list where {target} is needed")
    for item in items[:-1]:
        if item.type is t.DEFAULTS:
            fail(cx, item, "'...' must be the last element", Kind.SYNTAX)
    if items and items[-1].type is t.DEFAULTS:
        rest = expected[len(items) - 1 :]
        items = items[:-1] + [_default_value(cx, items[-1].at, type_, at) for type_ in rest]
    if len(items) != len(expected):
        fail(cx, at, f"{what}: {len(items)} elements where {target} has {len(expected)}")
    return list(zip(items, expected, strict=True))


def _named_parts(
    cx: Context, expr: r.Aggregate, source: t.StructLiteralType, target: t.Type, at: Any, what: str
) -> list[tuple[r.Expr, t.Type]]:
    if not isinstance(target, t.StructLike) or target.kind == "header_union":
        fail(cx, at, f"{what}: {source} where {target} is needed")
    given = dict(zip((name for name, _ in source.items), expr.items, strict=True))
    has_defaults = given.pop("...", None) is not None
    for name, value in given.items():
        if name not in target.fields:
            fail(cx, value.at, f"{target} has no field {name!r}")
    missing = [name for name in target.fields if name not in given]
    if missing and not has_defaults:
        fail(cx, at, f"{what}: no value for the field {missing[0]!r} of {target}")
    return [
        (given[f.name] if f.name in given else _default_value(cx, expr.at, f.type, at), f.type)
        for f in target.fields.values()
    ]


def _default_value(cx: Context, position: int, target: t.Type, at: Any) -> r.Expr:  # noqa: RET503
    """Section 7.3's default values."""
    base = t.unwrapped(target)
    if base is t.BOOL:
        return r.Literal(position, target, False)
    if base is t.STRING:
        return r.Literal(position, target, "")
    if isinstance(base, t.BitsType | t.EnumType) or base is t.ERROR or base is t.INT:
        return r.Literal(position, target, 0)
    if isinstance(base, t.StructLike) and base.kind == "struct":
        items = tuple(_default_value(cx, position, f.type, at) for f in base.fields.values())
        return r.Aggregate(position, target, items)
    if isinstance(base, t.StructLike | t.VarbitType | t.TypeVariable):
        return r.InvalidHeader(position, target)
    if isinstance(base, t.TupleType):
        return r.Aggregate(position, target, tuple(_default_value(cx, position, i, at) for i in base.items))
    if isinstance(base, t.StackType):
        return r.Aggregate(position, target, (_default_value(cx, position, base.element, at),) * base.size)
    fail(cx, at, f"{target} has no default value")


# --- explicit casts ----------------------------------------------------------------------------------------------


def cast(cx: Context, node: s.Cast) -> r.Expr:
    target = types.type_of(cx, node.type)
    expr = cx.expression(node.operand)
    source = expr.type
    if isinstance(expr, r.TypeRef | r.Method) or isinstance(target, t.ExternType | t.BlockType):
        fail(cx, node, f"cannot cast {source} to {target}")
    if source is t.UNKNOWN or target is t.UNKNOWN:
        return expr
    if source is target:
        return r.Cast(node.at, target, expr) if isinstance(expr, _PLACES) else expr
    if isinstance(source, t.ListLiteralType | t.StructLiteralType) or source in (t.INVALID_HEADER, t.DEFAULTS):
        return assign(cx, expr, target, node, "cast")
    if not _can_cast(source, target, expr):
        fail(cx, node, f"cannot cast {source} to {target}")
    if isinstance(expr, r.Literal) and source is t.INT and isinstance(target, t.BitsType):
        return literal_in(cx, r.Literal(node.at, t.INT, expr.value), target)
    found = converted(expr, target)
    found.at = node.at
    return found


def _can_cast(source: t.Type, target: t.Type, expr: r.Expr) -> bool:
    if isinstance(target, t.NewType):
        return source is target.base or (source is t.INT and _can_cast(source, target.base, expr))
    if isinstance(source, t.NewType):
        return source.base is target
    if isinstance(source, t.EnumType) and source.base is not None:
        return _can_cast_or_same(source.base, target, expr)
    if isinstance(target, t.EnumType) and target.base is not None:
        return source is target.base or source is t.INT
    if isinstance(source, t.BitsType) and isinstance(target, t.BitsType):
        return source.is_signed == target.is_signed or source.width == target.width
    if source is t.INT:
        return isinstance(target, t.BitsType) or (
            target is t.BOOL and isinstance(expr, r.Literal) and expr.value in (0, 1)
        )
    if target is t.INT:
        return isinstance(source, t.BitsType) and constants.is_known(expr)
    one_bit = t.bits(1)
    return (source is t.BOOL and target is one_bit) or (source is one_bit and target is t.BOOL)


def _can_cast_or_same(source: t.Type, target: t.Type, expr: r.Expr) -> bool:
    return source is target or _can_cast(source, target, expr)


# --- l-values ----------------------------------------------------------------------------------------------------


def require_lvalue(cx: Context, expr: r.Expr, at: Any, what: str) -> None:
    """Whether something can be written there (section 6.6): both the expression as written and what it refers to."""
    written = at
    while isinstance(written, s.Member | s.Index | s.SliceOf):
        written = written.base
    if isinstance(written, s.Mux | s.Unary | s.Binary | s.Cast):
        fail(cx, at, f"{what}: this is not an l-value", Kind.DIRECTION)
    inner = expr
    while isinstance(inner, r.FieldOf | r.ElementOf | r.SliceOf | r.SliceAt | r.StackProperty):
        if isinstance(inner, r.StackProperty) and inner.name == "lastIndex":
            fail(cx, at, f"{what}: lastIndex cannot be written", Kind.DIRECTION)
        inner = inner.base
    if isinstance(inner, r.Ref) and isinstance(inner.symbol, r.VariableSymbol):
        symbol = inner.symbol
        if symbol.is_writable:
            return
        kind = f"an {symbol.direction!r} parameter" if symbol.direction else "a parameter without direction"
        fail(cx, at, f"{what}: {symbol.name!r} is {kind} and cannot be written", Kind.DIRECTION)
    if inner.type is t.UNKNOWN:
        raise Abandoned
    if isinstance(inner, r.Ref | r.Literal) and isinstance(at, s.Name):
        fail(cx, at, f"{what}: {at.name!r} is a constant and cannot be written", Kind.DIRECTION)
    fail(cx, at, f"{what}: this is not an l-value", Kind.DIRECTION)
