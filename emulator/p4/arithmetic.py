"""P4's operators on Python integers (P4_16 sections 8.5 to 8.11): for the interpreter and for folding constants.

Values are in their type's range: signed ones may be negative, a bool is 0 or 1.
"""

from __future__ import annotations

from emulator.p4 import ir


def wrap(value: int, kind: ir.Type) -> int:
    """Reduce to the type's range."""
    width_bits = ir.width_of(kind)
    value &= (1 << width_bits) - 1
    if isinstance(kind, ir.Bits) and kind.signed and value >> (width_bits - 1):
        value -= 1 << width_bits
    return value


def unsigned(value: int, kind: ir.Type) -> int:
    """The value's bits as they stand in a field or a cell."""
    return value & ((1 << ir.width_of(kind)) - 1)


def bounds(kind: ir.Bits) -> tuple[int, int]:
    """Smallest and largest value."""
    if kind.signed:
        return -(1 << (kind.width_bits - 1)), (1 << (kind.width_bits - 1)) - 1
    return 0, (1 << kind.width_bits) - 1


def unary(op: ir.UnaryOp, value: int, kind: ir.Type) -> int:
    if op is ir.UnaryOp.NOT:
        return int(not value)
    return wrap(-value if op is ir.UnaryOp.NEGATE else ~value, kind)


def binary(op: ir.BinaryOp, left: int, right: int, operand: ir.Type, kind: ir.Type) -> int:
    """``operand`` is the left operand's type. Division by zero gives 0 (a switch must not stop)."""
    match op:
        case ir.BinaryOp.ADD:
            return wrap(left + right, kind)
        case ir.BinaryOp.SUB:
            return wrap(left - right, kind)
        case ir.BinaryOp.MUL:
            return wrap(left * right, kind)
        case ir.BinaryOp.DIV:
            return wrap(left // right, kind) if right else 0
        case ir.BinaryOp.MOD:
            return wrap(left % right, kind) if right else 0
        case ir.BinaryOp.ADD_SAT | ir.BinaryOp.SUB_SAT:
            assert isinstance(operand, ir.Bits)
            low, high = bounds(operand)
            exact = left + right if op is ir.BinaryOp.ADD_SAT else left - right
            return min(max(exact, low), high)
        case ir.BinaryOp.AND:
            return wrap(left & right, kind)
        case ir.BinaryOp.OR:
            return wrap(left | right, kind)
        case ir.BinaryOp.XOR:
            return wrap(left ^ right, kind)
        case ir.BinaryOp.SHL | ir.BinaryOp.SHR:
            assert isinstance(operand, ir.Bits)
            amount = min(right, operand.width_bits)
            return wrap(left << amount if op is ir.BinaryOp.SHL else left >> amount, kind)
    return int(_compare(op, left, right))


def _compare(op: ir.BinaryOp, left: int, right: int) -> bool:
    match op:
        case ir.BinaryOp.EQ:
            return left == right
        case ir.BinaryOp.NE:
            return left != right
        case ir.BinaryOp.LT:
            return left < right
        case ir.BinaryOp.LE:
            return left <= right
        case ir.BinaryOp.GT:
            return left > right
        case ir.BinaryOp.GE:
            return left >= right
        case ir.BinaryOp.LOGICAL_AND:
            return bool(left) and bool(right)
        case ir.BinaryOp.LOGICAL_OR:
            return bool(left) or bool(right)
    raise ValueError(op)


def cast(value: int, kind: ir.Type) -> int:
    """Extension and truncation alike: the value is exact, so it is only reduced."""
    return wrap(value, kind)
