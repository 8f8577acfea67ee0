"""Types, and the lists of type arguments and parameters."""

from __future__ import annotations

from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import Cursor
from emulator.p4.syntax.lexer import integer_value

SIMPLE_TYPES = frozenset(["bool", "error", "string", "match_kind"])
TYPE_STARTS = SIMPLE_TYPES | frozenset(["bit", "int", "varbit", "tuple", "list", "void"])
_ANGLES = {"<": 1, ">": -1, ">>": -2}


def is_start(cx: Cursor) -> bool:
    kind = cx.kinds[cx.position]
    if kind in TYPE_STARTS:
        return kind != "list" or cx.peek() == "<"
    return cx.is_type_name()


def end(cx: Cursor) -> int:
    """Where the current type ends, by its brackets alone: looking ahead must not split a ``>>``."""
    kinds = cx.kinds
    position = cx.position + (kinds[cx.position] == ".") + 1
    position = min(position, len(kinds) - 1)
    if kinds[position] == "<":
        depth = brackets = 0
        while kinds[position] != "EOF":
            kind = kinds[position]
            depth += _ANGLES.get(kind, 0) if not brackets else 0
            brackets += (kind == "(") - (kind == ")")
            position += 1
            if depth <= 0 and not brackets and kind in _ANGLES:
                break
    while kinds[position] == "[":
        while kinds[position] not in ("]", "EOF"):
            position += 1
        position += kinds[position] == "]"
    return position


def parse(cx: Cursor) -> s.TypeNode:
    """typeRef."""
    at = cx.position
    kind = cx.kinds[at]
    if kind in SIMPLE_TYPES or kind == "void":
        cx.position = at + 1
        return stack_suffix(cx, s.SimpleType(at, kind))
    if kind in ("bit", "int", "varbit"):
        return stack_suffix(cx, _bit_type(cx))
    if kind == "tuple":
        cx.position = at + 1
        return stack_suffix(cx, s.TupleTypeNode(at, argument_list(cx)))
    if kind == "list" and cx.peek() == "<":
        cx.position = at + 1
        arguments = argument_list(cx)
        if len(arguments) != 1:
            cx.fail("list takes one type argument", at)
        return s.ListTypeNode(at, arguments[0])
    return stack_suffix(cx, named(cx))


def named(cx: Cursor) -> s.NamedType:
    at = cx.position
    is_absolute = cx.accept(".")
    if not cx.is_type_name():
        if cx.kinds[cx.position] == "ID":
            cx.undeclared_type(cx.position)
        cx.fail("expected a type")
    name = cx.texts[cx.position]
    cx.position += 1
    arguments = argument_list(cx) if cx.kinds[cx.position] == "<" else None
    return s.NamedType(at, name, is_absolute, arguments)


def stack_suffix(cx: Cursor, element: s.TypeNode) -> s.TypeNode:
    while cx.is_at("["):
        cx.position += 1
        size = cx.dispatch.expression(cx)
        cx.expect("]", "after a stack's size")
        element = s.StackTypeNode(element.at, element, size)
    return element


def _bit_type(cx: Cursor) -> s.TypeNode:
    at = cx.position
    kind = cx.kinds[at]
    cx.position = at + 1
    if not cx.accept("<"):
        if kind == "bit":
            return s.BitType(at, "bit", s.IntLiteral(at, 1, None, False))
        if kind == "int":
            return s.SimpleType(at, "int")
        cx.fail("expected '<' after varbit")
    width: s.Expr
    if cx.accept("("):
        width = cx.dispatch.expression(cx)
        cx.expect(")", "after a width")
    else:
        token = cx.expect("INTEGER", "or '(' as a width")
        literal = integer_value(cx.texts[token])
        if literal is None:
            cx.fail(f"{cx.texts[token]!r} is not an integer", token)
        width = s.IntLiteral(token, *literal)
    close_angle(cx)
    return s.BitType(at, kind, width)


def argument_list(cx: Cursor) -> tuple[s.TypeNode, ...]:
    """``< typeArg, ... >``, with ``_`` for "infer this one"."""
    cx.expect("<", "before type arguments")
    arguments: list[s.TypeNode] = []
    if not at_close_angle(cx):
        arguments.append(_argument(cx))
        while cx.accept(","):
            arguments.append(_argument(cx))
    close_angle(cx)
    return tuple(arguments)


def _argument(cx: Cursor) -> s.TypeNode:
    at = cx.position
    if cx.accept("_"):
        return s.SimpleType(at, "_")
    return parse(cx)


def parameter_list(cx: Cursor) -> tuple[str, ...]:
    if not cx.accept("<"):
        return ()
    found = [cx.name("of a type parameter")[0]]
    while cx.accept(","):
        found.append(cx.name("of a type parameter")[0])
    close_angle(cx)
    return tuple(found)


def at_close_angle(cx: Cursor) -> bool:
    return cx.texts[cx.position][:1] == ">"


def close_angle(cx: Cursor) -> None:
    """Take one ``>``; ``>>``, ``>=`` and ``>>=`` are cut, as the scanner took the longest token."""
    position = cx.position
    text = cx.texts[position]
    if text == ">":
        cx.position = position + 1
    elif text in (">>", ">=", ">>="):
        cx.texts[position] = cx.kinds[position] = text[1:]
        cx.tokens.places[position] += 1
        cx.tokens.spelled[position] += 1
    else:
        cx.fail("expected '>' after type arguments")
