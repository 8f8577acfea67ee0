"""What can be exercised, and how often it was: plain data that adds up over tests and processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Sort(Enum):
    """What sort of thing was exercised; the values are the headings of reports."""

    TRANSITION = "parser transitions"
    ACTION = "actions"
    ENTRY = "table entries"
    BRANCH = "branches"
    LINE = "source lines"


@dataclass(slots=True)
class Item:
    """One thing; ``file`` and ``line`` are its place in the source."""

    sort: Sort
    label: str
    file: str
    line: int
    count: int = 0

    @property
    def key(self) -> tuple[Sort, str, str, int]:
        """What makes it another one. Entries go by their text: tests add them without a place in the source."""
        return (
            (self.sort, self.label, "", 0) if self.sort is Sort.ENTRY else (self.sort, self.label, self.file, self.line)
        )


@dataclass(slots=True)
class ProgramCoverage:
    """Coverage of one program with its macros."""

    title: str
    files: tuple[str, ...]
    """Sources of the user's own, the program first."""
    items: dict[tuple[Sort, str, str, int], Item] = field(default_factory=dict)

    def know(self, sort: Sort, label: str, file: str, line: int) -> Item:
        """The item of that name, made if it is new."""
        item = Item(sort, label, file, line)
        return self.items.setdefault(item.key, item)

    def of(self, sort: Sort) -> list[Item]:
        """Items in order of the source."""
        found = (i for i in self.items.values() if i.sort is sort)
        order = {file: number for number, file in enumerate(self.files)}
        return sorted(found, key=lambda i: (order.get(i.file, len(order)), i.line, i.label))

    def share(self, sort: Sort) -> tuple[int, int]:
        """(exercised, all)."""
        found = self.of(sort)
        return sum(1 for i in found if i.count), len(found)


@dataclass(slots=True)
class Coverage:
    programs: dict[str, ProgramCoverage] = field(default_factory=dict)
    """Programs by title."""

    def data(self) -> dict[str, Any]:
        """Counts for JSON, and from worker processes."""
        return {
            title: {
                "files": list(program.files),
                "items": [[i.sort.value, i.label, i.file, i.line, i.count] for i in program.items.values()],
            }
            for title, program in self.programs.items()
        }

    def add(self, data: dict[str, Any]) -> None:
        """What another process counted."""
        for title, found in data.items():
            program = self.programs.setdefault(title, ProgramCoverage(title, tuple(found["files"])))
            for sort, label, file, line, count in found["items"]:
                program.know(Sort(sort), label, file, line).count += count
