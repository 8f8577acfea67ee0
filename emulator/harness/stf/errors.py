"""What is wrong with a test file: its line, what was found there, what may stand there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Complaint:
    """One mistake in a test; ``line`` counts from 1."""

    line: int
    message: str


class StfError(Exception):
    """A test that cannot be run as it is written; ``complaints`` in order of lines."""

    def __init__(self, *complaints: Complaint) -> None:
        super().__init__(complaints)
        self.complaints = complaints

    def __str__(self) -> str:
        return "\n".join(f"line {c.line}: {c.message}" for c in self.complaints)


def refuse(line: int, message: str) -> StfError:
    """The error of a single mistake."""
    return StfError(Complaint(line, message))
