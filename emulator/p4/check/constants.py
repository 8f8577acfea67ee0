"""Values known at compile time: what is known (section 18.1), numbers as they are written, and arithmetic (section 8).

Values are Python ints and bools; ``int<W>`` values are two's complement ones, ``int`` ones are unbounded. The lowering
folds with the same arithmetic.
"""

from __future__ import annotations

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import fail
from emulator.p4.check.type_system import BOOL, BitsType, Type, unwrapped
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.lexer import integer_base, integer_text

COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">="))
MAX_WIDTH = 2048
"""Widest ``bit<W>``: p4c's own default limit."""
MAX_VARBIT = 1 << 19
"""Widest ``varbit<W>``: any that fits in an IPv4 packet; p4c has no limit."""
MAX_INT_BITS = 1 << 13
"""Widest ``int``: four times the widest type; what grows beyond is a mistake, and would fill the memory."""


class FoldError(Exception):
    """The operation has no value (division by zero and the like); the text says why."""


def wrap(value: int, type_: BitsType) -> int:
    """``value`` modulo the type's range."""
    value &= (1 << type_.width) - 1
    if type_.is_signed and type_.width and value >> (type_.width - 1):
        value -= 1 << type_.width
    return value


def fits(value: int, type_: BitsType) -> bool:
    return wrap(value, type_) == value


def saturate(value: int, type_: BitsType) -> int:
    if type_.is_signed:
        half = 1 << (type_.width - 1)
        return min(max(value, -half), half - 1)
    return min(max(value, 0), (1 << type_.width) - 1)


def fold_unary(op: str, value: int | bool, type_: Type) -> int | bool:
    if op == "!":
        return not value
    result = {"-": -value, "~": ~value, "+": +value}[op]
    return wrap(result, type_) if isinstance(type_, BitsType) else result


def fold_binary(op: str, left: int, right: int, left_type: Type, right_type: Type) -> int | bool:
    """The value; comparisons give a bool, all else a value of the left operand's type (``++``: of both widths)."""
    if op in COMPARISONS:
        return _compare(op, left, right)
    if op == "&&":
        return bool(left and right)
    if op == "||":
        return bool(left or right)
    if op == "++":
        assert isinstance(left_type, BitsType)
        assert isinstance(right_type, BitsType)
        joined = left << right_type.width | (right & ((1 << right_type.width) - 1))
        return wrap(joined, BitsType(left_type.width + right_type.width, left_type.is_signed))
    value = _arithmetic(op, left, right, left_type)
    if isinstance(left_type, BitsType):
        return saturate(value, left_type) if op in ("|+|", "|-|") else wrap(value, left_type)
    if value.bit_length() > MAX_INT_BITS:
        raise FoldError(f"the result has more than {MAX_INT_BITS} bits")
    return value


def _compare(op: str, left: int, right: int) -> bool:
    if op == "==":
        return left == right
    if op == "!=":
        return left != right
    if op == "<":
        return left < right
    if op == ">":
        return left > right
    return left <= right if op == "<=" else left >= right


def _arithmetic(op: str, left: int, right: int, type_: Type) -> int:
    if op in ("<<", ">>"):
        return _shift(op, left, right, type_)
    if op in ("/", "%"):
        if right == 0:
            raise FoldError("division by zero" if op == "/" else "modulo by zero")
        if left < 0 or right < 0:
            raise FoldError("division and modulo are not defined for negative numbers")
        return left // right if op == "/" else left % right
    if op in ("+", "|+|"):
        return left + right
    if op in ("-", "|-|"):
        return left - right
    if op == "*":
        return left * right
    return {"&": left & right, "|": left | right, "^": left ^ right}[op]


def _shift(op: str, left: int, right: int, type_: Type) -> int:
    if right < 0:
        raise FoldError("a shift's amount cannot be negative")
    limit = type_.width if isinstance(type_, BitsType) else MAX_INT_BITS
    if right > limit and not isinstance(type_, BitsType) and op == "<<":
        raise FoldError(f"a shift by {right} is too large")
    amount = min(right, limit)
    return left << amount if op == "<<" else left >> amount


def cast_value(value: int | bool, target: Type) -> int | bool:
    """A scalar in another type; the cast was checked to be legal."""
    target = unwrapped(target)
    if target is BOOL:
        return bool(value)
    return wrap(int(value), target) if isinstance(target, BitsType) else int(value)


# --- what is known ----------------------------------------------------------------------------------------------


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
