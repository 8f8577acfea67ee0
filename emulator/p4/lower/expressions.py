"""Expressions of the resolved tree to IR expressions without side effects."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.errors import Kind
from emulator.p4.lower.operators import OperatorLowering, cast, sliced, sliced_at
from emulator.p4.lower.storage import HeaderParts, Parts, UnionStack, Value


class ExpressionLowering(OperatorLowering):
    def value(self, expr: r.Expr) -> Value:
        self.at = expr.at
        return _EXPRESSIONS[type(expr)](self, expr)

    # --- leaves --------------------------------------------------------------------------------------------------

    def _literal(self, expr: r.Literal) -> Value:
        if expr.type is t.STRING:
            return ir.Text(expr.value)
        return self.constant(expr.value, expr.type)

    def _ref(self, expr: r.Ref) -> Value:
        return self.env[expr.symbol]

    def _field(self, expr: r.FieldOf) -> Value:
        base = self.value(expr.base)
        if isinstance(base, Parts):
            return base.part(expr.name)
        if isinstance(base, HeaderParts):
            header_type = self.type(expr.base.type)
            assert isinstance(header_type, t.StructLike)
            return base.items[list(header_type.fields).index(expr.name)]
        return self.header_part(base, expr.name, self.type(expr.type))

    def _element(self, expr: r.ElementOf) -> Value:
        base, index = self.value(expr.base), self.value(expr.index)
        if isinstance(index, ir.Constant):
            items = base.items if isinstance(base, Parts) else base.headers
            if not 0 <= index.value < len(items):  # of a parameter that is known now
                self.fail(expr.index, f"index {index.value} is outside {self.type(expr.base.type)}", Kind.CONSTANT)
            return items[index.value]
        if not isinstance(base, ir.HeaderStack | UnionStack):  # a value without storage, like {h1, h2}
            storage = self.allocate(f"{self.path}.tmp", self.type(expr.base.type))
            self.store(storage, base)
            base = storage
        return self.element(base, index)

    def element(self, stack: ir.HeaderStack | UnionStack, index: Value) -> Value:
        """An element that is known at run time only."""
        if isinstance(index, Parts):  # bit<0>
            return stack.items[0] if isinstance(stack, Parts) else stack.headers[0]
        if index.type.signed:  # negative ones become large
            width = max(index.type.width_bits, 32)
            index = cast(cast(index, ir.Bits(width, True)), ir.Bits(width))
        return ir.StackAt(stack, index) if isinstance(stack, ir.HeaderStack) else stack.element(index)

    def _stack_property(self, expr: r.StackProperty) -> Value:
        stack = self.value(expr.base)
        if isinstance(stack, UnionStack):
            return self._union_stack_property(stack, expr)
        node = {"next": ir.StackNext, "last": ir.StackLast, "lastIndex": ir.StackLastIndex}[expr.name]
        return node(stack)

    def _union_stack_property(self, stack: UnionStack, expr: r.StackProperty) -> Value:
        """The same for a stack of unions, whose next index is a variable of ours (section 8.18)."""
        next_index = stack.next_index
        last = ir.Binary(ir.BinaryOp.SUB, next_index, ir.Constant(1, ir.INDEX), ir.INDEX)
        if expr.name == "lastIndex":
            return last
        index = next_index if expr.name == "next" else last
        is_inside = ir.Binary(ir.BinaryOp.LT, index, ir.Constant(len(stack.items), ir.INDEX), ir.BOOL)
        error = ir.Constant(self.errors["StackOutOfBounds"], ir.INDEX)
        self.out.append(ir.Verify(is_inside, error, self.span(expr)))
        return stack.element(index)

    def _slice(self, expr: r.SliceOf) -> Value:
        return sliced(self.value(expr.base), expr.high, expr.low)

    def _slice_at(self, expr: r.SliceAt) -> Value:
        base, low = self.several((expr.base, expr.low))
        return sliced_at(base, low, expr.width)

    def _aggregate(self, expr: r.Aggregate) -> Value:
        type_ = self.type(expr.type)
        items = self.several(expr.items)
        if isinstance(type_, t.StructLike) and type_.kind == "header":
            return HeaderParts(items, True)
        if isinstance(type_, t.StructLike):
            return Parts({name: i for i, name in enumerate(type_.fields)}, items)
        return Parts({str(i): i for i in range(len(items))}, items)

    def _default(self, expr: r.InvalidHeader) -> Value:
        return self.default(self.type(expr.type))

    def call(self, expr: Any) -> Value:
        raise NotImplementedError

    def _construct(self, expr: r.Construct) -> Value:
        self.fail(expr, "an instance cannot be made here", Kind.PLACE)


def _call(lowering: ExpressionLowering, expr: Any) -> Value:
    return lowering.call(expr)


_EXPRESSIONS: dict[type, Any] = {
    r.Literal: ExpressionLowering._literal,
    r.Ref: ExpressionLowering._ref,
    r.FieldOf: ExpressionLowering._field,
    r.ElementOf: ExpressionLowering._element,
    r.StackProperty: ExpressionLowering._stack_property,
    r.SliceOf: ExpressionLowering._slice,
    r.Aggregate: ExpressionLowering._aggregate,
    r.InvalidHeader: ExpressionLowering._default,
    r.SliceAt: ExpressionLowering._slice_at,
    r.Unary: ExpressionLowering.unary,
    r.Binary: ExpressionLowering.binary,
    r.Mux: ExpressionLowering.mux,
    r.Cast: ExpressionLowering.cast,
    r.Construct: ExpressionLowering._construct,
    r.BuiltinCall: _call,
    r.ExternCall: _call,
    r.FunctionCall: _call,
    r.ActionCall: _call,
    r.TableApply: _call,
    r.ApplyResult: _call,
    r.BlockApply: _call,
}
