"""Arithmetic on whole numbers without bounds, as bmv2 does it, in the IR's fixed widths.

A `Number` knows the range of its value; every operation chooses a type that holds all results, so nothing
ever wraps. Where only the low bits of a result count, the caller requests them (`low_bits`), which keeps widths small.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.p4 import ir

MAX_BITS = 1 << 14
"""Largest width of an intermediate result: eight times the widest that p4c's own samples have."""
MAX_SHIFT = 1 << 9
"""Largest amount of a shift with an uncut result; p4c takes amounts up to 256."""


class TooWide(ValueError):
    """An intermediate result needs more than MAX_BITS bits."""


@dataclass(frozen=True, slots=True)
class Number:
    """``expr`` has exactly this value, which is in ``low .. high``; its type holds that whole range."""

    expr: ir.Expr
    low: int
    high: int

    @property
    def constant(self) -> int | None:
        return self.expr.value if isinstance(self.expr, ir.Constant) else None


def type_for(low: int, high: int) -> ir.Bits:
    """The smallest type that holds all of ``low .. high``."""
    if low < 0:
        width = max((-low - 1).bit_length(), high.bit_length() if high > 0 else 0) + 1
    else:
        width = max(high.bit_length(), 1)
    if width > MAX_BITS:
        raise TooWide(f"an intermediate result would have {width} bits; at most {MAX_BITS} are supported")
    return ir.Bits(width, low < 0)


def literal(value: int) -> Number:
    return Number(ir.Constant(value, type_for(value, value)), value, value)


def of(expr: ir.Expr) -> Number:
    """A value of type ``Bits`` without further bounds."""
    assert isinstance(expr.type, ir.Bits)
    return Number(expr, *bounds(expr.type))


def bounds(type_: ir.Bits) -> tuple[int, int]:
    if type_.signed:
        return -(1 << (type_.width_bits - 1)), (1 << (type_.width_bits - 1)) - 1
    return 0, (1 << type_.width_bits) - 1


def cast(expr: ir.Expr, type_: ir.Bits) -> ir.Expr:
    """Cast to another type: extended by the operand's sign, or cut."""
    if expr.type == type_:
        return expr
    if isinstance(expr, ir.Constant):
        low, high = bounds(type_)
        value = expr.value & ((1 << type_.width_bits) - 1)
        return ir.Constant(value if value <= high else value + 2 * low, type_)
    return ir.Cast(expr, type_)


def low_bits(number: Number, width: int) -> ir.Expr:
    """The value modulo ``2 ** width``, as ``Bits(width)``."""
    return cast(number.expr, ir.Bits(width))


def common(*numbers: Number) -> ir.Bits:
    """A type that holds all of these."""
    return type_for(min(n.low for n in numbers), max(n.high for n in numbers))


def compare(op: ir.BinaryOp, left: Number, right: Number) -> ir.Expr:
    type_ = common(left, right)
    return ir.Binary(op, cast(left.expr, type_), cast(right.expr, type_), ir.BOOL)


def choose(condition: ir.Expr, then: Number, otherwise: Number) -> Number:
    type_ = common(then, otherwise)
    expr = ir.Mux(condition, cast(then.expr, type_), cast(otherwise.expr, type_), type_)
    return Number(expr, min(then.low, otherwise.low), max(then.high, otherwise.high))


def clamp(number: Number, type_: ir.Bits) -> Number:
    """The nearest value that the type has."""
    low, high = bounds(type_)
    if number.low < low:
        number = choose(compare(ir.BinaryOp.LT, number, literal(low)), literal(low), number)
    if number.high > high:
        number = choose(compare(ir.BinaryOp.GT, number, literal(high)), literal(high), number)
    return Number(cast(number.expr, type_), low, high)


def clamp_index(number: Number) -> ir.Expr:
    """An index of 32 bits, out of every range where the number has no 32 bits."""
    low, high = bounds(ir.INDEX)
    if number.low >= low and number.high <= high:
        return cast(number.expr, ir.INDEX)
    type_ = common(number, literal(high))
    inside = compare(ir.BinaryOp.LE, number, literal(high))
    if number.low < 0:
        inside = ir.Binary(ir.BinaryOp.LOGICAL_AND, compare(ir.BinaryOp.GE, number, literal(0)), inside, ir.BOOL)
    return cast(ir.Mux(inside, cast(number.expr, type_), cast(literal(high).expr, type_), type_), ir.INDEX)


# --- Operators ----------------------------------------------------------------------------------------------------


def _exactly(op: ir.BinaryOp, left: Number, right: Number, low: int, high: int) -> Number:
    type_ = type_for(min(low, left.low, right.low), max(high, left.high, right.high))
    expr = ir.Binary(op, cast(left.expr, type_), cast(right.expr, type_), type_)
    return Number(cast(expr, type_for(low, high)), low, high)


def add(left: Number, right: Number) -> Number:
    return _exactly(ir.BinaryOp.ADD, left, right, left.low + right.low, left.high + right.high)


def subtract(left: Number, right: Number) -> Number:
    return _exactly(ir.BinaryOp.SUB, left, right, left.low - right.high, left.high - right.low)


def multiply(left: Number, right: Number) -> Number:
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return _exactly(ir.BinaryOp.MUL, left, right, min(corners), max(corners))


def divide(left: Number, right: Number) -> Number:
    """Quotient of numbers from 0; bmv2 ends its process for others, and for a divisor of 0 (the engines give 0)."""
    left, right = _natural(left), _natural(right)
    return _exactly(ir.BinaryOp.DIV, left, right, 0, left.high)


def modulo(left: Number, right: Number) -> Number:
    left, right = _natural(left), _natural(right)
    return _exactly(ir.BinaryOp.MOD, left, right, 0, min(left.high, max(right.high - 1, 0)))


def _natural(number: Number) -> Number:
    if number.low >= 0:
        return number
    return of(cast(number.expr, ir.Bits(common(number).width_bits)))


def bitwise(op: ir.BinaryOp, left: Number, right: Number) -> Number:
    """``&``, ``|``, ``^`` of unbounded two's complement numbers."""
    if op is ir.BinaryOp.AND and (left.low >= 0 or right.low >= 0):
        high = min(n.high for n in (left, right) if n.low >= 0)
        return _exactly(op, left, right, 0, high)
    low, high = bounds(common(left, right))
    return _exactly(op, left, right, low, high)


def complement(operand: Number) -> Number:
    low, high = -operand.high - 1, -operand.low - 1
    type_ = type_for(min(low, operand.low), max(high, operand.high))
    return Number(ir.Unary(ir.UnaryOp.COMPLEMENT, cast(operand.expr, type_), type_), low, high)


def shift_left(left: Number, right: Number) -> Number:
    right = _natural(right)
    if right.high > MAX_SHIFT:
        where = f"a shift by up to {right.high} bits without a mask on the result"
        raise TooWide(f"{where}; at most {MAX_SHIFT} bits are possible")
    low, high = min(left.low << right.high, left.low << right.low), max(left.high << right.high, left.high << right.low)
    type_ = type_for(min(low, left.low), max(high, left.high))
    return Number(ir.Binary(ir.BinaryOp.SHL, cast(left.expr, type_), right.expr, type_), low, high)


def shift_right(left: Number, right: Number) -> Number:
    right, type_ = _natural(right), common(left)
    expr = ir.Binary(ir.BinaryOp.SHR, cast(left.expr, type_), right.expr, type_)
    least = right.low if right.low < MAX_BITS else MAX_BITS
    return Number(expr, min(left.low >> least, 0), max(left.high >> least, 0))
