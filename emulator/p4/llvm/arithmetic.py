"""P4's operators on LLVM integers and vectors of them (P4_16 sections 8.5 to 8.9), defined on every input.

Division by zero and modulo zero give 0: bmv2 would abort there, and a switch must not.
"""

from __future__ import annotations

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.llvm.bits import Builder, Value, constant, integer, resize

COMPARISONS = {
    ir.BinaryOp.EQ: "==",
    ir.BinaryOp.NE: "!=",
    ir.BinaryOp.LT: "<",
    ir.BinaryOp.LE: "<=",
    ir.BinaryOp.GT: ">",
    ir.BinaryOp.GE: ">=",
}
NATIVE_DIVISION_BITS = 64
"""Up to here the processor divides; beyond it LLVM would call a library that nothing links."""


INLINE_MULTIPLICATION_BITS = 256
"""LLVM expands a wide product limb by limb: one function does it for all products of wider numbers."""
WRITTEN_OUT_BITS = 2048
"""Wider products are computed bit by bit; LLVM would take seconds to expand one."""


def lanes_of(value: Value) -> int | None:
    return value.type.count if isinstance(value.type, llvm.VectorType) else None


def width_of(value: Value) -> int:
    kind = value.type.element if isinstance(value.type, llvm.VectorType) else value.type
    return int(kind.width)


def like(value: Value, number: int) -> Value:
    """A constant of the same type."""
    return constant(number, width_of(value), lanes_of(value))


def binary(b: Builder, op: ir.BinaryOp, left: Value, right: Value, *, signed: bool) -> Value:
    """``signed`` is the left operand's."""
    if op in COMPARISONS:
        compare = b.icmp_signed if signed else b.icmp_unsigned
        return compare(COMPARISONS[op], left, right)
    match op:
        case ir.BinaryOp.ADD:
            return b.add(left, right)
        case ir.BinaryOp.SUB:
            return b.sub(left, right)
        case ir.BinaryOp.MUL if width_of(left) > INLINE_MULTIPLICATION_BITS and lanes_of(left) is None:
            return b.call(_multiplication(b.module, width_of(left)), [left, right])
        case ir.BinaryOp.MUL:
            return b.mul(left, right)
        case ir.BinaryOp.DIV | ir.BinaryOp.MOD:
            return divide(b, op, left, right)
        case ir.BinaryOp.ADD_SAT | ir.BinaryOp.SUB_SAT:
            return saturate(b, op, left, right, signed=signed)
        case ir.BinaryOp.AND | ir.BinaryOp.LOGICAL_AND:
            return b.and_(left, right)
        case ir.BinaryOp.OR | ir.BinaryOp.LOGICAL_OR:
            return b.or_(left, right)
        case ir.BinaryOp.XOR:
            return b.xor(left, right)
    return shift(b, op, left, right, signed=signed)


def shift(b: Builder, op: ir.BinaryOp, left: Value, amount: Value, *, signed: bool) -> Value:
    """Beyond the width: 0, or the sign for an arithmetic shift to the right."""
    width, amount_width = width_of(left), width_of(amount)
    common = max(width, amount_width, width.bit_length())
    wide = resize(b, amount, common)
    limit = constant(width, common, lanes_of(left))
    beyond = b.icmp_unsigned(">=", wide, limit)
    if op is ir.BinaryOp.SHR and signed:
        last = constant(width - 1, common, lanes_of(left))
        return b.ashr(left, resize(b, b.select(beyond, last, wide), width))
    safe = resize(b, b.select(beyond, constant(0, common, lanes_of(left)), wide), width)
    moved = b.shl(left, safe) if op is ir.BinaryOp.SHL else b.lshr(left, safe)
    return b.select(beyond, like(left, 0), moved)


def saturate(b: Builder, op: ir.BinaryOp, left: Value, right: Value, *, signed: bool) -> Value:
    """Compute exactly in two more bits, then clamp."""
    width, lanes = width_of(left), lanes_of(left)
    x, y = resize(b, left, width + 2, signed=signed), resize(b, right, width + 2, signed=signed)
    exact = b.add(x, y) if op is ir.BinaryOp.ADD_SAT else b.sub(x, y)
    low = -(1 << (width - 1)) if signed else 0
    high = (1 << (width - 1)) - 1 if signed else (1 << width) - 1
    for bound, relation in ((low, "<"), (high, ">")):
        limit = constant(bound, width + 2, lanes)
        exact = b.select(b.icmp_signed(relation, exact, limit), limit, exact)
    return resize(b, exact, width)


def divide(b: Builder, op: ir.BinaryOp, left: Value, right: Value) -> Value:
    width, lanes = width_of(left), lanes_of(left)
    by_zero = b.icmp_unsigned("==", right, like(right, 0))
    safe = b.select(by_zero, like(right, 1), right)
    if width > NATIVE_DIVISION_BITS:
        result = _divide_wide(b, op, left, safe)
    elif width == 1:
        result = left if op is ir.BinaryOp.DIV else like(left, 0)
    else:
        result = b.udiv(left, safe) if op is ir.BinaryOp.DIV else b.urem(left, safe)
    return b.select(by_zero, constant(0, width, lanes), result)


def _divide_wide(b: Builder, op: ir.BinaryOp, left: Value, right: Value) -> Value:
    return b.call(_long_division(b.module, width_of(left), op), [left, right])


def _long_division(module: llvm.Module, width: int, op: ir.BinaryOp) -> Value:
    """Quotient or rest of two numbers, the second not zero; bit by bit from the top (long division)."""
    name = f"{op.name.lower()}{width}"
    if name in module.globals:
        return module.globals[name]
    kind, wide = integer(width), integer(width + 1)
    function = llvm.Function(module, llvm.FunctionType(kind, [kind, kind]), name)
    function.linkage = "internal"
    left, right = function.args
    entry, loop, end = (function.append_basic_block(n) for n in ("entry", "loop", "end"))
    llvm.IRBuilder(entry).branch(loop)
    b = llvm.IRBuilder(loop)
    count, rest, quotient, dividend = b.phi(integer(32)), b.phi(wide), b.phi(kind), b.phi(kind)
    top = b.lshr(dividend, constant(width - 1, width))
    taken = b.or_(b.shl(rest, constant(1, width + 1)), b.zext(top, wide))
    divisor = b.zext(right, wide)
    fits = b.icmp_unsigned(">=", taken, divisor)
    new_rest = b.select(fits, b.sub(taken, divisor), taken)
    new_quotient = b.or_(b.shl(quotient, constant(1, width)), b.zext(fits, kind))
    new_count = b.add(count, constant(1, 32))
    for node, first, later in (
        (count, constant(0, 32), new_count),
        (rest, constant(0, width + 1), new_rest),
        (quotient, constant(0, width), new_quotient),
        (dividend, left, b.shl(dividend, constant(1, width))),
    ):
        node.add_incoming(first, entry)
        node.add_incoming(later, loop)
    b.cbranch(b.icmp_unsigned("==", new_count, constant(width, 32)), end, loop)
    b = llvm.IRBuilder(end)
    b.ret(new_quotient if op is ir.BinaryOp.DIV else b.trunc(new_rest, kind))
    return function


def _multiplication(module: llvm.Module, width: int) -> Value:
    """A function for the product of two numbers."""
    name = f"mul{width}"
    if name in module.globals:
        return module.globals[name]
    kind = integer(width)
    function = llvm.Function(module, llvm.FunctionType(kind, [kind, kind]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    if width > WRITTEN_OUT_BITS:
        _shift_and_add(function, width)
    else:
        b = llvm.IRBuilder(function.append_basic_block("entry"))
        b.ret(b.mul(*function.args))
    return function


def _shift_and_add(function: llvm.Function, width: int) -> None:
    """The product of a function's arguments, bit by bit."""
    kind, one = integer(width), constant(1, width)
    left, right = function.args
    entry, loop, end = (function.append_basic_block(n) for n in ("entry", "loop", "end"))
    llvm.IRBuilder(entry).branch(loop)
    b = llvm.IRBuilder(loop)
    addend, rest, total = b.phi(kind), b.phi(kind), b.phi(kind)
    counted = b.select(b.trunc(rest, integer(1)), addend, constant(0, width))
    new_total, new_rest = b.add(total, counted), b.lshr(rest, one)
    for node, first, later in (
        (addend, left, b.shl(addend, one)),
        (rest, right, new_rest),
        (total, constant(0, width), new_total),
    ):
        node.add_incoming(first, entry)
        node.add_incoming(later, loop)
    b.cbranch(is_zero(b, new_rest), end, loop)
    llvm.IRBuilder(end).ret(new_total)


def negate(b: Builder, value: Value) -> Value:
    return b.sub(like(value, 0), value)


def complement(b: Builder, value: Value) -> Value:
    return b.xor(value, like(value, -1))


def is_zero(b: Builder, value: Value) -> Value:
    return b.icmp_unsigned("==", value, like(value, 0))
