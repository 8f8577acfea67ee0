"""Declarations, branches, returns, and calls as statements."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.lower import storage, values
from emulator.p4.lower.context import Context


def declare(cx: Context, node: r.Declare) -> None:
    cx.at = node.at
    symbol = node.symbol
    value = None if node.value is None else cx.value(node.value)
    variable = storage.allocate(cx, f"{cx.path}.{symbol.name}", cx.type(symbol.type))
    cx.env[symbol] = variable
    span = cx.span(node)
    if value is not None:
        values.store(cx, variable, value, span)
    else:
        values.invalidate(cx, variable, span)


def if_(cx: Context, node: r.If) -> None:
    condition = cx.value(node.condition)
    if isinstance(condition, ir.Constant):
        cx.statements(node.then if condition.value else node.otherwise)
        return
    then, otherwise = cx.body(node.then), cx.body(node.otherwise)
    cx.out.append(ir.If(condition, then, otherwise, cx.span(node)))


def switch(cx: Context, node: r.Switch) -> None:
    value = cx.value(node.value)
    cases: list[ir.SwitchCase] = []
    default: ir.Block = ()
    for case in node.cases:
        body = cx.body(case.body)
        if case.is_default:
            default = body  # labels that share its body need no separate case
        else:
            cases.append(ir.SwitchCase(case.labels, body))
    cx.out.append(ir.Switch(value, tuple(cases), default, cx.span(node)))


def return_(cx: Context, node: r.Return) -> None:
    span = cx.span(node)
    if node.value is not None:
        values.store(cx, cx.result, cx.value(node.value), span)
    cx.out.append(ir.Return(span))


def exit_(cx: Context, node: r.Exit) -> None:
    cx.out.append(ir.Exit(cx.span(node)))


def call(cx: Context, node: r.CallStatement) -> None:
    cx.call(node.call)
