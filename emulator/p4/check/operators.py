"""Operators: what types they take, what they give, and their value when the operands are known (section 8)."""

from __future__ import annotations

from typing import NoReturn

from emulator.p4.check import coerce, constants
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.constants import MAX_WIDTH, FoldError, fold_binary, fold_unary
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import fail, warn
from emulator.p4.errors import Kind
from emulator.p4.syntax import tree as s

_ORDER = frozenset(("<", ">", "<=", ">="))


_LITERALS = (t.INVALID_HEADER, t.DEFAULTS)


# --- operators ---------------------------------------------------------------------------------------------------


def unary(cx: Context, node: s.Unary) -> r.Expr:
    operand = coerce.operand(cx.value(node.operand)) if node.op != "!" else cx.value(node.operand)
    type_ = operand.type
    if type_ is t.UNKNOWN:
        return operand
    if node.op == "!":
        legal = type_ is t.BOOL
    else:
        legal = isinstance(type_, t.BitsType) or (type_ is t.INT and node.op != "~")
    if not legal:
        fail(cx, node, f"operator {node.op!r} cannot be applied to {type_}")
    if isinstance(operand, r.Literal):
        return r.Literal(node.at, type_, fold_unary(node.op, operand.value, type_))
    return operand if node.op == "+" else r.Unary(node.at, type_, node.op, operand)


def binary(cx: Context, node: s.Binary) -> r.Expr:
    return operation(cx, node, node.op, cx.value(node.left), cx.value(node.right), node.right)


def operation(cx: Context, node: s.Node, op: str, left: r.Expr, right: r.Expr, right_node: s.Node) -> r.Expr:
    """``left op right`` checked and folded; ``node`` is what is underlined."""
    if left.type is t.UNKNOWN or right.type is t.UNKNOWN:
        return r.Literal(node.at, t.UNKNOWN, 0)
    if op in ("==", "!="):
        left, right = _equality(cx, node, op, left, right)
        result: t.Type = t.BOOL
    elif op in ("&&", "||"):
        if left.type is not t.BOOL or right.type is not t.BOOL:
            _bad_operands(cx, node, op, left, right)
        result = t.BOOL
    elif op in ("<<", ">>"):
        left, right = _shift(cx, node, op, coerce.operand(left), coerce.operand(right), right_node)
        result = left.type
    elif op == "++":
        left, right = coerce.operand(left), coerce.operand(right)
        result = _concatenated(cx, node, left, right)
    else:
        left, right = _same_width(cx, node, op, coerce.operand(left), coerce.operand(right))
        result = t.BOOL if op in _ORDER else left.type
    return _folded(cx, node, op, left, right, result)


def _folded(cx: Context, node: s.Node, op: str, left: r.Expr, right: r.Expr, result: t.Type) -> r.Expr:
    if isinstance(right, r.Literal):
        if op in ("/", "%") and right.value == 0:
            fail(cx, node, "division by zero" if op == "/" else "modulo by zero", Kind.CONSTANT)
        if isinstance(left, r.Literal):
            return _folded_literals(cx, node, op, left, right, result)
    if op in ("&&", "||") and isinstance(left, r.Literal):
        return r.Literal(node.at, t.BOOL, op == "||") if bool(left.value) == (op == "||") else right
    if op in ("==", "!="):
        same = _same_value(left, right)
        if same is not None:
            return r.Literal(node.at, t.BOOL, same == (op == "=="))
    return r.Binary(node.at, result, op, left, right)


def _folded_literals(
    cx: Context, node: s.Node, op: str, left: r.Literal, right: r.Literal, result: t.Type
) -> r.Literal:
    if result is t.STRING:
        return r.Literal(node.at, t.STRING, left.value + right.value)
    try:
        value = fold_binary(op, left.value, right.value, left.type, right.type)
    except FoldError as error:
        fail(cx, node, str(error), Kind.CONSTANT)
    return r.Literal(node.at, result, value)


def _bad_operands(cx: Context, node: s.Node, op: str, left: r.Expr, right: r.Expr) -> NoReturn:
    fail(cx, node, f"operator {op!r} cannot be applied to {left.type} and {right.type}")


def _equality(cx: Context, node: s.Node, op: str, left: r.Expr, right: r.Expr) -> tuple[r.Expr, r.Expr]:
    what = f"operator {op!r}"
    if isinstance(left.type, t.ListLiteralType) and isinstance(right.type, t.ListLiteralType):
        return _equal_literals(cx, node, op, left, right)
    if left.type is not right.type:
        if _adapts(left, coerce.operand(right).type):
            left = coerce.assign(cx, left, coerce.operand(right).type, node, what)
        elif _adapts(right, coerce.operand(left).type):
            right = coerce.assign(cx, right, coerce.operand(left).type, node, what)
    if left.type is not right.type:
        left, right = coerce.operand(left), coerce.operand(right)
    if left.type is not right.type or not _is_comparable(left.type):
        _bad_operands(cx, node, op, left, right)
    return left, right


def _equal_literals(cx: Context, node: s.Node, op: str, left: r.Expr, right: r.Expr) -> tuple[r.Expr, r.Expr]:
    """``{a, 1} == {b, 2}``: tuples, each element with the type that one of the two gives it."""
    assert isinstance(left, r.Aggregate)
    assert isinstance(right, r.Aggregate)
    if len(left.items) != len(right.items):
        _bad_operands(cx, node, op, left, right)
    pairs = [_equality(cx, node, op, a, b) for a, b in zip(left.items, right.items, strict=True)]
    type_ = t.tuple_of(tuple(a.type for a, _ in pairs))
    first = r.Aggregate(left.at, type_, tuple(a for a, _ in pairs))
    return first, r.Aggregate(right.at, type_, tuple(b for _, b in pairs))


def _same_width(cx: Context, node: s.Node, op: str, left: r.Expr, right: r.Expr) -> tuple[r.Expr, r.Expr]:
    if left.type is t.INT and isinstance(right.type, t.BitsType):
        left = coerce.assign(cx, left, right.type, node, f"operator {op!r}")
    elif right.type is t.INT and isinstance(left.type, t.BitsType):
        right = coerce.assign(cx, right, left.type, node, f"operator {op!r}")
    type_ = left.type
    if type_ is not right.type or not (isinstance(type_, t.BitsType) or type_ is t.INT):
        _bad_operands(cx, node, op, left, right)
    if type_ is t.INT and op in ("|+|", "|-|"):
        fail(cx, node, f"operator {op!r} needs operands with a width, not int")
    if op in ("/", "%") and isinstance(type_, t.BitsType) and type_.is_signed:
        fail(cx, node, f"operator {op!r} is not defined for signed operands ({type_})")
    return left, right


def _shift(
    cx: Context, node: s.Node, op: str, left: r.Expr, right: r.Expr, right_node: s.Node
) -> tuple[r.Expr, r.Expr]:
    if not (isinstance(left.type, t.BitsType) or left.type is t.INT):
        _bad_operands(cx, node, op, left, right)
    if isinstance(right.type, t.BitsType):
        if right.type.is_signed:
            fail(cx, right_node, f"a shift's amount must be unsigned, not {right.type}")
        if left.type is t.INT and not constants.is_known(right):
            fail(cx, node, "the width of the int that is shifted cannot be inferred")
    elif right.type is not t.INT:
        _bad_operands(cx, node, op, left, right)
    if isinstance(right, r.Literal):
        right = _shift_amount(cx, left, right, right_node)
    return left, right


def _shift_amount(cx: Context, left: r.Expr, right: r.Literal, node: s.Node) -> r.Literal:
    if right.value < 0:
        fail(cx, node, "a shift's amount cannot be negative", Kind.CONSTANT)
    if not isinstance(left.type, t.BitsType):
        return right
    if right.value >= left.type.width > 0:
        warn(cx, node, f"a shift of {left.type} by {right.value} leaves no bit of it")
    if right.type is t.INT:
        return r.Literal(right.at, t.bits(max(right.value.bit_length(), 1)), right.value)
    return right


def _concatenated(cx: Context, node: s.Node, left: r.Expr, right: r.Expr) -> t.Type:
    if left.type is t.STRING and right.type is t.STRING:
        return t.STRING
    for operand in (left, right):
        if operand.type is t.INT:
            fail(cx, node, "operator '++' needs operands with a width, not int")
    if not isinstance(left.type, t.BitsType) or not isinstance(right.type, t.BitsType):
        _bad_operands(cx, node, "++", left, right)
    width = left.type.width + right.type.width
    if width > MAX_WIDTH:
        fail(cx, node, f"the result has {width} bits, more than {MAX_WIDTH}", Kind.CONSTANT)
    return t.bits(width, left.type.is_signed)


def mux(cx: Context, node: s.Mux) -> r.Expr:
    condition = coerce.typed(cx, node.condition, t.BOOL, "the condition of '?'")
    then, otherwise = cx.value(node.then), cx.value(node.otherwise)
    if then.type is not otherwise.type:
        if _adapts(then, otherwise.type):
            then = coerce.assign(cx, then, otherwise.type, node.then, "'?'")
        elif isinstance(then.type, t.EnumType) and then.type.base is otherwise.type:
            then = coerce.operand(then)
        otherwise = coerce.assign(cx, otherwise, then.type, node, "the branches of '?'")
    if isinstance(condition, r.Literal):
        return then if condition.value else otherwise
    if then.type is t.INT:
        fail(cx, node, "the width of the branches of '?' cannot be inferred")
    if isinstance(then.type, t.ExternType | t.BlockType) or then.type in (t.STRING, t.MATCH_KIND):
        fail(cx, node, f"the branches of '?' cannot have type {then.type}")
    if isinstance(then.type, t.ListLiteralType | t.StructLiteralType) or then.type in _LITERALS:
        fail(cx, node, "the type of the branches of '?' cannot be inferred")
    return r.Mux(node.at, then.type, condition, then, otherwise)


# --- sets --------------------------------------------------------------------------------------------------------


def mask(cx: Context, node: s.MaskOf) -> r.Expr:
    value, mask = coerce.operand(cx.value(node.value)), coerce.operand(cx.value(node.mask))
    if value.type is not t.INT or mask.type is not t.INT:
        value, mask = _same_width(cx, node, "&&&", value, mask)
    return r.Mask(node.at, t.set_of(value.type), value, mask)


def range_of(cx: Context, node: s.RangeOf) -> r.Expr:
    low, high = coerce.operand(cx.value(node.low)), coerce.operand(cx.value(node.high))
    if low.type is not t.INT or high.type is not t.INT:
        low, high = _same_width(cx, node, "..", low, high)
    return r.Range(node.at, t.set_of(low.type), low, high)


def tuple_keyset(cx: Context, node: s.TupleKeyset) -> r.Expr:
    fail(cx, node, "a keyset is only allowed in a select's case or a table's entry")


def _adapts(expr: r.Expr, target: t.Type) -> bool:
    """Whether a literal's type is open: the other operand decides it."""
    if expr.type is t.INT:
        return isinstance(target, t.BitsType)
    if expr.type in _LITERALS or isinstance(expr.type, t.ListLiteralType | t.StructLiteralType):
        return isinstance(target, t.StructLike | t.TupleType | t.StackType) or expr.type is t.DEFAULTS
    return False


def _is_comparable(type_: t.Type) -> bool:
    """Whether ``==`` is defined: not for strings, lists, sets and objects.

    Values of one type variable may be compared, as with p4c; section 8.24 gives them assignment only.
    """
    if isinstance(type_, t.StructLike):
        return all(_is_comparable(f.type) for f in type_.fields.values())
    if isinstance(type_, t.TupleType):
        return all(map(_is_comparable, type_.items))
    if isinstance(type_, t.StackType):
        return _is_comparable(type_.element)
    if isinstance(type_, t.BitsType | t.VarbitType | t.EnumType | t.NewType | t.TypeVariable):
        return True
    return type_ in (t.BOOL, t.INT, t.ERROR, t.MATCH_KIND)


def _same_value(left: r.Expr, right: r.Expr) -> bool | None:
    """Whether two values of one type are equal; None where that is not known now."""
    if isinstance(left, r.Literal) and isinstance(right, r.Literal):
        return bool(left.value == right.value)
    if isinstance(left, r.Aggregate) and isinstance(right, r.Aggregate):
        found = [_same_value(a, b) for a, b in zip(left.items, right.items, strict=True)]
        return None if None in found else all(found)
    if isinstance(left, r.InvalidHeader) and isinstance(right, r.InvalidHeader):
        return True
    return None
