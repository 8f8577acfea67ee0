"""Source files, and the token list that the preprocessor hands to the parser.

A *place* is one integer: file number, line and column. The preprocessor makes hundreds of thousands of tokens for a
program with many lanes, so tokens are parallel lists rather than objects, syntax nodes hold token numbers, and an
``ir.Span`` is only made when somebody needs one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from emulator.p4 import ir

COLUMN_BITS = 16
LINE_BITS = 28
MAX_COLUMN = (1 << COLUMN_BITS) - 1

FileReader: TypeAlias = Callable[[str], str | None]
"""Text of the file of that name, None where there is none."""


def read_from_disk(path: str) -> str | None:
    """The default ``FileReader``; bytes that are not UTF-8 survive as surrogates and are refused by the lexer."""
    try:
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return None


def plain(text: str) -> str:
    """A file's text as cpp sees it: lines end in one way, and a byte order mark is none of the program."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def pack_place(file: int, line: int, column: int) -> int:
    return file << (LINE_BITS + COLUMN_BITS) | line << COLUMN_BITS | min(column, MAX_COLUMN)


def unpack_place(place: int) -> tuple[int, int, int]:
    """File number, line, column; lines and columns count from 1."""
    line = (place >> COLUMN_BITS) & ((1 << LINE_BITS) - 1)
    return place >> (LINE_BITS + COLUMN_BITS), line, place & MAX_COLUMN


def same_file(one: int, other: int) -> bool:
    """Whether two places are in one file."""
    return one >> (LINE_BITS + COLUMN_BITS) == other >> (LINE_BITS + COLUMN_BITS)


@dataclass(slots=True)
class SourceFile:
    path: str
    """As the user named it, or as ``#line`` renamed it."""
    text: str
    """As it is in the file."""
    is_system: bool = False
    """One of the include files that come with us."""
    first_line: int | None = None
    """Number that ``#line`` gave the text's first line (any integer); None for a file as it was read."""
    line_starts: Sequence[str] | None = None

    def line(self, number: int) -> str:
        if self.line_starts is None:
            self.line_starts = plain(self.text).split("\n")
        index = number - (1 if self.first_line is None else self.first_line)
        return self.line_starts[index] if 0 <= index < len(self.line_starts) else ""


@dataclass(slots=True)
class Sources:
    """All files of one compilation, in the order they were first read."""

    files: list[SourceFile] = field(default_factory=list)

    def add(self, path: str, text: str, *, is_system: bool = False, first_line: int | None = None) -> int:
        self.files.append(SourceFile(path, text, is_system, first_line))
        return len(self.files) - 1

    def span(self, place: int, length: int = 1) -> ir.Span:
        file, line, column = unpack_place(place)
        return ir.Span(self.files[file].path, line, column, line, column + max(length, 1))

    def line_at(self, place: int) -> str:
        file, line, _ = unpack_place(place)
        return self.files[file].line(line)

    def digests(self) -> tuple[tuple[str, str], ...]:
        """(path, SHA-256 of the text) of every file, each once; text that came from no file is left out."""
        seen: dict[str, str] = {}
        for file in self.files:
            if not file.path.startswith("<") and file.first_line is None:
                text = file.text.encode("utf-8", "surrogateescape")
                seen.setdefault(file.path, hashlib.sha256(text).hexdigest())
        return tuple(seen.items())


@dataclass(slots=True)
class Tokens:
    """Parallel lists; the last token is the end of file.

    ``kinds`` holds ``ID``, ``INTEGER``, ``STRING``, ``EOF`` or, for keywords and punctuation, the text itself.
    ``places`` is where the user wrote it: for what macros made, the outermost macro's name. ``spelled`` is where the
    characters are, inside the macro's definition.
    """

    sources: Sources
    kinds: list[str]
    texts: list[str]
    places: list[int]
    spelled: list[int]

    def span(self, first: int, last: int | None = None) -> ir.Span:
        """Span from the start of one token to the end of another."""
        last = first if last is None else max(first, last)
        start = self.places[first]
        file, line, column = unpack_place(start)
        end_file, end_line, end_column = unpack_place(self.places[last])
        if end_file != file or self.places[last] < start:
            end_line, end_column, last = line, column, first
        length = len(self.texts[last]) if self.places[last] == self.spelled[last] else 1
        return ir.Span(self.sources.files[file].path, line, column, end_line, end_column + max(length, 1))
