"""State that the checker's modules share: scopes, the current place, dispatch of expressions, and results so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from emulator.p4.architecture import Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import declared_at, fail, report, warn_in_program
from emulator.p4.errors import Diagnostic, Diagnostics, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.source import Tokens

_MAY_BE_HIDDEN = (r.VariableSymbol, r.ConstantSymbol, r.InstanceSymbol, r.ActionSymbol, r.TableSymbol, r.ValueSetSymbol)
"""What a declaration of the same name in an inner scope may hide by mistake (section 6.9: a warning)."""


class Where(StrEnum):
    """Kinds of places that allow or forbid statements and expressions; the text is for messages."""

    TOP = "the top level"
    PARSER = "a parser"
    STATE = "a parser's state"
    CONTROL = "a control"
    APPLY = "a control's apply block"
    ACTION = "an action"
    FUNCTION = "a function"
    TABLE = "a table"


@dataclass(frozen=True, slots=True)
class Place:
    """What surrounds the node being checked; changed by `Context.scope` and `Context.within` only."""

    where: Where = Where.TOP
    return_type: t.Type = t.VOID
    """Return type of the enclosing function."""
    is_in_loop: bool = False
    this: r.VariableSymbol | None = None
    """The object that the abstract methods being checked belong to."""
    allows_any_type: bool = False
    """Whether ``_`` is any type: among a package's parameters (section 7.2.14)."""
    unfinished_type: str = ""
    """Name of the struct of the fields being checked."""


Expressions: TypeAlias = Mapping[type, Callable[["Context", Any], r.Expr]]


@dataclass(slots=True)
class Context:
    tokens: Tokens
    diagnostics: Diagnostics
    architecture: Architecture
    expressions: Expressions
    """For each kind of syntax node, the function that checks it. Calls, arguments, types (widths) and operators contain
    expressions and are part of them: they come back through `expression` instead of importing each other."""

    scopes: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    """Symbols and types by name, the top level's first, the innermost last."""
    place: Place = Place()

    declarations: list[r.Symbol | t.Type] = field(default_factory=list)
    """Declarations of the top level, in order."""
    errors: dict[str, int] = field(default_factory=dict)
    """Number of each ``error``."""
    match_kinds: dict[str, int] = field(default_factory=dict)
    field_lists: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Numbers in each ``@field_list``, by the annotation's token."""
    packages: dict[str, list[t.Type | t.Generic]] = field(default_factory=dict)
    """All package types of each name."""
    first_declared: dict[tuple[type, str], s.Decl] = field(default_factory=dict)
    """Block types, externs and extern functions: the same text may be declared twice."""

    variables: list[r.VariableSymbol] = field(default_factory=list)
    """All variables of the program, in order."""
    used: set[Any] = field(default_factory=set)
    """What a name was looked up for."""
    refusals: list[Diagnostic] = field(default_factory=list)
    """Legal constructs that the architecture's engines lack."""

    # --- expressions -------------------------------------------------------------------------------------------------

    def expression(self, node: s.Expr) -> r.Expr:
        """Resolve an expression, also a type's name, a method or an instance."""
        return self.expressions[type(node)](self, node)

    def value(self, node: s.Expr) -> r.Expr:
        """An expression that must have a value: not a type, a method or an instance."""
        found = self.expressions[type(node)](self, node)
        if isinstance(found, r.TypeRef):
            fail(self, node, f"{found.type} is a type, not a value")
        if isinstance(found, r.Method):
            fail(self, node, f"{found.name!r} can only be called")
        if found.type is t.VOID:
            fail(self, node, "this call has no value")
        return found

    # --- scopes ------------------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self, **changes: Any) -> Iterator[None]:
        """A scope of names; ``changes`` are fields of `Place`."""
        outer = self.place
        if changes:
            self.place = replace(outer, **changes)
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()
            self.place = outer

    @contextmanager
    def within(self, **changes: Any) -> Iterator[None]:
        """Another `Place` with the same names."""
        outer = self.place
        self.place = replace(outer, **changes)
        try:
            yield
        finally:
            self.place = outer

    def declare(self, name: str, symbol: Any, at: int) -> None:
        """Declare a name in the innermost scope."""
        scope = self.scopes[-1]
        if name in scope:
            old = getattr(scope[name], "at", None)
            notes = declared_at(self, old) if isinstance(old, int) and old else ()
            report(self, at, f"{name!r} is declared twice in this scope", Kind.DUPLICATE, notes)
            return
        scope[name] = symbol
        hidden = next((outer[name] for outer in reversed(self.scopes[:-1]) if name in outer), None)
        if isinstance(hidden, _MAY_BE_HIDDEN) and isinstance(symbol, _MAY_BE_HIDDEN):
            warn_in_program(self, at, f"{name!r} hides the one that is declared at {self.tokens.span(hidden.at)}")

    def declare_unknown(self, name: str, at: int) -> None:
        """Declare a name without a type, so that a wrong declaration is one error, not one for each use of the name."""
        if name not in self.scopes[-1]:
            self.scopes[-1][name] = r.VariableSymbol(name, t.UNKNOWN, at)

    def find(self, name: str, is_absolute: bool = False) -> Any:
        """The symbol or type of that name, None when there is none."""
        for scope in self.scopes[:1] if is_absolute else reversed(self.scopes):
            found = scope.get(name)
            if found is not None:
                self.used.add(found)
                return found
        return None
