"""Macro replacement as the C standard (6.10.3) and GNU cpp do it.

Tokens are tuples ``(kind, text, space before, place of its spelling)``. Nested expansion keeps a stack of contexts: a
macro is disabled while its context is on the stack; its name, if it occurs meanwhile, is never expanded, later either.
Contexts are left while an argument list is read beyond their end: the standard leaves that open, cpp re-enables there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from emulator.p4.syntax.lexer import TOKEN
from emulator.p4.syntax.source import same_file

ID, NUMBER, STRING, PUNCTUATION, OTHER, PAINTED, PLACEMARKER = range(7)
KINDS = {"id": ID, "number": NUMBER, "string": STRING, "char": STRING, "punctuation": PUNCTUATION, "other": OTHER}
_WORDS = (ID, NUMBER, PAINTED)

Token: TypeAlias = tuple[int, str, bool, int]

LITERAL, EXPANDED, RAW, TEXT = range(4)


class MacroError(Exception):
    """A wrong definition or invocation; the preprocessor adds the place."""


@dataclass(slots=True)
class Op:
    """One piece of a replacement list, ready to substitute."""

    kind: int
    tokens: list[Token]
    """The literal ones."""
    parameter: int
    space: bool
    paste: bool
    """Glue the first token of this piece to the last one so far."""


@dataclass(slots=True)
class Macro:
    name: str
    parameters: tuple[str, ...] | None
    """None for an object-like macro."""
    is_variadic: bool
    body: list[Token]
    place: int
    ops: list[Op]
    is_disabled: bool = False
    special: Callable[[int], str] | None = None
    """Makes the replacement of ``__LINE__`` and its like, for a place."""

    def same_as(self, other: Macro) -> bool:
        """Whether a second definition is the same (6.10.3, paragraph 2)."""

        def key(macro: Macro) -> object:
            spaces = [t[2] for t in macro.body[1:]]
            return macro.parameters, macro.is_variadic, [t[:2] for t in macro.body], spaces

        return key(self) == key(other)


def compile_body(body: list[Token], parameters: tuple[str, ...] | None) -> list[Op]:
    """Cut a replacement list into literal runs, parameters, ``#`` and ``##``."""
    names = {name: i for i, name in enumerate(parameters or ())}
    is_function = parameters is not None
    if body and "##" in (body[0][1], body[-1][1]):
        raise MacroError("'##' cannot be at either end of a macro expansion")
    ops: list[Op] = []
    paste, index = False, 0
    while index < len(body):
        token = body[index]
        kind, text, space, _ = token
        if text == "##" and kind == PUNCTUATION:
            paste, index = True, index + 1
            continue
        pasted_next = index + 1 < len(body) and body[index + 1][1] == "##"
        if is_function and text == "#" and index + 1 < len(body) and body[index + 1][1] in names:
            ops.append(Op(TEXT, [], names[body[index + 1][1]], space, paste))
            index += 1
        elif kind == ID and text in names:
            ops.append(Op(RAW if paste or pasted_next else EXPANDED, [], names[text], space, paste))
        elif ops and ops[-1].kind == LITERAL and not paste:
            ops[-1].tokens.append(token)
        else:
            ops.append(Op(LITERAL, [token], -1, space, paste))
        paste, index = False, index + 1
    return ops


def stringify(tokens: list[Token], place: int, space: bool) -> Token:
    parts: list[str] = []
    for kind, text, spaced, _ in tokens:
        if spaced and parts:
            parts.append(" ")
        parts.append(text.replace("\\", "\\\\").replace('"', '\\"') if kind == STRING else text)
    return STRING, '"' + "".join(parts) + '"', space, place


def glue(left: Token, right: Token) -> list[Token]:
    """``left ## right``. What makes no token stays two, silently: so does cpp in its assembler mode."""
    if left[0] == PLACEMARKER:
        return [(right[0], right[1], left[2], right[3])]
    if right[0] == PLACEMARKER:
        return [left]
    text = left[1] + right[1]
    if left[0] in (ID, PAINTED) and right[0] in _WORDS and text.isidentifier():
        return [(ID, text, left[2], left[3])]
    match = TOKEN.fullmatch(text)
    if match is None or match.lastgroup not in KINDS:
        return [left, right]
    return [(KINDS[match.lastgroup], text, left[2], left[3])]


MAX_WORK = 1 << 22
"""Twenty times what the all-reduce program takes at 1,024 lanes; macros that double each other reach it in seconds."""


class Expander:
    """Expands token lists with the macros of ``table``; ``disabled`` state lives on the macros."""

    def __init__(self, table: dict[str, Macro]) -> None:
        self.table = table
        self._origin = 0
        """Place of the user's current invocation."""
        self._depth = 0
        """Nesting depth of arguments that are expanded on their own."""
        self._work = 0
        """Tokens that macros were replaced by so far, and replacements."""

    def expand(
        self, tokens: list[Token], more: Callable[[], list[Token] | None] | None = None
    ) -> tuple[list[Token], list[tuple[int, int]]]:
        """Fully expanded tokens, and where the user's macro invocations begin and end in them.

        The second list holds (index in the output, place of the invocation or -1 for the user's own tokens), in
        order. ``more`` gives a further line where an invocation goes on behind the end; None at the end of the file.
        """
        output: list[Token] = []
        marks: list[tuple[int, int]] = []
        append, table = output.append, self.table
        stack: list[tuple[list[Token], int, Macro | None]] = []
        current, index, owner = tokens, 0, None
        while True:
            if index == len(current):
                if owner is not None:
                    owner.is_disabled = False
                if not stack:
                    return output, marks
                current, index, owner = stack.pop()
                if not stack:
                    marks.append((len(output), -1))
                continue
            token = current[index]
            index += 1
            if token[0] != ID or (macro := table.get(token[1])) is None:
                append(token)
                continue
            if macro.is_disabled:
                append((PAINTED, *token[1:]))
                continue
            if not stack:
                marks.append((len(output), token[3]))
                if not self._depth:
                    self._origin = token[3]
            if macro.parameters is None:
                result = self._object(macro, token)
            else:
                arguments, current, index, owner = self._arguments(macro, current, index, owner, stack, more)
                if arguments is None:
                    append(token)
                    if not stack:
                        marks.append((len(output), -1))
                    continue
                result = self._substitute(macro, arguments, token)
            self._work += 1 + len(result)
            if self._work > MAX_WORK:
                raise MacroError(f"the macros of this program expand to more than {MAX_WORK} tokens")
            stack.append((current, index, owner))
            current, index, owner = result, 0, macro
            macro.is_disabled = True

    def _object(self, macro: Macro, name: Token) -> list[Token]:
        if macro.special is not None:
            place = name[3] if self._origin <= name[3] and same_file(self._origin, name[3]) else self._origin
            text = macro.special(place)  # what is in a macro's body is placed where the macro is invoked
            return [(STRING if text[0] == '"' else NUMBER, text, name[2], name[3])]
        if len(macro.ops) > 1:
            return self._substitute(macro, [], name)
        if not macro.body:
            return []
        first = macro.body[0]
        return [(first[0], first[1], name[2], first[3]), *macro.body[1:]]

    def _arguments(
        self,
        macro: Macro,
        current: list[Token],
        index: int,
        owner: Macro | None,
        stack: list[tuple[list[Token], int, Macro | None]],
        more: Callable[[], list[Token] | None] | None,
    ) -> tuple[list[list[Token]] | None, list[Token], int, Macro | None]:
        """Read ``( arguments )``; None when no parenthesis follows. Returns where reading goes on."""
        arguments: list[list[Token]] = []
        argument: list[Token] = []
        depth = 0
        while True:
            while index == len(current):
                if not stack:
                    line = more() if more is not None else None
                    if line is None:
                        if depth:
                            raise MacroError(f"unterminated argument list invoking macro '{macro.name}'")
                        return None, current, index, owner
                    if line:
                        line[0] = (*line[0][:2], True, line[0][3])
                    current, index = line, 0
                    continue
                if owner is not None:
                    owner.is_disabled = False
                current, index, owner = stack.pop()
            token = current[index]
            text = token[1]
            if depth == 0:
                if text != "(":
                    return None, current, index, owner
                depth, index = 1, index + 1
                continue
            index += 1
            if token[0] == PUNCTUATION:
                if text == "(":
                    depth += 1
                elif text == ")":
                    depth -= 1
                    if depth == 0:
                        arguments.append(argument)
                        return self._checked(macro, arguments), current, index, owner
                elif text == "," and depth == 1 and not self._in_rest(macro, len(arguments)):
                    arguments.append(argument)
                    argument = []
                    continue
            elif token[0] == ID and (named := self.table.get(text)) is not None and named.is_disabled:
                token = (PAINTED, *token[1:])
            argument.append(token)

    @staticmethod
    def _in_rest(macro: Macro, position: int) -> bool:
        assert macro.parameters is not None
        return macro.is_variadic and position == len(macro.parameters) - 1

    @staticmethod
    def _checked(macro: Macro, arguments: list[list[Token]]) -> list[list[Token]]:
        assert macro.parameters is not None
        expected = len(macro.parameters)
        if expected == 0 and arguments == [[]]:
            return []
        if macro.is_variadic and len(arguments) == expected - 1:
            return [*arguments, []]
        if len(arguments) > expected:
            raise MacroError(f"macro '{macro.name}' passed {len(arguments)} arguments, but takes just {expected}")
        if len(arguments) < expected:
            raise MacroError(f"macro '{macro.name}' requires {expected} arguments, but only {len(arguments)} given")
        return arguments

    def _substitute(self, macro: Macro, arguments: list[list[Token]], name: Token) -> list[Token]:
        result: list[Token] = []
        expanded: dict[int, list[Token]] = {}
        has_placemarker = False
        for op in macro.ops:
            kind = op.kind
            if kind == LITERAL:
                items = op.tokens
            elif kind == EXPANDED:
                found = expanded.get(op.parameter)
                if found is None:
                    found = expanded[op.parameter] = self._expand_argument(arguments[op.parameter])
                items = self._spaced(found, op.space)
            elif kind == TEXT:
                items = [stringify(arguments[op.parameter], name[3], op.space)]
            else:
                items = self._spaced(arguments[op.parameter], op.space)
                if not items:
                    has_placemarker = True
                    items = [(PLACEMARKER, "", op.space, name[3])]
            if op.paste and result:
                self._paste(macro, op, arguments, result, items)
            else:
                result += items
        if has_placemarker:
            result = [t for t in result if t[0] != PLACEMARKER]
        if result and result[0][2] != name[2]:
            first = result[0]
            result[0] = (first[0], first[1], name[2], first[3])
        return result

    def _expand_argument(self, argument: list[Token]) -> list[Token]:
        table = self.table
        for token in argument:
            if token[0] == ID and token[1] in table:
                self._depth += 1
                try:
                    return self.expand(argument)[0]
                finally:
                    self._depth -= 1
        return argument

    @staticmethod
    def _spaced(items: list[Token], space: bool) -> list[Token]:
        if not items or items[0][2] == space:
            return items
        first = items[0]
        return [(first[0], first[1], space, first[3]), *items[1:]]

    def _paste(
        self, macro: Macro, op: Op, arguments: list[list[Token]], result: list[Token], items: list[Token]
    ) -> None:
        left = result.pop()
        is_rest = op.kind == RAW and self._in_rest(macro, op.parameter) and macro.parameters is not None
        if is_rest and left[1] == ",":  # GNU: `, ## __VA_ARGS__` drops the comma when there are none
            if arguments[op.parameter]:
                result.append(left)
                result += items
            return
        result += glue(left, items[0])
        result += items[1:]
