"""The token cursor, the table of names, and types: what every part of the parser stands on."""

from __future__ import annotations

from typing import NoReturn

from emulator.p4.errors import Abandoned, Diagnostic, Diagnostics, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.annotations import check_shapes
from emulator.p4.syntax.lexer import KEYWORDS, integer_value
from emulator.p4.syntax.source import Tokens

NAME_KEYWORDS = frozenset(["apply", "key", "actions", "state", "entries", "type", "priority", "list"])
"""Keywords that may name things (grammar: nonTypeName and name)."""
NAME_KINDS = NAME_KEYWORDS | {"ID"}
SIMPLE_TYPES = frozenset(["bool", "error", "string", "match_kind"])
TYPE_STARTS = SIMPLE_TYPES | frozenset(["bit", "int", "varbit", "tuple", "list", "void"])
_SHOWN = 60
"""Characters of a token in a message: a string that is not closed goes to the file's end."""
_ANGLES = {"<": 1, ">": -1, ">>": -2}
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


class BaseParser:
    """Cursor and types. Errors are reported and raise `Abandoned`, caught where parsing can go on."""

    def __init__(self, tokens: Tokens, diagnostics: Diagnostics) -> None:
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.diagnostics = diagnostics
        self.names = Names()
        self.position = 0
        self.undeclared: set[str] = set()
        self.is_lost = False
        """Braces do not match: nothing is told until a parser, control or type at the top level."""

    # --- cursor --------------------------------------------------------------------------------------------------

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
        """Told once of each name: a declaration that is missing or wrong is one mistake."""
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

    def recover_declaration(self, start: int) -> None:
        """After an error in a top-level declaration that began at ``start``: go behind its end."""
        while self.names.depth > 1:
            self.names.leave()
        failed_at, self.position = self.position, start
        depth = 0
        while (kind := self.kinds[self.position]) != "EOF":
            self.position += 1
            if kind == "{":
                depth += 1
            elif kind == "}":
                depth -= 1
            if depth <= 0 and kind in (";", "}") and self.position > failed_at:
                return

    # --- names ---------------------------------------------------------------------------------------------------

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
        """Whether the token at hand names a type declared before (a keyword such as ``state`` may be redefined)."""
        position = self.position
        if self.kinds[position] == ".":
            position += 1
        kind = self.names.kinds.get(self.texts[position], VALUE)
        return (kind in (TYPE, GENERIC_TYPE)) and self.kinds[position] in NAME_KINDS

    def is_type_start(self) -> bool:
        kind = self.kinds[self.position]
        if kind in TYPE_STARTS:
            return kind != "list" or self.peek() == "<"
        return self.is_type_name()

    # --- annotations ---------------------------------------------------------------------------------------------

    def annotations(self) -> s.Annotations:
        if self.kinds[self.position] != "@":
            return ()
        found: list[s.Annotation] = []
        while self.kinds[self.position] == "@":
            found.append(self._annotation())
        check_shapes(tuple(found), self.report)
        return tuple(found)

    def _annotation(self) -> s.Annotation:
        at = self.expect("@", "before an annotation")
        name = self.texts[self.position]
        if self.kinds[self.position] not in KEYWORDS and self.kinds[self.position] != "ID":
            self.fail("expected an annotation's name")
        self.position += 1
        if name == "pragma":
            return self._pragma(at)
        if self.is_at("("):
            return s.Annotation(at, name, self._balanced("(", ")"), False)
        if self.is_at("["):
            return s.Annotation(at, name, self._balanced("[", "]"), True)
        return s.Annotation(at, name, None, False)

    def _pragma(self, at: int) -> s.Annotation:
        line = self.tokens.places[at] >> 16
        first = self.position
        while self.kinds[self.position] != "EOF" and self.tokens.places[self.position] >> 16 == line:
            self.position += 1
        body = self.texts[first : self.position]
        return s.Annotation(at, body[0] if body else "pragma", tuple(body[1:]), False)

    def _balanced(self, opening: str, closing: str) -> tuple[str, ...]:
        start = self.expect(opening, "of an annotation")
        depth = 1
        while depth:
            kind = self.kinds[self.position]
            if kind == "EOF":
                self.fail(f"expected '{closing}' after the annotation's body", start)
            depth += (kind == opening) - (kind == closing)
            self.position += 1
        return tuple(self.texts[start + 1 : self.position - 1])

    # --- types ---------------------------------------------------------------------------------------------------

    def type(self) -> s.TypeNode:
        """typeRef."""
        at = self.position
        kind = self.kinds[at]
        if kind in SIMPLE_TYPES or kind == "void":
            self.position = at + 1
            return s.SimpleType(at, kind)
        if kind in ("bit", "int", "varbit"):
            return self._bit_type()
        if kind == "tuple":
            self.position = at + 1
            return self.stack_suffix(s.TupleTypeNode(at, self.type_arguments()))
        if kind == "list" and self.peek() == "<":
            self.position = at + 1
            arguments = self.type_arguments()
            if len(arguments) != 1:
                self.fail("list takes one type argument", at)
            return s.ListTypeNode(at, arguments[0])
        return self.stack_suffix(self.named_type())

    def named_type(self) -> s.NamedType:
        at = self.position
        is_absolute = self.accept(".")
        if not self.is_type_name():
            if self.kinds[self.position] == "ID":
                self.undeclared_type(self.position)
            self.fail("expected a type")
        name = self.texts[self.position]
        self.position += 1
        arguments = self.type_arguments() if self.kinds[self.position] == "<" else None
        return s.NamedType(at, name, is_absolute, arguments)

    def stack_suffix(self, element: s.TypeNode) -> s.TypeNode:
        while self.is_at("["):
            self.position += 1
            size = self.expression()
            self.expect("]", "after a stack's size")
            element = s.StackTypeNode(element.at, element, size)
        return element

    def _bit_type(self) -> s.TypeNode:
        at = self.position
        kind = self.kinds[at]
        self.position = at + 1
        if not self.accept("<"):
            if kind == "bit":
                return s.BitType(at, "bit", s.IntLiteral(at, 1, None, False))
            if kind == "int":
                return s.SimpleType(at, "int")
            self.fail("expected '<' after varbit")
        width: s.Expr
        if self.accept("("):
            width = self.expression()
            self.expect(")", "after a width")
        else:
            token = self.expect("INTEGER", "or '(' as a width")
            literal = integer_value(self.texts[token])
            if literal is None:
                self.fail(f"{self.texts[token]!r} is not an integer", token)
            width = s.IntLiteral(token, *literal)
        self.close_angle()
        return s.BitType(at, kind, width)

    def type_arguments(self) -> tuple[s.TypeNode, ...]:
        """``< typeArg, ... >``, with ``_`` for "infer this one"."""
        self.expect("<", "before type arguments")
        arguments: list[s.TypeNode] = []
        if not self.at_close_angle():
            arguments.append(self._type_argument())
            while self.accept(","):
                arguments.append(self._type_argument())
        self.close_angle()
        return tuple(arguments)

    def _type_argument(self) -> s.TypeNode:
        at = self.position
        if self.accept("_"):
            return s.SimpleType(at, "_")
        return self.type()

    def behind_type(self) -> int:
        """Where the type at hand ends, found by brackets alone: looking ahead must not cut a ``>>``."""
        kinds = self.kinds
        position = self.position + (kinds[self.position] == ".") + 1
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

    def at_close_angle(self) -> bool:
        return self.texts[self.position][:1] == ">"

    def close_angle(self) -> None:
        """Take one ``>``; ``>>``, ``>=`` and ``>>=`` are cut, as the scanner took the longest token."""
        position = self.position
        text = self.texts[position]
        if text == ">":
            self.position = position + 1
        elif text in (">>", ">=", ">>="):
            self.texts[position] = self.kinds[position] = text[1:]
            self.tokens.places[position] += 1
            self.tokens.spelled[position] += 1
        else:
            self.fail("expected '>' after type arguments")

    def expression(self) -> s.Expr:
        raise NotImplementedError
