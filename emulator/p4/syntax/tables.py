"""Tables and their properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from emulator.p4.errors import Abandoned
from emulator.p4.syntax import annotation_list, expressions, statements
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import Cursor
from emulator.p4.syntax.lexer import integer_value

_Element = TypeVar("_Element")
_TABLE_NAME_KEYWORDS = frozenset(("ID", "apply", "state", "type", "priority"))


def parse(cx: Cursor, at: int, annotations: s.Annotations) -> s.Table:
    cx.position += 1
    name, name_at = cx.name("of a table")
    cx.declare(name)
    cx.expect("{", "before a table's properties")
    properties: list[s.Property] = []
    while not cx.is_at("}") and not cx.is_at("EOF"):
        start = cx.position
        try:
            properties.append(_property(cx))
        except Abandoned:
            statements.recover(cx, start)
    end = cx.expect("}", "after a table's properties")
    return s.Table(at, end, annotations, name, name_at, tuple(properties))


def _property(cx: Cursor) -> s.Property:
    at = cx.position
    annotations = annotation_list.parse(cx)
    is_const = cx.accept("const")
    name_at = cx.position
    kind, name = cx.kinds[name_at], cx.texts[name_at]
    if kind not in ("key", "actions", "entries") and kind not in _TABLE_NAME_KEYWORDS:
        cx.fail("expected a table's property")
    if kind in ("key", "actions") and name_at != at:
        cx.fail(f"{kind!r} takes neither annotations nor const", at)
    cx.position += 1
    cx.expect("=", "after a property's name")
    value: s.Expr | tuple[s.KeyElement, ...] | tuple[s.ActionRef, ...] | tuple[s.Entry, ...]
    if kind == "key":
        value = _braced(cx, _key_element)
        cx.accept(";")
    elif kind == "actions":
        value = _braced(cx, _action_element)
        cx.accept(";")
    elif kind == "entries":
        value = _braced(cx, _entry)
        cx.accept(";")
    else:
        value = expressions.parse(cx)
        cx.expect(";", "after a property")
    return s.Property(at, cx.position - 1, annotations, name, name_at, is_const, value)


def _braced(cx: Cursor, element: Callable[[Cursor], _Element]) -> tuple[_Element, ...]:
    cx.expect("{", "after '='")
    found: list[_Element] = []
    while not cx.is_at("}"):
        found.append(element(cx))
    cx.expect("}", "after the last element")
    return tuple(found)


def _key_element(cx: Cursor) -> s.KeyElement:
    at = cx.position
    value = expressions.parse(cx)
    cx.expect(":", "and a match kind after a key")
    kind_at = cx.position
    name, _ = cx.name("of a match kind")
    annotations = annotation_list.parse(cx)
    cx.expect(";", "after a key")
    return s.KeyElement(at, value, s.Name(kind_at, name), annotations)


def action_ref(cx: Cursor, annotations: s.Annotations) -> s.ActionRef:
    at = cx.position
    is_absolute = cx.accept(".")
    name, _ = cx.name("of an action")
    arguments = expressions.argument_list(cx) if cx.is_at("(") else None
    return s.ActionRef(at, annotations, s.Name(at, name, is_absolute), arguments)


def _action_element(cx: Cursor) -> s.ActionRef:
    found = action_ref(cx, annotation_list.parse(cx))
    cx.expect(";", "after an action")
    return found


def _entry(cx: Cursor) -> s.Entry:
    at = cx.position
    before = annotation_list.parse(cx)
    is_const = cx.accept("const")
    priority: s.Expr | None = None
    if cx.is_at("priority") and cx.peek() == "=":
        cx.position += 2
        priority = _priority(cx)
        cx.expect(":", "after an entry's priority")
    keyset = expressions.keyset(cx)
    cx.expect(":", "after an entry's keys")
    action = action_ref(cx, ())
    annotations = before + annotation_list.parse(cx)
    return s.Entry(at, cx.expect(";", "after an entry"), annotations, is_const, priority, keyset, action)


def _priority(cx: Cursor) -> s.Expr:
    if cx.accept("("):
        found = expressions.parse(cx)
        cx.expect(")", "after a priority")
        return found
    token = cx.expect("INTEGER", "or '(' as a priority")
    literal = integer_value(cx.texts[token])
    if literal is None:
        cx.fail(f"{cx.texts[token]!r} is not an integer", token)
    return s.IntLiteral(token, *literal)
