"""Generated expressions of the IR, for tests that hold the engines to each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from emulator.p4 import ir
from tests.programs.p4_programs import binary, const

Op = ir.BinaryOp
ARITHMETIC = [Op.ADD, Op.SUB, Op.MUL, Op.ADD_SAT, Op.SUB_SAT, Op.AND, Op.OR, Op.XOR]
COMPARISONS = [Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE]
WIDTHS = (1, 3, 8, 9, 16, 24, 32, 33, 48, 64, 72)
"""Of variables and header fields."""


@dataclass
class Scope:
    """What generated code can mention."""

    headers: list[ir.Header] = field(default_factory=list)
    stacks: list[ir.HeaderStack] = field(default_factory=list)
    variables: list[ir.Variable] = field(default_factory=list)
    varbits: list[ir.Variable] = field(default_factory=list)
    registers: list[ir.ExternInstance] = field(default_factory=list)
    counters: list[ir.ExternInstance] = field(default_factory=list)
    tables: list[ir.Table] = field(default_factory=list)
    in_parser: bool = False
    in_loop: bool = False

    def inside(self, **changes: bool | list[ir.Variable]) -> Scope:
        return replace(self, **changes)  # type: ignore[arg-type]

    def places(self) -> list[ir.Place]:
        """Those of one width."""
        fields = [ir.FieldRef(h, f) for h in self.headers for f in h.type.fields if not isinstance(f.type, ir.VarBits)]
        return [*self.variables, *fields]

    def varbit_places(self) -> list[ir.Place]:
        fields = [ir.FieldRef(h, h.type.varbit) for h in self.headers if h.type.varbit is not None]
        return [*self.varbits, *fields]


@st.composite
def header_refs(draw: st.DrawFn, scope: Scope) -> ir.HeaderRef:
    """A header, or an element of a stack; its index may be out of range."""
    if not scope.stacks or draw(st.integers(0, 2)):
        return draw(st.sampled_from(scope.headers))
    stack = draw(st.sampled_from(scope.stacks))
    if scope.in_parser and draw(st.booleans()):
        return ir.StackLast(stack)
    if draw(st.booleans()):
        return draw(st.sampled_from(stack.headers))
    kind = ir.Bits(draw(st.sampled_from((1, 3, 8, 32, 33))))
    indices: list[ir.Expr] = [p for p in scope.places() if p.type == kind]
    index = draw(st.sampled_from(indices or [const(1, kind.width_bits)]))
    small = binary(Op.AND, index, const(min(3, (1 << kind.width_bits) - 1), kind.width_bits))
    return ir.StackAt(stack, small if draw(st.integers(0, 3)) else index)


@st.composite
def readable(draw: st.DrawFn, scope: Scope) -> ir.Expr:
    """An expression without operands."""
    if draw(st.integers(0, 3)) == 0:
        ref = draw(header_refs(scope))
        fields = [f for f in ref.type.fields if not isinstance(f.type, ir.VarBits)]
        return ir.FieldRef(ref, draw(st.sampled_from(fields)))
    return draw(st.sampled_from(scope.places()))


@st.composite
def expressions(draw: st.DrawFn, scope: Scope, kind: ir.Type, depth: int = 3) -> ir.Expr:
    if isinstance(kind, ir.Bool):
        return draw(conditions(scope, depth))
    assert isinstance(kind, ir.Bits)
    width, signed = kind.width_bits, kind.signed
    leaves: list[ir.Expr] = [p for p in scope.places() if p.type == kind]
    choice = draw(st.integers(0, 10 if depth else 1))
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
    if choice == 8 and width > 1:
        split = draw(st.integers(1, width - 1))
        left, right = ir.Bits(split, signed), ir.Bits(width - split, draw(st.booleans()) and width - split > 1)
        return ir.Concat(draw(expressions(scope, left, depth - 1)), draw(expressions(scope, right, depth - 1)), kind)
    if choice == 9:
        return ir.Cast(draw(odd_values(scope)), kind)
    other = ir.Bits(draw(st.sampled_from(WIDTHS)), draw(st.booleans()))
    operand = draw(expressions(scope, other, depth - 1))
    if not signed and other.width_bits > width:
        low = draw(st.integers(0, other.width_bits - width))
        return ir.Slice(operand, low + width - 1, low)
    return ir.Cast(operand, kind)


@st.composite
def odd_values(draw: st.DrawFn, scope: Scope) -> ir.Expr:
    """What only some programs read, as a number."""
    choices: list[ir.Expr] = [draw(readable(scope)), ir.Cast(draw(conditions(scope, 0)), ir.Bits(1))]
    if scope.stacks:
        choices.append(ir.StackLastIndex(draw(st.sampled_from(scope.stacks))))
    if scope.in_parser:
        choices.append(ir.PacketLength())
    chosen = draw(st.sampled_from(choices))
    return ir.Cast(chosen, ir.Bits(1)) if isinstance(chosen.type, ir.Bool) else chosen


@st.composite
def conditions(draw: st.DrawFn, scope: Scope, depth: int) -> ir.Expr:
    choice = draw(st.integers(0, 6))
    if choice == 0 or not depth:
        return ir.IsValid(draw(header_refs(scope)))
    if choice == 1:
        return ir.Unary(ir.UnaryOp.NOT, draw(conditions(scope, depth - 1)), ir.BOOL)
    if choice == 2:
        op = draw(st.sampled_from((Op.LOGICAL_AND, Op.LOGICAL_OR)))
        return binary(op, draw(conditions(scope, depth - 1)), draw(conditions(scope, depth - 1)))
    if choice == 3 and scope.varbit_places():
        first = draw(st.sampled_from(scope.varbit_places()))
        second = draw(st.sampled_from([p for p in scope.varbit_places() if p.type == first.type]))
        return binary(draw(st.sampled_from((Op.EQ, Op.NE))), first, second)
    kind = ir.Bits(draw(st.sampled_from(WIDTHS)), draw(st.booleans()))
    left, right = draw(expressions(scope, kind, depth - 1)), draw(expressions(scope, kind, depth - 1))
    return binary(draw(st.sampled_from(COMPARISONS)), left, right)
