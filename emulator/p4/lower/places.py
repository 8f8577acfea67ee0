"""L-values and assignments: a place is evaluated once, before the value that goes there (section 12.1)."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check.reporting import unsupported
from emulator.p4.lower import evaluation, values
from emulator.p4.lower.context import Context
from emulator.p4.lower.evaluation import reads
from emulator.p4.lower.operators import cast_to, sliced, sliced_at
from emulator.p4.lower.shapes import HeaderParts, Parts, Value, is_static, roots


@dataclass(frozen=True, slots=True)
class SlicePlace:
    """Bits of a scalar place: ``[high:low]``, or ``width`` bits from a low one known at run time."""

    base: ir.Place
    low: int | ir.Expr
    width: int


def assign(cx: Context, node: r.Assign) -> None:
    place = place_of(cx, node.target)
    before = len(cx.out)
    value = cx.value(node.value)
    place = _pinned(cx, place, before)
    write(cx, place, value, cx.span(node))


def update(cx: Context, node: r.Update) -> None:
    """``target op= x``: the value names what the target holds as ``held``."""
    place = place_of(cx, node.target)
    cx.env[node.held] = read(cx, place)
    before = len(cx.out)
    value = cx.value(node.value)
    place = _pinned(cx, place, before)
    write(cx, place, value, cx.span(node))


def place_of(cx: Context, expr: r.Expr) -> Value | SlicePlace:
    """The storage that an l-value names; what its indices hoist has run."""
    if isinstance(expr, r.SliceOf):
        high, low, base = expr.high, expr.low, expr.base
        while isinstance(base, r.SliceOf):
            high, low, base = high + base.low, low + base.low, base.base
        return _slice_of_place(cx, base, low, high - low + 1)
    if isinstance(expr, r.SliceAt):
        base_place = place_of(cx, expr.base)
        before = len(cx.out)
        low = cx.value(expr.low)
        base_place = _pinned(cx, base_place, before)
        if isinstance(low, Parts):  # bit<0>
            low = 0
        if isinstance(base_place, SlicePlace):
            unsupported(cx, expr, "a slice at a run-time place of another slice as an l-value")
        return SlicePlace(base_place, low, expr.width)
    return cx.value(expr)


def _slice_of_place(cx: Context, base: r.Expr, low: int, width: int) -> SlicePlace:
    place = place_of(cx, base)
    if isinstance(place, SlicePlace):  # of a slice at a run-time place
        assert isinstance(place.low, ir.Expr)
        assert isinstance(place.low.type, ir.Bits)
        wide = ir.Bits(max(place.low.type.width_bits, 32))
        moved = ir.Binary(ir.BinaryOp.ADD_SAT, cast_to(place.low, wide), ir.Constant(low, wide), wide)
        return SlicePlace(place.base, moved, width)
    return SlicePlace(place, low, width)


def read(cx: Context, place: Value | SlicePlace) -> Value:
    if not isinstance(place, SlicePlace):
        return place
    if isinstance(place.low, int):
        return sliced(place.base, place.low + place.width - 1, place.low)
    return sliced_at(place.base, place.low, place.width)


def write(cx: Context, place: Value | SlicePlace, value: Value, span: ir.Span | None) -> None:
    """Into a place, from a value that may read it."""
    if not isinstance(place, SlicePlace):
        values.store(cx, place, _apart(cx, place, value), span)
        return
    if not place.width:
        return
    merged = _merged_at(place, value) if isinstance(place.low, ir.Expr) else _merged_slice(place, value)
    cx.out.append(ir.Assign(place.base, cast_to(merged, place.base.type), span))


def _apart(cx: Context, place: Value, value: Value) -> Value:
    """``s = {s.b, s.a}``: what an earlier part's store would overwrite is saved first."""
    if isinstance(value, Parts | HeaderParts) and set(roots(place)) & set(roots(value)):
        return evaluation.saved(cx, value)
    return value


def _pinned(cx: Context, place: Value | SlicePlace, position: int) -> Value | SlicePlace:
    """The place as it was before the statements from ``position`` on, which may change what its indices read."""
    if len(cx.out) == position or (not isinstance(place, SlicePlace) and is_static(place)):
        return place
    names = evaluation.written(cx, cx.out[position:])
    later = cx.out[position:]
    del cx.out[position:]
    result = fixed(cx, place, names)
    cx.out.extend(later)
    return result


def fixed(cx: Context, place: Value | SlicePlace, names: set[str] | None) -> Value | SlicePlace:
    """The place with copies of those of its indices that writes to ``names`` would change."""
    known: dict[ir.Expr, ir.Expr] = {}

    def index(expr: ir.Expr) -> ir.Expr:
        if expr not in known:
            known[expr] = evaluation.saved(cx, expr) if reads(expr, names) else expr
        return known[expr]

    def fix(part: Value) -> Value:
        if isinstance(part, ir.StackAt):
            return ir.StackAt(part.stack, index(part.index))
        if isinstance(part, ir.FieldRef):
            return ir.FieldRef(fix(part.header), part.field)
        if isinstance(part, Parts) and not is_static(part):
            return type(part)(part.names, [fix(item) for item in part.items])
        return part

    if isinstance(place, SlicePlace):
        low = place.low if isinstance(place.low, int) else index(place.low)
        return SlicePlace(fix(place.base), low, place.width)
    return fix(place)


def _merged_slice(place: SlicePlace, value: ir.Expr) -> ir.Expr:
    """The base's value with the bits of the slice replaced."""
    assert isinstance(place.low, int)
    assert isinstance(place.base.type, ir.Bits)
    low, high, width = place.low, place.low + place.width, place.base.type.width_bits
    merged = value
    if high < width:
        merged = ir.Concat(ir.Slice(place.base, width - 1, high), merged, ir.Bits(width - low))
    if low > 0:
        merged = ir.Concat(merged, ir.Slice(place.base, low - 1, 0), ir.Bits(width))
    return merged


def _merged_at(place: SlicePlace, value: ir.Expr) -> ir.Expr:
    """The same at a run-time place; bits that fall beyond the base are lost."""
    assert isinstance(place.low, ir.Expr)
    assert isinstance(place.base.type, ir.Bits)
    kind = ir.Bits(place.base.type.width_bits)

    def shifted(bits: ir.Expr) -> ir.Expr:
        assert isinstance(place.low, ir.Expr)
        return ir.Binary(ir.BinaryOp.SHL, bits, place.low, kind)

    ones = ir.Constant((1 << place.width) - 1, kind)
    others = ir.Unary(ir.UnaryOp.COMPLEMENT, shifted(ones), kind)
    kept = ir.Binary(ir.BinaryOp.AND, cast_to(place.base, kind), others, kind)
    return ir.Binary(ir.BinaryOp.OR, kept, shifted(cast_to(value, kind)), kind)
