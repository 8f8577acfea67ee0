"""Instances of externs, value sets, parsers and controls, with the names that the control plane knows them by."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import annotation_text
from emulator.p4.check.reporting import declared_at, fail, refuse, unsupported
from emulator.p4.errors import Kind
from emulator.p4.lower import erasure
from emulator.p4.lower.context import Context
from emulator.p4.lower.records import (
    ActionRecord,
    BlockInstance,
    ExternRecord,
    TableRecord,
    ValueSetRecord,
    count_applications,
)
from emulator.p4.syntax import tree as s


def make_instance(cx: Context, construct: r.Construct, path: str, application_count: int = 1) -> BlockInstance:
    """An instance with all that is instantiated in it."""
    cx.spend(construct.at)
    symbol, type_ = construct.block, cx.type(construct.type)
    assert symbol is not None
    assert isinstance(type_, t.BlockType)
    counts: dict[Any, int] = {}
    count_applications(symbol.body or (), counts)
    for state in symbol.states:
        count_applications(state.body, counts)
    counts = {key: count * application_count for key, count in counts.items()}
    types = dict(zip(symbol.type_parameters, type_.arguments, strict=True))
    instance = BlockInstance(symbol, path, {}, types, application_count)
    for parameter, bound in zip(symbol.constructor, construct.arguments, strict=True):
        _construct_with(cx, instance, parameter, bound, counts.get(parameter, 0))
    outer_env, cx.env = cx.env, {**cx.env, **instance.constructor}
    outer_types, cx.types = cx.types, {**cx.types, **types}
    for member in symbol.members:
        _make_member(cx, instance, member, counts)
        cx.env.update(instance.env)
    cx.env, cx.types = outer_env, outer_types
    return instance


def _construct_with(
    cx: Context, instance: BlockInstance, parameter: r.VariableSymbol, bound: r.Bound, application_count: int
) -> None:
    """A constructor's argument; an instance made for a parameter is called like it (section 18.3.1.6)."""
    value = bound.value
    if value is None:
        fail(cx, cx.at, f"the constructor's parameter {parameter.name!r} needs a value")
    made: Any
    if isinstance(value, r.Construct) and value.block is not None:
        made = make_instance(cx, value, f"{instance.path}.{parameter.name}", application_count)
        instance.members.append(made)
    elif isinstance(value, r.Construct):
        symbol = r.InstanceSymbol(parameter.name, value.type, value.at, value, (), value.at)
        made = extern_instance(cx, symbol, instance.path)
        instance.members.append(ExternRecord(made, symbol, cx.types))
    else:
        made = cx.value(value)
        if isinstance(made, BlockInstance):
            made.add_applications(application_count)
    instance.constructor[parameter] = made


def _make_member(cx: Context, instance: BlockInstance, member: r.Symbol, counts: dict[Any, int]) -> None:
    path = instance.path
    if isinstance(member, r.InstanceSymbol) and isinstance(member.type, t.ExternType):
        made = extern_instance(cx, member, path)
        instance.env[member] = made
        instance.members.append(ExternRecord(made, member, cx.types))
    elif isinstance(member, r.InstanceSymbol):
        if member.construct.block is None:
            unsupported(cx, member, f"an instance of {member.type}")
        name = control_name(member.annotations, path, member.name)
        inner = make_instance(cx, member.construct, name, counts.get(member, 0))
        instance.env[member] = inner
        instance.members.append(inner)
    elif isinstance(member, r.ActionSymbol):
        record = ActionRecord(member, control_name(member.annotations, path, member.name), types=cx.types)
        instance.actions[member] = record
        instance.members.append(record)
    elif isinstance(member, r.TableSymbol):
        table = TableRecord(member, control_name(member.annotations, path, member.name), types=cx.types)
        instance.tables[member] = table
        instance.members.append(table)
    elif isinstance(member, r.ValueSetSymbol):
        value_set = _value_set(cx, member, path)
        instance.env[member] = value_set
        instance.members.append(ValueSetRecord(value_set, member, cx.types))


def extern_instance(cx: Context, symbol: r.InstanceSymbol, path: str) -> ir.ExternInstance:
    type_ = cx.type(symbol.type)
    assert isinstance(type_, t.ExternType)
    name = control_name(symbol.annotations, path, symbol.name)
    claim(cx, "extern instance", name, symbol.at, object())
    arguments: tuple[int | str, ...] = ()
    type_arguments: tuple[ir.Type, ...] = ()
    if type_.name in cx.architecture.externs:  # else a declaration only: a call of its methods is refused
        arguments = tuple(_constructor_argument(cx, bound) for bound in symbol.construct.arguments)
        type_arguments = tuple(erasure.scalar(cx, a) for a in type_.arguments if _is_storable(cx, symbol, a))
    instance = ir.ExternInstance(
        name, type_.name, type_arguments, arguments, ir_annotations(symbol.annotations),
        cx.tokens.span(symbol.construct.at, symbol.end),
    )  # fmt: skip
    cx.made.externs.append(instance)
    return instance


def _is_storable(cx: Context, symbol: r.InstanceSymbol, argument: t.Type) -> bool:
    if not t.is_scalar(argument):
        refuse(cx, symbol, f"{symbol.type} (cells are numbers, bool, error or enums)")
    return t.is_scalar(argument)


def _constructor_argument(cx: Context, bound: r.Bound) -> int | str:
    value = None if bound.value is None else cx.value(bound.value)
    if isinstance(value, ir.Text):
        return value.text
    if not isinstance(value, ir.Constant):
        fail(cx, bound.value or cx.at, "a constructor's argument must be known at compile time", Kind.CONSTANT)
    type_ = bound.parameter.type
    if isinstance(type_, t.EnumType) and type_.base is None:
        return list(type_.members)[value.value]
    return value.value


def _value_set(cx: Context, symbol: r.ValueSetSymbol, path: str) -> ir.ValueSet:
    name = control_name(symbol.annotations, path, symbol.name)
    claim(cx, "value set", name, symbol.at, object())
    result = ir.ValueSet(
        name, tuple(_value_set_fields(cx, cx.type(symbol.element))),
        known_number(cx, symbol.size, "a value set's size", 1), ir_annotations(symbol.annotations),
        cx.span(symbol),
    )  # fmt: skip
    cx.made.value_sets.append(result)
    return result


def _value_set_fields(cx: Context, element: t.Type) -> list[ir.ValueSetField]:
    if isinstance(element, t.StructLike):
        return [
            ir.ValueSetField(
                annotation_text(f.annotations, "name") or f.name,
                _unsigned_type(erasure.scalar(cx, f.type)),
                _match_kind(f),
            )
            for f in element.fields.values()
        ]
    if isinstance(element, t.TupleType):
        return [
            ir.ValueSetField(str(i), _unsigned_type(erasure.scalar(cx, item)), "exact")
            for i, item in enumerate(element.items)
        ]
    return [ir.ValueSetField("", _unsigned_type(erasure.scalar(cx, element)), "exact")]


def _match_kind(field: t.Field) -> str:
    for annotation in field.annotations:
        if annotation.name == "match" and annotation.tokens:
            return str(annotation.tokens[0])
    return "exact"


def _unsigned_type(type_: ir.Type) -> ir.Type:
    return ir.Bits(type_.width_bits) if isinstance(type_, ir.Bits) else type_


def known_number(cx: Context, expr: r.Expr, what: str, least: int) -> int:
    """A number that depends on constructor parameters, which are known now."""
    value = cx.value(expr)
    if not isinstance(value, ir.Constant):
        fail(cx, expr, f"{what} must be known at compile time", Kind.CONSTANT)
    if value.value < least:
        fail(cx, expr, f"{what} must be at least {least}, not {value.value}", Kind.CONSTANT)
    return value.value


def control_name(annotations: s.Annotations, path: str, name: str) -> str:
    """``path.name``; ``@name("x")`` replaces the last part, ``@name(".x")`` all of it."""
    text = annotation_text(annotations, "name")
    if text is None:
        return f"{path}.{name}" if path else name
    if text.startswith("."):
        return text[1:]
    return f"{path}.{text}" if path else text


def claim(cx: Context, kind: str, name: str, at: int, owner: object) -> None:
    """Two objects of one kind cannot share a control-plane name; the owner may claim it again."""
    known_at, known = cx.names.control.setdefault(f"{kind} {name}", (at, owner))
    if known is not owner:
        notes = declared_at(cx, known_at)
        fail(cx, at, f"two {kind}s have the control-plane name {name!r}", Kind.DUPLICATE, notes)


def ir_annotations(annotations: s.Annotations) -> tuple[ir.Annotation, ...]:
    return tuple(ir.Annotation(a.name, None if a.tokens is None else " ".join(a.tokens)) for a in annotations)
