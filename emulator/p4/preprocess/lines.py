"""A file as logical lines of preprocessing tokens: joined lines, comments and strings (translation phases 2 and 3)."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable
from dataclasses import dataclass

from emulator.p4.preprocess.macros import KINDS, OTHER, Token
from emulator.p4.syntax.lexer import TOKEN
from emulator.p4.syntax.source import pack_place

_COMMENT_END = re.compile(r"\*/")
_STRING_END = re.compile(r'(?<!\\)(?:\\\\)*"')
_CONDITIONAL = re.compile(r"\s*#\s*(?:if|ifdef|ifndef|elif|else|endif)\b")


@dataclass(slots=True)
class Condition:
    place: int
    is_live: bool
    """This branch's lines count."""
    was_taken: bool
    """An earlier branch counted, or the whole is inside a branch that doesn't."""
    saw_else: bool = False


class LineReader:
    """One open file: cuts it into logical lines of preprocessing tokens."""

    def __init__(
        self,
        number: int,
        text: str,
        path: str,
        conditional: Callable[[list[Token], LineReader], None] | None = None,
    ) -> None:
        """``conditional`` acts on ``#if`` and its like inside a string of several lines: cpp knows no such strings."""
        self.number = number
        self._conditional = conditional
        self.directory = os.path.dirname(path)
        self.lines = text.split("\n")
        self.next = 0
        self.line_shift = 0
        """What ``#line`` added to the numbers."""
        self.conditions: list[Condition] = []
        self.raw = ""

    def read(self, is_skipping: bool) -> list[Token] | None:
        """Tokens of the next logical line, None at the end; skipped text comes back empty."""
        lines = self.lines
        while self.next < len(lines):
            start = self.next
            raw = lines[start]
            self.next = start + 1
            if is_skipping and "#" not in raw and "/*" not in raw:
                continue
            return self._tokens(raw, start, is_skipping)
        return None

    def _tokens(self, raw: str, start: int, is_skipping: bool) -> list[Token]:
        breaks: list[tuple[int, int]] = []
        raw = self._spliced(raw, breaks)
        base = pack_place(self.number, start + 1 + self.line_shift, 0)
        while True:
            tokens: list[Token] = []
            space = False
            for match in TOKEN.finditer(raw):
                group = match.lastgroup
                if group == "space":
                    space = True
                elif group in ("open", "quote"):
                    break
                else:
                    assert group is not None
                    offset = match.start()
                    tokens.append((KINDS[group], match.group(), space, base + offset + 1))
                    space = False
            else:
                break
            if not self._goes_on(group, match.group(), tokens, is_skipping):
                # a lone quote: cpp takes the rest of the line as one token
                tokens.append((OTHER, raw[match.start() :], space, base + match.start() + 1))
                break
            raw = self._closed(raw, breaks, _COMMENT_END if group == "open" else _STRING_END)
        self.raw = raw
        return self._placed(tokens, base, breaks) if breaks else tokens

    def _goes_on(self, group: str | None, text: str, tokens: list[Token], is_skipping: bool) -> bool:
        """Whether an open comment (or, outside directives, a string) goes on in the next line."""
        if self.next >= len(self.lines):
            return False
        if group == "open":
            return True
        is_directive = bool(tokens) and tokens[0][1] == "#"
        return text == '"' and not is_skipping and not is_directive

    def _spliced(self, raw: str, breaks: list[tuple[int, int]]) -> str:
        while raw.endswith(("\\", "\\\r")):
            raw = raw.rstrip("\r")[:-1]
            if self.next >= len(self.lines):
                break
            breaks.append((len(raw), self.next + 1 + self.line_shift))
            raw += self.lines[self.next]
            self.next += 1
        return raw

    def _closed(self, raw: str, breaks: list[tuple[int, int]], end: re.Pattern[str]) -> str:
        """Text with the lines up to one that has the end: looking for tokens again after each would take the square."""
        while True:
            length = len(raw)
            raw = self._joined(raw, breaks, end is _STRING_END)
            if end.search(raw, length) or self.next >= len(self.lines):
                return raw

    def _joined(self, raw: str, breaks: list[tuple[int, int]], is_string: bool) -> str:
        """Line joined with the next; in a string, directives and lines that they skip count as empty."""
        raw += "\n"
        breaks.append((len(raw), self.next + 1 + self.line_shift))
        following: list[tuple[int, int]] = []
        self.next += 1
        added = self._spliced(self.lines[self.next - 1], following)
        breaks += [(len(raw) + offset, line) for offset, line in following]
        if is_string and self._conditional is not None:
            if _CONDITIONAL.match(added):
                self._conditional(self._tokens(added, self.next - 1, False), self)
                return raw
            if self.is_skipping:
                return raw
        return raw + added

    @property
    def is_skipping(self) -> bool:
        return bool(self.conditions) and not self.conditions[-1].is_live

    def _placed(self, tokens: list[Token], base: int, breaks: list[tuple[int, int]]) -> list[Token]:
        """Places of tokens behind a joined line: count line and column from the break before them."""
        result, position = [], -1
        for kind, text, space, place in tokens:
            offset = place - base - 1
            while position + 1 < len(breaks) and breaks[position + 1][0] <= offset:
                position += 1
            if position >= 0:
                start, line = breaks[position]
                place = pack_place(self.number, line, offset - start + 1)
            result.append((kind, text, space, place))
        return result
