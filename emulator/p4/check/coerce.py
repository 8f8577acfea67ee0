"""Implicit and explicit conversions (sections 8.11, 8.12), l-values, and operators on scalars."""

from __future__ import annotations

from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.base import BaseChecker
from emulator.p4.check.constants import cast_value
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s

_PLACES = (r.Ref, r.FieldOf, r.ElementOf, r.SliceOf, r.SliceAt, r.StackProperty)


class CoercionChecker(BaseChecker):
    def is_constant(self, value: r.Expr) -> bool:
        """Whether the value is known here and now (section 18.1: local compile-time known)."""
        if isinstance(value, r.Aggregate):
            return all(map(self.is_constant, value.items))
        return isinstance(value, r.Literal | r.InvalidHeader)

    def is_known(self, value: r.Expr) -> bool:
        """Whether the value is known when the program is compiled (section 18.1)."""
        raise NotImplementedError

    def coerce(self, expr: r.Expr, target: t.Type, at: Any, what: str) -> r.Expr:  # noqa: RET503
        """``expr`` as a value of type ``target``, by implicit casts only; reports and abandons otherwise."""
        source = expr.type
        if source is target or source is t.UNKNOWN or target is t.UNKNOWN:
            return expr
        if source is t.INT and isinstance(target, t.BitsType):
            if isinstance(expr, r.Literal):
                return self.literal_in(expr, target)
            return r.Cast(expr.at, target, expr)
        if source is t.INT and isinstance(target, t.NewType) and isinstance(t.unwrapped(target), t.BitsType):
            return self.cast_to(self.coerce(expr, t.unwrapped(target), at, what), target)
        if isinstance(source, t.EnumType) and source.base is target:
            return self.cast_to(expr, target)
        if target is t.INT and isinstance(source, t.BitsType) and self.is_known(expr):
            return self.cast_to(expr, target)  # as p4c does; section 8.12.2 has only the other way
        if isinstance(expr, r.Aggregate) and isinstance(source, t.ListLiteralType | t.StructLiteralType):
            return self.coerce_aggregate(expr, target, at, what)
        if isinstance(expr, r.InvalidHeader) and isinstance(target, t.StructLike) and target.kind != "struct":
            return r.InvalidHeader(expr.at, target)
        if source is t.DEFAULTS:
            return self.default_value(expr.at, target, at)
        if isinstance(source, t.SetType) and isinstance(target, t.SetType):
            return expr
        self.fail(at, f"{what}: {source} where {target} is needed")

    def cast_to(self, expr: r.Expr, target: t.Type) -> r.Expr:
        if isinstance(expr, r.Literal):
            return r.Literal(expr.at, target, cast_value(expr.value, target))
        return r.Cast(expr.at, target, expr)

    def coerce_aggregate(self, expr: r.Aggregate, target: t.Type, at: Any, what: str) -> r.Expr:
        """``{...}`` as a struct, header, tuple, stack or list."""
        parts = self._parts(expr, target, at, what)
        items = tuple(self.coerce(item, type_, item.at, what) for item, type_ in parts)
        return r.Aggregate(expr.at, target, items)

    def _parts(self, expr: r.Aggregate, target: t.Type, at: Any, what: str) -> list[tuple[r.Expr, t.Type]]:
        if isinstance(expr.type, t.StructLiteralType):
            return self._named_parts(expr, expr.type, target, at, what)
        items = list(expr.items)
        if isinstance(target, t.StructLike) and target.kind != "header_union":
            wanted = [f.type for f in target.fields.values()]
        elif isinstance(target, t.TupleType):
            wanted = list(target.items)
        elif isinstance(target, t.StackType):
            wanted = [target.element] * target.size
        elif isinstance(target, t.ListType):
            return [(item, target.element) for item in items]
        else:
            self.fail(at, f"{what}: a list where {target} is needed")
        for item in items[:-1]:
            if item.type is t.DEFAULTS:
                self.fail(item, "'...' must be the last element", Kind.SYNTAX)
        if items and items[-1].type is t.DEFAULTS:
            rest = wanted[len(items) - 1 :]
            items = items[:-1] + [self.default_value(items[-1].at, type_, at) for type_ in rest]
        if len(items) != len(wanted):
            self.fail(at, f"{what}: {len(items)} elements where {target} has {len(wanted)}")
        return list(zip(items, wanted, strict=True))

    def _named_parts(
        self, expr: r.Aggregate, source: t.StructLiteralType, target: t.Type, at: Any, what: str
    ) -> list[tuple[r.Expr, t.Type]]:
        if not isinstance(target, t.StructLike) or target.kind == "header_union":
            self.fail(at, f"{what}: {source} where {target} is needed")
        given = dict(zip((name for name, _ in source.items), expr.items, strict=True))
        has_defaults = given.pop("...", None) is not None
        for name, value in given.items():
            if name not in target.fields:
                self.fail(value.at, f"{target} has no field {name!r}")
        missing = [name for name in target.fields if name not in given]
        if missing and not has_defaults:
            self.fail(at, f"{what}: no value for the field {missing[0]!r} of {target}")
        return [
            (given[f.name] if f.name in given else self.default_value(expr.at, f.type, at), f.type)
            for f in target.fields.values()
        ]

    def default_value(self, position: int, target: t.Type, at: Any) -> r.Expr:  # noqa: RET503
        """Section 7.3's default values."""
        base = t.unwrapped(target)
        if base is t.BOOL:
            return r.Literal(position, target, False)
        if base is t.STRING:
            return r.Literal(position, target, "")
        if isinstance(base, t.BitsType | t.EnumType) or base is t.ERROR or base is t.INT:
            return r.Literal(position, target, 0)
        if isinstance(base, t.StructLike) and base.kind == "struct":
            items = tuple(self.default_value(position, f.type, at) for f in base.fields.values())
            return r.Aggregate(position, target, items)
        if isinstance(base, t.StructLike | t.VarbitType | t.TypeVariable):
            return r.InvalidHeader(position, target)
        if isinstance(base, t.TupleType):
            return r.Aggregate(position, target, tuple(self.default_value(position, i, at) for i in base.items))
        if isinstance(base, t.StackType):
            return r.Aggregate(position, target, (self.default_value(position, base.element, at),) * base.size)
        self.fail(at, f"{target} has no default value")

    # --- explicit casts ------------------------------------------------------------------------------------------

    def cast(self, node: s.Cast) -> r.Expr:
        target = self.type_of(node.type)
        expr = self.expression(node.operand)
        source = expr.type
        if isinstance(expr, r.TypeRef | r.Method) or isinstance(target, t.ExternType | t.BlockType):
            self.fail(node, f"cannot cast {source} to {target}")
        if source is t.UNKNOWN or target is t.UNKNOWN:
            return expr
        if source is target:
            return r.Cast(node.at, target, expr) if isinstance(expr, _PLACES) else expr
        if isinstance(source, t.ListLiteralType | t.StructLiteralType) or source in (t.INVALID_HEADER, t.DEFAULTS):
            return self.coerce(expr, target, node, "cast")
        if not self._can_cast(source, target, expr):
            self.fail(node, f"cannot cast {source} to {target}")
        if isinstance(expr, r.Literal) and source is t.INT and isinstance(target, t.BitsType):
            return self.literal_in(r.Literal(node.at, t.INT, expr.value), target)
        found = self.cast_to(expr, target)
        found.at = node.at
        return found

    def _can_cast(self, source: t.Type, target: t.Type, expr: r.Expr) -> bool:
        if isinstance(target, t.NewType):
            return source is target.base or (source is t.INT and self._can_cast(source, target.base, expr))
        if isinstance(source, t.NewType):
            return source.base is target
        if isinstance(source, t.EnumType) and source.base is not None:
            return self._can_cast_or_same(source.base, target, expr)
        if isinstance(target, t.EnumType) and target.base is not None:
            return source is target.base or source is t.INT
        if isinstance(source, t.BitsType) and isinstance(target, t.BitsType):
            return source.is_signed == target.is_signed or source.width == target.width
        if source is t.INT:
            return isinstance(target, t.BitsType) or (
                target is t.BOOL and isinstance(expr, r.Literal) and expr.value in (0, 1)
            )
        if target is t.INT:
            return isinstance(source, t.BitsType) and self.is_known(expr)
        one_bit = t.bits(1)
        return (source is t.BOOL and target is one_bit) or (source is one_bit and target is t.BOOL)

    def _can_cast_or_same(self, source: t.Type, target: t.Type, expr: r.Expr) -> bool:
        return source is target or self._can_cast(source, target, expr)

    # --- l-values ------------------------------------------------------------------------------------------------

    def require_lvalue(self, expr: r.Expr, at: Any, what: str) -> None:
        """Whether something can be written there (section 6.6): by what was written, and by what it was found to be."""
        written = at
        while isinstance(written, s.Member | s.Index | s.SliceOf):
            written = written.base
        if isinstance(written, s.Mux | s.Unary | s.Binary | s.Cast):
            self.fail(at, f"{what}: this is not an l-value", Kind.DIRECTION)
        inner = expr
        while isinstance(inner, r.FieldOf | r.ElementOf | r.SliceOf | r.SliceAt | r.StackProperty):
            if isinstance(inner, r.StackProperty) and inner.name == "lastIndex":
                self.fail(at, f"{what}: lastIndex cannot be written", Kind.DIRECTION)
            if isinstance(inner, r.ElementOf) and isinstance(inner.base.type, t.TupleType):
                self.fail(at, f"{what}: a tuple's element cannot be written, only the whole tuple", Kind.DIRECTION)
            inner = inner.base
        if isinstance(inner, r.Ref) and isinstance(inner.symbol, r.VariableSymbol):
            symbol = inner.symbol
            if symbol.is_writable:
                return
            sort = f"an {symbol.direction!r} parameter" if symbol.direction else "a parameter without direction"
            self.fail(at, f"{what}: {symbol.name!r} is {sort} and cannot be written", Kind.DIRECTION)
        if inner.type is t.UNKNOWN:
            raise Abandoned
        if isinstance(inner, r.Ref | r.Literal) and isinstance(at, s.Name):
            self.fail(at, f"{what}: {at.name!r} is a constant and cannot be written", Kind.DIRECTION)
        self.fail(at, f"{what}: this is not an l-value", Kind.DIRECTION)
