"""Going through the IR: what a node is made of, and how to rebuild it from changed parts.

Every function returns its argument itself when nothing below it changed, so that a pass costs what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from emulator.p4 import ir

ExprMap: TypeAlias = Callable[[ir.Expr], ir.Expr]
BlockMap: TypeAlias = Callable[[ir.Block], ir.Block]
LEAVES = (ir.Constant, ir.Variable, ir.LaneField, ir.FieldRun, ir.StackLastIndex, ir.PacketLength)


def _same(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    return all(a is b for a, b in zip(old, new, strict=True))


def map_header(ref: ir.HeaderRef, f: ExprMap) -> ir.HeaderRef:
    """``f`` on the index of a stack element chosen at run time."""
    if isinstance(ref, ir.StackAt):
        index = map_expr(ref.index, f)
        return ref if index is ref.index else ir.StackAt(ref.stack, index)
    return ref


def _rebuild(expr: ir.Expr, f: ExprMap) -> ir.Expr:
    match expr:
        case ir.FieldRef(header, _) | ir.IsValid(header):
            new = map_header(header, f)
            return expr if new is header else replace(expr, header=new)
        case ir.Unary(_, operand, _) | ir.Cast(operand, _) | ir.Slice(operand, _, _):
            inner = map_expr(operand, f)
            return expr if inner is operand else replace(expr, operand=inner)
        case ir.Binary(_, left, right, _) | ir.Concat(left, right, _):
            a, b = map_expr(left, f), map_expr(right, f)
            return expr if a is left and b is right else replace(expr, left=a, right=b)
        case ir.Mux(condition, then, otherwise, _):
            c, t, o = map_expr(condition, f), map_expr(then, f), map_expr(otherwise, f)
            return expr if c is condition and t is then and o is otherwise else ir.Mux(c, t, o, expr.type)
    raise TypeError(f"not an expression: {expr!r}")


def map_expr(expr: ir.Expr, f: ExprMap) -> ir.Expr:
    """``f`` on every subexpression, innermost first."""
    return f(expr if isinstance(expr, LEAVES) else _rebuild(expr, f))


def map_place(place: ir.Place, f: ExprMap) -> ir.Place:
    """``f`` on what a place is computed from (a run-time stack index); the place itself stays a place."""
    if isinstance(place, ir.FieldRef):
        header = map_header(place.header, f)
        return place if header is place.header else ir.FieldRef(header, place.field)
    return place


def map_argument(argument: ir.Argument, f: ExprMap) -> ir.Argument:
    if isinstance(argument, ir.Text):
        return argument
    if isinstance(argument, tuple):
        new = tuple(map_expr(e, f) for e in argument)
        return argument if _same(argument, new) else new
    return map_expr(argument, f)


def map_statement(statement: ir.Statement, f: ExprMap, block: BlockMap, outs: OutArguments) -> ir.Statement:
    """``f`` on the statement's expressions, ``block`` on its nested blocks, places kept places."""
    match statement:
        case ir.Assign(target, value):
            t, v = map_place(target, f), map_expr(value, f)
            return statement if t is target and v is value else replace(statement, target=t, value=v)
        case ir.SetValidity(header) | ir.Emit(header):
            h = map_header(header, f)
            return statement if h is header else replace(statement, header=h)
        case ir.Extract(header, bits):
            h, e = map_header(header, f), bits if bits is None else map_expr(bits, f)
            return statement if h is header and e is bits else replace(statement, header=h, variable_bits=e)
        case ir.CopyHeader(to, source):
            h, s = map_header(to, f), map_header(source, f)
            return statement if h is to and s is source else replace(statement, target=h, source=s)
        case ir.If(condition, then, otherwise):
            c, a, b = map_expr(condition, f), block(then), block(otherwise)
            same = c is condition and a is then and b is otherwise
            return statement if same else replace(statement, condition=c, then=a, otherwise=b)
        case ir.Switch(value, cases, default):
            v, d = map_expr(value, f), block(default)
            new = tuple(c if (n := block(c.body)) is c.body else ir.SwitchCase(c.values, n) for c in cases)
            same = v is value and d is default and _same(cases, new)
            return statement if same else replace(statement, value=v, cases=new, default=d)
        case ir.CallExtern(name, arguments):
            out = outs(name)
            args = tuple(
                map_place(a, f) if i in out and isinstance(a, ir.Variable | ir.FieldRef) else map_argument(a, f)
                for i, a in enumerate(arguments)
            )
            return statement if _same(arguments, args) else replace(statement, arguments=args)
        case ir.Region(_, body, cleanup):
            a, b = block(body), block(cleanup)
            return statement if a is body and b is cleanup else replace(statement, body=a, cleanup=b)
        case ir.Loop(condition, body, prelude, update):
            c, a, p, u = map_expr(condition, f), block(body), block(prelude), block(update)
            same = c is condition and a is body and p is prelude and u is update
            return statement if same else replace(statement, condition=c, body=a, prelude=p, update=u)
        case ir.Repeat(_, body):
            a = block(body)
            return statement if a is body else replace(statement, body=a)
        case ir.Advance(bits):
            e = map_expr(bits, f)
            return statement if e is bits else replace(statement, bits=e)
        case ir.Verify(condition, error):
            c, e = map_expr(condition, f), map_expr(error, f)
            return statement if c is condition and e is error else replace(statement, condition=c, error=e)
    return statement


OutArguments: TypeAlias = Callable[[str], tuple[int, ...]]
"""Indices of the arguments that an extern, given by name, writes to. The architecture knows."""


def map_blocks(program: ir.Program, f: BlockMap, *, expr: ExprMap | None = None) -> ir.Program:
    """``f`` on every block at the top of a parser state, control or action; ``expr`` on select keys and table keys."""
    new = replace(
        program,
        blocks=tuple((name, _map_root(block, f, expr)) for name, block in program.blocks),
        actions=tuple(a if (n := f(a.body)) is a.body else replace(a, body=n) for a in program.actions),
    )
    if expr is not None:
        new = replace(new, tables=tuple(_map_table(t, expr) for t in program.tables))
    return new


def _map_root(root: ir.Parser | ir.Control, f: BlockMap, expr: ExprMap | None) -> ir.Parser | ir.Control:
    if isinstance(root, ir.Control):
        body = f(root.body)
        return root if body is root.body else replace(root, body=body)
    states = []
    for state in root.states:
        transition = state.transition
        if expr is not None and isinstance(transition, ir.Select):
            transition = replace(transition, keys=tuple(map_expr(k, expr) for k in transition.keys))
        states.append(replace(state, body=f(state.body), transition=transition))
    return replace(root, states=tuple(states))


def _map_table(table: ir.Table, expr: ExprMap) -> ir.Table:
    keys = tuple(k if (v := map_expr(k.value, expr)) is k.value else replace(k, value=v) for k in table.keys)
    return table if _same(table.keys, keys) else replace(table, keys=keys)


def map_statements(
    block: ir.Block, expr: ExprMap, outs: OutArguments, after: Callable[[ir.Statement], ir.Block] | None = None
) -> ir.Block:
    """Innermost first: ``expr`` on all expressions, then each statement replaced by what ``after`` makes of it."""

    def inner(nested: ir.Block) -> ir.Block:
        return map_statements(nested, expr, outs, after)

    result: list[ir.Statement] = []
    for statement in block:
        new = map_statement(statement, expr, inner, outs)
        if after is None:
            result.append(new)
        else:
            result.extend(after(new))
    made = tuple(result)
    return block if len(made) == len(block) and _same(block, made) else made


def subexpressions(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The expression and all below it, outer before inner, left before right."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        match node:
            case ir.FieldRef(ir.StackAt(_, index), _) | ir.IsValid(ir.StackAt(_, index)):
                waiting.append(index)
            case ir.Unary(_, operand, _) | ir.Cast(operand, _) | ir.Slice(operand, _, _):
                waiting.append(operand)
            case ir.Binary(_, left, right, _) | ir.Concat(left, right, _):
                waiting += (right, left)
            case ir.Mux(condition, then, otherwise, _):
                waiting += (otherwise, then, condition)


LONG_CHOICE = 16


def is_long_choice(expr: ir.Expr) -> bool:
    """Whether it is a chain of conditional values, ``c ? x : d ? y : ...``, of some length."""
    for _ in range(LONG_CHOICE):
        if not isinstance(expr, ir.Mux):
            return False
        expr = expr.otherwise
    return True


def variables_in(expr: ir.Expr) -> list[str]:
    """Names of the variables an expression mentions, with repetition."""
    result: list[str] = []
    _add_variables(expr, result)
    return result


def _add_variables(expr: ir.Expr, names: list[str]) -> None:
    """As `subexpressions` goes, but without a generator for each node: passes call this for every expression."""
    match expr:
        case ir.Variable(name):
            names.append(name)
        case ir.FieldRef(ir.StackAt(_, index)) | ir.IsValid(ir.StackAt(_, index)):
            _add_variables(index, names)
        case ir.Unary(_, operand) | ir.Cast(operand) | ir.Slice(operand):
            _add_variables(operand, names)
        case ir.Binary(_, left, right) | ir.Concat(left, right):
            _add_variables(left, names)
            _add_variables(right, names)
        case ir.Mux(condition, then, otherwise):
            _add_variables(condition, names)
            _add_variables(then, names)
            _add_variables(otherwise, names)


def mentioned(statement: ir.Statement) -> list[str]:
    """Variables in the statement itself, with repetition; not in nested blocks."""
    result: list[str] = []
    for expr, _ in own_expressions(statement):
        _add_variables(expr, result)
    return result


def nested_blocks(statement: ir.Statement) -> tuple[ir.Block, ...]:
    match statement:
        case ir.If(_, then, otherwise):
            return (then, otherwise)
        case ir.Switch(_, cases, default):
            return (*(c.body for c in cases), default)
        case ir.Region(_, body, cleanup):
            return (body, cleanup)
        case ir.Loop(_, body, prelude, update):
            return (prelude, body, update)
        case ir.Repeat(_, body):
            return (body,)
    return ()


def statements(block: ir.Block) -> Iterator[ir.Statement]:
    """All statements, outer before inner."""
    waiting = [iter(block)]
    while waiting:
        statement = next(waiting[-1], None)
        if statement is None:
            waiting.pop()
            continue
        yield statement
        waiting += (iter(nested) for nested in reversed(nested_blocks(statement)))


def root_blocks(program: ir.Program) -> Iterator[ir.Block]:
    """The bodies of all states, controls and actions."""
    for _, root in program.blocks:
        if isinstance(root, ir.Control):
            yield root.body
        else:
            yield from (s.body for s in root.states)
    yield from (a.body for a in program.actions)


def own_expressions(statement: ir.Statement) -> Iterator[tuple[ir.Expr, bool]]:
    """The statement's own expressions and places, not those of nested blocks; True marks an assignment's target."""
    match statement:
        case ir.Assign(target, value):
            yield value, False
            yield target, True
        case ir.If(condition) | ir.Loop(condition):
            yield condition, False
        case ir.Extract(_, bits) if bits is not None:
            yield bits, False
        case ir.Switch(value):
            yield value, False
        case ir.CallExtern(_, arguments):
            for argument in arguments:
                if isinstance(argument, tuple):
                    yield from ((e, False) for e in argument)
                elif not isinstance(argument, ir.Text):
                    yield argument, False
        case ir.ApplyTable(_, hit, run):
            yield from ((v, True) for v in (hit, run) if v is not None)
        case ir.Lookahead(targets):
            yield from ((v, True) for v, _ in targets)
        case ir.Advance(bits):
            yield bits, False
        case ir.Verify(condition, error):
            yield condition, False
            yield error, False
    for ref in header_refs(statement):
        if isinstance(ref, ir.StackAt):
            yield ref.index, False


def header_refs(statement: ir.Statement) -> tuple[ir.HeaderRef, ...]:
    """The headers a statement names as a whole."""
    match statement:
        case ir.SetValidity(header) | ir.Extract(header) | ir.Emit(header):
            return (header,)
        case ir.CopyHeader(target, source):
            return (target, source)
    return ()
