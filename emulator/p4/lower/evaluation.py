"""Order of evaluation: what is saved before it changes, and what statements write.

What has side effects is hoisted into ``cx.out``, left to right (section 6.7): where a later operand hoists something
that changes what an operand before it reads, that operand is saved in a temporary first.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.ir import walk
from emulator.p4.lower import storage, values
from emulator.p4.lower.context import Context
from emulator.p4.lower.shapes import HEADER_REFS, HeaderParts, Parts, UnionParts, UnionStack, Value, roots, union_stack


def several(cx: Context, exprs: Sequence[r.Expr]) -> list[Value]:
    """Values of operands, evaluated in order."""
    operands: list[Value] = []
    for expr in exprs:
        before = len(cx.out)
        value = cx.value(expr)
        if len(cx.out) != before and operands:
            _save(cx, operands, before)
        operands.append(value)
    return operands


def into(cx: Context, expr: r.Expr) -> tuple[Value, list[ir.Statement]]:
    """A value, and the statements it hoists."""
    outer, cx.out = cx.out, []
    value = cx.value(expr)
    hoisted, cx.out = cx.out, outer
    return value, hoisted


def _save(cx: Context, operands: list[Value], position: int) -> None:
    """Save the operands' present values in temporaries, before the statements from ``position`` on that change it."""
    later = cx.out[position:]
    names = written(cx, later)
    del cx.out[position:]
    operands[:] = [saved(cx, value) if reads(value, names) else value for value in operands]
    cx.out.extend(later)


def saved(cx: Context, value: Value) -> Value:
    """The same value, safe from later assignments."""
    if isinstance(value, ir.Constant):
        return value
    if isinstance(value, ir.HeaderStack | UnionStack):
        return saved_stack(cx, value)
    if isinstance(value, Parts):
        items = [saved(cx, item) for item in value.items]
        return UnionParts(value.names, items) if isinstance(value, UnionParts) else Parts(value.names, items)
    if isinstance(value, HeaderParts):
        return HeaderParts([saved(cx, item) for item in value.items], value.valid)
    if isinstance(value, HEADER_REFS):
        header = ir.Header(cx.names.unique(f"{cx.path}.tmp"), value.type)
        cx.made.headers.append(header)
        cx.out.append(ir.CopyHeader(header, value))
        return header
    if not hasattr(value, "type"):
        return value  # an instance
    variable = storage.temporary(cx, value.type)
    cx.out.append(ir.Assign(variable, value))
    return variable


def saved_stack(cx: Context, stack: Value) -> Value:
    if isinstance(stack, UnionStack):
        stacks = {name: saved_stack(cx, member) for name, member in stack.stacks.items()}
        return union_stack(stacks, saved(cx, stack.next_index))
    copy = ir.HeaderStack(cx.names.unique(f"{cx.path}.tmp"), stack.element, stack.size)
    cx.made.stacks.append(copy)
    cx.made.headers.extend(copy.headers)
    values.store(cx, copy, stack)
    return copy


# --- what statements write ---------------------------------------------------------------------------------------


def written(cx: Context, statements: Sequence[ir.Statement]) -> set[str] | None:
    """Names of variables and headers they may write; None for any (a table runs whatever it holds)."""
    names: set[str] = set()
    for statement in statements:
        written = _written_by(cx, statement)
        if written is None:
            return None
        names |= written
    return names


def _written_by(cx: Context, statement: ir.Statement) -> frozenset[str] | None:
    """Those of compound statements are cached: nested calls need those of the same inlined bodies repeatedly."""
    known = cx.effects.get(id(statement))
    if known is not None:
        return known[1]
    names: set[str] | None = _own(statement)
    blocks = walk.nested_blocks(statement)
    for block in blocks:
        inner = written(cx, block)
        names = None if names is None or inner is None else names | inner
    result = None if names is None else frozenset(names)
    if blocks:
        cx.effects[id(statement)] = statement, result
    return result


def _own(statement: ir.Statement) -> set[str] | None:
    """What a statement writes itself, without the statements in it."""
    if isinstance(statement, ir.ApplyTable):
        return None
    if isinstance(statement, ir.PushFront | ir.PopFront):
        return set(roots(statement.stack))
    if isinstance(statement, ir.CopyNext):
        return set(roots(statement.target))
    names: set[str] = set()
    if isinstance(statement, ir.CallExtern):
        for argument in statement.arguments:
            values = argument if isinstance(argument, tuple) else (argument,)
            names.update(name for value in values if isinstance(value, ir.Place) for name in roots(value))
        return names
    targets = (expr for expr, is_target in walk.own_expressions(statement) if is_target)
    for place in (*targets, *walk.header_refs(statement)):
        names.update(roots(place))
    return names


def reads(value: Value, names: set[str] | None) -> bool:
    """Whether a write to one of the names could change the value."""
    if isinstance(value, ir.Constant | ir.Text) or value is None:
        return False
    return names is None or not names.isdisjoint(roots(value))
