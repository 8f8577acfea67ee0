"""What is known at compile time: local constants and values of instantiation (section 18.1), numbers as written."""

from __future__ import annotations

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.lexer import integer_base, integer_text


def is_constant(value: r.Expr) -> bool:
    """Whether the value is known here and now (section 18.1: local compile-time known)."""
    if isinstance(value, r.Aggregate):
        return all(map(is_constant, value.items))
    return isinstance(value, r.Literal | r.InvalidHeader)


def is_known(value: r.Expr) -> bool:
    """Compile-time known (section 18.1): literals, instances, constructor parameters, and what is made of them."""
    if isinstance(value, r.Literal | r.Construct | r.InvalidHeader) or value.type is t.UNKNOWN:
        return True
    if isinstance(value, r.Ref):
        symbol = value.symbol
        if isinstance(symbol, r.VariableSymbol):
            return symbol.is_constructor or isinstance(symbol.type, t.ExternType)
        return True
    if isinstance(value, r.Aggregate):
        return all(map(is_known, value.items))
    if isinstance(value, r.Binary):
        return is_known(value.left) and is_known(value.right)
    return isinstance(value, r.Cast | r.Unary) and is_known(value.operand)


def integer(cx: Context, node: s.Expr, what: str) -> int:
    """The value of an integer that must be known now."""
    found = cx.expression(node)
    base = t.unwrapped(found.type)
    if found.type is t.UNKNOWN:
        raise Abandoned
    if base is not t.INT and not isinstance(base, t.BitsType):
        fail(cx, node, f"{what} must be an integer, not {found.type}")
    if not isinstance(found, r.Literal):
        fail(cx, node, f"{what} must be known at compile time", Kind.CONSTANT)
    return int(found.value)


def number_text(cx: Context, node: s.Expr) -> str | None:
    """A number that is known now, as p4c prints it: without a width, in the base it was written in."""
    if not isinstance(node, s.Name | s.IntLiteral | s.Binary | s.Unary | s.Cast):
        return None
    found = cx.value(node)
    if isinstance(found, r.Literal) and (found.type is t.INT or isinstance(found.type, t.BitsType)):
        return integer_text(found.value, base_of(cx, node))
    return None


def base_of(cx: Context, node: s.Expr) -> int:
    """The base a number is written in: 2, 8, 10 or 16; that of the leftmost one in an expression."""
    if isinstance(node, s.IntLiteral):
        return integer_base(cx.tokens.texts[node.at])
    if isinstance(node, s.Binary):
        return base_of(cx, node.left)
    if isinstance(node, s.Unary | s.Cast):
        return base_of(cx, node.operand)
    symbol = cx.find(node.name, node.is_absolute) if isinstance(node, s.Name) else None
    return symbol.base if isinstance(symbol, r.ConstantSymbol) else 10
