"""Errors at tokens and syntax nodes: what the checker and the lowering share."""

from __future__ import annotations

from typing import Any, NoReturn

from emulator.p4.errors import Abandoned, Diagnostic, Diagnostics, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.source import Tokens


class Reporter:
    def __init__(self, tokens: Tokens, diagnostics: Diagnostics) -> None:
        self.tokens = tokens
        self.diagnostics = diagnostics
        self.refusals: list[Diagnostic] = []

    def report(self, at: int | s.Node | Any, message: str, kind: Kind = Kind.TYPE, notes: tuple[str, ...] = ()) -> None:
        """``at`` is a token number, or a syntax node whose whole extent is underlined."""
        self.diagnostics.report(self._diagnostic(at, message, kind, notes))

    def refuse(self, at: int | s.Node | Any, construct: str) -> None:
        """The construct is legal, and P4Info can tell of it, but the architecture's engines do not have it."""
        self.refusals.append(self._diagnostic(at, f"{construct} is not supported", Kind.UNSUPPORTED, ()))

    def _diagnostic(self, at: int | s.Node | Any, message: str, kind: Kind, notes: tuple[str, ...]) -> Diagnostic:
        if isinstance(at, s.Node):
            first, last = at.at, s.last_token(at)
        else:
            first = last = at if isinstance(at, int) else at.at
        place, spelled = self.tokens.places[first], self.tokens.spelled[first]
        if place != spelled:
            notes = (
                *notes,
                f"in a macro's expansion: {self.tokens.texts[first]!r} at {self.tokens.sources.span(spelled)}",
            )
        line = self.tokens.sources.line_at(place)
        return Diagnostic(kind, message, self.tokens.span(first, last), line, notes)

    def fail(
        self, at: int | s.Node | Any, message: str, kind: Kind = Kind.TYPE, notes: tuple[str, ...] = ()
    ) -> NoReturn:
        self.report(at, message, kind, notes)
        raise Abandoned

    def warn(self, at: int | s.Node | Any, message: str) -> None:
        self.report(at, message, Kind.WARNING)

    def unsupported(self, at: int | s.Node | Any, construct: str) -> NoReturn:
        self.fail(at, f"{construct} is not supported", Kind.UNSUPPORTED)

    def declared_at(self, at: int) -> tuple[str, ...]:
        return (f"declared at {self.tokens.span(at)}",)
