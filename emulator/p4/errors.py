"""What the compiler tells the user: diagnostics with a span, several in one run, never a traceback."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from emulator.p4.ir.types import Span

MAX_ERRORS = 20
"""p4c stops after 20 errors too; what follows is mostly echo."""


class Kind(Enum):
    """What sort of mistake it is; tests and tools compare this rather than the wording."""

    PREPROCESSOR = "preprocessor"
    SYNTAX = "syntax"
    NAME = "name"
    """Not declared, or not declared before its use."""
    DUPLICATE = "duplicate"
    TYPE = "type"
    CONSTANT = "constant"
    """A value that must be known when compiling is not, or is out of bounds."""
    DIRECTION = "direction"
    """Not an l-value, or against a parameter's direction."""
    PLACE = "place"
    """Legal elsewhere, but not here (apply in an action, stack.next in a control)."""
    UNSUPPORTED = "unsupported"
    """Legal P4_16 that this compiler does not take yet."""
    TARGET = "target"
    """Legal P4_16 that the architecture refuses."""
    WARNING = "warning"


def counted(number: int, noun: str) -> str:
    """``1 argument``, ``2 arguments``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


EXCERPT = 160
"""Columns of the source that a message shows: programs that other programs wrote have long lines."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    kind: Kind
    message: str
    span: Span
    source_line: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        word = "warning" if self.kind is Kind.WARNING else "error"
        lines = [f"{self.span}: {word}: {self.message}"]
        if self.source_line:
            lines += self._excerpt()
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _excerpt(self) -> list[str]:
        """The line, or what is around the place in a long one, and what is meant underlined."""
        text, first = self.source_line.expandtabs(1), self.span.column - 1
        end = self.span.end_column - 1 if self.span.end_line == self.span.line else len(text)
        start = max(0, first - EXCERPT // 2) if len(text) > EXCERPT else 0
        shown, before = text[start : start + EXCERPT], "... " if start else ""
        under = "^" + "~" * (min(end, start + EXCERPT) - first - 1)
        after = " ..." if start + EXCERPT < len(text) else ""
        return [f"  {before}{shown}{after}", "  " + " " * (len(before) + first - start) + under]


class CompileError(Exception):
    """The program is wrong (or uses what is not supported); ``diagnostics`` says where, most important first."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], p4info: object = None) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics
        self.p4info = p4info
        """``p4.config.v1.P4Info`` of a legal program that only the engines cannot run."""

    def __str__(self) -> str:
        return "\n".join(str(d) for d in self.diagnostics)


class NoMain(CompileError):
    """A program without ``main``: right as far as it goes, but there is nothing to run."""


class Abandoned(Exception):
    """Raised inside the front end to leave the construct at hand; its error has been reported already."""


@dataclass(slots=True)
class Diagnostics:
    """Collects what is found; the same message at the same place is kept once."""

    errors: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)

    def report(self, diagnostic: Diagnostic) -> None:
        kept = self.warnings if diagnostic.kind is Kind.WARNING else self.errors
        if diagnostic in kept:
            return
        kept.append(diagnostic)
        if len(self.errors) >= MAX_ERRORS:
            raise CompileError(self.sorted_errors())

    def sorted_errors(self) -> tuple[Diagnostic, ...]:
        return tuple(self.errors)

    def raise_if_any(self) -> None:
        if self.errors:
            raise CompileError(self.sorted_errors())
