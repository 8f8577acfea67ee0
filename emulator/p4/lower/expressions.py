"""Expressions other than operators and calls, to IR expressions without side effects."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Kind
from emulator.p4.lower import erasure, evaluation, storage, values
from emulator.p4.lower.context import Context
from emulator.p4.lower.operators import cast_to, sliced, sliced_at
from emulator.p4.lower.shapes import HeaderParts, Parts, UnionStack, Value


def literal(cx: Context, expr: r.Literal) -> Value:
    if expr.type is t.STRING:
        return ir.Text(expr.value)
    return erasure.constant(cx, expr.value, expr.type)


def ref(cx: Context, expr: r.Ref) -> Value:
    return cx.env[expr.symbol]


def field(cx: Context, expr: r.FieldOf) -> Value:
    base = cx.value(expr.base)
    if isinstance(base, Parts):
        return base.part(expr.name)
    if isinstance(base, HeaderParts):
        header_type = cx.type(expr.base.type)
        assert isinstance(header_type, t.StructLike)
        return base.items[list(header_type.fields).index(expr.name)]
    return erasure.header_part(cx, base, expr.name, cx.type(expr.type))


def element_of(cx: Context, expr: r.ElementOf) -> Value:
    base, index = cx.value(expr.base), cx.value(expr.index)
    if isinstance(index, ir.Constant):
        items = base.items if isinstance(base, Parts) else base.headers
        if not 0 <= index.value < len(items):  # of a parameter that is known now
            fail(cx, expr.index, f"index {index.value} is outside {cx.type(expr.base.type)}", Kind.CONSTANT)
        return items[index.value]
    if not isinstance(base, ir.HeaderStack | UnionStack):  # a value without storage, like {h1, h2}
        made = storage.allocate(cx, f"{cx.path}.tmp", cx.type(expr.base.type))
        values.store(cx, made, base)
        base = made
    return element(base, index)


def element(stack: ir.HeaderStack | UnionStack, index: Value) -> Value:
    """An element that is known at run time only."""
    if isinstance(index, Parts):  # bit<0>
        return stack.items[0] if isinstance(stack, Parts) else stack.headers[0]
    if index.type.signed:  # negative ones become large
        width = max(index.type.width_bits, 32)
        index = cast_to(cast_to(index, ir.Bits(width, True)), ir.Bits(width))
    return ir.StackAt(stack, index) if isinstance(stack, ir.HeaderStack) else stack.element(index)


def stack_property(cx: Context, expr: r.StackProperty) -> Value:
    stack = cx.value(expr.base)
    if isinstance(stack, UnionStack):
        return _union_stack_property(cx, stack, expr)
    node = {"next": ir.StackNext, "last": ir.StackLast, "lastIndex": ir.StackLastIndex}[expr.name]
    return node(stack)


def _union_stack_property(cx: Context, stack: UnionStack, expr: r.StackProperty) -> Value:
    """The same for a stack of unions, with their next index in a variable that is made here (section 8.18)."""
    next_index = stack.next_index
    last = ir.Binary(ir.BinaryOp.SUB, next_index, ir.Constant(1, ir.INDEX), ir.INDEX)
    if expr.name == "lastIndex":
        return last
    index = next_index if expr.name == "next" else last
    is_inside = ir.Binary(ir.BinaryOp.LT, index, ir.Constant(len(stack.items), ir.INDEX), ir.BOOL)
    error = ir.Constant(cx.errors["StackOutOfBounds"], ir.INDEX)
    cx.out.append(ir.Verify(is_inside, error, cx.span(expr)))
    return stack.element(index)


def slice_of(cx: Context, expr: r.SliceOf) -> Value:
    return sliced(cx.value(expr.base), expr.high, expr.low)


def slice_at(cx: Context, expr: r.SliceAt) -> Value:
    base, low = evaluation.several(cx, (expr.base, expr.low))
    return sliced_at(base, low, expr.width)


def aggregate(cx: Context, expr: r.Aggregate) -> Value:
    type_ = cx.type(expr.type)
    items = evaluation.several(cx, expr.items)
    if isinstance(type_, t.StructLike) and type_.kind == "header":
        return HeaderParts(items, True)
    if isinstance(type_, t.StructLike):
        return Parts({name: i for i, name in enumerate(type_.fields)}, items)
    return Parts({str(i): i for i in range(len(items))}, items)


def invalid_header(cx: Context, expr: r.InvalidHeader) -> Value:
    return values.default(cx, cx.type(expr.type))


def construct(cx: Context, expr: r.Construct) -> Value:
    fail(cx, expr, "an instance cannot be made here", Kind.PLACE)
