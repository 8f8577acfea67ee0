"""Operators of the resolved tree to the IR's, folded where the operands are known (section 8)."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.constants import FoldError, cast_value, fold_binary, fold_unary
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Kind
from emulator.p4.lower import erasure, evaluation, storage, values
from emulator.p4.lower.context import Context
from emulator.p4.lower.shapes import AGGREGATES, HEADER_REFS, HeaderParts, Parts, Value, leaves

_BINARY = {op.value: op for op in ir.BinaryOp}


_UNARY = {op.value: op for op in ir.UnaryOp}


_SHIFTS = ("<<", ">>")


def unary(cx: Context, expr: r.Unary) -> Value:
    operand = cx.value(expr.operand)
    type_ = cx.type(expr.type)
    if isinstance(operand, ir.Constant):
        return erasure.constant(cx, fold_unary(expr.op, operand.value, type_), type_)
    if isinstance(operand, Parts):  # bit<0>
        return operand
    return ir.Unary(_UNARY[expr.op], operand, erasure.scalar(cx, type_))


def binary(cx: Context, expr: r.Binary) -> Value:
    if expr.op in ("&&", "||"):
        return _logic(cx, expr)
    left, right = evaluation.several(cx, (expr.left, expr.right))
    type_ = cx.type(expr.type)
    if isinstance(left, ir.Text):
        return ir.Text(left.text + right.text)
    if isinstance(left, AGGREGATES) or isinstance(right, AGGREGATES):
        return _whole(cx, expr, left, right)
    if isinstance(left, ir.Constant) and isinstance(right, ir.Constant):
        types = t.unwrapped(cx.type(expr.left.type)), t.unwrapped(cx.type(expr.right.type))
        try:
            return erasure.constant(cx, fold_binary(expr.op, left.value, right.value, *types), type_)
        except FoldError as error:
            fail(cx, expr, str(error), Kind.CONSTANT)
    if expr.op in ("/", "%") and isinstance(right, ir.Constant) and not right.value:
        fail(cx, expr, "division by zero" if expr.op == "/" else "modulo by zero", Kind.CONSTANT)
    if expr.op in _SHIFTS and isinstance(right, ir.Constant):
        right = _shift_amount(cx, expr, right)
    if expr.op == "++":
        return ir.Concat(left, right, erasure.scalar(cx, type_))
    return ir.Binary(_BINARY[expr.op], left, right, erasure.scalar(cx, type_))


def _shift_amount(cx: Context, expr: r.Binary, amount: ir.Constant) -> ir.Constant:
    if amount.value < 0:
        fail(cx, expr.right, "a shift's amount cannot be negative", Kind.CONSTANT)
    if isinstance(amount.type, ir.Bits) and not amount.type.signed:
        return amount
    return ir.Constant(amount.value, ir.Bits(max(amount.value.bit_length(), 1)))


def _whole(cx: Context, expr: r.Binary, left: Value, right: Value) -> Value:
    """Comparison of structs, headers and the like; any operator on ``bit<0>``, which is always 0."""
    if expr.op in ("==", "!="):
        is_equal = _equal(cx, left, right)
        return is_equal if expr.op == "==" else _negated(is_equal)
    if expr.op in ("<", ">", "<=", ">="):
        return ir.Constant(int(expr.op in ("<=", ">=")), ir.BOOL)
    if expr.op in ("/", "%"):
        fail(cx, expr, f"a division by {cx.type(expr.right.type)}, which is always 0", Kind.CONSTANT)
    if expr.op != "++":
        return left
    remaining = right if isinstance(left, Parts) else left
    return remaining if isinstance(remaining, Parts) else cast_to(remaining, erasure.scalar(cx, cx.type(expr.type)))


def _logic(cx: Context, expr: r.Binary) -> Value:
    """Short-circuit: a right operand that hoists something is evaluated inside an ``if``."""
    left = cx.value(expr.left)
    right, hoisted = evaluation.into(cx, expr.right)
    if isinstance(left, ir.Constant):
        if bool(left.value) == (expr.op == "||"):
            return left
        cx.out.extend(hoisted)
        return right
    if not hoisted:
        return ir.Binary(_BINARY[expr.op], left, right, ir.BOOL)
    result = storage.temporary(cx, ir.BOOL)
    cx.out.append(ir.Assign(result, left))
    condition = result if expr.op == "&&" else _negated(result)
    cx.out.append(ir.If(condition, (*hoisted, ir.Assign(result, right)), (), cx.span(expr)))
    return result


def mux(cx: Context, expr: r.Mux) -> Value:
    condition = cx.value(expr.condition)
    if isinstance(condition, ir.Constant):
        return cx.value(expr.then if condition.value else expr.otherwise)
    then, then_hoisted = evaluation.into(cx, expr.then)
    otherwise, otherwise_hoisted = evaluation.into(cx, expr.otherwise)
    type_ = cx.type(expr.type)
    if t.is_scalar(type_) and not then_hoisted and not otherwise_hoisted:
        return ir.Mux(condition, then, otherwise, erasure.scalar(cx, type_))
    result = storage.allocate(cx, f"{cx.path}.tmp", type_)
    branches = []
    for value, hoisted in ((then, then_hoisted), (otherwise, otherwise_hoisted)):
        outer, cx.out = cx.out, list(hoisted)
        values.store(cx, result, value)
        branches.append(tuple(cx.out))
        cx.out = outer
    cx.out.append(ir.If(condition, branches[0], branches[1], cx.span(expr)))
    return result


def cast(cx: Context, expr: r.Cast) -> Value:
    operand = cx.value(expr.operand)
    type_ = cx.type(expr.type)
    if isinstance(operand, ir.Constant):
        return erasure.constant(cx, cast_value(operand.value, type_), type_)
    if t.is_empty(type_):
        return Parts({}, [])
    if t.is_empty(cx.type(expr.operand.type)):
        return erasure.constant(cx, 0, type_)
    return operand if isinstance(operand, AGGREGATES) else cast_to(operand, erasure.scalar(cx, type_))


def _equal(cx: Context, left: Value, right: Value) -> ir.Expr:
    """``==`` of structs, tuples, headers, unions and stacks (section 8)."""
    if isinstance(left, Parts) and isinstance(right, Parts):
        return conjunction(_equal(cx, a, b) for a, b in zip(left.items, right.items, strict=True))
    if isinstance(left, ir.HeaderStack) or isinstance(right, ir.HeaderStack):
        first = left.headers if isinstance(left, ir.HeaderStack) else left.items
        second = right.headers if isinstance(right, ir.HeaderStack) else right.items
        return conjunction(_equal(cx, a, b) for a, b in zip(first, second, strict=True))
    if isinstance(left, (HeaderParts, *HEADER_REFS)):
        return _equal_headers(cx, left, right)
    if isinstance(left, ir.Constant) and isinstance(right, ir.Constant):
        return ir.Constant(int(left.value == right.value), ir.BOOL)
    return ir.Binary(ir.BinaryOp.EQ, left, right, ir.BOOL)


def _equal_headers(cx: Context, left: Value, right: Value) -> ir.Expr:
    """Both invalid, or both valid with equal fields."""
    valid = [is_valid(left), is_valid(right)]
    pairs = zip(leaves(left), leaves(right), strict=True)
    both = conjunction((*valid, *(_equal(cx, a, b) for a, b in pairs)))
    neither = conjunction(_negated(v) for v in valid)
    if isinstance(both, ir.Constant):
        return both if both.value else neither
    if isinstance(neither, ir.Constant):
        return neither if neither.value else both
    return ir.Binary(ir.BinaryOp.LOGICAL_OR, neither, both, ir.BOOL)


def is_valid(value: Value) -> ir.Expr:
    """``isValid()`` of a header, or of a union: whether any member is valid."""
    if isinstance(value, HeaderParts):
        return ir.Constant(int(value.valid), ir.BOOL)
    if not isinstance(value, Parts):
        return ir.IsValid(value)
    return _negated(conjunction(_negated(is_valid(member)) for member in value.items))


def _negated(value: ir.Expr) -> ir.Expr:
    if isinstance(value, ir.Constant):
        return ir.Constant(1 - value.value, ir.BOOL)
    if isinstance(value, ir.Unary) and value.op is ir.UnaryOp.NOT:
        return value.operand
    return ir.Unary(ir.UnaryOp.NOT, value, ir.BOOL)


def conjunction(conditions: Iterable[ir.Expr]) -> ir.Expr:
    """All of them; without any, true."""
    result: ir.Expr | None = None
    for condition in conditions:
        if isinstance(condition, ir.Constant):
            if condition.value:
                continue
            return condition
        result = condition if result is None else ir.Binary(ir.BinaryOp.LOGICAL_AND, result, condition, ir.BOOL)
    return ir.Constant(1, ir.BOOL) if result is None else result


def cast_to(operand: ir.Expr, target: ir.Type) -> ir.Expr:
    return operand if operand.type == target else ir.Cast(operand, target)


def sliced(base: ir.Expr, high: int, low: int) -> ir.Expr:
    """``base[high:low]``."""
    if isinstance(base, ir.Constant):
        width = high - low + 1
        return ir.Constant((base.value >> low) & ((1 << width) - 1), ir.Bits(width))
    return ir.Slice(base, high, low)


def sliced_at(base: ir.Expr, low: Value, width: int) -> Value:
    """``base[low +: width]``: bits beyond the base read as zero."""
    if not width:
        return Parts({}, [])
    assert isinstance(base.type, ir.Bits)
    unsigned = cast_to(base, ir.Bits(base.type.width_bits))
    if isinstance(low, Parts):  # bit<0>
        return sliced(unsigned, width - 1, 0)
    return sliced(ir.Binary(ir.BinaryOp.SHR, unsigned, low, unsigned.type), width - 1, 0)
