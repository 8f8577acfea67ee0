"""Expressions: precedence climbing over the grammar's operator table; arguments and keysets."""

from __future__ import annotations

from collections.abc import Callable

from emulator.p4.errors import Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax import types
from emulator.p4.syntax.cursor import GENERIC_FUNCTION, NAME_KINDS, VALUE, Cursor
from emulator.p4.syntax.lexer import integer_value

_LEVELS = (
    ("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("|",), ("^",), ("&",), ("<<", ">>"),
    ("++", "+", "-", "|+|", "|-|"), ("*", "/", "%"),
)  # fmt: skip
PRECEDENCE = {op: level for level, ops in enumerate(_LEVELS, 1) for op in ops}
_PREFIX = frozenset("!~-+")
_POSTFIX = frozenset(".[(<")


def parse(cx: Cursor) -> s.Expr:
    """``a ? b : c ? d : e`` is ``(a ? b : c) ? d : e``: in p4c's grammar ``:`` binds tighter than ``?``."""
    left = binary(cx, 1)
    is_chain = False
    while cx.kinds[cx.position] == "?":
        at = cx.position
        if is_chain:
            cx.report("'a ? b : c ? d : e' means '(a ? b : c) ? d : e' in P4: write parentheses", at, Kind.WARNING)
        cx.position += 1
        then = parse(cx)
        cx.expect(":", "between the branches of '?'")
        left = s.Mux(left.at, left, then, binary(cx, 1))
        is_chain = True
    return left


def binary(cx: Cursor, lowest: int) -> s.Expr:
    left = unary(cx)
    kinds = cx.kinds
    while (level := PRECEDENCE.get(kinds[cx.position], 0)) >= lowest:
        op = kinds[cx.position]
        if op == "+" and kinds[cx.position + 1] == ":":  # of a slice: base[low +: width]
            break
        cx.position += 1
        left = s.Binary(left.at, op, left, binary(cx, level + 1))
    return left


def unary(cx: Cursor) -> s.Expr:
    position = cx.position
    kind = cx.kinds[position]
    if kind in _PREFIX:
        cx.position = position + 1
        return s.Unary(position, kind, unary(cx))
    if kind == "(" and _is_cast(cx):
        cx.position = position + 1
        target = types.parse(cx)
        cx.expect(")", "after the type of a cast")
        return s.Cast(position, target, unary(cx))
    return postfix(cx, primary(cx))


def _is_cast(cx: Cursor) -> bool:
    """``(T) e``; a type name followed by a dot or a call is an expression (``(E.member)``, ``(f())``)."""
    cx.position += 1
    is_type = types.is_start(cx)
    after = cx.peek(2 if cx.is_at(".") else 1)
    kind = cx.kinds[cx.position]
    cx.position -= 1
    if not is_type or (kind == "error" and after == "."):
        return False
    return kind in types.TYPE_STARTS or after not in (".", "(")


def primary(cx: Cursor) -> s.Expr:
    at = cx.position
    kind = cx.kinds[at]
    if kind == "ID" or kind in NAME_KINDS:
        if cx.is_type_name() or (kind == "list" and cx.peek() == "<"):
            return _type_expression(cx)
        cx.position = at + 1
        return s.Name(at, cx.texts[at])
    if kind == "INTEGER":
        cx.position = at + 1
        literal = integer_value(cx.texts[at])
        if literal is None:
            cx.fail(f"{cx.texts[at][:40]!r} is not an integer, or too long", at)
        return s.IntLiteral(at, *literal)
    handler = _PRIMARIES.get(kind)
    if handler is None:
        cx.fail("expected an expression")
    return handler(cx)


def _type_expression(cx: Cursor) -> s.Expr:
    at = cx.position
    if cx.kinds[at] == "error":
        cx.position = at + 1
        return s.TypeName(at, s.SimpleType(at, "error"))
    return s.TypeName(at, types.named(cx))


def _absolute(cx: Cursor) -> s.Expr:
    if cx.is_type_name():
        return _type_expression(cx)
    at = cx.position
    cx.position += 1
    name, _ = cx.name("after '.'")
    return s.Name(at, name, True)


def _parenthesis(cx: Cursor) -> s.Expr:
    cx.position += 1
    inner = parse(cx)
    cx.expect(")", "to close the parenthesis")
    return inner


def _string(cx: Cursor) -> s.Expr:
    at = cx.position
    cx.position += 1
    return s.StringLiteral(at, cx.texts[at][1:-1])


def _word(cx: Cursor) -> s.Expr:
    at = cx.position
    cx.position += 1
    kind = cx.kinds[at]
    if kind == "this":
        return s.This(at)
    if kind == "...":
        return s.Dots(at)
    if kind == "{#}":
        return s.InvalidHeader(at)
    return s.BoolLiteral(at, kind == "true")


def _braces(cx: Cursor) -> s.Expr:
    """A list, or ``{ name = value, ... }``."""
    at = cx.position
    cx.position += 1
    if cx.kinds[cx.position] in NAME_KINDS and cx.peek() == "=":
        return _struct_expression(cx, at)
    items: list[s.Expr] = []
    while not cx.is_at("}"):
        items.append(parse(cx))
        if not cx.accept(","):
            break
    cx.expect("}", "after a list's elements")
    return s.ListOf(at, tuple(items))


def _struct_expression(cx: Cursor, at: int) -> s.Expr:
    found: list[tuple[str, s.Expr, int]] = []
    has_defaults = False
    while not cx.is_at("}"):
        if cx.accept("..."):
            has_defaults = True
            cx.accept(",")
            break
        name, token = cx.name("of a field")
        cx.expect("=", "after a field's name")
        found.append((name, parse(cx), token))
        if not cx.accept(","):
            break
    cx.expect("}", "after a structure's fields")
    return s.StructOf(at, tuple(found), has_defaults)


# --- postfix ---------------------------------------------------------------------------------------------------------


def postfix(cx: Cursor, base: s.Expr) -> s.Expr:
    kinds = cx.kinds
    while (kind := kinds[cx.position]) in _POSTFIX:
        if kind == ".":
            cx.position += 1
            name, token = cx.name("after '.'")
            base = s.Member(base.at, base, name, token)
        elif kind == "[":
            base = _brackets(cx, base)
        elif kind == "(":
            base = s.Call(base.at, base, None, argument_list(cx))
        elif _opens_type_arguments(cx, base):
            type_arguments = types.argument_list(cx)
            if not cx.is_at("("):
                cx.fail("expected '(' after type arguments")
            base = s.Call(base.at, base, type_arguments, argument_list(cx))
        else:
            break
    return base


def _brackets(cx: Cursor, base: s.Expr) -> s.Expr:
    cx.position += 1
    first = parse(cx)
    if cx.accept(":"):
        low = parse(cx)
        cx.expect("]", "after a slice")
        return s.SliceOf(base.at, base, first, low, False)
    if cx.is_at("+") and cx.peek() == ":":
        cx.position += 2
        width = parse(cx)
        cx.expect("]", "after a slice")
        return s.SliceOf(base.at, base, first, width, True)
    cx.expect("]", "after an index")
    return s.Index(base.at, base, first)


def _opens_type_arguments(cx: Cursor, base: s.Expr) -> bool:
    """Whether ``<`` here is a bracket: after a generic function, or a generic method before a type."""
    if isinstance(base, s.Name):
        return cx.names.kinds.get(base.name, VALUE) == GENERIC_FUNCTION
    if not isinstance(base, s.Member) or base.name not in cx.names.generic_methods:
        return False
    cx.position += 1
    is_type = types.is_start(cx) or cx.is_at("_")
    is_unknown_type = cx.is_at("ID") and cx.peek() == ">" and cx.peek(2) == "("
    cx.position -= 1
    return is_type or is_unknown_type


def argument_list(cx: Cursor) -> tuple[s.Argument, ...]:
    """``( argument, ... )``; positional, named, or ``_``."""
    cx.expect("(", "before arguments")
    found: list[s.Argument] = []
    if cx.kinds[cx.position] != ")":
        found.append(_argument(cx))
        while cx.accept(","):
            found.append(_argument(cx))
    cx.expect(")", "after the arguments")
    return tuple(found)


def _argument(cx: Cursor) -> s.Argument:
    at = cx.position
    name = None
    if cx.kinds[at] in NAME_KINDS and cx.kinds[at + 1] == "=":
        name = cx.texts[at]
        cx.position = at + 2
    if cx.accept("_"):
        return s.Argument(at, name, None)
    return s.Argument(at, name, parse(cx))


# --- keysets ---------------------------------------------------------------------------------------------------------


def keyset(cx: Cursor) -> s.Expr:
    """keysetExpression: one simple keyset, or a parenthesised tuple of them."""
    if not cx.is_at("("):
        return simple_keyset(cx)
    at = cx.position
    if _is_cast(cx):
        return simple_keyset(cx)
    cx.position += 1
    items = [simple_keyset(cx)]
    while cx.accept(","):
        items.append(simple_keyset(cx))
    cx.expect(")", "after a keyset")
    if len(items) == 1 and not isinstance(items[0], s.MaskOf | s.RangeOf | s.DontCare):
        cx.position = at  # just a parenthesised expression, which may go on: (a) + b
        return simple_keyset(cx)
    return s.TupleKeyset(at, tuple(items))


def simple_keyset(cx: Cursor) -> s.Expr:
    at = cx.position
    if cx.kinds[at] in ("_", "default"):
        cx.position = at + 1
        return s.DontCare(at)
    value = parse(cx)
    if cx.accept("&&&"):
        return s.MaskOf(value.at, value, parse(cx))
    if cx.accept(".."):
        return s.RangeOf(value.at, value, parse(cx))
    return value


_PRIMARIES: dict[str, Callable[[Cursor], s.Expr]] = {
    "STRING": _string,
    "true": _word,
    "false": _word,
    "this": _word,
    "...": _word,
    "{#}": _word,
    "{": _braces,
    "(": _parenthesis,
    ".": _absolute,
    "error": _type_expression,
}
