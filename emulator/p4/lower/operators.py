"""Operators of the resolved tree to the IR's, folded where the operands are known (section 8)."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.constants import FoldError, cast_value, fold_binary, fold_unary
from emulator.p4.errors import Kind
from emulator.p4.lower.storage import AGGREGATES, HEADER_REFS, HeaderParts, Parts, Value, leaves
from emulator.p4.lower.values import ValueLowering

BINARY = {op.value: op for op in ir.BinaryOp}
UNARY = {op.value: op for op in ir.UnaryOp}
SHIFTS = ("<<", ">>")


class OperatorLowering(ValueLowering):
    def unary(self, expr: r.Unary) -> Value:
        operand = self.value(expr.operand)
        type_ = self.type(expr.type)
        if isinstance(operand, ir.Constant):
            return self.constant(fold_unary(expr.op, operand.value, type_), type_)
        if isinstance(operand, Parts):  # bit<0>
            return operand
        return ir.Unary(UNARY[expr.op], operand, self.scalar(type_))

    def binary(self, expr: r.Binary) -> Value:
        if expr.op in ("&&", "||"):
            return self._logic(expr)
        left, right = self.several((expr.left, expr.right))
        type_ = self.type(expr.type)
        if isinstance(left, ir.Text):
            return ir.Text(left.text + right.text)
        if isinstance(left, AGGREGATES) or isinstance(right, AGGREGATES):
            return self._whole(expr, left, right)
        if isinstance(left, ir.Constant) and isinstance(right, ir.Constant):
            types = t.unwrapped(self.type(expr.left.type)), t.unwrapped(self.type(expr.right.type))
            try:
                return self.constant(fold_binary(expr.op, left.value, right.value, *types), type_)
            except FoldError as error:
                self.fail(expr, str(error), Kind.CONSTANT)
        if expr.op in ("/", "%") and isinstance(right, ir.Constant) and not right.value:
            self.fail(expr, "division by zero" if expr.op == "/" else "modulo by zero", Kind.CONSTANT)
        if expr.op in SHIFTS and isinstance(right, ir.Constant):
            right = self._shift_amount(expr, right)
        if expr.op == "++":
            return ir.Concat(left, right, self.scalar(type_))
        return ir.Binary(BINARY[expr.op], left, right, self.scalar(type_))

    def _shift_amount(self, expr: r.Binary, amount: ir.Constant) -> ir.Constant:
        if amount.value < 0:
            self.fail(expr.right, "a shift's amount cannot be negative", Kind.CONSTANT)
        if isinstance(amount.type, ir.Bits) and not amount.type.signed:
            return amount
        return ir.Constant(amount.value, ir.Bits(max(amount.value.bit_length(), 1)))

    def _whole(self, expr: r.Binary, left: Value, right: Value) -> Value:
        """Comparison of structs, headers and the like; any operator on ``bit<0>``, which is always 0."""
        if expr.op in ("==", "!="):
            equal = self.equal(left, right)
            return equal if expr.op == "==" else negated(equal)
        if expr.op in ("<", ">", "<=", ">="):
            return ir.Constant(int(expr.op in ("<=", ">=")), ir.BOOL)
        if expr.op in ("/", "%"):
            self.fail(expr, f"a division by {self.type(expr.right.type)}, which is always 0", Kind.CONSTANT)
        if expr.op != "++":
            return left
        remaining = right if isinstance(left, Parts) else left
        return remaining if isinstance(remaining, Parts) else cast(remaining, self.scalar(self.type(expr.type)))

    def _logic(self, expr: r.Binary) -> Value:
        """Short-circuit: a right operand that hoists something is evaluated inside an ``if``."""
        left = self.value(expr.left)
        right, hoisted = self.into(expr.right)
        if isinstance(left, ir.Constant):
            if bool(left.value) == (expr.op == "||"):
                return left
            self.out.extend(hoisted)
            return right
        if not hoisted:
            return ir.Binary(BINARY[expr.op], left, right, ir.BOOL)
        result = self.temporary(ir.BOOL)
        self.out.append(ir.Assign(result, left))
        condition = result if expr.op == "&&" else negated(result)
        self.out.append(ir.If(condition, (*hoisted, ir.Assign(result, right)), (), self.span(expr)))
        return result

    def mux(self, expr: r.Mux) -> Value:
        condition = self.value(expr.condition)
        if isinstance(condition, ir.Constant):
            return self.value(expr.then if condition.value else expr.otherwise)
        then, then_hoisted = self.into(expr.then)
        otherwise, otherwise_hoisted = self.into(expr.otherwise)
        type_ = self.type(expr.type)
        if t.is_scalar(type_) and not then_hoisted and not otherwise_hoisted:
            return ir.Mux(condition, then, otherwise, self.scalar(type_))
        result = self.allocate(f"{self.path}.tmp", type_)
        branches = []
        for value, hoisted in ((then, then_hoisted), (otherwise, otherwise_hoisted)):
            outer, self.out = self.out, list(hoisted)
            self.store(result, value)
            branches.append(tuple(self.out))
            self.out = outer
        self.out.append(ir.If(condition, branches[0], branches[1], self.span(expr)))
        return result

    def cast(self, expr: r.Cast) -> Value:
        operand = self.value(expr.operand)
        type_ = self.type(expr.type)
        if isinstance(operand, ir.Constant):
            return self.constant(cast_value(operand.value, type_), type_)
        if t.is_empty(type_):
            return Parts({}, [])
        if t.is_empty(self.type(expr.operand.type)):
            return self.constant(0, type_)
        return operand if isinstance(operand, AGGREGATES) else cast(operand, self.scalar(type_))

    # --- comparison of whole values ------------------------------------------------------------------------------

    def equal(self, left: Value, right: Value) -> ir.Expr:
        """``==`` of structs, tuples, headers, unions and stacks (section 8)."""
        if isinstance(left, Parts) and isinstance(right, Parts):
            return conjunction(self.equal(a, b) for a, b in zip(left.items, right.items, strict=True))
        if isinstance(left, ir.HeaderStack) or isinstance(right, ir.HeaderStack):
            first = left.headers if isinstance(left, ir.HeaderStack) else left.items
            second = right.headers if isinstance(right, ir.HeaderStack) else right.items
            return conjunction(self.equal(a, b) for a, b in zip(first, second, strict=True))
        if isinstance(left, (HeaderParts, *HEADER_REFS)):
            return self._equal_headers(left, right)
        if isinstance(left, ir.Constant) and isinstance(right, ir.Constant):
            return ir.Constant(int(left.value == right.value), ir.BOOL)
        return ir.Binary(ir.BinaryOp.EQ, left, right, ir.BOOL)

    def _equal_headers(self, left: Value, right: Value) -> ir.Expr:
        """Both invalid, or both valid with equal fields."""
        valid = [is_valid(left), is_valid(right)]
        pairs = zip(leaves(left), leaves(right), strict=True)
        both = conjunction((*valid, *(self.equal(a, b) for a, b in pairs)))
        neither = conjunction(negated(v) for v in valid)
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
    return negated(conjunction(negated(is_valid(member)) for member in value.items))


def negated(value: ir.Expr) -> ir.Expr:
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


def cast(operand: ir.Expr, target: ir.Type) -> ir.Expr:
    return operand if operand.type == target else ir.Cast(operand, target)


def sliced(base: ir.Expr, high: int, low: int) -> ir.Expr:
    """``base[high:low]``."""
    if isinstance(base, ir.Constant):
        width = high - low + 1
        return ir.Constant((base.value >> low) & ((1 << width) - 1), ir.Bits(width))
    return ir.Slice(base, high, low)


def sliced_at(base: ir.Expr, low: Value, width: int) -> Value:
    """``base[low +: width]``: what lies beyond the base reads as zero."""
    if not width:
        return Parts({}, [])
    assert isinstance(base.type, ir.Bits)
    unsigned = cast(base, ir.Bits(base.type.width_bits))
    if isinstance(low, Parts):  # bit<0>
        return sliced(unsigned, width - 1, 0)
    return sliced(ir.Binary(ir.BinaryOp.SHR, unsigned, low, unsigned.type), width - 1, 0)
