"""One step of a packet's walk."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from emulator.p4 import ir


class Kind(Enum):
    """What sort of step it is; the values are the words of the JSON form."""

    ENTER = "enter"
    """A frame, or a copy of one, at the parser."""
    BLOCK = "block"
    STATE = "state"
    TRANSITION = "transition"
    TABLE = "table"
    ACTION = "action"
    """An action, function or control that is called from the source."""
    BRANCH = "branch"
    STATEMENT = "statement"
    NOTE = "note"
    """What the architecture decided: copies, clones, another round."""
    DROP = "drop"
    LEAVE = "leave"


Details: TypeAlias = tuple[tuple[str, str], ...]
"""(what, value) pairs, as text for people."""


@dataclass(frozen=True, slots=True)
class Event:
    kind: Kind
    text: str
    span: ir.Span | None = None
    depth: int = 0
    details: Details = ()
    key: str = ""
    """Of transitions, entries, actions and branches: which one, for counting coverage."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A header in a frame that left."""

    name: str
    type: ir.HeaderType
    offset_bytes: int
    varbit_width: int


@dataclass(frozen=True, slots=True)
class Left:
    """A frame that left, and the headers that the deparser wrote."""

    port: int
    content: bytes
    headers: tuple[Placed, ...]


@dataclass(slots=True)
class Walk:
    """All that came of one arriving frame."""

    port: int
    content: bytes
    events: list[Event] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    depth: int = 0

    def add(self, kind: Kind, text: str, span: ir.Span | None = None, details: Details = (), key: str = "") -> None:
        self.events.append(Event(kind, text, span, self.depth, details, key))
