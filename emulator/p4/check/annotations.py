"""Bodies of structured annotations: values of type string, int or bool that are known now (section 20.2)."""

from __future__ import annotations

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.blocks import BlockChecker
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.base import GENERIC_TYPE, TYPE
from emulator.p4.syntax.declarations import DeclarationParser


class AnnotationChecker(BlockChecker):
    def structured_annotations(self) -> None:
        """All of the program; names in them are those of the top level."""
        kinds = self.tokens.kinds
        position = -1
        while (position := _next(kinds, "@", position + 1)) >= 0:
            if kinds[position + 2 : position + 3] == ["["]:
                self._structured(position)

    def _structured(self, at: int) -> None:
        reader = self._reader(at + 3)
        try:
            while not reader.is_at("]"):
                if reader.peek() == "=":
                    reader.position += 2
                self._check_value(reader.expression())
                if not reader.accept(","):
                    reader.expect("]", "after the values of a structured annotation")
                    return
        except Abandoned:
            return

    def _reader(self, position: int) -> DeclarationParser:
        """A parser of expressions that knows the types declared so far."""
        reader = DeclarationParser(self.tokens, self.diagnostics)
        reader.position = position
        for name, found in self.scopes[0].items():
            if isinstance(found, t.Type | t.Generic):
                reader.declare(name, GENERIC_TYPE if isinstance(found, t.Generic) else TYPE)
        return reader

    def _check_value(self, node: s.Expr) -> None:
        found = self.value(node)
        if found.type is t.UNKNOWN:
            return
        if not isinstance(found, r.Literal):
            self.report(node, "a structured annotation's value must be known at compile time", Kind.CONSTANT)
        elif t.unwrapped(found.type) not in (t.INT, t.BOOL, t.STRING) and not isinstance(found.type, t.BitsType):
            self.report(node, f"a structured annotation's value cannot have type {found.type}")

    def numbers_of(self, annotation: s.Annotation, what: str) -> tuple[int, ...]:
        """The numbers in ``@name(1, 2)``; none where one is wrong, which has been reported."""
        reader = self._reader(annotation.at + 3)
        end = reader.position + len(annotation.tokens or ())
        numbers: list[int] = []
        try:
            while reader.position < end:
                numbers.append(self.constant_int(reader.expression(), what))
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
