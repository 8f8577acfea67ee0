"""Statements as the primitives of an action; what branches becomes jumps."""

from __future__ import annotations

from emulator.bmv2json.write import externs
from emulator.bmv2json.write.context import Context, Json, hexstr, operation, parameter
from emulator.bmv2json.write.expressions import equals, header, header_stack, number, place, truth
from emulator.p4 import ir
from emulator.v1model.metadata import MARKED_TO_DROP


def block(cx: Context, statements: ir.Block) -> None:
    at = 0
    while at < len(statements):
        marked = _marked_to_drop(cx, statements[at : at + len(MARKED_TO_DROP)])
        if marked is None:
            statement(cx, statements[at])
            at += 1
        else:
            cx.span = getattr(statements[at], "span", None) or cx.span
            cx.add("mark_to_drop", {"type": "header", "value": marked})
            at += len(MARKED_TO_DROP)


def _marked_to_drop(cx: Context, statements: ir.Block) -> str | None:
    """The metadata instance, where these statements are what the front end makes of mark_to_drop."""
    written = [
        (s.target.name, s.value.value)
        for s in statements
        if isinstance(s, ir.Assign) and isinstance(s.target, ir.Variable) and isinstance(s.value, ir.Constant)
    ]
    for instance in cx.standard:
        if written == [(f"{instance}.{field}", value) for field, value in MARKED_TO_DROP.items()]:
            return instance
    return None


def statement(cx: Context, s: ir.Statement) -> None:
    cx.span = getattr(s, "span", None) or cx.span
    match s:
        case ir.Assign(target, value) if isinstance(target.type, ir.VarBits):
            assert isinstance(value, ir.Variable | ir.FieldRef)
            cx.add("assign_VL", place(cx, target), place(cx, value))
        case ir.Assign(target, value):
            cx.add("assign", place(cx, target), parameter(number(cx, value)))
        case ir.SetValidity(ref, valid):
            cx.add("add_header" if valid else "remove_header", parameter(header(cx, ref)))
        case ir.CopyHeader(target, source):
            cx.add("assign_header", parameter(header(cx, target)), parameter(header(cx, source)))
        case ir.PushFront(stack, count):
            cx.add("push", header_stack(cx, stack), hexstr(count))
        case ir.PopFront(stack, count):
            cx.add("pop", header_stack(cx, stack), hexstr(count))
        case ir.CopyNext(target, source):  # the headers once more
            cx.add("assign_header_stack", header_stack(cx, target), header_stack(cx, source))
        case ir.If(condition, then, otherwise):
            _if(cx, truth(cx, condition), then, otherwise)
        case ir.Switch(value, cases, default):
            _switch(cx, value, cases, default)
        case ir.Region(_, body, cleanup):
            cx.regions.append(([], cleanup))
            outer_loops, cx.loops = cx.loops, []
            block(cx, body)
            cx.loops = outer_loops
            _land(cx, cx.regions.pop()[0])
            block(cx, cleanup)
        case ir.Return():
            cx.regions[-1][0].append(cx.add("_jump", None))
        case ir.Loop():
            _loop(cx, s)
        case ir.Break():
            cx.loops[-1][0].append(cx.add("_jump", None))
        case ir.Continue():
            cx.loops[-1][1].append(cx.add("_jump", None))
        case ir.Exit():
            cx.add("exit")  # takes effect at the action's end
            for _, cleanup in reversed(cx.regions[1:]):
                block(cx, cleanup)
            cx.regions[0][0].append(cx.add("_jump", None))
        case ir.CallExtern():
            externs.call(cx, s)
        case _:
            raise cx.fail(f"{type(s).__name__} here")


def _land(cx: Context, jumps: list[Json]) -> None:
    """These jumps lead here."""
    for jump in jumps:
        jump["parameters"][-1] = hexstr(len(cx.primitives))


def _jump_if_false(cx: Context, condition: Json) -> Json:
    return cx.add("_jump_if_zero", parameter(operation("b2d", None, condition)), None)


def _if(cx: Context, condition: Json, then: ir.Block, otherwise: ir.Block) -> None:
    past_then = _jump_if_false(cx, condition)
    block(cx, then)
    if otherwise:
        past_else = cx.add("_jump", None)
        _land(cx, [past_then])
        block(cx, otherwise)
        _land(cx, [past_else])
    else:
        _land(cx, [past_then])


def _switch(cx: Context, value: ir.Expr, cases: tuple[ir.SwitchCase, ...], default: ir.Block) -> None:
    kept = cx.temporary(value.type)
    cx.add("assign", kept, parameter(number(cx, value)))
    ends = []
    for case in cases:
        if not case.values:
            continue
        condition = equals(kept, case.values[0])
        for other in case.values[1:]:
            condition = operation("or", condition, equals(kept, other))
        past = _jump_if_false(cx, condition)
        block(cx, case.body)
        ends.append(cx.add("_jump", None))
        _land(cx, [past])
    block(cx, default)
    _land(cx, ends)


def _loop(cx: Context, loop: ir.Loop) -> None:
    top = len(cx.primitives)
    block(cx, loop.prelude)
    cx.loops.append(([], []))
    cx.loops[-1][0].append(_jump_if_false(cx, truth(cx, loop.condition)))
    block(cx, loop.body)
    breaks, continues = cx.loops.pop()
    _land(cx, continues)
    block(cx, loop.update)
    cx.add("_jump", hexstr(top))
    _land(cx, breaks)
