"""The token cursor with its table of names: the argument of every construct's functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from emulator.p4.errors import Abandoned, Diagnostic, Diagnostics, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.source import Tokens

NAME_KEYWORDS = frozenset(["apply", "key", "actions", "state", "entries", "type", "priority", "list"])
"""Keywords that may name things (grammar: nonTypeName and name)."""
NAME_KINDS = NAME_KEYWORDS | {"ID"}
_SHOWN = 60
"""Characters of a token in a message: a string that is not closed goes to the file's end."""
VALUE, TYPE, GENERIC_TYPE, GENERIC_FUNCTION = range(4)


class Names:
    """What each visible name is, with scopes; one dictionary and an undo list, as lookups are many."""

    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}
        self._undo: list[list[tuple[str, int | None]]] = [[]]
        self.generic_methods: set[str] = set()

    def declare(self, name: str, kind: int) -> None:
        self._undo[-1].append((name, self.kinds.get(name)))
        self.kinds[name] = kind

    def enter(self) -> None:
        self._undo.append([])

    def leave(self) -> None:
        for name, old in reversed(self._undo.pop()):
            if old is None:
                del self.kinds[name]
            else:
                self.kinds[name] = old

    @property
    def depth(self) -> int:
        return len(self._undo)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Constructs above that ones below contain: types hold expressions, instances hold functions."""

    expression: Callable[[Cursor], s.Expr]
    object_initializer: Callable[[Cursor], tuple[s.Decl, ...]]


class Cursor:
    """Where parsing is. Errors are reported and raise `Abandoned`, caught where parsing can go on."""

    def __init__(self, tokens: Tokens, diagnostics: Diagnostics, dispatch: Dispatch) -> None:
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.diagnostics = diagnostics
        self.dispatch = dispatch
        self.names = Names()
        self.position = 0
        self.undeclared: set[str] = set()
        self.is_lost = False
        """Braces do not match: nothing is reported until a parser, control or type at the top level."""

    def is_at(self, kind: str) -> bool:
        return self.kinds[self.position] == kind

    def peek(self, ahead: int = 1) -> str:
        return self.kinds[min(self.position + ahead, len(self.kinds) - 1)]

    def accept(self, kind: str) -> bool:
        if self.kinds[self.position] == kind:
            self.position += 1
            return True
        return False

    def expect(self, kind: str, where: str) -> int:
        """Take a token of that kind and return its number."""
        position = self.position
        if self.kinds[position] != kind:
            self.fail(f"expected '{kind}' {where}")
        self.position = position + 1
        return position

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        if self.is_lost:
            raise Abandoned
        position = self.position if at is None else at
        text = self.texts[position]
        found = repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...") if text else "the end of the file"
        self.report(f"{message}, not {found}" if message.startswith("expected") else message, position)
        raise Abandoned

    def lose(self, message: str) -> NoReturn:
        try:
            self.fail(message)
        finally:
            self.is_lost = True

    def report(self, message: str, at: int, kind: Kind = Kind.SYNTAX) -> None:
        line = self.tokens.sources.line_at(self.tokens.places[at])
        self.diagnostics.report(Diagnostic(kind, message, self.tokens.span(at), line))

    def undeclared_type(self, at: int) -> NoReturn:
        """Reported once for each name: a declaration that is missing or wrong is one mistake."""
        name = self.texts[at]
        if name not in self.undeclared:
            self.undeclared.add(name)
            self.report(f"type {name!r} is not declared (types are declared before they are used)", at, Kind.NAME)
        raise Abandoned

    def skip_to(self, *kinds: str) -> None:
        """Move to the next token of those kinds on this level of braces (or to the closing brace, or the end)."""
        depth = 0
        while (kind := self.kinds[self.position]) != "EOF":
            if depth == 0 and (kind in kinds or kind == "}"):
                return
            if kind == "{":
                depth += 1
            elif kind == "}":
                depth -= 1
                if depth == 0 and ";" in kinds:
                    self.position += 1
                    return
            self.position += 1

    # --- names --------------------------------------------------------------------------------------------------------

    def name(self, where: str) -> tuple[str, int]:
        """An identifier or a keyword that may be one; (text, token)."""
        position = self.position
        if self.kinds[position] not in NAME_KINDS:
            self.fail(f"expected a name {where}")
        self.position = position + 1
        return self.texts[position], position

    def declare(self, name: str, kind: int = VALUE) -> None:
        self.names.declare(name, kind)

    def is_type_name(self) -> bool:
        """Whether the current token names a type declared before (a keyword such as ``state`` may be redefined)."""
        position = self.position
        if self.kinds[position] == ".":
            position += 1
        kind = self.names.kinds.get(self.texts[position], VALUE)
        return (kind in (TYPE, GENERIC_TYPE)) and self.kinds[position] in NAME_KINDS
