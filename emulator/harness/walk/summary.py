"""A walk in a few lines: what became of the packet, where, and what each table said."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.harness.walk.events import Event, Kind, Walk
from emulator.harness.walk.text import shown_path, source_line
from emulator.v1model.metadata import DROP_PORT

DROPPING = f".egress_spec = 9w{DROP_PORT}"
"""End of a statement that asks for the drop; mark_to_drop makes it, on the standard metadata or on a copy."""


def summary_lines(walk: Walk) -> Iterator[str]:
    """Fates in order, then the tables."""
    yield from dict.fromkeys(_fates(walk.events))
    tables = [e for e in walk.events if e.kind is Kind.TABLE]
    column = max((len(_end(e.text)) for e in tables), default=0)
    for event in tables:
        yield f"table {_end(event.text):<{column}}  {_outcome(event)}"


def _fates(events: list[Event]) -> Iterator[str]:
    """End of the packet and of each copy, and what in the source decided it."""
    marked: Event | None = None
    for event in events:
        match event.kind:
            case Kind.BLOCK:
                marked = None
            case Kind.STATEMENT if event.text.endswith(DROPPING):
                marked = event
            case Kind.DROP:
                yield f"{event.text}{'' if marked is None else _place(marked)}"
            case Kind.LEAVE:
                yield event.text


def _place(event: Event) -> str:
    if event.span is None:
        return ""
    return f" at {shown_path(event.span.file)}:{event.span.line}   {source_line(event)}".rstrip()


def _outcome(event: Event) -> str:
    """``miss -> drop()``: of the action's name the end is enough here."""
    said, arrow, action = event.details[-1][1].rpartition(" -> ")
    return f"{said}{arrow}{_end_of_call(action)}"


def _end(name: str) -> str:
    return name.rpartition(".")[2]


def _end_of_call(text: str) -> str:
    """The part of ``MyIngress.forward(port=2)`` from ``forward`` on; values may have dots too."""
    name, bracket, rest = text.partition("(")
    return f"{_end(name)}{bracket}{rest}"
