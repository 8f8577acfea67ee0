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


FOLDED_ROUNDS = 16
"""Equal rounds of a parser's states from which on a walk shows one of them."""
FOLDED_UNLIKE_ROUNDS = 1024
"""The same for rounds in which values differ: more than any frame has headers."""
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
    """Name of the transition, entry, action or branch, for counting coverage."""


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

    def fold(self, start: int) -> None:
        """Where a parser's events, from number ``start``, end in many like rounds, keep the first round."""
        events = self.events
        states = [i for i in range(start, len(events)) if events[i].kind is Kind.STATE]
        if not states:
            return
        last = states[-1]
        before = next((i for i in reversed(states[:-1]) if events[i] == events[last]), last)
        period = last - before
        for rounds, shape in ((FOLDED_ROUNDS, _whole), (FOLDED_UNLIKE_ROUNDS, _without_details)):
            first = len(events) - period
            while period and first > start and shape(events[first - 1]) == shape(events[first - 1 + period]):
                first -= 1
            if period and len(events) - first >= rounds * period:
                break
        else:
            return
        once = sum(first <= i < first + period for i in states)
        more = sum(i >= first + period for i in states)
        del events[first + period :]
        again = "the same state" if once == 1 else f"the same {once} states"
        self.add(Kind.NOTE, f"{again} again and again: {more} more")


def _whole(event: Event) -> object:
    return event


def _without_details(event: Event) -> object:
    return event.kind, event.text, event.span, event.depth, event.key
