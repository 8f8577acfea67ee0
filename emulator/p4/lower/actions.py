"""Actions: inlined where they are called, and whole where tables run them."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import declared_at, fail, warn
from emulator.p4.errors import Kind
from emulator.p4.lower import calls, erasure, instances
from emulator.p4.lower.context import Context
from emulator.p4.lower.instances import ir_annotations
from emulator.p4.lower.records import ActionRecord
from emulator.p4.lower.shapes import Value


def call(cx: Context, expr: r.ActionCall) -> Value:
    action = expr.action
    if not cx.action_depth:
        record = _action_record(cx, action)
        if record not in cx.made.called:
            cx.made.called.append(record)
    path = cx.instance.path if cx.instance is not None and action.owner is not None else ""
    name = f"{path}.{action.name}" if path else action.name
    cx.action_depth += 1
    calls.inline(cx, name, action.parameters, expr.arguments, action.body, expr, by_reference=False)
    cx.action_depth -= 1
    return None


def _action_record(cx: Context, symbol: r.ActionSymbol) -> ActionRecord:
    assert cx.instance is not None
    record = cx.instance.actions.get(symbol)
    if record is None:  # a top-level action: as if @name(".action")
        record = cx.made.global_actions.get(symbol)
        if record is None:
            record = ActionRecord(symbol, instances.control_name(symbol.annotations, "", symbol.name))
            cx.made.global_actions[symbol] = record
    return record


def table_action(cx: Context, listed: r.TableAction) -> ir.Action:
    """The action as tables run it: the control plane's parameters are variables, the others are bound.

    Each list that binds arguments has its own variant; without bound arguments all tables share one. So it is
    where ``@name(".x")`` gives one name to the actions of all instances of a control.
    """
    record = _action_record(cx, listed.action)
    if record.action is not None and not listed.bound:
        return record.action
    known = record.variants.get(listed)
    if known is not None:
        return known
    _share_name(cx, record, listed)
    number = cx.names.variants[record.name] = cx.names.variants.get(record.name, 0) + 1
    name = record.name if number == 1 else f"{record.name}{ir.VARIANT}{number}"
    made = record.variants[listed] = _made(cx, record, listed, name)
    record.action = record.action or made
    cx.made.actions.append(made)
    return made


def _share_name(cx: Context, record: ActionRecord, listed: r.TableAction) -> None:
    """Actions of one control-plane name are one action to the control plane, so they must have the same data. p4c takes
    such programs as long as it does not have to write P4Info."""
    symbol = record.symbol
    data = tuple((p.name, str(cx.type(p.type))) for p in symbol.parameters if not p.direction)
    known, known_data = cx.names.actions.setdefault(record.name, (symbol, data))
    if known is symbol:
        return
    at, text = listed.action.at, f"two actions have the control-plane name {record.name!r}"
    if data != known_data:
        fail(cx, at, f"{text} and not the same data", Kind.DUPLICATE, declared_at(cx, known.at))
    warn(cx, at, f"{text}: P4Info has one for both, and p4c refuses to write it")


def choice(cx: Context, chosen: r.ActionChoice, listed: dict[r.ActionSymbol, r.TableAction]) -> ir.ActionCall:
    numbers = []
    for argument in chosen.arguments:
        value = cx.value(argument)
        if not isinstance(value, ir.Constant):
            fail(cx, argument, "the argument must be known at compile time", Kind.CONSTANT)
        numbers.append(value.value)
    return ir.ActionCall(table_action(cx, listed[chosen.action]).name, tuple(numbers))


def _made(cx: Context, record: ActionRecord, listed: r.TableAction, name: str) -> ir.Action:
    symbol = listed.action
    parameters = []
    for parameter in symbol.parameters:
        if not parameter.direction:
            parameters.append(_data_parameter(cx, record, parameter))
    directed = [p for p in symbol.parameters if p.direction]
    outer, cx.out = cx.out, []
    outer_path, cx.path = cx.path, record.name
    cx.action_depth += 1
    if directed:
        calls.inline(cx, record.name, directed, listed.bound, symbol.body, listed, by_reference=False)
    else:
        cx.statements(symbol.body)
    cx.action_depth -= 1
    body, cx.out, cx.path = cx.out, outer, outer_path
    if body and isinstance(body[-1], ir.Return):
        body.pop()
    return ir.Action(
        name, tuple(parameters), with_returns(record.name, tuple(body)), ir_annotations(symbol.annotations),
        cx.span(symbol),
    )  # fmt: skip


def _data_parameter(cx: Context, record: ActionRecord, parameter: r.VariableSymbol) -> ir.Variable:
    type_ = cx.type(parameter.type)
    if not t.is_scalar(type_):
        fail(cx, parameter.at, f"the control plane cannot give a parameter of type {type_}")
    variable = ir.Variable(cx.names.unique(f"{record.name}.{parameter.name}"), erasure.scalar(cx, type_))
    cx.env[parameter] = variable
    return variable


def with_returns(name: str, body: ir.Block) -> ir.Block:
    """A body in which something returns is a region, so that every `ir.Return` has one to leave."""
    return (ir.Region(name, body),) if _has_return(body) else body


def _has_return(body: ir.Block) -> bool:
    """Whether something outside of inner regions returns."""
    for statement in body:
        if isinstance(statement, ir.Return):
            return True
        branches: tuple[ir.Block, ...] = ()
        if isinstance(statement, ir.If):
            branches = (statement.then, statement.otherwise)
        elif isinstance(statement, ir.Switch):
            branches = (statement.default, *(c.body for c in statement.cases))
        elif isinstance(statement, ir.Loop):
            branches = (statement.prelude, statement.body, statement.update)
        if any(map(_has_return, branches)):
            return True
    return False
