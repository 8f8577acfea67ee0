"""Methods of headers, stacks, tables, blocks, packets and externs (sections 8.17 to 8.20, 9)."""

from __future__ import annotations

from emulator.p4.check import arguments, coerce, constants
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context, Where
from emulator.p4.check.infer import Inference
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Kind
from emulator.p4.syntax import tree as s

_PACKET = frozenset((
    "packet_in.extract", "packet_in.lookahead", "packet_in.advance", "packet_in.length", "packet_out.emit",
))  # fmt: skip


_SIZES = frozenset(("minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"))


def call(cx: Context, node: s.Call, method: r.Method) -> r.Expr:
    base, name = method.base, method.name
    type_ = base.type
    if name in _SIZES:
        return _size_method(cx, node, base, name)
    if isinstance(base, r.TypeRef):
        return _direct_application(cx, node, base)
    if isinstance(type_, t.ExternType):
        return _extern_method(cx, node, base, type_, name)
    if isinstance(type_, t.StackType):
        return _stack_method(cx, node, base, name)
    if isinstance(type_, t.StructLike):
        return _header_method(cx, node, base, name)
    if isinstance(type_, t.TableType):
        return _table_apply(cx, node, base)
    return _block_apply(cx, node, base, type_)


def _size_method(cx: Context, node: s.Call, base: r.Expr, name: str) -> r.Expr:
    _no_arguments(cx, node, name)
    width = t.size_bits(base.type, largest=name.startswith("max"))
    if width is None:
        fail(cx, node, f"{name}(): {base.type} has no size that is known at compile time")
    return r.Literal(node.at, t.INT, width if name.endswith("Bits") else (width + 7) // 8)


def _no_arguments(cx: Context, node: s.Call, name: str) -> None:
    if node.arguments:
        fail(cx, node.arguments[0], f"{name}() takes no arguments")


def _header_method(cx: Context, node: s.Call, base: r.Expr, name: str) -> r.Expr:
    _no_arguments(cx, node, name)
    if name != "isValid":
        coerce.require_lvalue(cx, base, node.callee, f"{name}()")
    return r.BuiltinCall(node.at, t.BOOL if name == "isValid" else t.VOID, base, name)


def _stack_method(cx: Context, node: s.Call, base: r.Expr, name: str) -> r.Expr:
    if cx.place.where in (Where.STATE, Where.PARSER):
        fail(cx, node, f"{name}() cannot be used in a parser", Kind.PLACE)
    coerce.require_lvalue(cx, base, node.callee, f"{name}()")
    if len(node.arguments) != 1 or node.arguments[0].value is None:
        fail(cx, node, f"{name}() takes one argument: how many elements")
    count = constants.integer(cx, node.arguments[0].value, f"the argument of {name}()")
    if count < 0:
        fail(cx, node.arguments[0], f"{name}({count}): the number must not be negative", Kind.CONSTANT)
    return r.BuiltinCall(node.at, t.VOID, base, name, count)


def _extern_method(cx: Context, node: s.Call, base: r.Expr, type_: t.ExternType, name: str) -> r.Expr:
    signature = arguments.overload(cx, node, f"{type_}.{name}", type_.methods[name])
    full = f"{type_.name}.{name}"
    bound, inference = arguments.match(cx, node, signature, f"{name}()")
    result = inference.result(signature.result)
    if full in _PACKET:
        _packet_method(cx, node, full, bound, inference)
    return r.ExternCall(node.at, result, full, base, signature, bound, inference.arguments())


def _packet_method(cx: Context, node: s.Call, full: str, bound: tuple[r.Bound, ...], inference: Inference) -> None:
    if full == "packet_in.extract":
        _check_extracted(cx, node, bound[0].parameter.type, has_width=len(bound) == 2)
    elif full == "packet_in.lookahead":
        result = inference.arguments()[0]
        if t.width_bits(result) is None and not isinstance(result, t.TypeVariable):
            fail(cx, node, f"lookahead() cannot give {result}: it needs a fixed width")
    elif full == "packet_out.emit":
        _check_emitted(cx, node, bound[0].value)


def _check_extracted(cx: Context, node: s.Call, type_: t.Type, *, has_width: bool) -> None:
    """A header; with a width if, and only if, it has a varbit field."""
    if isinstance(type_, t.TypeVariable):
        return
    if not isinstance(type_, t.StructLike) or type_.kind != "header":
        fail(cx, node.arguments[0], f"extract() takes a header, not {type_}")
    count = sum(isinstance(t.unwrapped(f.type), t.VarbitType) for f in type_.fields.values())
    if has_width and count != 1:
        fail(cx, node.arguments[0], f"extract() with a width takes a header with one varbit field, {type_} has {count}")
    if not has_width and count:
        fail(cx, node.arguments[0], f"extract() of {type_} needs the width of its varbit field")


def _check_emitted(cx: Context, node: s.Call, value: r.Expr | None) -> None:
    """Headers, stacks, and structs and tuples of them."""

    def is_legal(type_: t.Type) -> bool:
        if isinstance(type_, t.StackType | t.TypeVariable):
            return True
        if isinstance(type_, t.TupleType):
            return all(map(is_legal, type_.items))
        return isinstance(type_, t.StructLike) and (
            type_.kind != "struct" or all(is_legal(f.type) for f in type_.fields.values())
        )

    if value is None or not is_legal(value.type):
        found = "_" if value is None else str(value.type)
        fail(cx, node.arguments[0], f"emit() takes headers, stacks, and structs of them, not {found}")


def _table_apply(cx: Context, node: s.Call, base: r.Expr) -> r.Expr:
    _no_arguments(cx, node, "apply")
    if cx.place.where is not Where.APPLY:
        fail(cx, node, f"a table cannot be applied in {cx.place.where}", Kind.PLACE)
    assert isinstance(base, r.Ref)
    assert isinstance(base.symbol, r.TableSymbol)
    return r.TableApply(node.at, t.ApplyResultType(base.symbol), base.symbol)


def _block_apply(cx: Context, node: s.Call, base: r.Expr, type_: t.Type) -> r.Expr:
    assert isinstance(type_, t.BlockType)
    allowed = Where.STATE if type_.kind == "parser" else Where.APPLY
    if cx.place.where is not allowed:
        fail(cx, node, f"a {type_.kind} cannot be applied in {cx.place.where}", Kind.PLACE)
    bound, _ = arguments.match(cx, node, type_.apply, f"{type_}.apply()")
    return r.BlockApply(node.at, t.VOID, base, bound)


def _direct_application(cx: Context, node: s.Call, base: r.TypeRef) -> r.Expr:
    """``C.apply(...)``: an instance without arguments, made here (section 14.2)."""
    type_ = base.type
    if not isinstance(type_, t.BlockType) or type_.constructor is None:
        fail(cx, node, f"{type_} cannot be applied")
    if type_.constructor.parameters:
        fail(cx, node, f"{type_} has constructor parameters: it must be instantiated before it is applied")
    construct = r.Construct(node.at, type_, declared_block(type_), ())
    return _block_apply(cx, node, construct, type_)


def declared_block(type_: t.Type) -> r.BlockSymbol | None:
    declaration = type_.declaration if isinstance(type_, t.BlockType) else None
    if isinstance(declaration, t.Generic):
        declaration = declaration.symbol
    return declaration if isinstance(declaration, r.BlockSymbol) else None
