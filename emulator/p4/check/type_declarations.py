"""Declarations of types: structs, headers, enums, typedefs, externs, block types (sections 7.2, 15, 17)."""

from __future__ import annotations

from emulator.p4.check import coerce, signatures, types
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import annotation_text
from emulator.p4.check.constants import fits
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import fail, report
from emulator.p4.errors import Kind
from emulator.p4.syntax import tree as s


def declare(cx: Context, node: s.Decl, type_: t.Type | t.Generic) -> None:
    """A top-level type."""
    if isinstance(type_, t.Type):
        cx.declarations.append(type_)
    cx.declare(node.name, type_, node.name_at)


# --- structs and headers -----------------------------------------------------------------------------------------


def struct(cx: Context, node: s.Struct) -> t.Type | t.Generic:
    if not node.type_parameters:
        return _struct_type(cx, node, node, ())
    generic = _generic(cx, node.name_at, node.name, node.type_parameters)
    with signatures.type_parameters(cx, generic.parameters):
        generic.made[generic.parameters] = _struct_type(cx, node, generic, generic.parameters)
    return generic


def _struct_type(cx: Context, node: s.Struct, declaration: object, arguments: tuple[t.Type, ...]) -> t.StructLike:
    fields: dict[str, t.Field] = {}
    with cx.within(unfinished_type=node.name):
        for field in node.fields:
            type_ = types.type_of(cx, field.type)
            if field.name in fields:
                report(cx, field.name_at, f"{node.name} has two fields {field.name!r}", Kind.DUPLICATE)
                continue
            _check_field(cx, node, field, type_)
            fields[field.name] = t.Field(field.name, type_, field.annotations, field.name_at)
    control_name = annotation_text(node.annotations, "name") or node.name
    return t.StructLike(node.kind, node.name, fields, arguments, declaration, control_name)


def _check_field(cx: Context, node: s.Struct, field: s.StructField, type_: t.Type) -> None:
    """Section 7.2.8's table of legal field types."""
    if not types.is_legal_field(node.kind, type_):
        report(cx, field.type, f"a field of a {node.kind} cannot have type {type_}")


def _generic(cx: Context, at: int, name: str, parameters: tuple[str, ...]) -> t.Generic:
    if len(set(parameters)) < len(parameters):
        fail(cx, at, f"{name} has two type parameters of one name", Kind.DUPLICATE)
    return t.Generic(name, tuple(t.TypeVariable(p) for p in parameters))


# --- enums and names ---------------------------------------------------------------------------------------------


def enum(cx: Context, node: s.Enum) -> t.EnumType:
    base = None
    if node.type is not None:
        found = types.type_of(cx, node.type)
        if not isinstance(found, t.BitsType):
            fail(cx, node.type, f"an enum's representation must be bit<W> or int<W>, not {found}")
        base = found
    members: dict[str, int] = {}
    for position, (name, at, value) in enumerate(node.members):
        if name in members:
            report(cx, at, f"{node.name} has two members {name!r}", Kind.DUPLICATE)
            continue
        members[name] = position
        if base is not None and value is not None:
            members[name] = _member_value(cx, value, base, f"value of {node.name}.{name}")
    return t.EnumType(node.name, members, base, node)


def _member_value(cx: Context, node: s.Expr, base: t.BitsType, what: str) -> int:
    """Unlike other numbers, one that does not fit is an error (section 7.2.1)."""
    found = coerce.operand(cx.value(node))
    if not isinstance(found, r.Literal):
        fail(cx, node, f"{what}: it must be known at compile time", Kind.CONSTANT)
    if found.type is t.INT and not fits(found.value, base):
        fail(cx, node, f"{what}: {found.value} does not fit in {base}", Kind.CONSTANT)
    number = coerce.assign(cx, found, base, node, what)
    assert isinstance(number, r.Literal)
    return int(number.value)


def typedef(cx: Context, node: s.Typedef) -> t.Type:
    if isinstance(node.type, s.Struct):
        inner = struct(cx, node.type)
        cx.declare(node.type.name, inner, node.type.name_at)
        assert isinstance(inner, t.Type)
        return inner
    if isinstance(node.type, s.Enum):
        made = enum(cx, node.type)
        cx.declare(node.type.name, made, node.type.name_at)
        return made
    type_ = types.type_of(cx, node.type)
    if not node.is_new:
        if type_ in (t.VOID, t.STRING, t.MATCH_KIND):
            fail(cx, node.type, f"typedef cannot name {type_}")
        return type_
    if not isinstance(type_, t.BitsType | t.NewType) and type_ is not t.BOOL and type_ is not t.UNKNOWN:
        fail(cx, node.type, f"'type' cannot make a new type of {type_}: it takes bit<W>, int<W> and bool")
    return t.NewType(node.name, type_, node)


def members(cx: Context, node: s.Members) -> None:
    table = cx.errors if node.name == "error" else cx.match_kinds
    for name, at in node.members:
        if name in table:
            report(cx, at, f"{node.name}.{name} is declared twice", Kind.DUPLICATE)
        table.setdefault(name, len(table))


# --- externs -----------------------------------------------------------------------------------------------------


def extern(cx: Context, node: s.ExternObject) -> t.Type | t.Generic:
    if not node.type_parameters:
        type_ = t.ExternType(node.name, (), {}, [], node)
        cx.declare(node.name, type_, node.name_at)
        _extern_methods(cx, type_, node)
        return type_
    generic = _generic(cx, node.name_at, node.name, node.type_parameters)
    pattern = t.ExternType(node.name, generic.parameters, {}, [], generic)
    generic.made[generic.parameters] = pattern
    cx.declare(node.name, generic, node.name_at)
    with signatures.type_parameters(cx, generic.parameters):
        _extern_methods(cx, pattern, node)
    return generic


def _extern_methods(cx: Context, type_: t.ExternType, node: s.ExternObject) -> None:
    for method in node.methods:
        signature = signatures.signature(cx, method, t.VOID if method.return_type is None else None)
        if method.return_type is None:
            overloads = type_.constructors
            _check_constructor_parameters(cx, method)
        else:
            overloads = type_.methods.setdefault(method.name, [])
            if method.name == node.name:
                report(cx, method.name_at, "a constructor has no result type")
        if any(t.takes_the_same(o, signature) for o in overloads):
            text = f"{node.name}.{method.name} is declared twice with such parameters"
            report(cx, method.name_at, text, Kind.DUPLICATE)
        overloads.append(signature)


def _check_constructor_parameters(cx: Context, node: s.Prototype) -> None:
    for parameter in node.parameters:
        if parameter.direction:
            report(cx, parameter, "a constructor's parameter has no direction", Kind.DIRECTION)


# --- block types -------------------------------------------------------------------------------------------------


def block_type(cx: Context, node: s.BlockType) -> t.Type | t.Generic:
    if not node.type_parameters:
        return _make_block_type(cx, node, node, ())
    generic = _generic(cx, node.name_at, node.name, node.type_parameters)
    with signatures.type_parameters(cx, generic.parameters):
        generic.made[generic.parameters] = _make_block_type(cx, node, generic, generic.parameters)
    return generic


def _make_block_type(cx: Context, node: s.BlockType, declaration: object, arguments: tuple[t.Type, ...]) -> t.BlockType:
    is_package = node.kind == "package"
    with cx.within(allows_any_type=is_package):
        parameters = signatures.parameters(cx, node.parameters, of_package=is_package)
    signature = t.Signature(node.name, (), parameters, t.VOID)
    constructor = signature if is_package else None
    return t.BlockType(node.kind, node.name, signature, constructor, arguments, declaration)
