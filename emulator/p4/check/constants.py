"""Arithmetic on compile-time values, as section 8 defines it; the checker and the lowering fold with it.

Values are Python ints and bools; ``int<W>`` values are two's complement ones, ``int`` ones are unbounded.
"""

from __future__ import annotations

from emulator.p4.check.type_system import BOOL, BitsType, Type, unwrapped

COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">="))
MAX_WIDTH = 2048
"""Widest ``bit<W>``: p4c's own default limit."""
MAX_VARBIT = 1 << 19
"""Widest ``varbit<W>``: any that fits in an IPv4 packet; p4c has no limit."""
MAX_INT_BITS = 1 << 13
"""Of an ``int``: four times the widest type; what grows beyond is a mistake, and would fill the memory."""


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
