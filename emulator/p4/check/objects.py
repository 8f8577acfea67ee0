"""Instances with a name, with implementations of abstract methods; functions and their parameters' symbols."""

from __future__ import annotations

from emulator.p4.check import calls, signatures, statements
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context, Where
from emulator.p4.check.reporting import fail, refuse
from emulator.p4.errors import Abandoned
from emulator.p4.syntax import tree as s

# --- instances ---------------------------------------------------------------------------------------------------


def instance(cx: Context, node: s.Instantiation) -> r.InstanceSymbol:
    """``T(arguments) name;`` in a block or at the top level."""
    callee = cx.expression(s.TypeName(node.type.at, node.type))
    assert isinstance(callee, r.TypeRef)
    construct = calls.instantiate(cx, node, callee, node.arguments)
    _initializer(cx, node, construct.type)
    symbol = r.InstanceSymbol(node.name, construct.type, node.name_at, construct, node.annotations, node.end)
    cx.declare(node.name, symbol, node.name_at)
    return symbol


def _initializer(cx: Context, node: s.Instantiation, type_: t.Type) -> None:
    """Implementations of an extern's abstract methods in braces behind ``=`` (section 11.3.1)."""
    methods = type_.methods if isinstance(type_, t.ExternType) else {}
    missing = [m for overloads in methods.values() for m in overloads if m.is_abstract]
    if node.initializer is None:
        if missing:
            fail(cx, node, f"the abstract method {missing[0].name!r} of {type_} is not implemented")
        return
    if not missing:
        fail(cx, node, f"{type_} has no abstract methods")
    refuse(cx, node, "an object initialiser (abstract methods)")
    with cx.scope(this=r.VariableSymbol("this", type_, node.at)):
        for inner in node.initializer:
            _abstract_method(cx, inner, missing)
    if missing:
        fail(cx, node, f"the abstract method {missing[0].name!r} of {type_} is not implemented")


def _abstract_method(cx: Context, node: s.Decl, missing: list[t.Signature]) -> None:
    if isinstance(node, s.Instantiation):
        instance(cx, node)
        return
    assert isinstance(node, s.Function)
    try:
        signature = function(cx, node).signature
    except Abandoned:
        missing[:] = [m for m in missing if m.name != node.name]
        return
    expected = next((m for m in missing if m.name == signature.name and _same_shape(m, signature)), None)
    if expected is None:
        fail(cx, node.name_at, f"there is no abstract method {signature.name!r} with these parameters")
    missing.remove(expected)


# --- functions ---------------------------------------------------------------------------------------------------


def function(cx: Context, node: s.Function) -> r.FunctionSymbol:
    signature = signatures.signature(cx, node.head)
    with cx.scope(where=Where.FUNCTION, return_type=signature.result):
        for variable in signature.type_parameters:
            cx.declare(variable.name, variable, node.head.at)
        symbols = signatures.symbols(cx, signature.parameters)
        known_errors = len(cx.diagnostics.errors)
        body = statements.block(cx, node.body)
    is_whole = len(cx.diagnostics.errors) == known_errors
    if is_whole and signature.result is not t.VOID and not _always_returns(body):
        fail(cx, node.name_at, f"function {node.name!r} can end without a return")
    return r.FunctionSymbol(node.name, t.VOID, node.name_at, signature, symbols, body, node.end)


def _always_returns(body: r.Block) -> bool:
    for statement in body:
        if isinstance(statement, r.Return | r.Exit):
            return True
        branches: list[r.Block] = []
        if isinstance(statement, r.If):
            branches = [statement.then, statement.otherwise]
        elif isinstance(statement, r.Switch) and any(c.is_default for c in statement.cases):
            branches = [c.body for c in statement.cases]
        if branches and all(map(_always_returns, branches)):
            return True
    return False


def _same_shape(one: t.Signature, other: t.Signature) -> bool:
    """Equal result and parameters, names aside."""
    if one.result is not other.result or len(one.parameters) != len(other.parameters):
        return False
    pairs = zip(one.parameters, other.parameters, strict=True)
    return all(a.type is b.type and a.direction == b.direction for a, b in pairs)
