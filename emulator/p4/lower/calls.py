"""Calls of built-in methods, and of functions and actions: regions with copy-in and copy-out (section 6.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.lower import arguments, storage, values
from emulator.p4.lower.arguments import Passing
from emulator.p4.lower.context import Context
from emulator.p4.lower.operators import is_valid
from emulator.p4.lower.shapes import Value


def builtin(cx: Context, expr: r.BuiltinCall) -> Value:
    base = cx.value(expr.base)
    span = cx.tokens.span(expr.at)
    if expr.method == "isValid":
        return is_valid(base)
    if expr.method in ("setValid", "setInvalid"):
        values.set_validity(cx, base, expr.method == "setValid", span)
    elif expr.count:
        values.shift_stack(cx, base, expr.count if expr.method == "push_front" else -expr.count, span)
    return None


def function(cx: Context, expr: r.FunctionCall) -> Value:
    callee = expr.function
    known = {v: cx.type(type_) for v, type_ in expr.type_arguments.items()}
    name = f"{cx.path}.{callee.name}"
    span = cx.tokens.span(expr.at)
    names = [f"{name}.{s.name}" for s in callee.parameters]
    passing = arguments.pass_in(cx, names, expr.arguments, by_reference=True, span=span)
    result_type = cx.type(expr.type)
    outer = cx.types, cx.result
    cx.result = None if result_type is t.VOID else storage.allocate(cx, f"{name}.result", result_type)
    cx.types = {**cx.types, **known}
    _region(cx, name, callee.parameters, passing, callee.body, span)
    result = cx.result
    cx.types, cx.result = outer
    return result


def inline(
    cx: Context,
    name: str,
    symbols: Sequence[r.VariableSymbol],
    bound: Sequence[r.Bound],
    body: r.Block,
    node: Any,
    *,
    by_reference: bool,
) -> None:
    """A call as a region: arguments in, body, arguments out."""
    span = cx.tokens.span(node.at)
    names = [f"{name}.{s.name}" for s in symbols]
    passing = arguments.pass_in(cx, names, bound, by_reference=by_reference, span=span)
    _region(cx, name, symbols, passing, body, span)


def _region(
    cx: Context, name: str, symbols: Sequence[r.VariableSymbol], passing: Passing, body: r.Block, span: ir.Span
) -> None:
    for symbol, place in zip(symbols, passing.storage, strict=True):
        cx.env[symbol] = place
    outer_path, cx.path = cx.path, name
    inner = cx.body(body)
    cx.path = outer_path
    if inner and isinstance(inner[-1], ir.Return):
        inner = inner[:-1]
    cx.out.append(ir.Region(name, inner, arguments.copy_out(cx, passing, span), span))
