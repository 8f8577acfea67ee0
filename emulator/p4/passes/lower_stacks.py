"""Header stacks to plain headers.

Before: ``StackAt``, ``StackNext``, ``StackLast``, ``StackLastIndex``, ``PushFront``, ``PopFront``, ``CopyNext``.
After: only ``Header``. What is chosen at run time becomes a ``Switch`` (statements) or nested ``Mux`` (expressions)
over the elements; out of range reads give 0 and writes do nothing. Where it matters whether a field's header is valid
(keys of tables, lists that are hashed) the element is copied to a separate header first. A stack's next index becomes
the variable ``<stack>.$next``; in parsers ``next`` and ``last`` are checked by ``Verify`` first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from emulator.p4 import ir
from emulator.p4.ir import walk
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
    tables = tuple(lowering.table(t) for t in program.tables)
    new = walk.map_blocks(replace(program, tables=tables), lowering.block)
    return replace(
        new,
        blocks=tuple((name, lowering.selects(root)) for name, root in new.blocks),
        stacks=(),
        headers=(*program.headers, *(never_valid(s) for s in program.stacks), *lowering.copies.values()),
        variables=(*program.variables, *(next_index(s) for s in program.stacks), *lowering.temporaries.values()),
    )


class _Lowering:
    def __init__(self, program: ir.Program, target: Target) -> None:
        self.target = target
        number = program.errors.index("StackOutOfBounds") if "StackOutOfBounds" in program.errors else 0
        self.out_of_bounds = ir.Constant(number, ir.INDEX)
        self.before: list[ir.Statement] = []
        """What must run before the statement at hand: checks, and values that would otherwise be computed often."""
        self.temporaries: dict[str, ir.Variable] = {}
        self.copies: dict[str, ir.Header] = {}
        self.key_copies: dict[str, ir.Block] = {}
        """Copies that the keys of each table read."""

    # --- Expressions ------------------------------------------------------------------------------------------

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.StackLastIndex):
            return _minus_one(next_index(expr.stack))
        if isinstance(expr, ir.Binary) and isinstance(expr.left.type, ir.VarBits):
            return self._compare(expr)
        if not isinstance(expr, ir.FieldRef | ir.IsValid) or isinstance(expr.header, ir.Header):
            return expr
        if isinstance(expr.type, ir.VarBits):
            return expr  # an assignment or comparison chooses
        return self._mux(expr.header, lambda h: replace(expr, header=h), ir.Constant(0, expr.type))

    def _mux(self, ref: ir.HeaderRef, make: Callable[[ir.Header], ir.Expr], otherwise: ir.Expr) -> ir.Expr:
        assert not isinstance(ref, ir.Header)
        index = self._index(ref)
        result = otherwise
        for i, header in reversed(_reachable(index, ref.stack)):
            result = ir.Mux(_equals(index, i), make(header), result, result.type)
        return result

    def _compare(self, expr: ir.Binary) -> ir.Expr:
        """Comparison of fields of variable width: it is chosen, for no expression's value is of variable width."""
        left, right = expr.left, expr.right
        if isinstance(left, ir.FieldRef) and not isinstance(left.header, ir.Header):
            return self._mux_compare(left, lambda chosen: replace(expr, left=chosen))
        if isinstance(right, ir.FieldRef) and not isinstance(right.header, ir.Header):
            return self._mux_compare(right, lambda chosen: replace(expr, right=chosen))
        return expr

    def _mux_compare(self, operand: ir.FieldRef, make: Callable[[ir.FieldRef], ir.Binary]) -> ir.Expr:
        assert not isinstance(operand.header, ir.Header)
        none = never_valid(operand.header.stack)
        return self._mux(
            operand.header,
            lambda h: self._compare(make(replace(operand, header=h))),
            self._compare(make(replace(operand, header=none))),
        )

    def _index(self, ref: ir.HeaderRef) -> ir.Expr:
        match ref:
            case ir.StackAt(_, index):
                return self._simple(index)
            case ir.StackNext(stack):
                self._check(ir.Binary(ir.BinaryOp.LT, next_index(stack), _size(stack), ir.BOOL))
                return next_index(stack)
            case ir.StackLast(stack):
                self._check(ir.Binary(ir.BinaryOp.GT, next_index(stack), ZERO, ir.BOOL))
                return _minus_one(next_index(stack))
        raise TypeError(ref)

    def _check(self, condition: ir.Expr) -> None:
        self.before.append(ir.Verify(condition, self.out_of_bounds))

    def _simple(self, value: ir.Expr) -> ir.Expr:
        """The value, in a temporary unless it is one node: it is about to be written once for each element."""
        if isinstance(value, ir.Variable | ir.Constant | ir.FieldRef) or isinstance(value.type, ir.VarBits):
            return value
        temporary = self._temporary(f"$element{len(self.before)}.{value.type}", value.type)
        self.before.append(ir.Assign(temporary, value))
        return temporary

    def _temporary(self, name: str, kind: ir.Type) -> ir.Variable:
        return self.temporaries.setdefault(name, ir.Variable(name, kind))

    def _copy(self, ref: ir.HeaderRef, name: str) -> ir.Header:
        """A header that is made a copy of the element; it is invalid where the element is or where there is none."""
        assert not isinstance(ref, ir.Header)
        return self.copies.setdefault(name, ir.Header(name, ref.stack.element))

    def selects(self, root: ir.Parser | ir.Control) -> ir.Parser | ir.Control:
        """What the keys of a select need goes to the end of their state."""
        if isinstance(root, ir.Control):
            return root
        states = []
        for state in root.states:
            self.before = []
            if isinstance(state.transition, ir.Select):
                keys = tuple(walk.map_expr(k, self.expr) for k in state.transition.keys)
                state = replace(state, transition=replace(state.transition, keys=keys))
            states.append(replace(state, body=(*state.body, *self.before)))
        return replace(root, states=tuple(states))

    def table(self, table: ir.Table) -> ir.Table:
        """Keys count fields of invalid headers as zero, so a key that is an element's field reads a copy of it; what a
        key computes from elements reads them before the table is applied."""
        self.before, keys = [], []
        for i, key in enumerate(table.keys):
            value = key.value
            if isinstance(value, ir.FieldRef) and not isinstance(value.header, ir.Header):
                header = walk.map_header(value.header, self.expr)
                copied = self._copy(header, f"{table.name}.$key{i}")
                self.before.extend(self._statement(ir.CopyHeader(copied, header)))
                keys.append(replace(key, value=replace(value, header=copied)))
                continue
            new = walk.map_expr(value, self.expr)
            if new is not value:
                temporary = self._temporary(f"{table.name}.$key{i}", new.type)
                self.before.append(ir.Assign(temporary, new))
                new = temporary
            keys.append(replace(key, value=new))
        self.key_copies[table.name] = tuple(self.before)
        self.before = []
        return replace(table, keys=tuple(keys)) if self.key_copies[table.name] else table

    # --- Statements -------------------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> ir.Block:
        result: list[ir.Statement] = []
        for statement in block:
            kept, self.before = self.before, []
            lowered = self._lowered(statement)
            result.extend(self.before)
            result.extend(lowered)
            self.before = kept
        return tuple(result)

    def _lowered(self, s: ir.Statement) -> ir.Block:
        match s:
            case ir.Loop(condition, body, prelude, update):
                prelude = self.block(prelude)
                condition = walk.map_expr(condition, self.expr)
                prelude, self.before = (*prelude, *self.before), []
                return (
                    replace(s, condition=condition, prelude=prelude, body=self.block(body), update=self.block(update)),
                )
            case ir.ApplyTable(name):
                return (*self.key_copies[name], s)
            case ir.CallExtern(name) if name in self.target.valid_lists:
                s = replace(s, arguments=tuple(self._listed(a, i, s) for i, a in enumerate(s.arguments)))
        return self._statement(walk.map_statement(s, self.expr, self.block, self.target.outs))

    def _listed(self, argument: ir.Argument, position: int, call: ir.CallExtern) -> ir.Argument:
        """These lists leave out fields of invalid headers, so elements in them are copied to separate headers."""
        if isinstance(argument, tuple):
            return tuple(self._listed_item(item) for item in argument)
        if isinstance(argument, ir.Text) or position in self.target.outs(call.name):
            return argument
        return self._listed_item(argument)

    def _listed_item(self, item: ir.Expr) -> ir.Expr:
        if not isinstance(item, ir.FieldRef) or isinstance(item.header, ir.Header):
            return item
        ref = walk.map_header(item.header, self.expr)
        copied = self._copy(ref, f"{item.header.stack.name}.$item{len(self.before)}")
        self.before.extend(self._statement(ir.CopyHeader(copied, ref)))
        return replace(item, header=copied)

    def _statement(self, s: ir.Statement) -> ir.Block:
        match s:
            case ir.PushFront(stack, count):
                return self._shift(stack, count)
            case ir.PopFront(stack, count):
                return self._shift(stack, -count)
            case ir.CopyNext(target, source):
                return (ir.Assign(next_index(target), next_index(source), s.span),)
            case ir.Assign(ir.FieldRef(ref, field_), value) if not isinstance(ref, ir.Header):
                once = replace(s, value=self._simple(value))
                return self._choose(ref, lambda h: self._statement(replace(once, target=ir.FieldRef(h, field_))))
            case ir.Assign(_, ir.FieldRef(ref, field_)) if not isinstance(ref, ir.Header):
                none = replace(s, value=ir.FieldRef(never_valid(ref.stack), field_))
                return self._choose(ref, lambda h: (replace(s, value=ir.FieldRef(h, field_)),), (none,))
            case ir.SetValidity(ref) | ir.Extract(ref) | ir.Emit(ref) if not isinstance(ref, ir.Header):
                return self._whole(s, ref)
            case ir.CopyHeader(target, source) if not isinstance(target, ir.Header):
                return self._choose(target, lambda h: self._statement(replace(s, target=h)))
            case ir.CopyHeader(target, source) if not isinstance(source, ir.Header):
                gone = ir.CopyHeader(target, never_valid(source.stack))
                return self._choose(source, lambda h: (replace(s, source=h),), (gone,))
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
        cases = tuple(ir.SwitchCase((i,), make(h)) for i, h in _reachable(index, ref.stack))
        return (ir.Switch(index, cases, default),)

    def _call(self, s: ir.CallExtern) -> ir.Block:
        """An extern that writes a stack element chosen at run time writes a temporary, then the element."""
        for position in self.target.outs(s.name):
            place = s.arguments[position]
            if isinstance(place, ir.FieldRef) and not isinstance(place.header, ir.Header):
                temporary = self._temporary(f"{place.header.stack.name}.$out{position}.{place.field.name}", place.type)
                arguments = (*s.arguments[:position], temporary, *s.arguments[position + 1 :])
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


def _reachable(index: ir.Expr, stack: ir.HeaderStack) -> list[tuple[int, ir.Header]]:
    """The elements that an index of its type can mean."""
    signed = isinstance(index.type, ir.Bits) and index.type.signed
    return list(enumerate(stack.headers))[: 1 << min(ir.width_of(index.type) - signed, 32)]


def _size(stack: ir.HeaderStack) -> ir.Constant:
    return ir.Constant(stack.size, ir.INDEX)


def _minus_one(index: ir.Expr) -> ir.Expr:
    return ir.Binary(ir.BinaryOp.SUB, index, ir.Constant(1, ir.INDEX), ir.INDEX)


def _equals(index: ir.Expr, number: int) -> ir.Expr:
    return ir.Binary(ir.BinaryOp.EQ, index, ir.Constant(number, index.type), ir.BOOL)
