"""Generated programs of the IR, their control-plane state and their packets, for tests of the engines."""

from __future__ import annotations

from hypothesis import strategies as st

from emulator.p4 import ir
from emulator.switch.control import Exact, FieldMatch, Lpm, Optional, Range, TableEntry, Ternary
from emulator.v1model.metadata import standard
from tests.generators.ir_expressions import WIDTHS, Op, Scope, conditions, expressions, readable
from tests.generators.ir_statements import blocks
from tests.programs.p4_programs import binary, const, header_type, make_program, register, var

VARBIT = ir.VarBits(40)
STACK_SIZE = 3


@st.composite
def header_types(draw: st.DrawFn, name: str) -> ir.HeaderType:
    widths = draw(st.lists(st.sampled_from(WIDTHS), min_size=1, max_size=5))
    fields: list[tuple[str, ir.Type]] = []
    for i, width in enumerate(widths):
        signed = draw(st.booleans()) and width > 1
        kind: ir.Type = ir.BOOL if width == 1 and draw(st.booleans()) else ir.Bits(width, signed)
        fields.append((f"f{i}", kind))
    if sum(widths) % 8:
        fields.append(("pad", ir.Bits(-sum(widths) % 8)))
    if draw(st.integers(0, 5)) == 0:
        fields += [(f"long{i}", ir.Bits(32)) for i in range(18)]  # too long for words
    return header_type(name, *fields)


@st.composite
def varbit_types(draw: st.DrawFn) -> ir.HeaderType:
    """A field of variable width, at a byte or not, with something after it or not."""
    before = draw(st.sampled_from((0, 3, 8, 16)))
    after = draw(st.sampled_from((0, 8, 32) if before else (8, 32))) + (-before % 8)
    fields: list[tuple[str, ir.Type]] = [("options", VARBIT)]
    if before:
        fields.insert(0, ("before", ir.Bits(before)))
    if after:
        fields.append(("after", ir.Bits(after)))
    return header_type("options_t", *fields)


@st.composite
def programs(draw: st.DrawFn) -> ir.Program:
    kinds = [draw(header_types("a_t")), draw(header_types("b_t"))]
    headers = [ir.Header(f"hdr.{n}", k) for n, k in zip("abc", (*kinds, kinds[0]), strict=True)]
    options = draw(varbit_types())
    headers += [ir.Header(f"hdr.{n}", options) for n in ("o1", "o2")]
    stacks = [ir.HeaderStack("hdr.s", kinds[draw(st.integers(0, 1))], STACK_SIZE)]
    variables = [
        ir.Variable(f"v{w}{'s' if s else ''}", ir.Bits(w, s))
        for w in WIDTHS
        for s in (False, True)
        if not (s and w == 1)
    ]
    registers = [register("r9", 9, 6), register("r32", 32, 8), register("r72", 72, 8)]
    counter = ir.ExternInstance("c", "counter", (), (3, "packets_and_bytes"))
    varbits = [ir.Variable("kept", VARBIT), ir.Variable("other", VARBIT)]
    scope = Scope(headers, stacks, variables, varbits, registers, [counter])
    parameters = [var("p16", 16), var("p72", 72)]
    inner = scope.inside(variables=[*variables, *parameters])
    actions = [
        ir.Action("act0", tuple(parameters), draw(blocks(inner, 1, tables=False))),
        ir.Action("act1", (), draw(blocks(scope, 1, tables=False))),
    ]
    scope.tables = [draw(match_tables(scope, f"t{i}")) for i in range(2)]
    ingress = (ir.Assign(standard("egress_spec"), const(1, 9)), *draw(blocks(scope)))
    port = draw(expressions(scope, ir.Bits(9), 1))
    route: list[ir.Statement] = [ir.Assign(standard("egress_spec"), binary(Op.AND, port, const(3, 9)))]
    if draw(st.booleans()):
        route.append(ir.If(draw(conditions(scope, 1)), (ir.Assign(standard("mcast_grp"), const(1, 16)),)))
    hidden = [ir.Variable("turns", ir.Bits(16)), ir.Variable("hit", ir.BOOL), ir.Variable("run", ir.INDEX)]
    return make_program(
        headers, (ir.Region("whole", ingress), *route), egress=draw(blocks(scope)), compute=draw(blocks(scope, 0)),
        parser=draw(parsers(scope)), variables=[*variables, *varbits, *hidden, var("ahead8", 8), var("ahead9", 9)],
        actions=actions, tables=scope.tables, externs=[*registers, counter], stacks=stacks,
        value_sets=[VALUES],
    )  # fmt: skip


# --- Parsers ------------------------------------------------------------------------------------------------------

VALUES = ir.ValueSet("values", (ir.ValueSetField("", ir.Bits(8), "exact"),), 8)


@st.composite
def parsers(draw: st.DrawFn, scope: Scope) -> ir.Parser:
    a, b, c, *options = scope.headers
    states = [("start", ir.Extract(a)), ("more", ir.Extract(b)), ("last", ir.Extract(c))]
    states += [("next", ir.Extract(ir.StackNext(scope.stacks[0])))]
    width = draw(st.sampled_from((const(8, 32), const(40, 32), draw(expressions(scope, ir.INDEX, 1)))))
    small = binary(Op.MUL, binary(Op.AND, width, const(7, 32)), const(8, 32))
    bits = draw(st.sampled_from((small, small, width)))
    states += [(f"options{i}", ir.Extract(h, bits)) for i, h in enumerate(options)]
    names = ("accept", "reject", *(name for name, _ in states[1:]))
    return ir.Parser("P", tuple([draw(parser_states(scope, name, first, names)) for name, first in states]))


@st.composite
def parser_states(draw: st.DrawFn, scope: Scope, name: str, extract: ir.Statement, names: tuple[str, ...]) -> ir.State:
    inside = scope.inside(in_parser=True, tables=[])
    body: list[ir.Statement] = [extract, *draw(blocks(inside, draw(st.integers(0, 1)), tables=False))]
    choice = draw(st.integers(0, 6))
    if choice == 0:
        offset = draw(st.integers(0, 9))
        targets = ((var("ahead8", 8), offset), (var("ahead9", 9), draw(st.integers(0, 7))))
        body.append(ir.Lookahead(targets, draw(st.sampled_from((17, 24, 400)))))
    if choice == 1:
        body.append(ir.Advance(draw(st.sampled_from((const(8, 32), const(3, 32), const(800, 32))))))
    if choice == 2:
        body.append(ir.Verify(draw(conditions(inside, 2)), const(draw(st.integers(0, 6)), 32)))
    return ir.State(name, tuple(body), draw(selects(inside, names)))


@st.composite
def selects(draw: st.DrawFn, scope: Scope, names: tuple[str, ...]) -> ir.Select | ir.Goto:
    if draw(st.integers(0, 2)) == 0:
        return ir.Goto(draw(st.sampled_from(names)))
    keys = [draw(expressions(scope, ir.Bits(8), 2))]
    if draw(st.booleans()):
        keys.append(draw(expressions(scope, ir.Bits(9, True), 1)))
    cases = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=4)):
        if len(keys) == 1 and draw(st.integers(0, 3)) == 0:
            cases.append(ir.SelectCase((), name, "values"))
        else:
            cases.append(ir.SelectCase(tuple(draw(keysets(ir.width_of(k.type))) for k in keys), name))
    return ir.Select(tuple(keys), tuple(cases))


@st.composite
def keysets(draw: st.DrawFn, width: int) -> ir.KeySet:
    low = draw(st.integers(0, (1 << width) - 1))
    if draw(st.booleans()):
        return ir.Between(low, draw(st.integers(low, (1 << width) - 1)))
    return ir.Masked(low, draw(st.sampled_from((0x0F, 0x01, (1 << width) - 1, 0))))


# --- Tables -------------------------------------------------------------------------------------------------------

KINDS = (
    ("exact",),
    ("ternary",),
    ("exact", "lpm"),
    ("lpm",),
    ("optional", "exact"),
    ("range",),
    ("range", "ternary", "lpm"),
    ("range", "range", "optional"),
)


@st.composite
def match_tables(draw: st.DrawFn, scope: Scope, name: str) -> ir.Table:
    keys = []
    for i, kind in enumerate(draw(st.sampled_from(KINDS))):
        value = draw(readable(scope))
        if not isinstance(value.type, ir.Bits):
            value = ir.Cast(value, ir.Bits(1))
        keys.append(ir.TableKey(f"k{i}", value, kind))
    references = (ir.TableAction("act0"), ir.TableAction("act1"))
    return ir.Table(name, tuple(keys), references, ir.ActionCall("act1"), False, 16)


@st.composite
def entries(draw: st.DrawFn, program: ir.Program) -> list[tuple[int, TableEntry]]:
    """(table id, entry) to insert; keys are small so that packets hit."""
    found = {}
    for number, table in enumerate(program.tables, 1):
        prioritised = any(k.match_kind in ("ternary", "range", "optional") for k in table.keys)
        for priority in range(1, 1 + draw(st.integers(0, 5))):
            match = tuple(
                m
                for position, key in enumerate(table.keys, 1)
                if (m := draw(field_matches(position, key.match_kind, ir.width_of(key.value.type)))) is not None
            )
            params = (draw(st.integers(0, 2**16 - 1)), draw(st.integers(0, 2**72 - 1)))
            action, arguments = draw(st.sampled_from(((2, params), (3, ()))))
            order = priority if prioritised else 0
            found[number, match, order] = TableEntry(match, order, action, arguments)
    return [(key[0], entry) for key, entry in found.items()]


@st.composite
def field_matches(draw: st.DrawFn, position: int, kind: str, width: int) -> FieldMatch | None:
    """None leaves the field out."""
    ones = (1 << width) - 1
    value = draw(st.sampled_from((0, 0, 1, 2, 3, ones))) & ones
    if kind == "exact":
        return Exact(position, value)
    if kind == "range":
        low = min(value, draw(st.integers(0, 3)))
        return None if draw(st.booleans()) else Range(position, low, max(value, low))
    if kind == "optional":
        return None if draw(st.booleans()) else Optional(position, value)
    if kind == "lpm":
        length = draw(st.integers(0, width))
        kept = ones ^ ones >> length
        return Lpm(position, value & kept, length) if length else None
    mask = draw(st.sampled_from((0, 1, 3, ones))) & ones
    return Ternary(position, value & mask, mask) if mask else None
