"""Types of expressions, with constants folded on the way."""

from __future__ import annotations

from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.base import MAX_WIDTH, Where, is_open
from emulator.p4.check.constants import MAX_INT_BITS
from emulator.p4.check.operators import OperatorChecker
from emulator.p4.errors import Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.lexer import integer_base, integer_text

_HEADER_METHODS = {"header": ("isValid", "setValid", "setInvalid"), "header_union": ("isValid",)}


class ExpressionChecker(OperatorChecker):
    def expression(self, node: s.Expr) -> r.Expr:
        found: r.Expr = _EXPRESSIONS[type(node)](self, node)
        return found

    # --- leaves --------------------------------------------------------------------------------------------------

    def _int(self, node: s.IntLiteral) -> r.Expr:
        if node.value.bit_length() > MAX_INT_BITS:
            self.fail(node, f"this number has more than {MAX_INT_BITS} bits", Kind.CONSTANT)
        if node.width is None:
            return r.Literal(node.at, t.INT, node.value)
        if node.width > MAX_WIDTH:
            self.fail(node, f"this number is wider than {MAX_WIDTH} bits", Kind.CONSTANT)
        if node.is_signed and node.width < 1:
            self.fail(node, "an int<> needs at least one bit", Kind.CONSTANT)
        return self.literal_in(r.Literal(node.at, t.INT, node.value), t.bits(node.width, node.is_signed))

    def _bool(self, node: s.BoolLiteral) -> r.Expr:
        return r.Literal(node.at, t.BOOL, node.value)

    def _string(self, node: s.StringLiteral) -> r.Expr:
        return r.Literal(node.at, t.STRING, node.value)

    def _name(self, node: s.Name) -> r.Expr:  # noqa: RET503
        symbol = self.find(node.name, node.is_absolute)
        if symbol is None and node.name in self.match_kinds:
            return r.Literal(node.at, t.MATCH_KIND, self.match_kinds[node.name])
        if symbol is None:
            self.fail(node, f"{node.name!r} is not declared", Kind.NAME)
        if isinstance(symbol, r.ConstantSymbol):
            return self.moved(symbol.value, node.at)
        if isinstance(symbol, r.Symbol):
            return r.Ref(node.at, symbol.type, symbol)
        if symbol is t.UNKNOWN:
            return r.Literal(node.at, t.UNKNOWN, 0)
        self.fail(node, f"{node.name!r} is a type, not a value")

    @staticmethod
    def moved(value: r.Expr, at: int) -> r.Expr:
        """A constant's value where its name stands, so that errors point there."""
        if isinstance(value, r.Literal):
            return r.Literal(at, value.type, value.value)
        if isinstance(value, r.Aggregate):
            return r.Aggregate(at, value.type, value.items)
        return value

    def _type_name(self, node: s.TypeName) -> r.Expr:
        inner = node.type
        if isinstance(inner, s.NamedType):
            found = self.find(inner.name, inner.is_absolute)
            if isinstance(found, t.Generic) and (inner.arguments is None or any(map(is_open, inner.arguments))):
                return r.TypeRef(node.at, t.UNKNOWN, found, self.type_arguments(inner, found))
        return r.TypeRef(node.at, self.type_of(inner))

    def _this(self, node: s.This) -> r.Expr:
        if self.this is None:
            self.fail(node, "'this' can only be used in the methods that an instantiation gives", Kind.PLACE)
        return r.Ref(node.at, self.this.type, self.this)

    def _dots(self, node: s.Dots) -> r.Expr:
        return r.InvalidHeader(node.at, t.DEFAULTS)

    def _invalid_header(self, node: s.InvalidHeader) -> r.Expr:
        return r.InvalidHeader(node.at, t.INVALID_HEADER)

    def _dont_care(self, node: s.DontCare) -> r.Expr:
        return r.DontCare(node.at, t.UNKNOWN)

    def number(self, node: s.Expr) -> str | None:
        """A number that is known now, as p4c prints it: without a width, in the base it was written in."""
        if not isinstance(node, s.Name | s.IntLiteral | s.Binary | s.Unary | s.Cast):
            return None
        found = self.value(node)
        if isinstance(found, r.Literal) and (found.type is t.INT or isinstance(found.type, t.BitsType)):
            return integer_text(found.value, self.base_of(node))
        return None

    def base_of(self, node: s.Expr) -> int:
        if isinstance(node, s.IntLiteral):
            return integer_base(self.tokens.texts[node.at])
        if isinstance(node, s.Binary):
            return self.base_of(node.left)
        if isinstance(node, s.Unary | s.Cast):
            return self.base_of(node.operand)
        symbol = self.find(node.name, node.is_absolute) if isinstance(node, s.Name) else None
        return symbol.base if isinstance(symbol, r.ConstantSymbol) else 10

    # --- aggregates ----------------------------------------------------------------------------------------------

    def _list(self, node: s.ListOf) -> r.Expr:
        items = tuple(self.value(item) for item in node.items)
        return r.Aggregate(node.at, t.list_literal(tuple(i.type for i in items)), items)

    def _struct(self, node: s.StructOf) -> r.Expr:
        names: list[tuple[str, t.Type]] = []
        items: list[r.Expr] = []
        for name, value, at in node.fields:
            if any(name == known for known, _ in names):
                self.fail(at, f"the field {name!r} is given twice", Kind.DUPLICATE)
            items.append(self.value(value))
            names.append((name, items[-1].type))
        if node.has_defaults:
            names.append(("...", t.DEFAULTS))
            items.append(r.InvalidHeader(node.at, t.DEFAULTS))
        return r.Aggregate(node.at, t.StructLiteralType(tuple(names)), tuple(items))

    # --- members -------------------------------------------------------------------------------------------------

    def _member(self, node: s.Member) -> r.Expr:  # noqa: RET503
        base = self.expression(node.base)
        type_ = base.type
        name = node.name
        if isinstance(base, r.TypeRef):
            return self._type_member(base, node)
        if isinstance(type_, t.StructLike):
            field = type_.fields.get(name)
            if field is not None:
                if isinstance(base, r.Aggregate) and self.is_constant(base):
                    return self.moved(base.items[list(type_.fields).index(name)], node.at)
                return r.FieldOf(node.at, field.type, base, name)
        elif isinstance(type_, t.StructLiteralType) and isinstance(base, r.Aggregate):
            self.fail(node.base, "the type of this structure cannot be inferred; cast it to the struct's type")
        elif isinstance(type_, t.StackType):
            if name in ("next", "last", "lastIndex", "size"):
                return self._stack_member(base, type_, node)
        elif isinstance(type_, t.ApplyResultType) and name in ("hit", "miss", "action_run"):
            assert isinstance(base, r.TableApply)
            result = t.ActionRunType(type_.table) if name == "action_run" else t.BOOL
            return r.ApplyResult(node.at, result, base, name)
        if type_ is t.UNKNOWN:
            return base
        if self.has_method(type_, name):
            return r.Method(node.name_at, t.VOID, base, name)
        instead = self.architecture.former_members.get(f"{type_}.{name}")
        hint = f" any more: {instead}" if instead else ""
        self.fail(node.name_at, f"{type_} has no member {name!r}{hint}", Kind.NAME)

    def has_method(self, type_: t.Type, name: str) -> bool:
        if name in ("minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"):
            return True
        if isinstance(type_, t.ExternType):
            return name in type_.methods
        if isinstance(type_, t.StructLike):
            return name in _HEADER_METHODS.get(type_.kind, ())
        if isinstance(type_, t.StackType):
            return name in ("push_front", "pop_front")
        return isinstance(type_, t.TableType | t.BlockType) and name == "apply"

    def _type_member(self, base: r.TypeRef, node: s.Member) -> r.Expr:  # noqa: RET503
        type_ = base.type
        if isinstance(base.symbol, t.Generic):
            self.fail(node.base, f"{base.symbol.name} needs type arguments")
        if type_ is t.UNKNOWN:  # its declaration has been reported
            return r.Literal(node.at, t.UNKNOWN, 0)
        if isinstance(type_, t.EnumType) and node.name in type_.members:
            return r.Literal(node.at, type_, type_.members[node.name])
        if type_ is t.ERROR and node.name in self.errors:
            return r.Literal(node.at, t.ERROR, self.errors[node.name])
        if isinstance(type_, t.BlockType) and node.name == "apply":
            return r.Method(node.name_at, t.VOID, base, "apply")
        if self.has_method(type_, node.name):
            return r.Method(node.name_at, t.VOID, base, node.name)
        self.fail(node.name_at, f"{base.type} has no member {node.name!r}", Kind.NAME)

    def _stack_member(self, base: r.Expr, type_: t.StackType, node: s.Member) -> r.Expr:
        if node.name == "size":
            return r.Literal(node.at, t.bits(32), type_.size)
        if self.where not in (Where.STATE, Where.PARSER):
            self.fail(node.name_at, f"{node.name!r} of a header stack can only be used in parsers", Kind.PLACE)
        result = t.bits(32) if node.name == "lastIndex" else type_.element
        return r.StackProperty(node.at, result, base, node.name)

    def _index(self, node: s.Index) -> r.Expr:  # noqa: RET503
        base = self.value(node.base)
        index = self.arithmetic(self.value(node.index))
        kind = index.type
        if kind is not t.INT and not isinstance(kind, t.BitsType) and kind is not t.UNKNOWN:
            self.fail(node.index, f"an index must be an integer, not {index.type}")
        type_ = base.type
        if isinstance(type_, t.StackType):
            if isinstance(index, r.Literal):
                self._check_bounds(node, index.value, type_.size, str(type_))
                if isinstance(base, r.Aggregate) and self.is_constant(base):
                    return self.moved(base.items[int(index.value)], node.at)
            return r.ElementOf(node.at, type_.element, base, index)
        if isinstance(type_, t.TupleType | t.ListLiteralType):
            if not isinstance(index, r.Literal):
                self.fail(node.index, "a tuple's index must be known at compile time", Kind.CONSTANT)
            self._check_bounds(node, index.value, len(type_.items), str(type_))
            if isinstance(base, r.Aggregate) and self.is_constant(base):
                return self.moved(base.items[int(index.value)], node.at)
            return r.ElementOf(node.at, type_.items[index.value], base, index)
        if type_ is t.UNKNOWN:
            return base
        self.fail(node, f"{type_} cannot be indexed")

    def _check_bounds(self, node: s.Index, index: int, size: int, what: str) -> None:
        if not 0 <= index < size:
            self.fail(node.index, f"index {index} is outside {what}", Kind.CONSTANT)

    def _slice(self, node: s.SliceOf) -> r.Expr:
        base = self.arithmetic(self.value(node.base))
        if base.type is t.UNKNOWN:
            return base
        if not isinstance(base.type, t.BitsType) and base.type is not t.INT:
            self.fail(node, f"{base.type} cannot be sliced")
        if node.is_plus:
            width = self.constant_int(node.low, "a slice's width")
            start = self.arithmetic(self.value(node.high))
            if not isinstance(start, r.Literal):
                return self._slice_at(node, base, start, width)
            return self._fixed_slice(node, base, int(start.value) + width - 1, int(start.value))
        high = self.constant_int(node.high, "a slice's bound")
        low = self.constant_int(node.low, "a slice's bound")
        if low > high:
            self.fail(node, f"slice [{high}:{low}]: the bounds must fall, and not below 0", Kind.CONSTANT)
        return self._fixed_slice(node, base, high, low)

    def _fixed_slice(self, node: s.SliceOf, base: r.Expr, high: int, low: int) -> r.Expr:
        type_ = base.type
        if low < 0 or high < low - 1:
            self.fail(node, f"slice [{high}:{low}]: the bounds must fall, and not below 0", Kind.CONSTANT)
        if isinstance(type_, t.BitsType) and high >= type_.width:
            self.fail(node, f"slice [{high}:{low}] is outside {type_}", Kind.CONSTANT)
        if high - low >= MAX_WIDTH:
            self.fail(node, f"slice [{high}:{low}] is wider than {MAX_WIDTH} bits", Kind.CONSTANT)
        result = t.bits(high - low + 1)
        if isinstance(base, r.Literal):
            return r.Literal(node.at, result, (base.value >> low) & ((1 << result.width) - 1))
        if type_ is t.INT:
            self.fail(node.base, "the width of this int cannot be inferred; a slice needs a width")
        if not result.width:
            return r.SliceAt(node.at, result, base, r.Literal(node.at, t.bits(0), 0), 0)
        return r.SliceOf(node.at, result, base, high, low)

    def _slice_at(self, node: s.SliceOf, base: r.Expr, start: r.Expr, width: int) -> r.Expr:
        """``[start +: width]`` with a start that is known at run time only."""
        if not isinstance(base.type, t.BitsType):
            self.fail(node.base, "the width of this int cannot be inferred; a slice needs a width")
        if not isinstance(start.type, t.BitsType) or start.type.is_signed:
            self.fail(node.high, f"a slice's low bit must be a bit<W>, not {start.type}")
        if not 0 <= width <= base.type.width:
            self.fail(node.low, f"a slice of {width} bits is outside {base.type}", Kind.CONSTANT)
        return r.SliceAt(node.at, t.bits(width), base, start, width)

    def call(self, node: s.Call) -> r.Expr:
        raise NotImplementedError


_EXPRESSIONS: dict[Any, Any] = {
    s.IntLiteral: ExpressionChecker._int,
    s.BoolLiteral: ExpressionChecker._bool,
    s.StringLiteral: ExpressionChecker._string,
    s.Name: ExpressionChecker._name,
    s.TypeName: ExpressionChecker._type_name,
    s.This: ExpressionChecker._this,
    s.Dots: ExpressionChecker._dots,
    s.InvalidHeader: ExpressionChecker._invalid_header,
    s.DontCare: ExpressionChecker._dont_care,
    s.ListOf: ExpressionChecker._list,
    s.StructOf: ExpressionChecker._struct,
    s.Member: ExpressionChecker._member,
    s.Index: ExpressionChecker._index,
    s.SliceOf: ExpressionChecker._slice,
    s.Unary: ExpressionChecker.unary,
    s.Binary: ExpressionChecker.binary,
    s.Mux: ExpressionChecker.mux,
    s.Cast: ExpressionChecker.cast,
    s.Call: lambda checker, node: checker.call(node),
    s.MaskOf: ExpressionChecker.mask,
    s.RangeOf: ExpressionChecker.range,
    s.TupleKeyset: ExpressionChecker.tuple_keyset,
}
