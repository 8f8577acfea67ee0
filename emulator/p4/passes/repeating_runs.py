"""Runs of a block in which the shapes of statements repeat: the analysis that ``reroll`` works with.

A statement's *shape* is what it is apart from its *holes*: which field of a header, which extern instance, which
variable. Two statements of one shape differ only in what fills their holes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from emulator.p4 import ir
from emulator.p4.target import Target

Hole: TypeAlias = int | str
"""A field's offset in bits or an instance's position (both may advance), or a variable's name."""
Shape: TypeAlias = tuple[int, list[Hole]]
"""(number of the shape, what fills its holes)."""


class _Unlike(Exception):
    """The statement has no shape: it can't be part of a Repeat."""


class Shaper:
    """Gives shapes numbers, so that comparing two is comparing integers."""

    def __init__(self, program: ir.Program, target: Target) -> None:
        self.target = target
        self.positions = {e.name: i for i, e in enumerate(program.externs)}
        self.numbers: dict[Any, int] = {}

    def shape(self, statement: ir.Statement) -> Shape | None:
        holes: list[Hole] = []
        try:
            key = self._statement(statement, holes)
        except _Unlike:
            return None
        return self.numbers.setdefault(key, len(self.numbers)), holes

    def _statement(self, s: ir.Statement, holes: list[Hole]) -> Any:
        if isinstance(s, ir.Assign) and not isinstance(s.target.type, ir.VarBits):
            return "=", self._expr(s.target, holes), self._expr(s.value, holes)
        if not isinstance(s, ir.CallExtern) or not isinstance(s.instance, ir.ExternInstance):
            raise _Unlike
        if s.name not in self.target.repeatable:
            raise _Unlike
        holes.append(self.positions[s.instance.name])
        instance = (s.instance.extern, s.instance.type_arguments, s.instance.arguments)
        return s.name, instance, *(self._expr(a, holes) for a in s.arguments)

    def _expr(self, expr: ir.Argument, holes: list[Hole]) -> Any:
        match expr:
            case ir.Constant(value, kind):
                return "c", value, kind
            case ir.Variable(name, kind):
                holes.append(name)
                return "v", kind
            case ir.FieldRef(ir.Header(name, _), f):
                holes.append(f.offset_bits)
                return "f", name, f.type
            case ir.IsValid(ir.Header(name, _)):
                return "i", name
            case ir.Unary(op, operand, kind):
                return op, self._expr(operand, holes), kind
            case ir.Binary(op, left, right, kind):
                return op, self._expr(left, holes), self._expr(right, holes), kind
            case ir.Mux(condition, then, otherwise, _):
                return "?", *(self._expr(e, holes) for e in (condition, then, otherwise))
            case ir.Cast(operand, kind):
                return "(", self._expr(operand, holes), kind
            case ir.Slice(operand, high, low):
                return "[", self._expr(operand, holes), high, low
            case ir.Concat(left, right, _):
                return "+", self._expr(left, holes), self._expr(right, holes)
        raise _Unlike


class Run:
    """Turns of ``period`` statements from ``start``, as far as shapes are equal and holes advance evenly."""

    def __init__(self, block: ir.Block, shapes: list[Shape | None], start: int, period: int) -> None:
        self.block, self.shapes, self.start, self.period = block, shapes, start, period
        self.first = [s for s in shapes[start : start + period] if s is not None]
        self.names: list[dict[str, str]] = []
        """Names of each turn, by the first turn's name in the same place."""
        self.steps: list[list[int]] = []
        """Steps by which each hole of a statement advances (0 for variables)."""
        self.turns = self._count() if len(self.first) == period else 0

    @property
    def length(self) -> int:
        return self.turns * self.period

    @property
    def body(self) -> ir.Block:
        return self.block[self.start : self.start + self.period]

    @property
    def statements(self) -> ir.Block:
        return self.block[self.start : self.start + self.length]

    def _turn(self, number: int) -> list[Shape] | None:
        """The shapes of a turn, if they are the first turn's."""
        at = self.start + number * self.period
        turn = self.shapes[at : at + self.period]
        if len(turn) < self.period:
            return None
        result = [s for s, f in zip(turn, self.first, strict=True) if s is not None and s[0] == f[0]]
        return result if len(result) == self.period else None

    def _count(self) -> int:
        second = self._turn(1)
        if second is None:
            return 1
        for (_, a), (_, b) in zip(self.first, second, strict=True):
            self.steps.append(
                [y - x if isinstance(x, int) and isinstance(y, int) else 0 for x, y in zip(a, b, strict=True)]
            )
        turns = 0
        while (turn := self._turn(turns)) is not None and self._fits(turn, turns):
            turns += 1
        return turns

    def _fits(self, turn: list[Shape], number: int) -> bool:
        names: dict[str, str] = {}
        for (_, first), (_, holes), steps in zip(self.first, turn, self.steps, strict=True):
            for a, b, step in zip(first, holes, steps, strict=True):
                if isinstance(a, int) and isinstance(b, int):
                    if b != a + number * step:
                        return False
                elif names.setdefault(str(a), str(b)) != b:
                    return False
        if len(set(names.values())) != len(names):
            return False
        self.names.append(names)
        return True

    # --- Queries of reroll ----------------------------------------------------------------------------------------

    def variable_names(self, first_names: set[str]) -> Iterator[set[str]]:
        """For each turn, what corresponds to these variables of the first."""
        for names in self.names[: self.turns]:
            yield {names[name] for name in first_names}

    def unwritten_are_constant(self, written: set[str]) -> bool:
        """Variables that a turn only reads are the same in every turn."""
        return all(
            name == first for names in self.names[: self.turns] for first, name in names.items() if first not in written
        )

    def leaves(self) -> Iterator[tuple[ir.Statement, int, ir.Expr, int]]:
        """(statement, argument's position, variable or field, step) of the body's holes; instances left out.

        By place and not by identity: the same node may occur in several places.
        """
        for statement, steps in zip(self.body, self.steps, strict=True):
            holes = iter(steps[1:] if isinstance(statement, ir.CallExtern) else steps)
            for position, argument in enumerate(arguments_of(statement)):
                for expr in hole_leaves(argument):
                    yield statement, position, expr, next(holes)

    def families(self) -> list[tuple[int, int]]:
        """(position of the first instance, step) of each extern call of the body."""
        return [
            (int(shape[1][0]), steps[0])
            for statement, shape, steps in zip(self.body, self.first, self.steps, strict=True)
            if isinstance(statement, ir.CallExtern)
        ]


def hole_leaves(expr: ir.Argument) -> Iterator[ir.Expr]:
    """The variables and fields of an expression, in the order of their holes."""
    match expr:
        case ir.Variable() | ir.FieldRef():
            yield expr
        case ir.Unary(_, operand, _) | ir.Cast(operand, _) | ir.Slice(operand, _, _):
            yield from hole_leaves(operand)
        case ir.Binary(_, left, right, _) | ir.Concat(left, right, _):
            yield from hole_leaves(left)
            yield from hole_leaves(right)
        case ir.Mux(condition, then, otherwise, _):
            yield from hole_leaves(condition)
            yield from hole_leaves(then)
            yield from hole_leaves(otherwise)


def arguments_of(statement: ir.Statement) -> tuple[ir.Argument, ...]:
    """An assignment's target is its argument 0."""
    if isinstance(statement, ir.Assign):
        return statement.target, statement.value
    assert isinstance(statement, ir.CallExtern)
    return statement.arguments


def make_repeat(run: Run) -> ir.Repeat:
    body: list[ir.Statement] = []
    for position, (statement, steps) in enumerate(zip(run.body, run.steps, strict=True)):
        body.append(_Substitution(run, position, steps).statement(statement))
    return ir.Repeat(run.turns, tuple(body), span=getattr(run.body[0], "span", None))


class _Substitution:
    """Puts lanes where a statement's holes advance."""

    def __init__(self, run: Run, position: int, steps: list[int]) -> None:
        self.run, self.position = run, position
        self.steps = iter(steps)

    def statement(self, s: ir.Statement) -> ir.Statement:
        if isinstance(s, ir.Assign):
            target = self.expr(s.target)
            assert isinstance(target, ir.Variable | ir.FieldRef | ir.LaneField)
            return ir.Assign(target, self.expr(s.value), span=s.span)
        assert isinstance(s, ir.CallExtern)
        next(self.steps)
        arguments = tuple(self.expr(a) for a in s.arguments if not isinstance(a, ir.Text | tuple))
        return ir.CallExtern(s.name, arguments, ir.LaneInstances(self._instances()), span=s.span)

    def _instances(self) -> tuple[ir.ExternInstance, ...]:
        run = self.run
        result = []
        for turn in range(run.turns):
            statement = run.block[run.start + turn * run.period + self.position]
            assert isinstance(statement, ir.CallExtern)
            assert isinstance(statement.instance, ir.ExternInstance)
            result.append(statement.instance)
        return tuple(result)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Variable():
                next(self.steps)
                return expr
            case ir.FieldRef(header, field):
                step = next(self.steps)
                assert isinstance(header, ir.Header)
                return ir.LaneField(header, field, step) if step else expr
            case ir.Unary(op, operand, kind):
                return ir.Unary(op, self.expr(operand), kind)
            case ir.Binary(op, left, right, kind):
                return ir.Binary(op, self.expr(left), self.expr(right), kind)
            case ir.Mux(condition, then, otherwise, kind):
                return ir.Mux(self.expr(condition), self.expr(then), self.expr(otherwise), kind)
            case ir.Cast(operand, kind):
                return ir.Cast(self.expr(operand), kind)
            case ir.Slice(operand, high, low):
                return ir.Slice(self.expr(operand), high, low)
            case ir.Concat(left, right, kind):
                return ir.Concat(self.expr(left), self.expr(right), kind)
        return expr
