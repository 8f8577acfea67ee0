"""Packets: extract, lookahead, advance, length, verify and emit (sections 13.8, 16)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import fail
from emulator.p4.lower import arguments, erasure, evaluation, storage, values
from emulator.p4.lower.context import Context
from emulator.p4.lower.shapes import HeaderParts, Parts, Value

_HEADERS = (ir.Header, ir.StackAt, ir.StackNext, ir.StackLast, ir.HeaderStack, HeaderParts)


def _extract(cx: Context, expr: r.ExternCall) -> Value:
    type_ = cx.type(expr.arguments[0].parameter.type)
    if not isinstance(type_, t.StructLike) or type_.kind != "header":
        fail(cx, expr, f"extract() takes a header, not {type_}")
    evaluated = arguments.evaluate(cx, expr.arguments)
    header: Value = evaluated[0].place
    if header is None:  # extract(_) or extract<T>(_): skip a header
        header = storage.allocate(cx, f"{cx.path}.tmp", type_)
    span = cx.tokens.span(expr.at)
    cx.out.append(ir.Extract(header, evaluated[1].value if len(evaluated) > 1 else None, span))
    cx.out.extend(storage.after_extract(cx, header, span))


def _lookahead(cx: Context, expr: r.ExternCall) -> Value:
    type_ = cx.type(expr.type)
    if t.width_bits(type_) is None:
        fail(cx, expr, f"lookahead() cannot give {type_}: it needs a fixed width")
    targets: list[tuple[ir.Variable, int]] = []
    value, total = _ahead(cx, type_, 0, targets)
    cx.out.append(ir.Lookahead(tuple(targets), total, cx.tokens.span(expr.at)))
    return value


def _ahead(cx: Context, type_: t.Type, offset: int, targets: list[tuple[ir.Variable, int]]) -> tuple[Value, int]:
    """The value that starts at ``offset``, and the offset behind it."""
    if t.is_empty(type_):
        return Parts({}, []), offset
    if t.is_scalar(type_):
        variable = storage.temporary(cx, erasure.scalar(cx, type_))
        targets.append((variable, offset))
        return variable, offset + (t.width_bits(type_) or 0)
    if isinstance(type_, t.StructLike):
        parts, names = [f.type for f in type_.fields.values()], list(type_.fields)
    elif isinstance(type_, t.StackType):
        parts, names = [type_.element] * type_.size, [str(i) for i in range(type_.size)]
    else:
        assert isinstance(type_, t.TupleType)
        parts, names = list(type_.items), [str(i) for i in range(len(type_.items))]
    items: list[Value] = []
    for part in parts:
        item, offset = _ahead(cx, part, offset, targets)
        items.append(item)
    if isinstance(type_, t.StructLike) and type_.kind == "header":
        erasure.header_type(cx, type_)
        return HeaderParts(items, True), offset
    return Parts({name: i for i, name in enumerate(names)}, items), offset


def _advance(cx: Context, expr: r.ExternCall) -> Value:
    assert expr.arguments[0].value is not None
    cx.out.append(ir.Advance(cx.value(expr.arguments[0].value), cx.tokens.span(expr.at)))


def _length(cx: Context, expr: r.ExternCall) -> Value:
    return ir.PacketLength()


def _verify(cx: Context, expr: r.ExternCall) -> Value:
    condition, error = evaluation.several(cx, [b.value for b in expr.arguments if b.value is not None])
    cx.out.append(ir.Verify(condition, error, cx.tokens.span(expr.at)))


def _emit(cx: Context, expr: r.ExternCall) -> Value:
    bound = expr.arguments[0]
    assert bound.value is not None
    value = cx.value(bound.value)
    if not all(isinstance(header, _HEADERS) for header in _headers(value)):
        fail(cx, expr, f"emit() cannot take {cx.type(bound.parameter.type)}")
    if _is_made(value):
        made = storage.allocate(cx, f"{cx.path}.tmp", cx.type(bound.parameter.type))
        values.store(cx, made, value)
        value = made
    _emit_value(cx, value, cx.tokens.span(expr.at))


def _emit_value(cx: Context, value: Value, span: ir.Span) -> None:
    if isinstance(value, Parts):
        for item in value.items:
            _emit_value(cx, item, span)
    elif isinstance(value, ir.HeaderStack):
        for header in value.headers:
            cx.out.append(ir.Emit(header, span))
    else:
        cx.out.append(ir.Emit(value, span))


def _headers(value: Value) -> Iterator[Value]:
    """What the value consists of when structs and tuples are taken apart."""
    if isinstance(value, Parts):
        for item in value.items:
            yield from _headers(item)
    else:
        yield value


def _is_made(value: Value) -> bool:
    """Whether the value holds a header that no storage holds."""
    return any(isinstance(header, HeaderParts) for header in _headers(value))


CALLS: dict[str, Callable[[Context, r.ExternCall], Value]] = {
    "packet_in.extract": _extract,
    "packet_in.lookahead": _lookahead,
    "packet_in.advance": _advance,
    "packet_in.length": _length,
    "packet_out.emit": _emit,
    "verify": _verify,
}
"""Extern calls that have statements of the IR, by name."""
