"""Calls of externs: they stay calls, with arguments in the forms that the architecture's data requires."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.architecture import CallForm
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import fail, refuse, unsupported, warn
from emulator.p4.errors import Kind
from emulator.p4.lower import arguments, packets, places, storage, values
from emulator.p4.lower.arguments import Evaluated
from emulator.p4.lower.context import Context
from emulator.p4.lower.places import SlicePlace
from emulator.p4.lower.shapes import AGGREGATES, Parts, Value, leaves


def call(cx: Context, expr: r.ExternCall) -> Value:
    handler = packets.CALLS.get(expr.name)
    if handler is not None:
        return handler(cx, expr)
    _check_block(cx, expr)
    known = cx.architecture.functions if expr.instance is None else cx.architecture.methods
    if expr.name not in known:
        refuse(cx, expr, f"the extern function {expr.name}()" if expr.instance is None else f"{expr.name}()")
    span = cx.tokens.span(expr.at)
    if expr.instance is None and expr.name in cx.architecture.setters:
        _set_fields(cx, expr, span)
        return None
    instance = None
    if expr.instance is not None:
        instance = cx.value(expr.instance)
        if not isinstance(instance, ir.ExternInstance):
            unsupported(cx, expr, f"{expr.name}() of this object")
    after: list[ir.Statement] = []
    passed = tuple(_extern_argument(cx, expr.name, e, after) for e in arguments.evaluate(cx, expr.arguments))
    passed = _in_form(cx, expr, passed, span)
    result = None
    if expr.type is not t.VOID:
        # a result is an out argument before the others
        result = storage.allocate(cx, f"{cx.path}.tmp", cx.type(expr.type))
        passed = (_argument(result), *passed)
    cx.out.append(ir.CallExtern(expr.name, passed, instance, span))
    cx.out.extend(after)
    return result


def _set_fields(cx: Context, expr: r.ExternCall, span: ir.Span) -> None:
    cx.made.calls_setter = True
    root, fields = cx.architecture.setters[expr.name]
    target: Value = arguments.evaluate(cx, expr.arguments)[0].place if expr.arguments else cx.shared.get(root)
    if not isinstance(target, Parts) or not target.names.keys() >= fields.keys():
        unsupported(cx, expr, f"{expr.name}() of anything without the fields {' and '.join(fields)}")
    for name, value in fields.items():
        place = target.part(name)
        cx.out.append(ir.Assign(place, ir.Constant(value, place.type), span))


def _check_block(cx: Context, expr: r.ExternCall) -> None:
    """Whether this block may call the extern, perhaps with this member of an enum."""
    rules = cx.architecture.function_blocks
    names = [expr.name]
    for bound in expr.arguments:
        type_ = bound.parameter.type
        if isinstance(type_, t.EnumType) and any(f"{expr.name}({member})" in rules for member in type_.members):
            value = bound.value
            if not isinstance(value, r.Literal):
                fail(cx, value or expr, f"{expr.name}(): {bound.parameter.name!r} must be constant", Kind.TARGET)
            names.append(f"{expr.name}({list(type_.members)[value.value]})")
    for name in names:
        if name in rules and cx.block_name not in rules[name]:
            fail(cx, expr, f"{name.removesuffix('()')} cannot be called in this block", Kind.TARGET)


def _extern_argument(cx: Context, name: str, argument: Evaluated, after: list[ir.Statement]) -> ir.Argument:
    """The argument in the IR; ``after`` gets what must follow the call (outs that are slices)."""
    parameter, place = argument.bound.parameter, argument.place
    if not argument.is_written:
        if argument.value is None:
            unsupported(cx, cx.at, f"leaving out the argument {parameter.name!r}")
        return _argument(argument.value)
    if place is not None and not isinstance(place, SlicePlace):
        return _argument(place)
    variable = storage.allocate(cx, f"{cx.path}.tmp", cx.type(parameter.type))
    if place is None:
        return _argument(variable)
    place = places.fixed(cx, place, None)
    if parameter.direction == "inout" or name in cx.architecture.conditional_outs:
        values.store(cx, variable, places.read(cx, place))
    outer, cx.out = cx.out, after
    places.write(cx, place, variable, cx.span(argument.bound.value))
    cx.out = outer
    return variable  # type: ignore[no-any-return]


def _in_form(
    cx: Context, expr: r.ExternCall, arguments: tuple[ir.Argument, ...], span: ir.Span
) -> tuple[ir.Argument, ...]:
    form = cx.architecture.call_forms.get(expr.name)
    if form is CallForm.PLACED:
        return (*arguments, ir.Text(str(span)))
    if form is CallForm.NAMED:
        data = cx.type(expr.arguments[-1].parameter.type)
        name = cx.data_names.get(expr) or getattr(data, "control_name", "") or expr.name
        return (ir.Text(name), *arguments[:-1], _as_list(arguments[-1]))
    if form is CallForm.FORMATTED:
        return _formatted(cx, expr, arguments)
    return arguments


def _formatted(cx: Context, expr: r.ExternCall, arguments: tuple[ir.Argument, ...]) -> tuple[ir.Argument, ...]:
    text = arguments[0]
    if not isinstance(text, ir.Text):
        fail(cx, expr, f"{expr.name}(): the text must be known at compile time", Kind.CONSTANT)
    if len(arguments) == 1:
        return (text, ())
    type_ = cx.type(expr.arguments[1].parameter.type)
    parts: list[t.Type] = [type_]
    if isinstance(type_, t.StructLike):
        parts = [f.type for f in type_.fields.values()]
    elif isinstance(type_, t.TupleType):
        parts = list(type_.items)
    if text.text.count("{}") != len(parts):
        text_says = f"{text.text.count('{}')} times {{}} in the text, but {len(parts)} values"
        warn(cx, expr, f"{expr.name}(): {text_says}")
        return (text, _as_list(arguments[1]))
    return (ir.Text(_unfolded(text.text, parts)), _as_list(arguments[1]))


def _argument(value: Value) -> ir.Argument:
    if isinstance(value, AGGREGATES):
        return tuple(leaves(value))
    return value  # type: ignore[no-any-return]


def _as_list(argument: ir.Argument) -> tuple[ir.Expr, ...]:
    if isinstance(argument, tuple):
        return argument
    assert not isinstance(argument, ir.Text)
    return (argument,)


def _unfolded(text: str, parts: list[t.Type]) -> str:
    """Each ``{}`` that stands for a struct becomes ``(field:{},...)``, so that there is one for each scalar."""
    pieces = text.split("{}")
    result = pieces[0]
    for piece, type_ in zip(pieces[1:], parts, strict=True):
        result += _holes(type_) + piece
    return result


def _holes(type_: t.Type) -> str:
    if isinstance(type_, t.StructLike):
        return "(" + ",".join(f"{name}:{_holes(f.type)}" for name, f in type_.fields.items()) + ")"
    if isinstance(type_, t.TupleType):
        return "(" + ",".join(map(_holes, type_.items)) + ")"
    if isinstance(type_, t.StackType):
        return "(" + ",".join([_holes(type_.element)] * type_.size) + ")"
    return "" if t.is_empty(type_) else "{}"
