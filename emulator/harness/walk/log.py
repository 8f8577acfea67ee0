"""Walks as lines of a switch's log, in the words that bmv2 has for the same things."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TypeAlias

from emulator.harness.walk.events import Event, Kind, Walk
from emulator.harness.walk.text import merged, shown_path, source_line
from emulator.harness.walk.traced_switch import MISS

TRACE = 5
"""Level of single statements, below logging.DEBUG."""

Line: TypeAlias = tuple[int, str]
"""(level, text)."""

PARTS = {"p": "Parser", "ig": "Pipeline", "eg": "Pipeline", "dep": "Deparser"}


def log_lines(walk: Walk) -> Iterator[Line]:
    """What a packet met, in order."""
    departures = iter(walk.left)
    state = ""
    for event in merged(walk.events):
        match event.kind:
            case Kind.ENTER if event is walk.events[0]:
                yield logging.DEBUG, f"Processing packet received on port {walk.port}"
            case Kind.BLOCK:
                yield _level(event), f"{PARTS.get(event.key, 'Control')} '{event.text.rpartition(' ')[2]}': start"
            case Kind.STATE:
                state = event.text
                yield logging.DEBUG, f"Parser state '{state}'"
            case Kind.TRANSITION:
                yield from _transition(event, state)
            case Kind.TABLE:
                yield from _table(event)
            case Kind.ACTION:
                yield TRACE, f"Action {event.text}"
            case Kind.BRANCH:
                outcome = event.details[0][1]
                yield TRACE, f'{_place(event)}Condition "{_source(event)}" is {outcome}'
            case Kind.STATEMENT:
                yield TRACE, f"{_place(event)}{_source(event)}{_details(event)}"
            case Kind.DROP:
                yield logging.DEBUG, f"Dropping packet: {event.text.removeprefix('dropped ')}"
            case Kind.LEAVE:
                left = next(departures)
                yield logging.DEBUG, f"Transmitting packet of size {len(left.content)} out of port {left.port}"
            case _:
                yield logging.DEBUG, _capital(event.text.replace("to egress, port ", "egress port is "))


def _level(event: Event) -> int:
    return logging.DEBUG if event.key in PARTS else TRACE


def _transition(event: Event, state: str) -> Iterator[Line]:
    if event.details:
        keys = ", ".join(f"{name} = {value}" for name, value in event.details)
        yield logging.DEBUG, f"Parser state '{state}': key is {keys}; next is {event.text.removeprefix('-> ')}"


def _table(event: Event) -> Iterator[Line]:
    yield TRACE, f"Applying table '{event.text}'"
    *keys, (_, outcome) = event.details
    for name, value in keys:
        yield logging.DEBUG, f"* {name:<20}: {value}"
    what = "miss" if event.key == MISS else f"hit with entry {event.key}"
    yield logging.DEBUG, f"Table '{event.text}': {what}"
    yield logging.DEBUG, f"Action entry is {outcome.rpartition(' -> ')[2]}"


def _place(event: Event) -> str:
    return "" if event.span is None else f"{shown_path(event.span.file)}({event.span.line}) "


def _source(event: Event) -> str:
    return source_line(event) or event.text


def _details(event: Event) -> str:
    text = "; ".join(f"{what} = {value}" if what else value for what, value in event.details)
    return f"   {text}" if text else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
