"""What all parts of the checker share: scopes, reporting, and types from their syntax."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from emulator.p4.architecture import Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.constants import fits, wrap
from emulator.p4.check.field_types import is_legal_field
from emulator.p4.check.reporting import Reporter
from emulator.p4.errors import Abandoned, Diagnostics, Kind, counted
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.source import Tokens, unpack_place

_MAY_BE_HIDDEN = (r.VariableSymbol, r.ConstantSymbol, r.InstanceSymbol, r.ActionSymbol, r.TableSymbol, r.ValueSetSymbol)
"""What a declaration of the same name in an inner scope may hide by mistake (section 6.9: a warning)."""
MAX_WIDTH = 2048
"""Widest ``bit<W>``: p4c's own default limit."""
MAX_STACK = 4096
"""Elements of a stack: more would not fit any packet, and each has storage of its own."""


class Where:
    """Kinds of places that allow or forbid statements and expressions."""

    TOP, PARSER, STATE, CONTROL, APPLY, ACTION, FUNCTION, TABLE = (
        "the top level", "a parser", "a parser's state", "a control", "a control's apply block", "an action",
        "a function", "a table",
    )  # fmt: skip


class BaseChecker(Reporter):
    def __init__(self, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> None:
        super().__init__(tokens, diagnostics)
        self.architecture = architecture
        self.scopes: list[dict[str, Any]] = [{}]
        self.unfinished: list[str] = []
        """Types whose fields are being looked at."""
        self.where = Where.TOP
        self.errors: dict[str, int] = {}
        self.match_kinds: dict[str, int] = {}
        self.used: set[Any] = set()
        """What a name was looked up for."""
        self.variables: list[Any] = []
        """Symbols of all variables, in order."""
        self.packages: dict[str, list[t.Type | t.Generic]] = {}
        """All package types of each name."""
        self.allows_any_type = False
        """Whether ``_`` may stand for any type: among a package's parameters (section 7.2.14)."""
        self.this: r.VariableSymbol | None = None
        """The object whose abstract methods are being given."""

    # --- scopes --------------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self, where: str | None = None) -> Iterator[None]:
        outer = self.where
        self.where = where or outer
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()
            self.where = outer

    def declare(self, name: str, symbol: Any, at: int) -> None:
        scope = self.scopes[-1]
        if name in scope:
            old = getattr(scope[name], "at", None)
            notes = self.declared_at(old) if isinstance(old, int) and old else ()
            self.report(at, f"{name!r} is declared twice in this scope", Kind.DUPLICATE, notes)
            return
        scope[name] = symbol
        hidden = next((outer[name] for outer in reversed(self.scopes[:-1]) if name in outer), None)
        if isinstance(hidden, _MAY_BE_HIDDEN) and isinstance(symbol, _MAY_BE_HIDDEN):
            self.warn_in_program(at, f"{name!r} hides the one that is declared at {self.tokens.span(hidden.at)}")

    def warn_in_program(self, at: int, message: str) -> None:
        """Not of the include files that come with us."""
        file, _, _ = unpack_place(self.tokens.places[at])
        if not self.tokens.sources.files[file].is_system:
            self.warn(at, message)

    def find(self, name: str, is_absolute: bool = False) -> Any:
        """The symbol or type of that name, None when there is none."""
        for scope in self.scopes[:1] if is_absolute else reversed(self.scopes):
            found = scope.get(name)
            if found is not None:
                self.used.add(found)
                return found
        return None

    # --- types ---------------------------------------------------------------------------------------------------

    def type_of(self, node: s.TypeNode) -> t.Type:
        """The type that ``node`` writes; ``_`` is None's business of the caller."""
        if isinstance(node, s.BitType):
            return self._bit_type(node)
        if isinstance(node, s.SimpleType):
            return _SIMPLE[node.name]
        if isinstance(node, s.NamedType):
            return self.named_type(node)
        if isinstance(node, s.StackTypeNode):
            return self._stack_type(node)
        if isinstance(node, s.TupleTypeNode):
            return t.tuple_of(tuple(self._tuple_element(a) for a in node.arguments))
        return t.list_of(self._element_type(node.argument))

    def _element_type(self, node: s.TypeNode) -> t.Type:
        found = self.type_of(node)
        if found is t.VOID or isinstance(found, t.ExternType | t.BlockType):
            self.fail(node, f"{found} cannot be an element's type")
        return found

    def _tuple_element(self, node: s.TypeNode) -> t.Type:
        found = self._element_type(node)
        if found in (t.INT, t.STRING, t.MATCH_KIND) or isinstance(found, t.ListType):
            self.fail(node, f"a tuple's element cannot have type {found}")
        return found

    def named_type(self, node: s.NamedType) -> t.Type:
        found = self.find(node.name, node.is_absolute)
        if found is None and node.name in self.unfinished:
            self.fail(node, f"type {node.name!r} cannot be part of itself", Kind.NAME)
        if found is None:
            self.fail(node, f"type {node.name!r} is not declared", Kind.NAME)
        if isinstance(found, t.Generic):
            return self._specialised(node, found)
        if not isinstance(found, t.Type):
            self.fail(node, f"{node.name!r} is not a type")
        if node.arguments is not None:
            self.fail(node, f"{node.name} takes no type arguments")
        return found

    def type_arguments(self, node: s.NamedType, generic: t.Generic) -> tuple[t.Type | None, ...]:
        """What is written in the brackets behind a generic type's name; None for ``_``, to be inferred."""
        if node.arguments is None:
            return ()
        if len(node.arguments) != len(generic.parameters):
            wanted = counted(len(generic.parameters), "type argument")
            self.fail(node, f"{node.name} takes {wanted}, {len(node.arguments)} given")
        return tuple(None if is_open(a) else self.type_of(a) for a in node.arguments)

    def _specialised(self, node: s.NamedType, generic: t.Generic) -> t.Type:
        if node.arguments is None:
            self.fail(node, f"{node.name} needs {counted(len(generic.parameters), 'type argument')}")
        for argument in filter(is_open, node.arguments):
            if not self.allows_any_type:
                self.fail(argument, "'_' cannot be inferred here")
        arguments = self.type_arguments(node, generic)
        found = generic.specialise(tuple(t.TypeVariable("_") if a is None else a for a in arguments))
        if isinstance(found, t.StructLike):
            for field in found.fields.values():
                if not is_legal_field(found.kind, field.type):
                    self.fail(node, f"a field of a {found.kind} cannot have type {field.type} ({field.name!r})")
        return found

    def _bit_type(self, node: s.BitType) -> t.Type:
        if isinstance(node.width, s.IntLiteral):
            width = node.width.value
        else:
            width = self.constant_int(node.width, "a width")
        least = 1 if node.kind == "int" else 0
        if width < least:
            self.fail(node.width, f"{node.kind}<{width}>: the width must be at least {least}", Kind.CONSTANT)
        if width > MAX_WIDTH:
            self.fail(node.width, f"{node.kind}<{width}> is wider than {MAX_WIDTH} bits", Kind.CONSTANT)
        if node.kind == "varbit":
            return t.varbit(width)
        return t.bits(width, node.kind == "int")

    def _stack_type(self, node: s.StackTypeNode) -> t.Type:
        element = self.type_of(node.element)
        if not isinstance(element, t.StructLike) or element.kind == "struct":
            self.fail(node.element, f"a stack's elements are headers, not {element}")
        size = self.constant_int(node.size, "a stack's size")
        if size < 1:
            self.fail(node.size, "a stack's size must be at least 1", Kind.CONSTANT)
        if size > MAX_STACK:
            self.fail(node.size, f"a stack's size must be at most {MAX_STACK}", Kind.CONSTANT)
        return t.stack(element, size)

    def storable_type(self, node: s.TypeNode, what: str) -> t.Type:
        """A type that a variable may have."""
        found = self.type_of(node)
        if found is t.VOID or found is t.MATCH_KIND or isinstance(found, t.ExternType | t.BlockType):
            self.fail(node, f"{what} cannot have type {found}")
        if found in (t.STRING, t.INT) or isinstance(found, t.ListType):
            self.fail(node, f"{what} cannot have type {found}: only compile-time values can")
        return found

    # --- constants -----------------------------------------------------------------------------------------------

    def constant_int(self, node: s.Expr, what: str) -> int:
        """The value of an integer that must be known now."""
        found = self.expression(node)
        base = t.unwrapped(found.type)
        if found.type is t.UNKNOWN:
            raise Abandoned
        if base is not t.INT and not isinstance(base, t.BitsType):
            self.fail(node, f"{what} must be an integer, not {found.type}")
        if not isinstance(found, r.Literal):
            self.fail(node, f"{what} must be known at compile time", Kind.CONSTANT)
        return int(found.value)

    def literal_in(self, literal: r.Literal, target: t.BitsType) -> r.Literal:
        """An ``int`` value in a fixed width: cut with a warning when it does not fit, as p4c does."""
        if not fits(literal.value, target):
            value = wrap(literal.value, target)
            self.warn(literal, f"{literal.value} does not fit in {target}: it becomes {value}")
            return r.Literal(literal.at, target, value)
        return r.Literal(literal.at, target, literal.value)

    def expression(self, node: s.Expr) -> r.Expr:
        raise NotImplementedError


_SIMPLE = {
    "bool": t.BOOL,
    "error": t.ERROR,
    "string": t.STRING,
    "match_kind": t.MATCH_KIND,
    "int": t.INT,
    "void": t.VOID,
    "_": t.UNKNOWN,
}


def is_open(argument: s.TypeNode) -> bool:
    """Whether a type argument is ``_``."""
    return isinstance(argument, s.SimpleType) and argument.name == "_"
