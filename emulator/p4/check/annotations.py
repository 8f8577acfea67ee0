"""Texts and numbers in annotations; values in structured annotations (section 20.2)."""

from __future__ import annotations

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.constants import integer
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import report
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import expressions
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import GENERIC_TYPE, TYPE, Cursor
from emulator.p4.syntax.parse import cursor


def annotation_text(annotations: s.Annotations, name: str) -> str | None:
    """The string of ``@name("...")`` (pieces joined by ``++``), None when it is not there."""
    for annotation in annotations:
        if annotation.name == name and annotation.tokens is not None:
            return "".join(token[1:-1] for token in annotation.tokens if token.startswith('"'))
    return None


def control_name(type_: t.StructLike) -> str:
    """Control-plane name of a declared struct or header."""
    return (type_.control_name or type_.name).removeprefix(".")


def check_structured(cx: Context) -> None:
    """All of the program; names in them are those of the top level."""
    kinds = cx.tokens.kinds
    position = -1
    while (position := _next(kinds, "@", position + 1)) >= 0:
        if kinds[position + 2 : position + 3] == ["["]:
            _structured(cx, position)


def _structured(cx: Context, at: int) -> None:
    reader = _reader(cx, at + 3)
    try:
        while not reader.is_at("]"):
            if reader.peek() == "=":
                reader.position += 2
            _check_value(cx, expressions.parse(reader))
            if not reader.accept(","):
                reader.expect("]", "after the values of a structured annotation")
                return
    except Abandoned:
        return


def _reader(cx: Context, position: int) -> Cursor:
    """A cursor for expressions that knows the types declared so far."""
    reader = cursor(cx.tokens, cx.diagnostics, position)
    for name, found in cx.scopes[0].items():
        if isinstance(found, t.Type | t.Generic):
            reader.declare(name, GENERIC_TYPE if isinstance(found, t.Generic) else TYPE)
    return reader


def _check_value(cx: Context, node: s.Expr) -> None:
    found = cx.value(node)
    if found.type is t.UNKNOWN:
        return
    if not isinstance(found, r.Literal):
        report(cx, node, "a structured annotation's value must be known at compile time", Kind.CONSTANT)
    elif t.unwrapped(found.type) not in (t.INT, t.BOOL, t.STRING) and not isinstance(found.type, t.BitsType):
        report(cx, node, f"a structured annotation's value cannot have type {found.type}")


def annotation_numbers(cx: Context, annotation: s.Annotation, what: str) -> tuple[int, ...]:
    """The numbers in ``@name(1, 2)``; none where one is wrong, which has been reported."""
    reader = _reader(cx, annotation.at + 3)
    end = reader.position + len(annotation.tokens or ())
    numbers: list[int] = []
    try:
        while reader.position < end:
            numbers.append(integer(cx, expressions.parse(reader), what))
            if reader.position < end:
                reader.expect(",", f"between the values of @{annotation.name}")
    except Abandoned:
        return ()
    return tuple(numbers)


def _next(kinds: list[str], kind: str, start: int) -> int:
    try:
        return kinds.index(kind, start)
    except ValueError:
        return -1
