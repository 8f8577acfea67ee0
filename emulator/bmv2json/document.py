"""The document as it is read: every value has its path, which error messages name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from emulator.p4 import ir

MAX_NUMBER_DIGITS = 1 << 16
"""Most digits of a hexadecimal number: no field is longer than 65,536 bits."""
VERSION = (2, 24)
"""The newest format that bmv2 knows; another major or a newer minor is refused, as bmv2 does."""


class Bmv2JsonError(ValueError):
    """The document is malformed or uses what is not supported; the text names the place in it."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path or 'the document'}: {message}")
        self.path = path
        self.message = message


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its path, like ``actions[3].primitives[0].op``."""

    value: Any
    path: str = ""
    owner: Node | None = field(default=None, compare=False, repr=False)
    """The value that contains it."""

    def fail(self, message: str) -> NoReturn:
        raise Bmv2JsonError(self.path, message)

    # --- going down --------------------------------------------------------------------------------------------------

    def object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.fail(f"must be an object, not {self._shown()}")
        return self.value

    def __getitem__(self, key: str) -> Node:
        """A member that must be there."""
        members = self.object()
        if key not in members:
            self.fail(f"has no {key!r}")
        return Node(members[key], f"{self.path}.{key}" if self.path else key, self)

    def get(self, key: str) -> Node | None:
        """A member that may be absent or null."""
        return self[key] if self.object().get(key) is not None else None

    def items(self) -> list[Node]:
        if not isinstance(self.value, list):
            self.fail(f"must be a list, not {self._shown()}")
        return [Node(value, f"{self.path}[{i}]", self) for i, value in enumerate(self.value)]

    def exactly(self, count: int, what: str) -> list[Node]:
        """The items of a list of that length."""
        result = self.items()
        if len(result) != count:
            self.fail(f"must have {count} items ({what}), not {len(result)}")
        return result

    def list(self, key: str) -> list[Node]:
        """The items of a member that is a list; absent or null: none."""
        member = self.get(key)
        return member.items() if member is not None else []

    def members(self) -> Iterator[tuple[str, Node]]:
        for key in self.object():
            yield key, self[key]

    # --- plain values ------------------------------------------------------------------------------------------------

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail(f"must be a string, not {self._shown()}")
        return self.value

    def name(self) -> str:
        """A name: something to print in one line."""
        text = self.text()
        if not text or not text.isprintable() or len(text) > 4096:
            self.fail("must be a name")
        return text

    def number(self, low: int = 0, high: int = (1 << 63) - 1) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.fail(f"must be a whole number, not {self._shown()}")
        if not low <= self.value <= high:
            self.fail(f"must be from {low} to {high}, not {self.value}")
        return self.value

    def flag(self) -> bool:
        """True or false; p4c writes 0 and 1 in some places, and bmv2 takes them everywhere."""
        if self.value not in (False, True):
            self.fail(f"must be true or false, not {self._shown()}")
        return bool(self.value)

    def hexadecimal(self) -> int:
        """``"0x1f"``, perhaps with a sign; the prefix may be missing."""
        text = self.text()
        digits = text.removeprefix("-").removeprefix("0x").removeprefix("0X")
        if not digits or len(digits) > MAX_NUMBER_DIGITS or any(c not in "0123456789abcdefABCDEF" for c in digits):
            self.fail(f'must be a hexadecimal number such as "0x1f", not {self._shown()}')
        return -int(digits, 16) if text.startswith("-") else int(digits, 16)

    def _shown(self) -> str:
        text = json.dumps(self.value) if not isinstance(self.value, dict | list) else ""
        if isinstance(self.value, dict | list):
            return "an object" if isinstance(self.value, dict) else "a list"
        return text if len(text) <= 60 else text[:57] + "..."

    # --- places in the source ----------------------------------------------------------------------------------------

    def span(self) -> ir.Span | None:
        """Position in the P4 source of this node, or of the nearest one around it, by the compiler's source_info."""
        node: Node | None = self
        while node is not None:
            if isinstance(node.value, dict) and isinstance(node.value.get("source_info"), dict):
                return _span(node.value["source_info"])
            node = node.owner
        return None

    def place(self) -> str:
        """The span, or the path where the document has none."""
        return str(self.span() or self.path)


def _span(info: dict[str, Any]) -> ir.Span | None:
    """p4c counts lines from 1 and columns from 0; a fragment of several lines ends in dots."""
    file, line, column = info.get("filename"), info.get("line"), info.get("column")
    if not isinstance(file, str) or not isinstance(line, int) or not isinstance(column, int):
        return None
    fragment = info.get("source_fragment")
    length = len(fragment.removesuffix("...").rstrip()) if isinstance(fragment, str) else 1
    return ir.Span(file, line, column + 1, line, column + 1 + max(length, 1))


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def looks_like_json(content: bytes) -> bool:
    """Does this begin as a JSON object does?"""
    return content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def read_document(content: bytes) -> Node:
    """Parse the text, and check that it is the format and a version of it that we know. Raises Bmv2JsonError."""
    try:
        value = json.loads(content.decode("utf-8-sig"), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Bmv2JsonError(f"line {error.lineno}, column {error.colno}", f"no JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise Bmv2JsonError("", f"is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise Bmv2JsonError("", "is nested too deeply") from None
    except ValueError as error:
        raise Bmv2JsonError("", f"no JSON: {error}") from None
    document = Node(value)
    document.object()
    for key in ("header_types", "parsers", "pipelines"):
        if key not in value:
            document.fail(f"has no {key!r}: it is not a program in bmv2's JSON format")
    _check_version(document)
    return document


def _check_version(document: Node) -> None:
    meta = document.get("__meta__")
    version = meta.get("version") if meta is not None else None
    if version is None:
        return
    major, minor = (part.number() for part in version.exactly(2, "major, minor"))
    if major != VERSION[0] or minor > VERSION[1]:
        version.fail(
            f"version {major}.{minor} of the format is not known, only {VERSION[0]}.0 to {VERSION[0]}.{VERSION[1]}"
        )
