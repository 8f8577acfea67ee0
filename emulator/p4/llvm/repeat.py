"""``Repeat`` as vector code.

Two loops are written. The fast one runs when every extern call of the body is known to stay in range for all turns: it
does ``VECTOR_BITS`` worth of turns at once and then the rest one by one. The other, for indices out of range, does one
turn at a time with all checks and gives the exact effects of the statements one after the other.

A header that the fast loop overwrites from first to last bit is not copied into scratch before.
"""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.layout import cell_bytes, width_of
from emulator.p4.llvm.bits import I64, Value, constant, i64
from emulator.p4.llvm.context import CodeGen, Turn
from emulator.p4.target import Target

VECTOR_BITS = 512
"""One AVX-512 register, two of AVX2; more per turn of the loop measured no faster."""


def emit_repeat(cg: CodeGen, repeat: ir.Repeat) -> None:
    condition = _in_range(cg, repeat)
    if condition is None:
        _fast(cg, repeat)
        return
    before = set(cg.storage.owned)
    fast, slow, end = cg.new_block("repeat.fast"), cg.new_block("repeat.slow"), cg.new_block("repeat.end")
    cg.b.cbranch(condition, fast, slow)
    cg.b.position_at_end(fast)
    _fast(cg, repeat)
    owned = set(cg.storage.owned)
    cg.b.branch(end)
    cg.b.position_at_end(slow)
    cg.storage.owned = before
    _slow(cg, repeat)
    owned &= cg.storage.owned
    cg.b.branch(end)
    cg.b.position_at_end(end)
    cg.storage.owned = owned


def _in_range(cg: CodeGen, repeat: ir.Repeat) -> Value | None:
    """The condition under which no extern call needs a check; None without such calls."""
    conditions = []
    for statement in repeat.body:
        if isinstance(statement, ir.CallExtern):
            conditions.append(cg.hooks.unchecked[statement.name](cg, statement))
    if not conditions:
        return None
    result = conditions[0]
    for condition in conditions[1:]:
        result = cg.b.and_(result, condition)
    return result


def _fast(cg: CodeGen, repeat: ir.Repeat) -> None:
    sources = {}
    for header in _written_headers(cg, repeat.body):
        if _overwrites(header, repeat):
            sources[header.name] = cg.storage.base(cg.b, header)
            cg.storage.adopt(cg.b, header)
        else:
            cg.storage.own(cg.b, header)
    lanes = vector_lanes(repeat)
    done = repeat.count - repeat.count % lanes if lanes else 0
    if done:
        _loop(cg, repeat, 0, done, lanes, checked=False, sources=sources)
    if done < repeat.count:
        _loop(cg, repeat, done, repeat.count, None, checked=False, sources=sources)


def _slow(cg: CodeGen, repeat: ir.Repeat) -> None:
    for header in _written_headers(cg, repeat.body):
        cg.storage.own(cg.b, header)
    _loop(cg, repeat, 0, repeat.count, None, checked=True, sources={})


def _loop(
    cg: CodeGen,
    repeat: ir.Repeat,
    first: int,
    last: int,
    lanes: int | None,
    *,
    checked: bool,
    sources: dict[str, Value],
) -> None:
    start, body, end = cg.b.block, cg.new_block("turn"), cg.new_block("turns.end")
    cg.b.branch(body)
    cg.b.position_at_end(body)
    index = cg.b.phi(I64)
    index.add_incoming(i64(first), start)
    cg.turn = Turn(index, lanes, checked, sources=dict(sources))
    for variable in written_variables(repeat.body, cg.target):
        cg.turn.private[variable.name] = constant(0, width_of(variable.type), lanes)
    cg.block(repeat.body)
    cg.turn = None
    following = cg.b.add(index, i64(lanes or 1))
    index.add_incoming(following, cg.b.block)
    cg.b.cbranch(cg.b.icmp_unsigned("<", following, i64(last)), body, end)
    cg.b.position_at_end(end)


def written_places(body: ir.Block, target: Target) -> list[ir.Argument]:
    """What the body assigns, or hands to an extern that may assign it."""
    places: list[ir.Argument] = []
    for statement in body:
        if isinstance(statement, ir.Assign):
            places.append(statement.target)
        elif isinstance(statement, ir.CallExtern):
            places.extend(statement.arguments[i] for i in target.outs(statement.name))
    return places


def written_variables(body: ir.Block, target: Target) -> list[ir.Variable]:
    """Variables that are private to a turn."""
    return list({p.name: p for p in written_places(body, target) if isinstance(p, ir.Variable)}.values())


def _written_headers(cg: CodeGen, body: ir.Block) -> list[ir.Header]:
    lanes = [p for p in written_places(body, cg.target) if isinstance(p, ir.LaneField)]
    return list({lane.header.name: lane.header for lane in lanes}.values())


def _overwrites(header: ir.Header, repeat: ir.Repeat) -> bool:
    """Does the body write the header from first to last bit, reading of it nothing but the turn's own field?"""
    lanes = [x for x in _lane_fields(repeat.body) if x.header.name == header.name]
    first = lanes[0]
    whole = first.first.offset_bits == 0 and first.stride_bits == width_of(first.type)
    alike = all(x.first.offset_bits == 0 and x.stride_bits == first.stride_bits for x in lanes)
    plain = any(isinstance(x, ir.FieldRef) and x.header == header for s in repeat.body for x in _expressions(s))
    return whole and alike and not plain and repeat.count * first.stride_bits == header.type.length_bits


def _expressions(statement: ir.Statement) -> list[ir.Expr]:
    return [x for root, _ in walk.own_expressions(statement) for x in walk.subexpressions(root)]


def _lane_fields(body: ir.Block) -> list[ir.LaneField]:
    return [x for s in body for x in _expressions(s) if isinstance(x, ir.LaneField)]


def vector_lanes(repeat: ir.Repeat) -> int | None:
    """How many turns a vector register takes; None when fields or cells are not laid out as a vector's lanes."""
    widths = {width_of(x.type) for x in _lane_fields(repeat.body)}
    for statement in repeat.body:
        if isinstance(statement, ir.CallExtern) and isinstance(statement.instance, ir.LaneInstances):
            widths.add(width_of(statement.instance.instances[0].type_arguments[0]))
    dense = all(x.stride_bits == width_of(x.type) and x.first.offset_bits % 8 == 0 for x in _lane_fields(repeat.body))
    divides = any(
        isinstance(x, ir.Binary) and x.op in (ir.BinaryOp.DIV, ir.BinaryOp.MOD)
        for s in repeat.body
        for x in _expressions(s)
    )
    if not widths or not dense or divides or any(w not in (8, 16, 32, 64) for w in widths):
        return None
    return VECTOR_BITS // (8 * max(cell_bytes(w) for w in widths))
