"""Generated statements of the IR: straight code, branches, loops, regions, externs of v1model."""

from __future__ import annotations

from hypothesis import strategies as st

from emulator.p4 import ir
from emulator.v1model.target import HASH_OF_VALID
from tests.generators.ir_expressions import Op, Scope, conditions, expressions, header_refs, readable
from tests.programs.p4_programs import binary, const


@st.composite
def blocks(draw: st.DrawFn, scope: Scope, depth: int = 2, *, tables: bool = True) -> ir.Block:
    return tuple(s for group in draw(st.lists(groups(scope, depth, tables=tables), max_size=4)) for s in group)


@st.composite
def groups(draw: st.DrawFn, scope: Scope, depth: int, *, tables: bool) -> ir.Block:
    """One statement, or some that make sense together only."""
    choice = draw(st.integers(0, 11))
    if choice == 0 and depth:
        return draw(loops(scope, depth, tables=tables))
    if choice == 1 and scope.tables and tables and depth:
        return draw(applications(scope))
    return (draw(statements(scope, depth, tables=tables)),)


@st.composite
def loops(draw: st.DrawFn, scope: Scope, depth: int, *, tables: bool) -> ir.Block:
    """A loop that ends: it counts, and whatever its body writes, a second variable counts along."""
    count = draw(st.sampled_from([v for v in scope.variables if v.type == ir.Bits(8)]))
    limit = const(draw(st.integers(0, 5)), 8)
    body = draw(blocks(scope.inside(in_loop=True), depth - 1, tables=tables))
    step = ir.Assign(count, binary(Op.ADD_SAT, count, const(1, 8)))
    condition: ir.Expr = binary(Op.LT, count, limit)
    prelude = draw(blocks(scope, 0, tables=False)) if draw(st.integers(0, 3)) == 0 else ()
    first = (ir.Assign(count, const(0, 8)),) if draw(st.booleans()) else ()
    # the body may set the counter back, so the loop leaves by itself after some turns
    turns = ir.Variable("turns", ir.Bits(16))
    turn = ir.Assign(turns, binary(Op.ADD, turns, const(1, 16)))
    guard = ir.If(binary(Op.GT, turns, const(40, 16)), (ir.Break(),))
    return (*first, ir.Loop(condition, (turn, guard, *body), prelude, (step,)))


@st.composite
def applications(draw: st.DrawFn, scope: Scope) -> ir.Block:
    """A table, and code that looks at what it did."""
    table = draw(st.sampled_from(scope.tables)).name
    hit, run = ir.Variable("hit", ir.BOOL), ir.Variable("run", ir.INDEX)
    places = [v for v in scope.variables if v.type == ir.Bits(16)]
    target = draw(st.sampled_from(places))
    return (
        ir.ApplyTable(table, hit, run),
        ir.Assign(target, ir.Mux(hit, ir.Cast(run, ir.Bits(16)), const(77, 16), ir.Bits(16))),
    )


@st.composite
def statements(draw: st.DrawFn, scope: Scope, depth: int, *, tables: bool) -> ir.Statement:
    choice = draw(st.integers(0, 17 if depth else 11))
    if choice == 4:
        return ir.SetValidity(draw(header_refs(scope)), draw(st.booleans()))
    if choice == 5:
        target, source = draw(header_refs(scope)), draw(header_refs(scope))
        return ir.CopyHeader(target, source if source.type == target.type else target)
    if choice == 6:
        return draw(register_accesses(scope))
    if choice == 7:
        index = binary(Op.AND, draw(expressions(scope, ir.Bits(32), 1)), const(3, 32))
        return ir.CallExtern("counter.count", (index,), scope.counters[0])
    if choice == 8 and scope.stacks:
        kinds: list[type[ir.PushFront] | type[ir.PopFront]] = [ir.PushFront, ir.PopFront]
        kind = draw(st.sampled_from(kinds))
        return kind(draw(st.sampled_from(scope.stacks)), draw(st.integers(1, 4)))
    if choice == 9 and scope.varbit_places():
        first = draw(st.sampled_from(scope.varbit_places()))
        return ir.Assign(first, draw(st.sampled_from([p for p in scope.varbit_places() if p.type == first.type])))
    if choice == 10:
        ref = draw(header_refs(scope))
        fields = [f for f in ref.type.fields if not isinstance(f.type, ir.VarBits)]
        place = ir.FieldRef(ref, draw(st.sampled_from(fields)))
        return ir.Assign(place, draw(expressions(scope, place.type, 2)))
    if choice == 11 and not scope.in_parser:
        return draw(hashes(scope))
    if choice >= 12 and depth:
        return draw(compound(scope, depth, choice, tables=tables))
    plain = draw(st.sampled_from(scope.places()))
    return ir.Assign(plain, draw(expressions(scope, plain.type, 3)))


@st.composite
def compound(draw: st.DrawFn, scope: Scope, depth: int, choice: int, *, tables: bool) -> ir.Statement:
    if choice == 12:
        value = draw(expressions(scope, ir.Bits(9), 2))
        cases = tuple(
            ir.SwitchCase((i, i + 4), draw(blocks(scope, depth - 1, tables=tables)))
            for i in range(draw(st.integers(0, 3)))
        )
        return ir.Switch(binary(Op.AND, value, const(7, 9)), cases, draw(blocks(scope, depth - 1, tables=tables)))
    if choice == 13:
        region = scope.inside(in_loop=False)
        return ir.Region("r", draw(blocks(region, depth - 1, tables=tables)), draw(blocks(region, 0, tables=False)))
    if choice == 14:
        leave: list[ir.Statement] = [ir.Return(), ir.Exit()]
        if scope.in_loop:
            leave += [ir.Break(), ir.Continue()] * 2
        return ir.If(draw(conditions(scope, 2)), (draw(st.sampled_from(leave)),))
    if choice == 15 and tables and scope.tables:
        return ir.ApplyTable(draw(st.sampled_from(scope.tables)).name)
    return ir.If(
        draw(conditions(scope, 2)),
        draw(blocks(scope, depth - 1, tables=tables)),
        draw(blocks(scope, depth - 1, tables=tables)),
    )


@st.composite
def register_accesses(draw: st.DrawFn, scope: Scope) -> ir.Statement:
    cell = draw(st.sampled_from(scope.registers))
    index = draw(expressions(scope, ir.Bits(32), 1))
    small = binary(Op.AND, index, const(7, 32)) if draw(st.booleans()) else index
    kind = cell.type_arguments[0]
    if draw(st.booleans()):
        return ir.CallExtern("register.write", (small, draw(expressions(scope, kind, 2))), cell)
    targets: list[ir.Place] = [p for p in scope.places() if p.type == kind]
    for stack in scope.stacks:
        at = ir.StackAt(stack, draw(st.sampled_from([p for p in scope.places() if p.type == ir.Bits(8)])))
        targets += [ir.FieldRef(at, f) for f in stack.element.fields if f.type == kind]
    return ir.CallExtern("register.read", (draw(st.sampled_from(targets)), small), cell)


@st.composite
def hashes(draw: st.DrawFn, scope: Scope) -> ir.Statement:
    one = st.one_of(readable(scope), st.just(const(0xB, 4)), *map(st.just, scope.varbit_places()))
    items = draw(st.lists(one, min_size=1, max_size=6))
    algorithm = const(draw(st.sampled_from((0, 2, 5, 6, 6, 6, 7))), 32)
    target = draw(st.sampled_from([p for p in scope.places() if isinstance(p.type, ir.Bits)]))
    return ir.CallExtern(
        draw(st.sampled_from(("hash", HASH_OF_VALID))),
        (target, algorithm, const(draw(st.integers(0, 9)), 16), tuple(items), const(65536, 32)),
    )
