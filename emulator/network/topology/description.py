"""Descriptions in YAML or JSON: an error names file, line and field, and suggests what may have been meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from emulator.network.topology.check import guess
from emulator.network.topology.parts import Place, TopologyError
from emulator.ports.units import quantity

YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
WHOLE = re.compile(r"-?[0-9]{1,19}")
"""Numbers that int64 holds."""
SHAPES = {"dict": "fields with values, as in {name: value}", "list": "a list, as in [a, b]", "str": "a single value"}


class DescriptionError(TopologyError):
    """A file is not what it should be: ``FILE:LINE: FIELD: what is wrong``."""

    def __init__(self, file: str, line: int, text: str, place: Place = ()) -> None:
        super().__init__(text, place)
        self.args = (file, line, text, place)
        self.file, self.line = file, line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {super().__str__()}" if self.line else f"{self.file}: {self.text}"


class DescriptionReader:
    """Reads by the form of the file rather than by YAML's guesses: a node may be called ``no`` or ``1``."""

    wrong: type[DescriptionError]
    """What is raised."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._lines: dict[Place, int] = {}
        self._seen: set[int] = set()

    @classmethod
    def text_of(cls, path: str | Path) -> str:
        """A file's text."""
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise cls.wrong(str(path), 0, getattr(error, "strerror", None) or "not UTF-8 text") from None

    def compose(self, text: str, fields: str) -> Any:
        """The document as dicts, lists and texts; ``fields``: what an empty one lacks."""
        try:
            document = yaml.compose(text, Loader=YAML_LOADER)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or "a character that text does not have"
            line = mark.line + 1 if mark else 1
            raise self.wrong(self.file, line, f"neither YAML nor JSON: {problem}") from None
        if document is None:
            raise self.wrong(self.file, 1, f"empty: write {fields}")
        return self.plain(document, ())

    def plain(self, node: yaml.Node, place: Place) -> Any:
        """The element as dict, list or text, as it is written, with all that is in it; their lines are kept."""
        self._lines.setdefault(place, node.start_mark.line + 1)
        if id(node) in self._seen:
            raise self.error("an alias (*name) cannot be used here: write it out", place)
        self._seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            return None if node.tag == "tag:yaml.org,2002:null" else node.value
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(each, (*place, index)) for index, each in enumerate(node.value)]
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = self.expect(str, self.plain(key, place), place)
            self._lines[*place, name] = key.start_mark.line + 1
            if name in found:
                raise self.error(f"{name!r} is there twice", (*place, name))
            found[name] = self.plain(value, (*place, name))
        return found

    def record(self, value: Any, place: Place, required: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
        """A mapping with these keys only."""
        found: dict[str, Any] = self.expect(dict, value, place)
        known = (*required, *optional)
        if unknown := [name for name in found if name not in known]:
            hint = f"{guess(unknown[0], known)}; the fields are {', '.join(known)}"
            raise self.error(f"unknown field {unknown[0]!r}{hint}", (*place, unknown[0]))
        if missing := [name for name in required if name not in found]:
            raise self.error(f"{missing[0]} is missing", place)
        return found

    def items(self, top: Mapping[str, Any], field: str, kind: type) -> Iterable[tuple[Any, Any]]:
        """Keys or indexes with values."""
        values = self.expect(kind, top[field], (field,))
        return values.items() if kind is dict else enumerate(values)

    def expect(self, kind: type, value: Any, place: Place) -> Any:
        if not isinstance(value, kind):
            raise self.error(f"this has to be {SHAPES[kind.__name__]}", place)
        return value

    def number(self, value: Any, place: Place, units: Mapping[str, int]) -> int:
        """A whole number, or one with a unit."""
        text = self.expect(str, value, place)
        if WHOLE.fullmatch(text):
            return int(text)
        try:
            return quantity(text, units)
        except ValueError as error:
            wrong = f"{error}, nor a whole number without" if units else f"{text!r} is not a whole number"
            raise self.error(wrong, place) from None

    def error(self, text: str, place: Place) -> DescriptionError:
        """At the line of the innermost element around ``place`` that was read."""
        known = place
        while known not in self._lines:
            known = known[:-1]
        return self.wrong(self.file, self._lines[known], text, place)
