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
from emulator.p4.llvm.context import CodeGen


def value(cg: CodeGen, expr: ir.Expr) -> Value:
    """The expression's value: an integer of its width, or in a vector turn a vector of them."""
    b = cg.b
    match expr:
        case ir.Constant(literal, kind):
            return constant(literal, width_of(kind), cg.lanes)
        case ir.Variable():
            return _read_variable(cg, expr)
        case ir.FieldRef(header, field_):
            return splat(b, _read_field(cg, header, field_), cg.lanes)
        case ir.LaneField():
            return _read_lane(cg, expr)
        case ir.FieldRun(header, offset, width):
            return cg.storage.read_bits(b, header, offset, width)
        case ir.IsValid(header):
            return splat(b, cg.storage.valid(b, plain_header(header)), cg.lanes)
        case ir.Unary(op, operand, _):
            number = value(cg, operand)
            return arithmetic.negate(b, number) if op is ir.UnaryOp.NEGATE else arithmetic.complement(b, number)
        case ir.Binary(op, left, right, _) if isinstance(left.type, ir.VarBits):
            same = varbits.equal(cg, _varbit_header(left), _varbit_header(right))
            return same if op is ir.BinaryOp.EQ else arithmetic.complement(b, same)
        case ir.Binary(op, left, right, _):
            signed = is_signed(left.type)
            return arithmetic.binary(b, op, value(cg, left), value(cg, right), signed=signed)
        case ir.Mux() if cg.lanes is None and walk.is_long_choice(expr):
            return _choose(cg, expr)
        case ir.Mux(condition, then, otherwise, _):
            return b.select(value(cg, condition), value(cg, then), value(cg, otherwise))
        case ir.Cast(operand, kind):
            return resize(b, value(cg, operand), width_of(kind), signed=is_signed(operand.type))
        case ir.Slice(operand, high, low):
            number = value(cg, operand)
            moved = b.lshr(number, arithmetic.like(number, low)) if low else number
            return resize(b, moved, high - low + 1)
        case ir.Concat(left, right, kind):
            width, low = width_of(kind), width_of(right.type)
            high = resize(b, value(cg, left), width)
            return b.or_(b.shl(high, constant(low, width, cg.lanes)), resize(b, value(cg, right), width))
        case ir.PacketLength():
            return resize(b, cg.parse.length, 32)
    raise TypeError(f"the pass lower_stacks leaves no {type(expr).__name__}")


def invariant(cg: CodeGen, expr: ir.Expr) -> Value:
    """The value of an expression that is the same in all turns of a Repeat, as a scalar."""
    turn, cg.turn = cg.turn, None
    number = value(cg, expr)
    cg.turn = turn
    return number


def _choose(cg: CodeGen, expr: ir.Mux) -> Value:
    """Choose by branches: LLVM takes minutes over long chains of selects."""
    b = cg.b
    then, otherwise, end = (cg.new_block(f"mux.{name}") for name in ("then", "else", "end"))
    b.cbranch(value(cg, expr.condition), then, otherwise)
    values = []
    for start, part in ((then, expr.then), (otherwise, expr.otherwise)):
        b.position_at_end(start)
        values.append((value(cg, part), b.block))
        b.branch(end)
    b.position_at_end(end)
    result = b.phi(values[0][0].type)
    for number, block in values:
        result.add_incoming(number, block)
    return result


def _read_variable(cg: CodeGen, variable: ir.Variable) -> Value:
    if cg.turn is not None and variable.name in cg.turn.private:
        return cg.turn.private[variable.name]
    slot = cg.storage.variable(variable)
    return splat(cg.b, cg.b.load(slot, typ=integer(width_of(variable.type))), cg.lanes)


def _read_field(cg: CodeGen, ref: ir.HeaderRef, field_: ir.HeaderField) -> Value:
    header = plain_header(ref)
    turn = cg.turn
    if turn is not None and header.name in turn.sources:
        return load_field(cg.b, _source(cg, header), field_.offset_bits, field_.width_bits)
    return cg.storage.read_bits(cg.b, header, field_.offset_bits, field_.width_bits)


def _source(cg: CodeGen, header: ir.Header) -> Value:
    turn = cg.turn
    if turn is not None and header.name in turn.sources and header.name not in turn.written:
        return turn.sources[header.name]
    return cg.storage.base(cg.b, header)


def _lane_pointer(cg: CodeGen, lane: ir.LaneField, base: Value) -> Value:
    assert cg.turn is not None
    return at(cg.b, base, cg.b.mul(cg.turn.index, i64(lane.stride_bits // 8)))


def _read_lane(cg: CodeGen, lane: ir.LaneField) -> Value:
    width = width_of(lane.type)
    pointer = _lane_pointer(cg, lane, _source(cg, lane.header))
    if cg.lanes is None:
        return load_field(cg.b, pointer, lane.first.offset_bits, width)
    value = load(cg.b, integer(width, cg.lanes), pointer, lane.first.offset_bits // 8)
    return swap_bytes(cg.b, value)


def varbit_content(cg: CodeGen, expr: ir.Expr) -> tuple[Value, Value]:
    """(address of the first bit, at the top of a byte; how many bits, i64) of a field of variable width."""
    return varbits.content(cg, _varbit_header(expr))


def assign_varbits(cg: CodeGen, target: ir.Place, source: ir.Expr) -> None:
    varbits.assign(cg, _varbit_header(target), _varbit_header(source))


# --- Assignment -------------------------------------------------------------------------------------------------------


def assign(cg: CodeGen, place: ir.Place, value: Value) -> None:
    match place:
        case ir.Variable():
            if cg.turn is not None:
                cg.turn.private[place.name] = value
            else:
                cg.b.store(value, cg.storage.variable(place))
        case ir.FieldRef(header, field_):
            cg.storage.write_bits(cg.b, plain_header(header), field_.offset_bits, value)
        case ir.LaneField():
            _write_lane(cg, place, value)


def _write_lane(cg: CodeGen, lane: ir.LaneField, value: Value) -> None:
    assert cg.turn is not None
    cg.turn.written.add(lane.header.name)
    pointer = _lane_pointer(cg, lane, cg.storage.base(cg.b, lane.header))
    width = width_of(lane.type)
    if cg.lanes is None:
        store_field(cg.b, value, pointer, lane.first.offset_bits, width)
    else:
        cg.b.store(swap_bytes(cg.b, value), at(cg.b, pointer, lane.first.offset_bits // 8), align=1)


def copy_header(cg: CodeGen, target: ir.Header, source: ir.Header) -> None:
    """An invalid source only makes the target invalid."""
    b, storage = cg.b, cg.storage
    if target.name == source.name:
        return
    valid = storage.valid(b, source)
    storage.set_valid(b, target, valid)
    with b.if_then(valid):
        storage.copy_header(b, target, source)


def set_validity(cg: CodeGen, header: ir.Header, valid: bool) -> None:
    b, storage = cg.b, cg.storage
    was = storage.valid(b, header)
    cg.hooks.on_validity(cg, header, valid, was)
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
