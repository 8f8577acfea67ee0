"""Statements in actions, functions, apply blocks and parser states (section 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.p4.check import calls, coerce, constants, operators, types
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context, Where
from emulator.p4.check.reporting import fail, warn
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s

_CALLS = (r.BuiltinCall, r.ExternCall, r.FunctionCall, r.ActionCall, r.TableApply, r.BlockApply)


def block(cx: Context, node: s.BlockStatement) -> r.Block:
    with cx.scope():
        return sequence(cx, node.body)


def sequence(cx: Context, nodes: tuple[s.Statement, ...]) -> r.Block:
    found: r.Block = []
    for node in nodes:
        try:
            STATEMENTS[type(node)](cx, node, found)
        except Abandoned:
            if isinstance(node, s.Variable | s.Constant | s.Instantiation):
                cx.declare_unknown(node.name, node.name_at)
    return found


def _branch(cx: Context, node: s.Statement) -> r.Block:
    """A branch of an if: a block with a scope, even without braces."""
    if isinstance(node, s.BlockStatement):
        return block(cx, node)
    with cx.scope():
        return sequence(cx, (node,))


# --- simple statements -------------------------------------------------------------------------------------------


def _assign(cx: Context, node: s.Assign, out: r.Block) -> None:
    target = cx.value(node.target)
    if isinstance(target.type, t.ExternType | t.BlockType | t.TableType | t.ActionType):
        fail(cx, node.target, f"{target.type} cannot be assigned to")
    coerce.require_lvalue(cx, target, node.target, "assignment")
    if node.op == "=":
        out.append(r.Assign(node.at, node.end, target, coerce.typed(cx, node.value, target.type, "assignment")))
        return
    held = r.VariableSymbol("", target.type, node.at)
    left, right = r.Ref(target.at, target.type, held), cx.value(node.value)
    computed = operators.operation(cx, node, node.op[:-1], left, right, node.value)
    value = coerce.assign(cx, computed, target.type, node, f"assignment with {node.op!r}")
    out.append(r.Update(node.at, node.end, target, held, value))


def _call(cx: Context, node: s.CallStatement, out: r.Block) -> None:
    call = calls.call(cx, node.call)
    if isinstance(call, r.Construct):
        fail(cx, node, "an instance needs a name")
    if isinstance(call, _CALLS):
        out.append(r.CallStatement(node.at, node.end, call))


def variable(cx: Context, node: s.Variable, out: r.Block) -> None:
    type_ = types.storable(cx, node.type, f"the variable {node.name!r}")
    value = None if node.value is None else coerce.typed(cx, node.value, type_, f"initial value of {node.name!r}")
    symbol = r.VariableSymbol(node.name, type_, node.name_at, annotations=node.annotations)
    cx.declare(node.name, symbol, node.name_at)
    cx.variables.append(symbol)
    out.append(r.Declare(node.at, node.end, symbol, value))


def _constant(cx: Context, node: s.Constant, out: r.Block) -> None:
    constant(cx, node)


def constant(cx: Context, node: s.Constant) -> r.ConstantSymbol:
    type_ = types.type_of(cx, node.type)
    value = coerce.typed(cx, node.value, type_, f"value of the constant {node.name!r}")
    if value.type is not t.UNKNOWN and not constants.is_constant(value):
        fail(cx, node.value, f"the value of the constant {node.name!r} must be known at compile time", Kind.CONSTANT)
    symbol = r.ConstantSymbol(node.name, type_, node.name_at, value, constants.base_of(cx, node.value))
    cx.declare(node.name, symbol, node.name_at)
    return symbol


def _instantiation(cx: Context, node: s.Instantiation, out: r.Block) -> None:
    fail(cx, node, f"nothing can be instantiated in {cx.place.where}", Kind.PLACE)


def _empty(cx: Context, node: s.Empty, out: r.Block) -> None:
    pass


# --- control flow ------------------------------------------------------------------------------------------------


def _block(cx: Context, node: s.BlockStatement, out: r.Block) -> None:
    out.extend(block(cx, node))


def _if(cx: Context, node: s.If, out: r.Block) -> None:
    condition = coerce.typed(cx, node.condition, t.BOOL, "the condition of 'if'")
    then = _branch(cx, node.then)
    otherwise = [] if node.otherwise is None else _branch(cx, node.otherwise)
    out.append(r.If(node.at, node.end, condition, then, otherwise))


def _return(cx: Context, node: s.Return, out: r.Block) -> None:
    if cx.place.where in (Where.STATE, Where.PARSER):
        fail(cx, node, "return cannot be used in a parser", Kind.PLACE)
    value = None
    if node.value is None:
        if cx.place.where is Where.FUNCTION and cx.place.return_type is not t.VOID:
            fail(cx, node, f"return needs a value of type {cx.place.return_type}")
    elif cx.place.where is not Where.FUNCTION or cx.place.return_type is t.VOID:
        fail(cx, node, f"return cannot give a value in {cx.place.where}")
    else:
        value = coerce.typed(cx, node.value, cx.place.return_type, "return")
    out.append(r.Return(node.at, node.end, value))


def _exit(cx: Context, node: s.Exit, out: r.Block) -> None:
    if cx.place.where in (Where.STATE, Where.PARSER, Where.FUNCTION):
        fail(cx, node, f"exit cannot be used in {cx.place.where}", Kind.PLACE)
    out.append(r.Exit(node.at, node.end))


# --- loops -------------------------------------------------------------------------------------------------------


def _for(cx: Context, node: s.For, out: r.Block) -> None:
    _check_loop(cx, node)
    with cx.scope():
        init = sequence(cx, node.init)
        condition = coerce.typed(cx, node.condition, t.BOOL, "the condition of 'for'")
        update = sequence(cx, node.update)
        body = _loop_body(cx, node.body)
    out.append(r.For(node.at, node.end, init, condition, update, body))


def _for_in(cx: Context, node: s.ForIn, out: r.Block) -> None:
    _check_loop(cx, node)
    type_ = types.storable(cx, node.type, f"the loop's variable {node.name!r}")
    collection = _collection(cx, node.collection, type_)
    symbol = r.VariableSymbol(node.name, type_, node.type.at)
    with cx.scope():
        cx.declare(node.name, symbol, node.type.at)
        body = _loop_body(cx, node.body)
    out.append(r.ForIn(node.at, node.end, symbol, collection, body))


def _collection(cx: Context, node: s.Expr, type_: t.Type) -> r.Expr:
    """What a loop goes over: a range of numbers, a list, or a header stack."""
    if isinstance(node, s.RangeOf):
        if not isinstance(type_, t.BitsType) or not type_.width:
            fail(cx, node, f"a range has numbers, the loop's variable has type {type_}")
        low, high = (
            coerce.typed(cx, node.low, type_, "a range's start"),
            coerce.typed(cx, node.high, type_, "a range's end"),
        )
        return r.Range(node.at, t.set_of(type_), low, high)
    found = cx.value(node)
    if isinstance(found, r.Aggregate):
        items = tuple(coerce.assign(cx, item, type_, item.at, "an element of the loop's list") for item in found.items)
        return r.Aggregate(node.at, t.list_of(type_), items)
    element = found.type.element if isinstance(found.type, t.StackType | t.ListType) else None
    if element is None and found.type is not t.UNKNOWN:
        fail(cx, node, f"a loop goes over a range, a list or a header stack, not over {found.type}")
    if element is not type_ and found.type is not t.UNKNOWN:
        fail(cx, node, f"the loop's variable has type {type_}, the elements have type {element}")
    return found


def _check_loop(cx: Context, node: s.For | s.ForIn) -> None:
    if cx.place.where in (Where.STATE, Where.PARSER):
        fail(cx, node.at, "a loop cannot be used in a parser", Kind.PLACE)


def _loop_body(cx: Context, node: s.Statement) -> r.Block:
    with cx.within(is_in_loop=True):
        return _branch(cx, node)


def _break(cx: Context, node: s.Break, out: r.Block) -> None:
    _check_in_loop(cx, node, "break")
    out.append(r.Break(node.at, node.end))


def _continue(cx: Context, node: s.Continue, out: r.Block) -> None:
    _check_in_loop(cx, node, "continue")
    out.append(r.Continue(node.at, node.end))


def _check_in_loop(cx: Context, node: s.Statement, word: str) -> None:
    if not cx.place.is_in_loop:
        fail(cx, node, f"{word} can only be used in a loop", Kind.PLACE)


# --- switch ------------------------------------------------------------------------------------------------------


def _switch(cx: Context, node: s.Switch, out: r.Block) -> None:
    if cx.place.where in (Where.STATE, Where.PARSER):
        fail(cx, node.at, "switch cannot be used in a parser", Kind.PLACE)
    value = cx.value(node.value)
    on_actions = isinstance(value.type, t.ActionRunType)
    if not on_actions:
        value = _switch_value(cx, node, value)
    cases: list[r.SwitchCase] = []
    seen: set[int] = set()
    labels: list[int] = []
    has_default = is_default = False
    for case in node.cases:
        if has_default:
            fail(cx, case, "no label can follow the label 'default'")
        if isinstance(case.label, s.DontCare):
            is_default = has_default = True
        else:
            label = _action_label(cx, case.label, value.type) if on_actions else _label(cx, case.label, value.type)
            if label in seen:
                fail(cx, case.label, "this label occurs twice in the switch", Kind.DUPLICATE)
            seen.add(label)
            labels.append(label)
        if case.body is not None:
            cases.append(r.SwitchCase(tuple(labels), is_default, block(cx, case.body)))
            labels, is_default = [], False
    if labels or is_default:
        warn(cx, node.cases[-1], "the last label of this switch has no statements")
    out.append(r.Switch(node.at, node.end, value, tuple(cases)))


def _switch_value(cx: Context, node: s.Switch, value: r.Expr) -> r.Expr:
    if value.type is t.INT:
        fail(cx, node.value, "the width of the switch's expression cannot be inferred")
    if not t.is_scalar(value.type) or value.type is t.BOOL:
        if value.type is t.UNKNOWN:
            raise Abandoned
        fail(cx, node.value, f"a switch cannot be made on {value.type}")
    return value


def _label(cx: Context, node: s.Expr, type_: t.Type) -> int:
    found = coerce.typed(cx, node, type_, "a switch's label")
    if not isinstance(found, r.Literal):
        fail(cx, node, "a switch's label must be known at compile time", Kind.CONSTANT)
    return int(found.value)


def _action_label(cx: Context, node: s.Expr, type_: t.Type) -> int:  # noqa: RET503
    """An action's position in the table's list."""
    assert isinstance(type_, t.ActionRunType)
    table: r.TableSymbol = type_.table
    if not isinstance(node, s.Name):
        fail(cx, node, "a label of this switch must be an action's name")
    symbol = cx.find(node.name, node.is_absolute)
    for position, listed in enumerate(table.actions):
        if listed.action is symbol:
            return position
    fail(cx, node, f"{node.name!r} is not an action of table {table.name!r}", Kind.NAME)


STATEMENTS: dict[type, Callable[[Context, Any, r.Block], None]] = {
    s.Assign: _assign,
    s.CallStatement: _call,
    s.Variable: variable,
    s.Constant: _constant,
    s.Instantiation: _instantiation,
    s.Empty: _empty,
    s.BlockStatement: _block,
    s.If: _if,
    s.Return: _return,
    s.Exit: _exit,
    s.For: _for,
    s.ForIn: _for_in,
    s.Break: _break,
    s.Continue: _continue,
    s.Switch: _switch,
}
