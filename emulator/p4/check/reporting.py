"""Diagnostics at tokens and syntax nodes: what the contexts of the checker, the lowering and P4Info share.

``at`` is a token number, a syntax node, underlined in its whole extent, or anything else with ``at``, its token number.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from emulator.p4.errors import Abandoned, Diagnostic, Diagnostics, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.source import Tokens, unpack_place


class Reports(Protocol):
    """What a stage's context has for its diagnostics."""

    tokens: Tokens
    diagnostics: Diagnostics


class Refuses(Reports, Protocol):
    refusals: list[Diagnostic]
    """Legal constructs that the architecture's engines lack."""


def report(
    cx: Reports, at: int | s.Node | Any, message: str, kind: Kind = Kind.TYPE, notes: tuple[str, ...] = ()
) -> None:
    cx.diagnostics.report(_diagnostic(cx, at, message, kind, notes))


def fail(
    cx: Reports, at: int | s.Node | Any, message: str, kind: Kind = Kind.TYPE, notes: tuple[str, ...] = ()
) -> NoReturn:
    """Report, and abandon the current statement or declaration."""
    report(cx, at, message, kind, notes)
    raise Abandoned


def warn(cx: Reports, at: int | s.Node | Any, message: str) -> None:
    report(cx, at, message, Kind.WARNING)


def warn_in_program(cx: Reports, at: int, message: str) -> None:
    """A warning, except in the include files that come with the compiler."""
    file, _, _ = unpack_place(cx.tokens.places[at])
    if not cx.tokens.sources.files[file].is_system:
        warn(cx, at, message)


def unsupported(cx: Reports, at: int | s.Node | Any, construct: str) -> NoReturn:
    fail(cx, at, f"{construct} is not supported", Kind.UNSUPPORTED)


def refuse(cx: Refuses, at: int | s.Node | Any, construct: str) -> None:
    """The construct is legal, and P4Info can describe it, but the architecture's engines do not have it."""
    cx.refusals.append(_diagnostic(cx, at, f"{construct} is not supported", Kind.UNSUPPORTED, ()))


def declared_at(cx: Reports, at: int) -> tuple[str, ...]:
    """The note that says where the other declaration is."""
    return (f"declared at {cx.tokens.span(at)}",)


def _diagnostic(cx: Reports, at: int | s.Node | Any, message: str, kind: Kind, notes: tuple[str, ...]) -> Diagnostic:
    if isinstance(at, s.Node):
        first, last = at.at, s.last_token(at)
    else:
        first = last = at if isinstance(at, int) else at.at
    place, spelled = cx.tokens.places[first], cx.tokens.spelled[first]
    if place != spelled:
        notes = (*notes, f"in a macro's expansion: {cx.tokens.texts[first]!r} at {cx.tokens.sources.span(spelled)}")
    line = cx.tokens.sources.line_at(place)
    return Diagnostic(kind, message, cx.tokens.span(first, last), line, notes)
