"""Types of expressions, with constants folded on the way."""

from __future__ import annotations

from typing import Any

from emulator.p4 import resolved as r
from emulator.p4 import syntax as s
from emulator.p4 import types as t
from emulator.p4.check_base import Where
from emulator.p4.check_coerce import CoercionChecker
from emulator.p4.constants import FoldError, fold_binary, fold_unary
from emulator.p4.errors import Kind

_ARITHMETIC = frozenset(("+", "-", "*", "/", "%", "|+|", "|-|", "&", "|", "^"))
_BITWISE = frozenset("&|^")
_ORDER = frozenset(("<", ">", "<=", ">="))


class ExpressionChecker(CoercionChecker):
    def expression(self, node: s.Expr) -> r.Expr:
        found: r.Expr = _EXPRESSIONS[type(node)](self, node)
        return found

    def value(self, node: s.Expr) -> r.Expr:
        """An expression that must have a value: not a type, a method or an instance."""
        found = self.expression(node)
        if isinstance(found, r.TypeRef):
            self.fail(node, f"{found.type} is a type, not a value")
        if isinstance(found, r.Method):
            self.fail(node, f"{found.name!r} can only be called")
        if found.type is t.VOID:
            self.fail(node, "this call has no value")
        return found

    def typed(self, node: s.Expr, target: t.Type, what: str) -> r.Expr:
        """An expression as a value of that type, by implicit casts."""
        return self.coerce(self.value(node), target, node, what)

    # --- leaves --------------------------------------------------------------------------------------------------

    def _int(self, node: s.IntLiteral) -> r.Expr:
        if node.width is None:
            return r.Literal(node.at, t.INT, node.value)
        if node.is_signed and node.width < 1:
            self.fail(node, "an int<> needs at least one bit", Kind.CONSTANT)
        return self.literal_in(r.Literal(node.at, t.INT, node.value), t.bits(node.width, node.is_signed))

    def _bool(self, node: s.BoolLiteral) -> r.Expr:
        return r.Literal(node.at, t.BOOL, node.value)

    def _string(self, node: s.StringLiteral) -> r.Expr:
        return r.Literal(node.at, t.STRING, node.value)

    def _name(self, node: s.Name) -> r.Expr:  # noqa: RET503
        symbol = self.find(node.name, node.is_absolute)
        if symbol is None:
            self.fail(node, f"{node.name!r} is not declared", Kind.NAME)
        if isinstance(symbol, r.ConstantSymbol):
            return self.moved(symbol.value, node.at)
        if isinstance(symbol, r.Symbol):
            return r.Ref(node.at, symbol.type, symbol)
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
            if isinstance(found, t.Generic) and inner.arguments is None:
                return r.TypeRef(node.at, t.UNKNOWN, found)
        return r.TypeRef(node.at, self.type_of(inner))

    def _this(self, node: s.This) -> r.Expr:
        self.unsupported(node, "'this' (abstract methods)")

    def _dots(self, node: s.Dots) -> r.Expr:
        return r.InvalidHeader(node.at, t.DEFAULTS)

    def _invalid_header(self, node: s.InvalidHeader) -> r.Expr:
        return r.InvalidHeader(node.at, t.INVALID_HEADER)

    def _dont_care(self, node: s.DontCare) -> r.Expr:
        return r.DontCare(node.at, t.UNKNOWN)

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
                if isinstance(base, r.Aggregate):
                    return self.moved(base.items[list(type_.fields).index(name)], node.at)
                return r.FieldOf(node.at, field.type, base, name)
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
        self.fail(node.name_at, f"{type_} has no member {name!r}", Kind.NAME)

    def has_method(self, type_: t.Type, name: str) -> bool:
        if name in ("minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"):
            return True
        if isinstance(type_, t.ExternType):
            return name in type_.methods
        if isinstance(type_, t.StructLike):
            return type_.kind != "struct" and name in ("isValid", "setValid", "setInvalid")
        if isinstance(type_, t.StackType):
            return name in ("push_front", "pop_front")
        return isinstance(type_, t.TableType | t.BlockType) and name == "apply"

    def _type_member(self, base: r.TypeRef, node: s.Member) -> r.Expr:  # noqa: RET503
        type_ = base.type
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
        index = self.value(node.index)
        kind = t.unwrapped(index.type)
        if kind is not t.INT and not isinstance(kind, t.BitsType) and kind is not t.UNKNOWN:
            self.fail(node.index, f"an index must be an integer, not {index.type}")
        type_ = base.type
        if isinstance(type_, t.StackType):
            if isinstance(index, r.Literal):
                self._check_bounds(node, index.value, type_.size, str(type_))
                if isinstance(base, r.Aggregate):
                    return base.items[int(index.value)]
            elif kind is t.INT:
                self.fail(node.index, "the width of this index cannot be inferred")
            return r.ElementOf(node.at, type_.element, base, index)
        if isinstance(type_, t.TupleType | t.ListLiteralType):
            if not isinstance(index, r.Literal):
                self.fail(node.index, "a tuple's index must be known at compile time", Kind.CONSTANT)
            self._check_bounds(node, index.value, len(type_.items), str(type_))
            if isinstance(base, r.Aggregate):
                return base.items[int(index.value)]
            return r.ElementOf(node.at, type_.items[index.value], base, index)
        if type_ is t.UNKNOWN:
            return base
        self.fail(node, f"{type_} cannot be indexed")

    def _check_bounds(self, node: s.Index, index: int, size: int, what: str) -> None:
        if not 0 <= index < size:
            self.fail(node.index, f"index {index} is outside {what}", Kind.CONSTANT)

    def _slice(self, node: s.SliceOf) -> r.Expr:
        base = self.value(node.base)
        first = self.constant_int(node.high, "a slice's bound")
        second = self.constant_int(node.low, "a slice's bound")
        high, low = (first + second - 1, first) if node.is_plus else (first, second)
        type_ = t.unwrapped(base.type)
        if type_ is t.UNKNOWN:
            return base
        if type_ is t.INT:
            self.fail(node.base, "the width of this int cannot be inferred; a slice needs a width")
        if not isinstance(type_, t.BitsType):
            self.fail(node, f"{base.type} cannot be sliced")
        if not 0 <= low <= high:
            self.fail(node, f"slice [{high}:{low}]: the bounds must fall, and not below 0", Kind.CONSTANT)
        if high >= type_.width:
            self.fail(node, f"slice [{high}:{low}] is outside {type_}", Kind.CONSTANT)
        result = t.bits(high - low + 1)
        if isinstance(base, r.Literal):
            return r.Literal(node.at, result, (base.value >> low) & ((1 << result.width) - 1))
        return r.SliceOf(node.at, result, base, high, low)

    # --- operators -----------------------------------------------------------------------------------------------

    def _unary(self, node: s.Unary) -> r.Expr:
        operand = self.arithmetic(self.value(node.operand)) if node.op != "!" else self.value(node.operand)
        type_ = operand.type
        if type_ is t.UNKNOWN:
            return operand
        if node.op == "!":
            legal = type_ is t.BOOL
        else:
            legal = isinstance(type_, t.BitsType) or (type_ is t.INT and node.op != "~")
        if not legal:
            self.fail(node, f"operator {node.op!r} cannot be applied to {type_}")
        if isinstance(operand, r.Literal):
            return r.Literal(node.at, type_, fold_unary(node.op, operand.value, type_))
        return operand if node.op == "+" else r.Unary(node.at, type_, node.op, operand)

    def arithmetic(self, expr: r.Expr) -> r.Expr:
        """A serializable enum becomes its representation in arithmetic (section 8.3)."""
        if isinstance(expr.type, t.EnumType) and expr.type.base is not None:
            return self.cast_to(expr, expr.type.base)
        return expr

    def _binary(self, node: s.Binary) -> r.Expr:
        return self.operator(node, node.op, self.value(node.left), self.value(node.right), node.right)

    def operator(self, node: s.Node, op: str, left: r.Expr, right: r.Expr, right_node: s.Node) -> r.Expr:
        """``left op right`` checked and folded; ``node`` is what is underlined."""
        if left.type is t.UNKNOWN or right.type is t.UNKNOWN:
            return r.Literal(node.at, t.UNKNOWN, 0)
        if op in ("==", "!="):
            left, right = self._equality(node, op, left, right)
            result: t.Type = t.BOOL
        elif op in ("&&", "||"):
            if left.type is not t.BOOL or right.type is not t.BOOL:
                self._bad_operands(node, op, left, right)
            result = t.BOOL
        elif op in ("<<", ">>"):
            left, right = self._shift(node, op, self.arithmetic(left), self.arithmetic(right), right_node)
            result = left.type
        elif op == "++":
            return self._concat(node, self.arithmetic(left), self.arithmetic(right))
        else:
            left, right = self._same_width(node, op, self.arithmetic(left), self.arithmetic(right))
            result = t.BOOL if op in _ORDER else left.type
        return self._folded(node, op, left, right, result)

    def _folded(self, node: s.Node, op: str, left: r.Expr, right: r.Expr, result: t.Type) -> r.Expr:
        if isinstance(right, r.Literal):
            if op in ("/", "%") and right.value == 0:
                self.fail(node, "division by zero" if op == "/" else "modulo by zero", Kind.CONSTANT)
            if isinstance(left, r.Literal):
                try:
                    value = fold_binary(op, left.value, right.value, left.type, right.type)
                except FoldError as error:
                    self.fail(node, str(error), Kind.CONSTANT)
                return r.Literal(node.at, result, value)
        if op in ("&&", "||") and isinstance(left, r.Literal):
            if bool(left.value) == (op == "||"):
                return r.Literal(node.at, t.BOOL, op == "||")
            return right
        if left.type is t.INT and result is not t.BOOL:
            return r.Binary(node.at, t.INT, op, left, right)
        return r.Binary(node.at, result, op, left, right)

    def _bad_operands(self, node: s.Node, op: str, left: r.Expr, right: r.Expr) -> None:
        self.fail(node, f"operator {op!r} cannot be applied to {left.type} and {right.type}")

    def _equality(self, node: s.Node, op: str, left: r.Expr, right: r.Expr) -> tuple[r.Expr, r.Expr]:
        if left.type is not right.type:
            if left.type is t.INT or isinstance(left, r.Aggregate | r.InvalidHeader):
                left = self._comparable(node, op, left, right)
            else:
                right = self._comparable(node, op, right, left)
        if left.type is not right.type:
            left, right = self.arithmetic(left), self.arithmetic(right)
        type_ = left.type
        legal = type_ is right.type and not isinstance(type_, t.ExternType | t.BlockType | t.TableType | t.ActionType)
        if not legal or isinstance(
            type_, t.ListLiteralType | t.StructLiteralType | t.ActionRunType | t.ApplyResultType
        ):
            self._bad_operands(node, op, left, right)
        return left, right

    def _comparable(self, node: s.Node, op: str, expr: r.Expr, other: r.Expr) -> r.Expr:
        target = self.arithmetic(other).type
        can = (expr.type is t.INT and isinstance(target, t.BitsType)) or (
            isinstance(expr, r.Aggregate | r.InvalidHeader)
            and isinstance(target, t.StructLike | t.TupleType | t.StackType)
        )
        return self.coerce(expr, target, node, f"operator {op!r}") if can else expr

    def _same_width(self, node: s.Node, op: str, left: r.Expr, right: r.Expr) -> tuple[r.Expr, r.Expr]:
        if left.type is t.INT and isinstance(right.type, t.BitsType):
            left = self.coerce(left, right.type, node, f"operator {op!r}")
        elif right.type is t.INT and isinstance(left.type, t.BitsType):
            right = self.coerce(right, left.type, node, f"operator {op!r}")
        type_ = left.type
        if type_ is not right.type or not (isinstance(type_, t.BitsType) or type_ is t.INT):
            self._bad_operands(node, op, left, right)
        if type_ is t.INT and (op in _BITWISE or op in ("|+|", "|-|")):
            self.fail(node, f"operator {op!r} needs operands with a width, not int")
        if op in ("/", "%") and isinstance(type_, t.BitsType) and type_.is_signed:
            self.fail(node, f"operator {op!r} is not defined for signed operands ({type_})")
        return left, right

    def _shift(self, node: s.Node, op: str, left: r.Expr, right: r.Expr, right_node: s.Node) -> tuple[r.Expr, r.Expr]:
        if not (isinstance(left.type, t.BitsType) or left.type is t.INT):
            self._bad_operands(node, op, left, right)
        if isinstance(right.type, t.BitsType):
            if right.type.is_signed:
                self.fail(right_node, f"a shift's amount must be unsigned, not {right.type}")
            if left.type is t.INT and not isinstance(right, r.Literal):
                self.fail(node, "the width of the int that is shifted cannot be inferred")
        elif right.type is not t.INT:
            self._bad_operands(node, op, left, right)
        elif isinstance(right, r.Literal):
            if right.value < 0:
                self.fail(right_node, "a shift's amount cannot be negative", Kind.CONSTANT)
            if isinstance(left.type, t.BitsType):
                width = max(right.value.bit_length(), 1)
                right = r.Literal(right.at, t.bits(width), right.value)
        return left, right

    def _concat(self, node: s.Node, left: r.Expr, right: r.Expr) -> r.Expr:
        if left.type is t.STRING and right.type is t.STRING:
            assert isinstance(left, r.Literal)
            assert isinstance(right, r.Literal)
            return r.Literal(node.at, t.STRING, left.value + right.value)
        for operand in (left, right):
            if operand.type is t.INT:
                self.fail(node, "operator '++' needs operands with a width, not int")
        if not isinstance(left.type, t.BitsType) or not isinstance(right.type, t.BitsType):
            self._bad_operands(node, "++", left, right)
        assert isinstance(left.type, t.BitsType)
        assert isinstance(right.type, t.BitsType)
        result = t.bits(left.type.width + right.type.width, left.type.is_signed)
        return self._folded(node, "++", left, right, result)

    def _mux(self, node: s.Mux) -> r.Expr:
        condition = self.typed(node.condition, t.BOOL, "the condition of '?'")
        then, otherwise = self.value(node.then), self.value(node.otherwise)
        if then.type is t.INT and isinstance(otherwise.type, t.BitsType):
            then = self.coerce(then, otherwise.type, node.then, "'?'")
        elif otherwise.type is not then.type:
            otherwise = self.coerce(otherwise, then.type, node, "the branches of '?'")
        if isinstance(condition, r.Literal):
            return then if condition.value else otherwise
        if then.type is t.INT:
            self.fail(node, "the width of the branches of '?' cannot be inferred")
        if isinstance(then.type, t.ExternType | t.BlockType):
            self.fail(node, f"the branches of '?' cannot have type {then.type}")
        if isinstance(then.type, t.ListLiteralType | t.StructLiteralType):
            self.fail(node, "the type of the branches of '?' cannot be inferred")
        return r.Mux(node.at, then.type, condition, then, otherwise)

    # --- sets ----------------------------------------------------------------------------------------------------

    def _mask(self, node: s.MaskOf) -> r.Expr:
        value, mask = self.arithmetic(self.value(node.value)), self.arithmetic(self.value(node.mask))
        if value.type is not t.INT or mask.type is not t.INT:
            value, mask = self._same_width(node, "&&&", value, mask)
        return r.Mask(node.at, t.set_of(value.type), value, mask)

    def _range(self, node: s.RangeOf) -> r.Expr:
        low, high = self.arithmetic(self.value(node.low)), self.arithmetic(self.value(node.high))
        if low.type is not t.INT or high.type is not t.INT:
            low, high = self._same_width(node, "..", low, high)
        return r.Range(node.at, t.set_of(low.type), low, high)

    def _tuple_keyset(self, node: s.TupleKeyset) -> r.Expr:
        self.fail(node, "a keyset can only stand in a select's case or a table's entry")

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
    s.Unary: ExpressionChecker._unary,
    s.Binary: ExpressionChecker._binary,
    s.Mux: ExpressionChecker._mux,
    s.Cast: ExpressionChecker.cast,
    s.Call: lambda checker, node: checker.call(node),
    s.MaskOf: ExpressionChecker._mask,
    s.RangeOf: ExpressionChecker._range,
    s.TupleKeyset: ExpressionChecker._tuple_keyset,
}
