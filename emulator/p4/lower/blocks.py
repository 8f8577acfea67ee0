"""Blocks being applied: their scope, locals and statements; sub-controls are inlined where they are applied."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.errors import Abandoned
from emulator.p4.lower import arguments, instances, values
from emulator.p4.lower.context import Context, returns
from emulator.p4.lower.records import BlockInstance
from emulator.p4.lower.shapes import Value


def apply_control(cx: Context, expr: r.BlockApply, instance: BlockInstance) -> None:
    span = cx.tokens.span(expr.at)
    several = instance.application_count > 1
    names: list[Any] = [f"{instance.path}.{p.name}" for p in instance.symbol.parameters]
    if several and instance.parameters is not None:  # its tables know the storage of its first application
        names = instance.parameters
    passing = arguments.pass_in(cx, names, expr.arguments, by_reference=not several, span=span, constants=not several)
    instance.parameters = passing.storage
    outer = cx.scope()
    enter(cx, instance, passing.storage)
    body = control_body(cx, instance)
    cx.restore(outer)
    cx.out.append(ir.Region(instance.path, body, arguments.copy_out(cx, passing, span), span))


def instance_of(cx: Context, expr: r.BlockApply) -> BlockInstance:
    """The instance that is applied; made here where it is applied directly."""
    if not isinstance(expr.instance, r.Construct):
        result = cx.value(expr.instance)
        assert isinstance(result, BlockInstance)
        return result
    outer = cx.instance  # direct application: an instance named after its type, made once
    assert outer is not None
    made = outer.direct.get(expr.instance)
    if made is None:
        assert expr.instance.block is not None
        path, number = f"{outer.path}.{expr.instance.block.name}", len(outer.direct)
        if any(known.path == path for known in outer.direct.values()):
            path = f"{path}_{number}"
        made = instances.make_instance(cx, expr.instance, path, outer.application_count)
        outer.direct[expr.instance] = made
        outer.members.insert(number, made)  # p4c declares them before everything else
    return made


def enter(cx: Context, instance: BlockInstance, parameters: list[Value]) -> None:
    """Enter an instance: names mean what they mean inside the instance."""
    cx.instance, cx.path = instance, instance.path
    cx.env = {**cx.env, **instance.constructor, **instance.env}
    cx.types = {**cx.types, **instance.types}
    for symbol, storage in zip(instance.symbol.parameters, parameters, strict=True):
        cx.env[symbol] = storage


def control_body(cx: Context, instance: BlockInstance) -> ir.Block:
    outer, cx.out = cx.out, []
    block_locals(cx, instance)
    guarded(cx, instance.symbol.body or [])
    body, cx.out = cx.out, outer
    if body and isinstance(body[-1], ir.Return):
        body.pop()
    return tuple(body)


def guarded(cx: Context, block: r.Block) -> None:
    """Statements, each by itself, so that one run finds the errors of several; a wrong declaration ends it."""
    for statement in block:
        out, scope = cx.out, cx.scope()
        try:
            cx.statements([statement])
        except Abandoned:
            cx.out = out
            cx.restore(scope)
            if isinstance(statement, r.Declare):
                raise
        if returns(cx.out):
            break


def block_locals(cx: Context, instance: BlockInstance) -> None:
    """Variables of the block: storage once, initial values at each application."""
    for statement in instance.symbol.locals:
        assert isinstance(statement, r.Declare)
        known = instance.env.get(statement.symbol)
        if known is None:
            cx.statements([statement])
            instance.env[statement.symbol] = cx.env[statement.symbol]
            continue
        cx.env[statement.symbol] = known
        span = cx.span(statement)
        if statement.value is not None:
            values.store(cx, known, cx.value(statement.value), span)
        else:
            values.invalidate(cx, known, span)
