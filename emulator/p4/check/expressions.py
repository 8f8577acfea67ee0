"""Types of expressions, with constants folded on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.p4.check import calls, coerce, constants, operators, types
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.constants import MAX_INT_BITS, MAX_WIDTH
from emulator.p4.check.context import Context, Where
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Kind
from emulator.p4.syntax import tree as s

_HEADER_METHODS = {"header": ("isValid", "setValid", "setInvalid"), "header_union": ("isValid",)}


# --- leaves ------------------------------------------------------------------------------------------------------


def _int_literal(cx: Context, node: s.IntLiteral) -> r.Expr:
    if node.value.bit_length() > MAX_INT_BITS:
        fail(cx, node, f"this number has more than {MAX_INT_BITS} bits", Kind.CONSTANT)
    if node.width is None:
        return r.Literal(node.at, t.INT, node.value)
    if node.width > MAX_WIDTH:
        fail(cx, node, f"this number is wider than {MAX_WIDTH} bits", Kind.CONSTANT)
    if node.is_signed and node.width < 1:
        fail(cx, node, "an int<> needs at least one bit", Kind.CONSTANT)
    return coerce.literal_in(cx, r.Literal(node.at, t.INT, node.value), t.bits(node.width, node.is_signed))


def _bool_literal(cx: Context, node: s.BoolLiteral) -> r.Expr:
    return r.Literal(node.at, t.BOOL, node.value)


def _string_literal(cx: Context, node: s.StringLiteral) -> r.Expr:
    return r.Literal(node.at, t.STRING, node.value)


def _name(cx: Context, node: s.Name) -> r.Expr:  # noqa: RET503
    symbol = cx.find(node.name, node.is_absolute)
    if symbol is None and node.name in cx.match_kinds:
        return r.Literal(node.at, t.MATCH_KIND, cx.match_kinds[node.name])
    if symbol is None:
        fail(cx, node, f"{node.name!r} is not declared", Kind.NAME)
    if isinstance(symbol, r.ConstantSymbol):
        return _moved(symbol.value, node.at)
    if isinstance(symbol, r.Symbol):
        return r.Ref(node.at, symbol.type, symbol)
    if symbol is t.UNKNOWN:
        return r.Literal(node.at, t.UNKNOWN, 0)
    fail(cx, node, f"{node.name!r} is a type, not a value")


def _moved(value: r.Expr, at: int) -> r.Expr:
    """A constant's value at the place of its name, so that errors point there."""
    if isinstance(value, r.Literal):
        return r.Literal(at, value.type, value.value)
    if isinstance(value, r.Aggregate):
        return r.Aggregate(at, value.type, value.items)
    return value


def _type_name(cx: Context, node: s.TypeName) -> r.Expr:
    inner = node.type
    if isinstance(inner, s.NamedType):
        found = cx.find(inner.name, inner.is_absolute)
        if isinstance(found, t.Generic) and (inner.arguments is None or any(map(types.is_open, inner.arguments))):
            return r.TypeRef(node.at, t.UNKNOWN, found, types.type_arguments(cx, inner, found))
    return r.TypeRef(node.at, types.type_of(cx, inner))


def _this(cx: Context, node: s.This) -> r.Expr:
    if cx.place.this is None:
        fail(cx, node, "'this' can only be used in the methods that an instantiation gives", Kind.PLACE)
    return r.Ref(node.at, cx.place.this.type, cx.place.this)


def _dots(cx: Context, node: s.Dots) -> r.Expr:
    return r.InvalidHeader(node.at, t.DEFAULTS)


def _invalid_header(cx: Context, node: s.InvalidHeader) -> r.Expr:
    return r.InvalidHeader(node.at, t.INVALID_HEADER)


def _dont_care(cx: Context, node: s.DontCare) -> r.Expr:
    return r.DontCare(node.at, t.UNKNOWN)


# --- aggregates --------------------------------------------------------------------------------------------------


def _list(cx: Context, node: s.ListOf) -> r.Expr:
    items = tuple(cx.value(item) for item in node.items)
    return r.Aggregate(node.at, t.list_literal(tuple(i.type for i in items)), items)


def _struct(cx: Context, node: s.StructOf) -> r.Expr:
    names: list[tuple[str, t.Type]] = []
    items: list[r.Expr] = []
    for name, value, at in node.fields:
        if any(name == known for known, _ in names):
            fail(cx, at, f"the field {name!r} is given twice", Kind.DUPLICATE)
        items.append(cx.value(value))
        names.append((name, items[-1].type))
    if node.has_defaults:
        names.append(("...", t.DEFAULTS))
        items.append(r.InvalidHeader(node.at, t.DEFAULTS))
    return r.Aggregate(node.at, t.StructLiteralType(tuple(names)), tuple(items))


# --- members -----------------------------------------------------------------------------------------------------


def _member(cx: Context, node: s.Member) -> r.Expr:  # noqa: RET503
    base = cx.expression(node.base)
    type_ = base.type
    name = node.name
    if isinstance(base, r.TypeRef):
        return _type_member(cx, base, node)
    if isinstance(type_, t.StructLike):
        field = type_.fields.get(name)
        if field is not None:
            if isinstance(base, r.Aggregate) and constants.is_constant(base):
                return _moved(base.items[list(type_.fields).index(name)], node.at)
            return r.FieldOf(node.at, field.type, base, name)
    elif isinstance(type_, t.StructLiteralType) and isinstance(base, r.Aggregate):
        fail(cx, node.base, "the type of this structure cannot be inferred; cast it to the struct's type")
    elif isinstance(type_, t.StackType):
        if name in ("next", "last", "lastIndex", "size"):
            return _stack_member(cx, base, type_, node)
    elif isinstance(type_, t.ApplyResultType) and name in ("hit", "miss", "action_run"):
        assert isinstance(base, r.TableApply)
        result = t.ActionRunType(type_.table) if name == "action_run" else t.BOOL
        return r.ApplyResult(node.at, result, base, name)
    if type_ is t.UNKNOWN:
        return base
    if _has_method(type_, name):
        return r.Method(node.name_at, t.VOID, base, name)
    instead = cx.architecture.former_members.get(f"{type_}.{name}")
    hint = f" any more: {instead}" if instead else ""
    fail(cx, node.name_at, f"{type_} has no member {name!r}{hint}", Kind.NAME)


def _has_method(type_: t.Type, name: str) -> bool:
    if name in ("minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"):
        return True
    if isinstance(type_, t.ExternType):
        return name in type_.methods
    if isinstance(type_, t.StructLike):
        return name in _HEADER_METHODS.get(type_.kind, ())
    if isinstance(type_, t.StackType):
        return name in ("push_front", "pop_front")
    return isinstance(type_, t.TableType | t.BlockType) and name == "apply"


def _type_member(cx: Context, base: r.TypeRef, node: s.Member) -> r.Expr:  # noqa: RET503
    type_ = base.type
    if isinstance(base.symbol, t.Generic):
        fail(cx, node.base, f"{base.symbol.name} needs type arguments")
    if type_ is t.UNKNOWN:  # its declaration has been reported
        return r.Literal(node.at, t.UNKNOWN, 0)
    if isinstance(type_, t.EnumType) and node.name in type_.members:
        return r.Literal(node.at, type_, type_.members[node.name])
    if type_ is t.ERROR and node.name in cx.errors:
        return r.Literal(node.at, t.ERROR, cx.errors[node.name])
    if isinstance(type_, t.BlockType) and node.name == "apply":
        return r.Method(node.name_at, t.VOID, base, "apply")
    if _has_method(type_, node.name):
        return r.Method(node.name_at, t.VOID, base, node.name)
    fail(cx, node.name_at, f"{base.type} has no member {node.name!r}", Kind.NAME)


def _stack_member(cx: Context, base: r.Expr, type_: t.StackType, node: s.Member) -> r.Expr:
    if node.name == "size":
        return r.Literal(node.at, t.bits(32), type_.size)
    if cx.place.where not in (Where.STATE, Where.PARSER):
        fail(cx, node.name_at, f"{node.name!r} of a header stack can only be used in parsers", Kind.PLACE)
    result = t.bits(32) if node.name == "lastIndex" else type_.element
    return r.StackProperty(node.at, result, base, node.name)


def _index(cx: Context, node: s.Index) -> r.Expr:  # noqa: RET503
    base = cx.value(node.base)
    index = coerce.operand(cx.value(_index_operand(node.index)))
    kind = index.type
    if kind is not t.INT and not isinstance(kind, t.BitsType) and kind is not t.UNKNOWN:
        fail(cx, node.index, f"an index must be an integer, not {index.type}")
    type_ = base.type
    if isinstance(type_, t.StackType):
        if isinstance(index, r.Literal):
            _check_bounds(cx, node, index.value, type_.size, str(type_))
            if isinstance(base, r.Aggregate) and constants.is_constant(base):
                return _moved(base.items[int(index.value)], node.at)
        return r.ElementOf(node.at, type_.element, base, index)
    if isinstance(type_, t.TupleType | t.ListLiteralType):
        if not isinstance(index, r.Literal):
            fail(cx, node.index, "a tuple's index must be known at compile time", Kind.CONSTANT)
        _check_bounds(cx, node, index.value, len(type_.items), str(type_))
        if isinstance(base, r.Aggregate) and constants.is_constant(base):
            return _moved(base.items[int(index.value)], node.at)
        return r.ElementOf(node.at, type_.items[index.value], base, index)
    if type_ is t.UNKNOWN:
        return base
    fail(cx, node, f"{type_} cannot be indexed")


def _index_operand(node: s.Expr) -> s.Expr:
    """``s[(int)i]`` is ``s[i]``: p4c takes the cast of a run-time value there."""
    if isinstance(node, s.Cast) and isinstance(node.type, s.SimpleType) and node.type.name == "int":
        return node.operand
    return node


def _check_bounds(cx: Context, node: s.Index, index: int, size: int, what: str) -> None:
    if not 0 <= index < size:
        fail(cx, node.index, f"index {index} is outside {what}", Kind.CONSTANT)


def _slice(cx: Context, node: s.SliceOf) -> r.Expr:
    base = coerce.operand(cx.value(node.base))
    if base.type is t.UNKNOWN:
        return base
    if not isinstance(base.type, t.BitsType) and base.type is not t.INT:
        fail(cx, node, f"{base.type} cannot be sliced")
    if node.is_plus:
        width = constants.integer(cx, node.low, "a slice's width")
        start = coerce.operand(cx.value(node.high))
        if not isinstance(start, r.Literal):
            return _slice_at(cx, node, base, start, width)
        return _fixed_slice(cx, node, base, int(start.value) + width - 1, int(start.value))
    high = constants.integer(cx, node.high, "a slice's bound")
    low = constants.integer(cx, node.low, "a slice's bound")
    if low > high:
        fail(cx, node, f"slice [{high}:{low}]: the bounds must fall, and not below 0", Kind.CONSTANT)
    return _fixed_slice(cx, node, base, high, low)


def _fixed_slice(cx: Context, node: s.SliceOf, base: r.Expr, high: int, low: int) -> r.Expr:
    type_ = base.type
    if low < 0 or high < low - 1:
        fail(cx, node, f"slice [{high}:{low}]: the bounds must fall, and not below 0", Kind.CONSTANT)
    if isinstance(type_, t.BitsType) and high >= type_.width:
        fail(cx, node, f"slice [{high}:{low}] is outside {type_}", Kind.CONSTANT)
    if high - low >= MAX_WIDTH:
        fail(cx, node, f"slice [{high}:{low}] is wider than {MAX_WIDTH} bits", Kind.CONSTANT)
    result = t.bits(high - low + 1)
    if isinstance(base, r.Literal):
        return r.Literal(node.at, result, (base.value >> low) & ((1 << result.width) - 1))
    if type_ is t.INT:
        fail(cx, node.base, "the width of this int cannot be inferred; a slice needs a width")
    if not result.width:
        return r.SliceAt(node.at, result, base, r.Literal(node.at, t.bits(0), 0), 0)
    return r.SliceOf(node.at, result, base, high, low)


def _slice_at(cx: Context, node: s.SliceOf, base: r.Expr, start: r.Expr, width: int) -> r.Expr:
    """``[start +: width]`` with a start that is known at run time only."""
    if not isinstance(base.type, t.BitsType):
        fail(cx, node.base, "the width of this int cannot be inferred; a slice needs a width")
    if not isinstance(start.type, t.BitsType) or start.type.is_signed:
        fail(cx, node.high, f"a slice's low bit must be a bit<W>, not {start.type}")
    if not 0 <= width <= base.type.width:
        fail(cx, node.low, f"a slice of {width} bits is outside {base.type}", Kind.CONSTANT)
    return r.SliceAt(node.at, t.bits(width), base, start, width)


EXPRESSIONS: dict[type, Callable[[Context, Any], r.Expr]] = {
    s.IntLiteral: _int_literal,
    s.BoolLiteral: _bool_literal,
    s.StringLiteral: _string_literal,
    s.Name: _name,
    s.TypeName: _type_name,
    s.This: _this,
    s.Dots: _dots,
    s.InvalidHeader: _invalid_header,
    s.DontCare: _dont_care,
    s.ListOf: _list,
    s.StructOf: _struct,
    s.Member: _member,
    s.Index: _index,
    s.SliceOf: _slice,
    s.Unary: operators.unary,
    s.Binary: operators.binary,
    s.Mux: operators.mux,
    s.Cast: coerce.cast,
    s.Call: calls.call,
    s.MaskOf: operators.mask,
    s.RangeOf: operators.range_of,
    s.TupleKeyset: operators.tuple_keyset,
}
