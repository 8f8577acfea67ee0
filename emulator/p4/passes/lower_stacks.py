"""Header stacks to plain headers.

Before: ``StackAt``, ``StackNext``, ``StackLast``, ``StackLastIndex``, ``PushFront``, ``PopFront``.
After: only ``Header``. What is chosen at run time becomes a ``Switch`` (statements) or nested ``Mux`` (expressions)
over the elements; out of range reads give 0 and writes do nothing. A stack's next index becomes the variable
``<stack>.$next``; in parsers ``next`` and ``last`` are checked by ``Verify`` first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from emulator.p4 import ir, walk
from emulator.p4.target import Target

ZERO = ir.Constant(0, ir.INDEX)


def next_index(stack: ir.HeaderStack) -> ir.Variable:
    return ir.Variable(f"{stack.name}.$next", ir.INDEX)


def never_valid(stack: ir.HeaderStack) -> ir.Header:
    """What is shifted into a stack. (setInvalid would change packet_length; push and pop don't.)"""
    return ir.Header(f"{stack.name}.$none", stack.element)


def lower_stacks(program: ir.Program, target: Target) -> ir.Program:
    if not program.stacks:
        return program
    lowering = _Lowering(program, target)
    new = walk.map_blocks(program, lowering.block)
    new = replace(new, blocks=tuple((name, lowering.selects(root)) for name, root in new.blocks))
    new = walk.map_blocks(new, lambda block: block, expr=lowering.expr)
    return replace(
        new,
        stacks=(),
        headers=(*program.headers, *(never_valid(s) for s in program.stacks)),
        variables=(*program.variables, *(next_index(s) for s in program.stacks), *lowering.temporaries.values()),
    )


class _Lowering:
    def __init__(self, program: ir.Program, target: Target) -> None:
        self.target = target
        number = program.errors.index("StackOutOfBounds") if "StackOutOfBounds" in program.errors else 0
        self.out_of_bounds = ir.Constant(number, ir.INDEX)
        self.checks: list[ir.Statement] = []
        self.temporaries: dict[str, ir.Variable] = {}

    # --- Expressions ------------------------------------------------------------------------------------------

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.StackLastIndex):
            return _minus_one(next_index(expr.stack))
        if not isinstance(expr, ir.FieldRef | ir.IsValid) or isinstance(expr.header, ir.Header):
            return expr
        index = self._index(expr.header)
        result: ir.Expr = ir.Constant(0, expr.type)
        for i in range(expr.header.stack.size - 1, -1, -1):
            chosen = replace(expr, header=expr.header.stack.headers[i])
            result = ir.Mux(_equals(index, i), chosen, result, expr.type)
        return result

    def _index(self, ref: ir.HeaderRef) -> ir.Expr:
        match ref:
            case ir.StackAt(_, index):
                return index
            case ir.StackNext(stack):
                self._check(ir.Binary(ir.BinaryOp.LT, next_index(stack), _size(stack), ir.BOOL))
                return next_index(stack)
            case ir.StackLast(stack):
                self._check(ir.Binary(ir.BinaryOp.GT, next_index(stack), ZERO, ir.BOOL))
                return _minus_one(next_index(stack))
        raise TypeError(ref)

    def _check(self, condition: ir.Expr) -> None:
        self.checks.append(ir.Verify(condition, self.out_of_bounds))

    def selects(self, root: ir.Parser | ir.Control) -> ir.Parser | ir.Control:
        """Checks that the keys of a select need go to the end of their state."""
        if isinstance(root, ir.Control):
            return root
        states = []
        for state in root.states:
            self.checks = []
            if isinstance(state.transition, ir.Select):
                keys = tuple(walk.map_expr(k, self.expr) for k in state.transition.keys)
                state = replace(state, transition=replace(state.transition, keys=keys))
            states.append(replace(state, body=(*state.body, *self.checks)))
        return replace(root, states=tuple(states))

    # --- Statements -------------------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> ir.Block:
        result: list[ir.Statement] = []
        for statement in block:
            kept, self.checks = self.checks, []
            new = walk.map_statement(statement, self.expr, self.block, self.target.outs)
            lowered = self._statement(new)
            result.extend(self.checks)
            result.extend(lowered)
            self.checks = kept
        return tuple(result)

    def _statement(self, s: ir.Statement) -> ir.Block:
        match s:
            case ir.PushFront(stack, count):
                return self._shift(stack, count)
            case ir.PopFront(stack, count):
                return self._shift(stack, -count)
            case ir.Assign(ir.FieldRef(ref, field_), _) if not isinstance(ref, ir.Header):
                return self._choose(ref, lambda h: (replace(s, target=ir.FieldRef(h, field_)),))
            case ir.SetValidity(ref) | ir.Extract(ref) | ir.Emit(ref) if not isinstance(ref, ir.Header):
                return self._whole(s, ref)
            case ir.CopyHeader(target, source) if not isinstance(target, ir.Header):
                return self._choose(target, lambda h: self._statement(replace(s, target=h)))
            case ir.CopyHeader(target, source) if not isinstance(source, ir.Header):
                nothing = (ir.SetValidity(target, False),)
                return self._choose(source, lambda h: (replace(s, source=h),), nothing)
            case ir.CallExtern():
                return self._call(s)
        return (s,)

    def _whole(self, s: ir.SetValidity | ir.Extract | ir.Emit, ref: ir.HeaderRef) -> ir.Block:
        chosen = self._choose(ref, lambda h: (replace(s, header=h),))
        if isinstance(s, ir.Extract) and isinstance(ref, ir.StackNext):
            counter = next_index(ref.stack)
            more = ir.Binary(ir.BinaryOp.ADD, counter, ir.Constant(1, ir.INDEX), ir.INDEX)
            return (*chosen, ir.Assign(counter, more))
        return chosen

    def _choose(
        self, ref: ir.HeaderRef, make: Callable[[ir.Header], ir.Block], default: ir.Block = ()
    ) -> tuple[ir.Statement, ...]:
        assert not isinstance(ref, ir.Header)
        index = self._index(ref)
        width = index.type.width_bits if isinstance(index.type, ir.Bits) else 1
        reachable = [(i, h) for i, h in enumerate(ref.stack.headers) if i < 1 << width]
        return (ir.Switch(index, tuple(ir.SwitchCase((i,), make(h)) for i, h in reachable), default),)

    def _call(self, s: ir.CallExtern) -> ir.Block:
        """An extern that writes a stack element chosen at run time writes a temporary, then the element."""
        for position in self.target.outs(s.name):
            place = s.arguments[position]
            if isinstance(place, ir.FieldRef) and not isinstance(place.header, ir.Header):
                name = f"{place.header.stack.name}.$out{position}.{place.field.name}"
                temporary = ir.Variable(name, place.type)
                arguments = (*s.arguments[:position], temporary, *s.arguments[position + 1 :])
                self.temporaries[temporary.name] = temporary
                back = self._choose(place.header, _assigns(place.field, temporary))
                return (ir.Assign(temporary, self.expr(place)), replace(s, arguments=arguments), *back)
        return (s,)

    def _shift(self, stack: ir.HeaderStack, count: int) -> ir.Block:
        headers, size = stack.headers, stack.size
        order = range(size - 1, -1, -1) if count > 0 else range(size)
        result: list[ir.Statement] = []
        for i in order:
            source = i - count
            inside = 0 <= source < size
            result.append(ir.CopyHeader(headers[i], headers[source] if inside else never_valid(stack)))
        return (*result, *_move_index(stack, count))


def _assigns(field: ir.HeaderField, value: ir.Expr) -> Callable[[ir.Header], ir.Block]:
    return lambda header: (ir.Assign(ir.FieldRef(header, field), value),)


def _move_index(stack: ir.HeaderStack, count: int) -> ir.Block:
    """Next index plus count, kept in 0 .. size."""
    index, size = next_index(stack), _size(stack)
    amount = ir.Constant(min(abs(count), stack.size), ir.INDEX)
    if count > 0:
        room = ir.Binary(ir.BinaryOp.SUB, size, amount, ir.INDEX)
        fits = ir.Binary(ir.BinaryOp.LE, index, room, ir.BOOL)
        moved: ir.Expr = ir.Mux(fits, ir.Binary(ir.BinaryOp.ADD, index, amount, ir.INDEX), size, ir.INDEX)
    else:
        moved = ir.Binary(ir.BinaryOp.SUB_SAT, index, amount, ir.INDEX)
    return (ir.Assign(index, moved),)


def _size(stack: ir.HeaderStack) -> ir.Constant:
    return ir.Constant(stack.size, ir.INDEX)


def _minus_one(index: ir.Expr) -> ir.Expr:
    return ir.Binary(ir.BinaryOp.SUB, index, ir.Constant(1, ir.INDEX), ir.INDEX)


def _equals(index: ir.Expr, number: int) -> ir.Expr:
    width = index.type.width_bits if isinstance(index.type, ir.Bits) else 1
    if number >> width:
        return ir.Constant(0, ir.BOOL)
    return ir.Binary(ir.BinaryOp.EQ, index, ir.Constant(number, index.type), ir.BOOL)
