"""Expressions, and assignment to the places that they name."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.layout import width_of
from emulator.p4.llvm import arithmetic, varbits
from emulator.p4.llvm.bits import (
    Value,
    at,
    constant,
    i64,
    integer,
    load,
    load_field,
    resize,
    splat,
    store_field,
    swap_bytes,
)
from emulator.p4.llvm.context import Emitter


def value(e: Emitter, expr: ir.Expr) -> Value:
    """The expression's value: an integer of its width, or in a vector turn a vector of them."""
    b = e.b
    match expr:
        case ir.Constant(literal, kind):
            return constant(literal, width_of(kind), e.lanes)
        case ir.Variable():
            return _read_variable(e, expr)
        case ir.FieldRef(header, field_):
            return splat(b, _read_field(e, header, field_), e.lanes)
        case ir.LaneField():
            return _read_lane(e, expr)
        case ir.FieldRun(header, offset, width):
            return e.storage.read_bits(b, header, offset, width)
        case ir.IsValid(header):
            return splat(b, e.storage.valid(b, plain_header(header)), e.lanes)
        case ir.Unary(op, operand, _):
            number = value(e, operand)
            return arithmetic.negate(b, number) if op is ir.UnaryOp.NEGATE else arithmetic.complement(b, number)
        case ir.Binary(op, left, right, _) if isinstance(left.type, ir.VarBits):
            same = varbits.equal(e, _varbit_header(left), _varbit_header(right))
            return same if op is ir.BinaryOp.EQ else arithmetic.complement(b, same)
        case ir.Binary(op, left, right, _):
            signed = is_signed(left.type)
            return arithmetic.binary(b, op, value(e, left), value(e, right), signed=signed)
        case ir.Mux() if e.lanes is None and walk.is_long_choice(expr):
            return _choose(e, expr)
        case ir.Mux(condition, then, otherwise, _):
            return b.select(value(e, condition), value(e, then), value(e, otherwise))
        case ir.Cast(operand, kind):
            return resize(b, value(e, operand), width_of(kind), signed=is_signed(operand.type))
        case ir.Slice(operand, high, low):
            number = value(e, operand)
            moved = b.lshr(number, arithmetic.like(number, low)) if low else number
            return resize(b, moved, high - low + 1)
        case ir.Concat(left, right, kind):
            width, low = width_of(kind), width_of(right.type)
            high = resize(b, value(e, left), width)
            return b.or_(b.shl(high, constant(low, width, e.lanes)), resize(b, value(e, right), width))
        case ir.PacketLength():
            return resize(b, e.parse.length, 32)
    raise TypeError(f"the pass lower_stacks leaves no {type(expr).__name__}")


def invariant(e: Emitter, expr: ir.Expr) -> Value:
    """The value of an expression that is the same in all turns of a Repeat, as a scalar."""
    turn, e.turn = e.turn, None
    number = value(e, expr)
    e.turn = turn
    return number


def _choose(e: Emitter, expr: ir.Mux) -> Value:
    """By branches: LLVM takes minutes over long chains of selects."""
    b = e.b
    then, otherwise, end = (e.new_block(f"mux.{name}") for name in ("then", "else", "end"))
    b.cbranch(value(e, expr.condition), then, otherwise)
    values = []
    for start, part in ((then, expr.then), (otherwise, expr.otherwise)):
        b.position_at_end(start)
        values.append((value(e, part), b.block))
        b.branch(end)
    b.position_at_end(end)
    result = b.phi(values[0][0].type)
    for number, block in values:
        result.add_incoming(number, block)
    return result


def _read_variable(e: Emitter, variable: ir.Variable) -> Value:
    if e.turn is not None and variable.name in e.turn.private:
        return e.turn.private[variable.name]
    slot = e.storage.variable(variable)
    return splat(e.b, e.b.load(slot, typ=integer(width_of(variable.type))), e.lanes)


def _read_field(e: Emitter, ref: ir.HeaderRef, field_: ir.HeaderField) -> Value:
    header = plain_header(ref)
    turn = e.turn
    if turn is not None and header.name in turn.sources:
        return load_field(e.b, _source(e, header), field_.offset_bits, field_.width_bits)
    return e.storage.read_bits(e.b, header, field_.offset_bits, field_.width_bits)


def _source(e: Emitter, header: ir.Header) -> Value:
    turn = e.turn
    if turn is not None and header.name in turn.sources and header.name not in turn.written:
        return turn.sources[header.name]
    return e.storage.base(e.b, header)


def _lane_pointer(e: Emitter, lane: ir.LaneField, base: Value) -> Value:
    assert e.turn is not None
    return at(e.b, base, e.b.mul(e.turn.index, i64(lane.stride_bits // 8)))


def _read_lane(e: Emitter, lane: ir.LaneField) -> Value:
    width = width_of(lane.type)
    pointer = _lane_pointer(e, lane, _source(e, lane.header))
    if e.lanes is None:
        return load_field(e.b, pointer, lane.first.offset_bits, width)
    value = load(e.b, integer(width, e.lanes), pointer, lane.first.offset_bits // 8)
    return swap_bytes(e.b, value)


def varbit_content(e: Emitter, expr: ir.Expr) -> tuple[Value, Value]:
    """(address of the first bit, at the top of a byte; how many bits, i64) of a field of variable width."""
    return varbits.content(e, _varbit_header(expr))


def assign_varbits(e: Emitter, target: ir.Place, source: ir.Expr) -> None:
    varbits.assign(e, _varbit_header(target), _varbit_header(source))


# --- Assignment -------------------------------------------------------------------------------------------------------


def assign(e: Emitter, place: ir.Place, value: Value) -> None:
    match place:
        case ir.Variable():
            if e.turn is not None:
                e.turn.private[place.name] = value
            else:
                e.b.store(value, e.storage.variable(place))
        case ir.FieldRef(header, field_):
            e.storage.write_bits(e.b, plain_header(header), field_.offset_bits, value)
        case ir.LaneField():
            _write_lane(e, place, value)


def _write_lane(e: Emitter, lane: ir.LaneField, value: Value) -> None:
    assert e.turn is not None
    e.turn.written.add(lane.header.name)
    pointer = _lane_pointer(e, lane, e.storage.base(e.b, lane.header))
    width = width_of(lane.type)
    if e.lanes is None:
        store_field(e.b, value, pointer, lane.first.offset_bits, width)
    else:
        e.b.store(swap_bytes(e.b, value), at(e.b, pointer, lane.first.offset_bits // 8), align=1)


def copy_header(e: Emitter, target: ir.Header, source: ir.Header) -> None:
    """An invalid source only makes the target invalid."""
    b, storage = e.b, e.storage
    if target.name == source.name:
        return
    valid = storage.valid(b, source)
    storage.set_valid(b, target, valid)
    with b.if_then(valid):
        storage.copy_header(b, target, source)


def set_validity(e: Emitter, header: ir.Header, valid: bool) -> None:
    b, storage = e.b, e.storage
    was = storage.valid(b, header)
    e.hooks.on_validity(e, header, valid, was)
    if valid:
        storage.keep_if(b, header, was)
    storage.set_valid(b, header, valid)


def is_signed(kind: ir.Type) -> bool:
    return isinstance(kind, ir.Bits) and kind.signed


def plain_header(ref: ir.HeaderRef) -> ir.Header:
    if not isinstance(ref, ir.Header):
        raise TypeError("the pass lower_stacks leaves plain headers only")
    return ref


def _varbit_header(expr: ir.Expr) -> ir.Header:
    if not isinstance(expr, ir.FieldRef):
        raise TypeError("the pass lower_varbits leaves fields of variable width only")
    return plain_header(expr.header)
