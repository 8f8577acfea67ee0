"""Packets: extract, lookahead, advance, length, verify and emit (sections 13.8, 16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.lower.statements import StatementLowering
from emulator.p4.lower.storage import HeaderParts, Parts, Value


class PacketLowering(StatementLowering):
    def _extract(self, expr: r.ExternCall) -> Value:
        type_ = self.type(expr.arguments[0].parameter.type)
        if not isinstance(type_, t.StructLike) or type_.kind != "header":
            self.fail(expr, f"extract() takes a header, not {type_}")
        evaluated = self.evaluate(expr.arguments)
        header: Value = evaluated[0].place
        if header is None:  # extract(_) or extract<T>(_): skip a header
            header = self.allocate(f"{self.path}.tmp", type_)
        span = self.tokens.span(expr.at)
        self.out.append(ir.Extract(header, evaluated[1].value if len(evaluated) > 1 else None, span))
        self.out.extend(self.after_extract(header, span))

    def _lookahead(self, expr: r.ExternCall) -> Value:
        type_ = self.type(expr.type)
        if t.width_bits(type_) is None:
            self.fail(expr, f"lookahead() cannot give {type_}: it needs a fixed width")
        targets: list[tuple[ir.Variable, int]] = []
        value, total = self._ahead(type_, 0, targets)
        self.out.append(ir.Lookahead(tuple(targets), total, self.tokens.span(expr.at)))
        return value

    def _ahead(self, type_: t.Type, offset: int, targets: list[tuple[ir.Variable, int]]) -> tuple[Value, int]:
        """The value that starts at ``offset``, and the offset behind it."""
        if t.is_empty(type_):
            return Parts({}, []), offset
        if t.is_scalar(type_):
            variable = self.temporary(self.scalar(type_))
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
            item, offset = self._ahead(part, offset, targets)
            items.append(item)
        if isinstance(type_, t.StructLike) and type_.kind == "header":
            self.header_type(type_)
            return HeaderParts(items, True), offset
        return Parts({name: i for i, name in enumerate(names)}, items), offset

    def _advance(self, expr: r.ExternCall) -> Value:
        assert expr.arguments[0].value is not None
        self.out.append(ir.Advance(self.value(expr.arguments[0].value), self.tokens.span(expr.at)))

    def _length(self, expr: r.ExternCall) -> Value:
        return ir.PacketLength()

    def _verify(self, expr: r.ExternCall) -> Value:
        condition, error = self.several([b.value for b in expr.arguments if b.value is not None])
        self.out.append(ir.Verify(condition, error, self.tokens.span(expr.at)))

    def _emit(self, expr: r.ExternCall) -> Value:
        bound = expr.arguments[0]
        assert bound.value is not None
        value = self.value(bound.value)
        if not all(isinstance(header, _HEADERS) for header in _headers(value)):
            self.fail(expr, f"emit() cannot take {self.type(bound.parameter.type)}")
        if _is_made(value):
            storage = self.allocate(f"{self.path}.tmp", self.type(bound.parameter.type))
            self.store(storage, value)
            value = storage
        self._emit_value(value, self.tokens.span(expr.at))

    def _emit_value(self, value: Value, span: ir.Span) -> None:
        if isinstance(value, Parts):
            for item in value.items:
                self._emit_value(item, span)
        elif isinstance(value, ir.HeaderStack):
            for header in value.headers:
                self.out.append(ir.Emit(header, span))
        else:
            self.out.append(ir.Emit(value, span))


_HEADERS = (ir.Header, ir.StackAt, ir.StackNext, ir.StackLast, ir.HeaderStack, HeaderParts)


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


PACKET_CALLS: dict[str, Any] = {
    "packet_in.extract": PacketLowering._extract,
    "packet_in.lookahead": PacketLowering._lookahead,
    "packet_in.advance": PacketLowering._advance,
    "packet_in.length": PacketLowering._length,
    "packet_out.emit": PacketLowering._emit,
    "verify": PacketLowering._verify,
}
