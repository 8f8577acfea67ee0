"""Annotations as P4Info prints them: lines of text, structured ones as messages, @brief and @description as docs.

An annotation whose shape the language or the architecture knows prints its expressions joined by ", "; of any other the
tokens are kept, joined by single spaces. That is p4c's rule, and readers compare the text.
"""

from __future__ import annotations

from typing import Any

from emulator.p4.architecture import Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check.annotations import annotation_text
from emulator.p4.check.checker import new_context
from emulator.p4.check.reporting import fail, report
from emulator.p4.errors import Abandoned, Diagnostics, Kind
from emulator.p4.syntax import expressions
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import Cursor
from emulator.p4.syntax.lexer import kind_of
from emulator.p4.syntax.parse import cursor
from emulator.p4.syntax.source import Tokens

NOT_COPIED = frozenset(("name", "id", "brief", "description", "hidden"))
"""Annotations that P4Info has separate fields for."""
WITH_EXPRESSIONS = frozenset(("deprecated", "noWarn", "length", "match", "field_list", "synchronous",
                              "controller_header", "max_group_size", "max_member_weight",
                              "selector_size_semantics"))  # fmt: skip
_INT64 = 1 << 63


class AnnotationWriter:
    """Prints annotations of one program; errors are about bodies that P4Info cannot hold."""

    def __init__(
        self, program: r.Program, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture
    ) -> None:
        self.tokens = tokens
        self.diagnostics = diagnostics
        self._constants = new_context(tokens, diagnostics, architecture)
        scope = self._constants.scopes[0]
        scope.update({d.name: d for d in program.declarations if isinstance(d, r.ConstantSymbol)})

    def copy(self, message: Any, annotations: s.Annotations, but: frozenset[str] = frozenset()) -> None:
        """All but those in other fields (and ``but``) into a message; docs too where it has room for them."""
        for annotation in annotations:
            if annotation.name in NOT_COPIED or annotation.name in but:
                continue
            if annotation.is_structured:
                self._structured(message.structured_annotations.add(), annotation)
            else:
                message.annotations.append(self.line(annotation))
        if "doc" not in message.DESCRIPTOR.fields_by_name:
            return
        for key in ("brief", "description"):
            text = annotation_text(annotations, key)
            if text is not None:
                setattr(message.doc, key, text)

    def line(self, annotation: s.Annotation) -> str:
        """``@name``, or ``@name(body)``."""
        tokens = annotation.tokens
        if not tokens:
            return f"@{annotation.name}"
        if annotation.name in WITH_EXPRESSIONS:
            return f"@{annotation.name}({', '.join(_expression_text(part) for part in split_at_commas(tokens))})"
        return f"@{annotation.name}({' '.join(tokens)})"

    # --- values in bodies ----------------------------------------------------------------------------------------

    def number(self, annotation: s.Annotation) -> int | None:
        """The one unsigned number of ``@id(5)`` and its like; anything else is reported, and None."""
        try:
            values = [self._constant(node) for node in self._expressions(annotation)]
        except Abandoned:
            return None
        value = values[0].value if len(values) == 1 else None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            report(self, annotation, f"@{annotation.name} takes one unsigned number")
            return None
        return value

    def _structured(self, message: Any, annotation: s.Annotation) -> None:
        message.name = annotation.name
        tokens = annotation.tokens or ()
        pairs = len(tokens) > 1 and tokens[1] == "="
        try:
            if pairs:
                self._pairs(message.kv_pair_list, annotation)
            else:
                message.expression_list.SetInParent()
                for node in self._expressions(annotation):
                    self._value(message.expression_list.expressions.add(), self._constant(node))
        except Abandoned:
            return

    def _pairs(self, message: Any, annotation: s.Annotation) -> None:
        cx, end = self._body(annotation)
        while cx.position < end:
            name = cx.texts[cx.position]
            cx.position += 1
            cx.expect("=", "between a key and its value")
            pair = message.kv_pairs.add()
            pair.key = name
            self._value(pair.value, self._constant(expressions.parse(cx)))
            if cx.position < end:
                cx.expect(",", "between the pairs of a structured annotation")

    def _expressions(self, annotation: s.Annotation) -> list[s.Expr]:
        cx, end = self._body(annotation)
        found = []
        while cx.position < end:
            found.append(expressions.parse(cx))
            if cx.position < end:
                cx.expect(",", f"between the values of @{annotation.name}")
        return found

    def _body(self, annotation: s.Annotation) -> tuple[Cursor, int]:
        """A cursor at the body's first token, and where the body ends; bodies follow ``@ name (``."""
        start = annotation.at + 3
        return cursor(self.tokens, self.diagnostics, start), start + len(annotation.tokens or ())

    def _constant(self, node: s.Expr) -> r.Literal:
        found = self._constants.expression(node)
        if not isinstance(found, r.Literal):
            fail(self, node, "a value in an annotation must be known at compile time", Kind.CONSTANT)
        return found

    def _value(self, message: Any, literal: r.Literal) -> None:
        value = literal.value
        if isinstance(value, bool):
            message.bool_value = value
        elif isinstance(value, str):
            message.string_value = value
        elif -_INT64 <= value < _INT64:
            message.int64_value = value
        else:
            fail(self, literal, f"{value} does not fit in the 64 bits that P4Info has for it", Kind.CONSTANT)


def split_at_commas(tokens: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The parts between commas outside of brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts if part]


def _expression_text(tokens: tuple[str, ...]) -> str:
    """An expression as p4c prints it: strings joined, no blanks around dots."""
    if all(kind_of(token) == "STRING" for token in tokens[::2]) and set(tokens[1::2]) <= {"++"}:
        return '"' + "".join(token[1:-1] for token in tokens[::2]) + '"'
    return " ".join(tokens).replace(" . ", ".")
