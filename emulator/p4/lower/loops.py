"""Loops in the IR's one form (section 12.9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.lower import evaluation, expressions, storage, values
from emulator.p4.lower.context import Context
from emulator.p4.lower.shapes import UnionStack, Value


def for_(cx: Context, node: r.For) -> None:
    cx.statements(node.init)
    condition, prelude = evaluation.into(cx, node.condition)
    body, update = cx.body(node.body), cx.body(node.update)
    if not (isinstance(condition, ir.Constant) and not condition.value and not prelude):
        cx.out.append(ir.Loop(condition, body, tuple(prelude), update, cx.span(node)))


def for_in_(cx: Context, node: r.ForIn) -> None:
    """The collection is evaluated once, before the first turn, and kept as it was then (section 12.9)."""
    span = cx.span(node)
    element = storage.allocate(cx, f"{cx.path}.{node.symbol.name}", cx.type(node.symbol.type))
    if isinstance(node.collection, r.Range):
        _over_range(cx, node, node.collection, element, span)
    elif isinstance(node.collection, r.Aggregate):
        items = [evaluation.saved(cx, value) for value in evaluation.several(cx, node.collection.items)]
        _over_elements(cx, node, len(items), element, span, lambda index: _choose(cx, element, items, index))
    else:
        collection = cx.value(node.collection)
        if not isinstance(collection, ir.HeaderStack | UnionStack):  # a list passed as a constructor argument
            items = collection.items
            _over_elements(cx, node, len(items), element, span, lambda index: _choose(cx, element, items, index))
            return
        stack = evaluation.saved_stack(cx, collection)
        size = len(stack.items) if isinstance(stack, UnionStack) else stack.size

        def take(index: ir.Variable) -> None:
            values.store(cx, element, expressions.element(stack, index))

        _over_elements(cx, node, size, element, span, take)


def _over_range(cx: Context, node: r.ForIn, range_: r.Range, element: Value, span: ir.Span) -> None:
    """The counter stops at the last value, which may be the largest that the type has."""
    low, high = evaluation.several(cx, (range_.low, range_.high))
    last = evaluation.saved(cx, high)
    counter, goes_on = storage.temporary(cx, element.type), storage.temporary(cx, ir.BOOL)
    cx.out.append(ir.Assign(counter, low, span))
    cx.out.append(ir.Assign(goes_on, ir.Binary(ir.BinaryOp.LE, counter, last, ir.BOOL), span))
    body = _loop_body(cx, node, lambda: values.store(cx, element, counter, span), element)
    is_not_last = ir.Assign(goes_on, ir.Binary(ir.BinaryOp.NE, counter, last, ir.BOOL), span)
    cx.out.append(ir.Loop(goes_on, body, (), (is_not_last, _next(counter, span)), span))


def _over_elements(
    cx: Context, node: r.ForIn, count: int, element: Value, span: ir.Span, take: Callable[[ir.Variable], None]
) -> None:
    index = storage.temporary(cx, ir.INDEX)
    cx.out.append(ir.Assign(index, ir.Constant(0, ir.INDEX), span))
    body = _loop_body(cx, node, lambda: take(index), element)
    is_inside = ir.Binary(ir.BinaryOp.LT, index, ir.Constant(count, ir.INDEX), ir.BOOL)
    cx.out.append(ir.Loop(is_inside, body, (), (_next(index, span),), span))


def _loop_body(cx: Context, node: r.ForIn, take: Callable[[], None], element: Value) -> ir.Block:
    """Take the turn's element, then run the statements."""
    outer, cx.out = cx.out, []
    take()
    cx.env[node.symbol] = element
    cx.statements(node.body)
    result, cx.out = cx.out, outer
    return tuple(result)


def _choose(cx: Context, element: Value, choices: Sequence[Value], index: ir.Variable) -> None:
    """``element = choices[index]``."""
    cases = []
    for number, value in enumerate(choices):
        outer, cx.out = cx.out, []
        values.store(cx, element, value)
        cases.append(ir.SwitchCase((number,), tuple(cx.out)))
        cx.out = outer
    cx.out.append(ir.Switch(index, tuple(cases)))


def _next(counter: ir.Variable, span: ir.Span) -> ir.Assign:
    one = ir.Constant(1, counter.type)
    return ir.Assign(counter, ir.Binary(ir.BinaryOp.ADD, counter, one, counter.type), span)


def break_(cx: Context, node: r.Break) -> None:
    cx.out.append(ir.Break(cx.span(node)))


def continue_(cx: Context, node: r.Continue) -> None:
    cx.out.append(ir.Continue(cx.span(node)))
