"""Generated programs and packets: the machine code does what the interpreter does, bit for bit, state included."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.p4 import ir
from emulator.p4.verify import verify
from emulator.switch.control import Exact, TableEntry, Ternary
from emulator.v1model.metadata import standard
from emulator.v1model.target import V1MODEL_TARGET
from tests.support.p4_programs import binary, const, header_type, make_program, register, run_both, var

Op = ir.BinaryOp
ARITHMETIC = [Op.ADD, Op.SUB, Op.MUL, Op.ADD_SAT, Op.SUB_SAT, Op.AND, Op.OR, Op.XOR]
COMPARISONS = [Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE]
WIDTHS = (1, 3, 8, 9, 16, 24, 32, 33, 48, 64, 72)


@dataclass
class Scope:
    """What a generated program can mention."""

    headers: list[ir.Header] = field(default_factory=list)
    variables: list[ir.Variable] = field(default_factory=list)
    registers: list[ir.ExternInstance] = field(default_factory=list)
    counters: list[ir.ExternInstance] = field(default_factory=list)
    stack: ir.HeaderStack | None = None
    tables: list[ir.Table] = field(default_factory=list)
    in_parser: bool = False

    def refs(self) -> list[ir.HeaderRef]:
        return list(self.headers)

    def places(self) -> list[ir.Place]:
        fields = [ir.FieldRef(h, f) for h in self.headers for f in h.type.fields]
        return [*self.variables, *fields]


@st.composite
def header_types(draw: st.DrawFn, name: str) -> ir.HeaderType:
    widths = draw(st.lists(st.sampled_from(WIDTHS), min_size=1, max_size=5))
    signs = [draw(st.booleans()) and w > 1 for w in widths]
    fields: list[tuple[str, ir.Type]] = [
        (f"f{i}", ir.Bits(w, s)) for i, (w, s) in enumerate(zip(widths, signs, strict=True))
    ]
    if sum(widths) % 8:
        fields.append(("pad", ir.Bits(-sum(widths) % 8)))
    if draw(st.integers(0, 5)) == 0:
        fields += [(f"long{i}", ir.Bits(32)) for i in range(18)]  # too long for words
    return header_type(name, *fields)


@st.composite
def expressions(draw: st.DrawFn, scope: Scope, kind: ir.Type, depth: int = 3) -> ir.Expr:
    if isinstance(kind, ir.Bool):
        return draw(conditions(scope, depth))
    width, signed = kind.width_bits, kind.signed
    leaves: list[ir.Expr] = [p for p in scope.places() if p.type == kind]
    choice = draw(st.integers(0, 9 if depth else 1))
    if choice == 0 and leaves:
        return draw(st.sampled_from(leaves))
    if choice <= 1 and not (depth and not leaves and choice == 0):
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
        return ir.Constant(draw(st.integers(low, high)), kind)
    if choice <= 4:
        op = draw(st.sampled_from(ARITHMETIC if signed else [*ARITHMETIC, Op.DIV, Op.MOD]))
        return binary(op, draw(expressions(scope, kind, depth - 1)), draw(expressions(scope, kind, depth - 1)))
    if choice == 5:
        amount = ir.Bits(draw(st.sampled_from((3, 8, 40))))
        op = draw(st.sampled_from((Op.SHL, Op.SHR)))
        return binary(op, draw(expressions(scope, kind, depth - 1)), draw(expressions(scope, amount, depth - 1)))
    if choice == 6:
        op1 = draw(st.sampled_from((ir.UnaryOp.NEGATE, ir.UnaryOp.COMPLEMENT)))
        return ir.Unary(op1, draw(expressions(scope, kind, depth - 1)), kind)
    if choice == 7:
        then, otherwise = draw(expressions(scope, kind, depth - 1)), draw(expressions(scope, kind, depth - 1))
        return ir.Mux(draw(conditions(scope, depth - 1)), then, otherwise, kind)
    if choice == 8 and width > 1 and not signed:
        split = draw(st.integers(1, width - 1))
        left, right = ir.Bits(split), ir.Bits(width - split)
        return ir.Concat(draw(expressions(scope, left, depth - 1)), draw(expressions(scope, right, depth - 1)), kind)
    other = ir.Bits(draw(st.sampled_from(WIDTHS)), draw(st.booleans()))
    operand = draw(expressions(scope, other, depth - 1))
    if not signed and other.width_bits > width:
        low = draw(st.integers(0, other.width_bits - width))
        return ir.Slice(operand, low + width - 1, low)
    return ir.Cast(operand, kind)


@st.composite
def conditions(draw: st.DrawFn, scope: Scope, depth: int) -> ir.Expr:
    choice = draw(st.integers(0, 5))
    if choice == 0 or not depth:
        return ir.IsValid(draw(st.sampled_from(scope.headers)))
    if choice == 1:
        return ir.Unary(ir.UnaryOp.NOT, draw(conditions(scope, depth - 1)), ir.BOOL)
    if choice == 2:
        op = draw(st.sampled_from((Op.LOGICAL_AND, Op.LOGICAL_OR)))
        return binary(op, draw(conditions(scope, depth - 1)), draw(conditions(scope, depth - 1)))
    kind = ir.Bits(draw(st.sampled_from(WIDTHS)), draw(st.booleans()))
    left, right = draw(expressions(scope, kind, depth - 1)), draw(expressions(scope, kind, depth - 1))
    return binary(draw(st.sampled_from(COMPARISONS)), left, right)


@st.composite
def blocks(draw: st.DrawFn, scope: Scope, depth: int = 2, *, tables: bool = True) -> ir.Block:
    return tuple(draw(st.lists(statements(scope, depth, tables=tables), max_size=4)))


@st.composite
def statements(draw: st.DrawFn, scope: Scope, depth: int, *, tables: bool) -> ir.Statement:
    choice = draw(st.integers(0, 13 if depth else 7))
    place = draw(st.sampled_from(scope.places()))
    header, source = draw(st.sampled_from(scope.headers)), draw(st.sampled_from(scope.headers))
    if choice == 4:
        return ir.SetValidity(header, draw(st.booleans()))
    if choice == 5:
        same = [h for h in scope.headers if h.type == header.type]
        return ir.CopyHeader(header, source if source.type == header.type else draw(st.sampled_from(same)))
    if choice == 6:
        cell = draw(st.sampled_from(scope.registers))
        index = draw(expressions(scope, ir.Bits(32), 1))
        small = binary(Op.AND, index, const(7, 32)) if draw(st.booleans()) else index
        kind = cell.type_arguments[0]
        if draw(st.booleans()):
            return ir.CallExtern("register.write", (small, draw(expressions(scope, kind, 2))), cell)
        targets = [p for p in scope.places() if p.type == kind]
        return ir.CallExtern("register.read", (draw(st.sampled_from(targets)), small), cell)
    if choice == 7:
        index = binary(Op.AND, draw(expressions(scope, ir.Bits(32), 1)), const(3, 32))
        return ir.CallExtern("counter.count", (index,), scope.counters[0])
    if choice == 8:
        return ir.If(
            draw(conditions(scope, 2)),
            draw(blocks(scope, depth - 1, tables=tables)),
            draw(blocks(scope, depth - 1, tables=tables)),
        )
    if choice == 9:
        value = draw(expressions(scope, ir.Bits(9), 2))
        cases = tuple(
            ir.SwitchCase((i, i + 4), draw(blocks(scope, depth - 1, tables=tables)))
            for i in range(draw(st.integers(0, 3)))
        )
        return ir.Switch(binary(Op.AND, value, const(7, 9)), cases, draw(blocks(scope, depth - 1, tables=tables)))
    if choice == 10:
        return ir.Region("r", draw(blocks(scope, depth - 1, tables=tables)), draw(blocks(scope, 0, tables=False)))
    if choice == 11:
        leave: ir.Statement = ir.Return() if draw(st.booleans()) else ir.Exit()
        return ir.If(draw(conditions(scope, 2)), (leave,))
    if choice == 12 and tables:
        return ir.ApplyTable(draw(st.sampled_from(scope.tables)).name)
    if choice == 13:
        return draw(hashes(scope))
    return ir.Assign(place, draw(expressions(scope, place.type, 3)))


@st.composite
def hashes(draw: st.DrawFn, scope: Scope) -> ir.Statement:
    items = draw(st.lists(st.sampled_from([*scope.places(), const(0xB, 4)]), min_size=1, max_size=6))
    algorithm = const(draw(st.sampled_from((0, 2, 5, 6, 6, 6, 7))), 32)
    target = draw(st.sampled_from([p for p in scope.places() if isinstance(p.type, ir.Bits)]))
    return ir.CallExtern(
        "hash", (target, algorithm, const(draw(st.integers(0, 9)), 16), tuple(items), const(65536, 32))
    )


@st.composite
def programs(draw: st.DrawFn) -> ir.Program:
    kinds = [draw(header_types("a_t")), draw(header_types("b_t"))]
    headers = [ir.Header(f"hdr.{n}", k) for n, k in zip("abc", (*kinds, kinds[0]), strict=True)]
    variables = [
        ir.Variable(f"v{w}{'s' if s else ''}", ir.Bits(w, s))
        for w in WIDTHS
        for s in (False, True)
        if not (s and w == 1)
    ]
    registers = [register("r9", 9, 6), register("r32", 32, 8), register("r72", 72, 8)]
    counter = ir.ExternInstance("c", "counter", (), (3, "packets_and_bytes"))
    scope = Scope(headers, variables, registers, [counter])
    parameters = (var("p16", 16), var("p72", 72))
    with_parameters = Scope(headers, [*variables, *parameters], registers, [counter])
    actions = [
        ir.Action("act0", parameters, draw(blocks(with_parameters, 1, tables=False))),
        ir.Action("act1", (), draw(blocks(scope, 1, tables=False))),
    ]
    scope.tables = [draw(match_tables(scope, f"t{i}")) for i in range(2)]
    states = (
        ir.State("start", (ir.Extract(headers[0]), *draw(blocks(scope, 0))), draw(selects(scope, ("more", "accept")))),
        ir.State("more", (ir.Extract(headers[1]),), draw(selects(scope, ("last", "more", "reject")))),
        ir.State("last", (ir.Extract(headers[2]),), ir.Goto("accept")),
    )
    ingress = (ir.Assign(standard("egress_spec"), const(1, 9)), *draw(blocks(scope)))
    port = draw(expressions(scope, ir.Bits(9), 1))
    route: list[ir.Statement] = [ir.Assign(standard("egress_spec"), binary(Op.AND, port, const(3, 9)))]
    if draw(st.booleans()):
        route.append(ir.If(draw(conditions(scope, 1)), (ir.Assign(standard("mcast_grp"), const(1, 16)),)))
    control = (ir.Region("whole", ingress), *route)
    return make_program(
        headers, control, egress=draw(blocks(scope)), compute=draw(blocks(scope, 0)), parser=ir.Parser("P", states),
        variables=variables, actions=actions, tables=scope.tables, externs=[*registers, counter],
    )  # fmt: skip


@st.composite
def match_tables(draw: st.DrawFn, scope: Scope, name: str) -> ir.Table:
    kind = draw(st.sampled_from(("exact", "ternary")))
    keys = tuple(
        ir.TableKey(f"k{i}", draw(st.sampled_from([p for p in scope.places() if isinstance(p.type, ir.Bits)])), kind)
        for i in range(draw(st.integers(1, 3)))
    )
    references = (ir.TableAction("act0"), ir.TableAction("act1"))
    return ir.Table(name, keys, references, ir.ActionCall("act1"), False, 16)


@st.composite
def selects(draw: st.DrawFn, scope: Scope, names: tuple[str, ...]) -> ir.Select | ir.Goto:
    if draw(st.booleans()):
        return ir.Goto(draw(st.sampled_from(names)))
    key = draw(expressions(scope, ir.Bits(8), 2))
    cases = []
    for name in names:
        low = draw(st.integers(0, 255))
        keyset: ir.KeySet = ir.Masked(low, draw(st.sampled_from((0x0F, 0x01, 0xFF, 0))))
        if draw(st.booleans()):
            keyset = ir.Between(low, draw(st.integers(low, 255)))
        cases.append(ir.SelectCase((keyset,), name))
    return ir.Select((key,), tuple(cases))


@st.composite
def entries(draw: st.DrawFn, program: ir.Program) -> list[tuple[int, TableEntry]]:
    """(table id, entry) to insert; keys are small so that packets hit."""
    found = {}
    for number, table in enumerate(program.tables, 1):
        for priority in range(1, 1 + draw(st.integers(0, 4))):
            match: list[Exact | Ternary] = []
            for position, key in enumerate(table.keys, 1):
                assert isinstance(key.value.type, ir.Bits)
                ones = (1 << key.value.type.width_bits) - 1
                value, mask = draw(st.integers(0, min(ones, 3))), draw(st.integers(0, min(ones, 3)))
                if table.keys[0].match_kind == "exact":
                    match.append(Exact(position, value))
                elif mask:
                    match.append(Ternary(position, value & mask, mask))
            params = (draw(st.integers(0, 2**16 - 1)), draw(st.integers(0, 2**72 - 1)))
            action, arguments = draw(st.sampled_from(((2, params), (3, ()))))
            order = 0 if table.keys[0].match_kind == "exact" else priority
            found[number, tuple(match), order] = TableEntry(tuple(match), order, action, arguments)
    return [(key[0], entry) for key, entry in found.items()]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_compiled_program_equals_the_interpreted_one(data: st.DataObject) -> None:
    program = data.draw(programs())
    verify(program, V1MODEL_TARGET)
    inserted = data.draw(entries(program))
    frames = data.draw(st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=120)), min_size=1, max_size=8))

    def prepare(switch) -> None:  # type: ignore[no-untyped-def]
        for table, entry in inserted:
            switch.insert_entry(table, entry)
        switch.insert_multicast_group(1, ((0, 1), (2, 2), (2, 3)))

    run_both(program, frames, frames[::-1], prepare=prepare)
