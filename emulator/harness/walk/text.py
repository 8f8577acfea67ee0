"""A walk as text: source lines with what they did, states, tables and decisions between them."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from typing import Any

from emulator.harness.walk.events import Details, Event, Kind, Left, Walk

WIDTH = 110
"""Columns, where nobody says how many there are."""
NARROWEST = 60
PLACE_COLUMNS = 20
"""Widest file name with a line number; longer ones push what follows to the right."""
MOST_LINES = 200
"""Longest walk in a failure; `netsum trace` shows all."""


def walk_lines(walk: Walk, *, most: int | None = None, width: int = WIDTH) -> Iterator[str]:
    """The walk of one frame, at most ``most`` lines of it, folded at ``width`` columns where that is possible."""
    lines = list(_lines(list(merged(walk.events)), max(width, NARROWEST)))
    if most is not None and len(lines) > most:
        yield from lines[:most]
        yield f"... and {len(lines) - most} lines more"
        return
    yield from lines


def walk_data(walk: Walk) -> dict[str, Any]:
    """The walk as data for JSON."""
    return {
        "port": walk.port,
        "hex": walk.content.hex(),
        "events": [_event_data(e) for e in walk.events],
        "out": [_left_data(left) for left in walk.left],
    }


def _left_data(left: Left) -> dict[str, Any]:
    headers = [{"name": p.name, "offset": p.offset_bytes} for p in left.headers]
    return {"port": left.port, "hex": left.content.hex(), "headers": headers}


def _event_data(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": event.kind.value, "text": event.text}
    if event.span is not None:
        data |= {"file": event.span.file, "line": event.span.line}
    if event.details:
        data["details"] = [list(pair) for pair in event.details]
    return data


def merged(events: Iterable[Event]) -> Iterator[Event]:
    """Statements that follow each other from one line of the source, as one."""
    waiting: Event | None = None
    for event in events:
        if waiting is not None and _same_line(waiting, event):
            details = waiting.details + tuple(d for d in event.details if d not in waiting.details)
            waiting = Event(Kind.STATEMENT, waiting.text, waiting.span, waiting.depth, details)
            continue
        if waiting is not None:
            yield waiting
        waiting = event
    if waiting is not None:
        yield waiting


def _same_line(one: Event, other: Event) -> bool:
    if one.kind is not Kind.STATEMENT or other.kind is not Kind.STATEMENT or one.span is None or other.span is None:
        return False
    return (one.span.file, one.span.line) == (other.span.file, other.span.line)


def _lines(events: list[Event], width: int) -> Iterator[str]:
    column = min(PLACE_COLUMNS, max((len(_place(e)) for e in events), default=0))
    shown = ""
    for event in events:
        if event.kind is Kind.ACTION and event.span is None:
            continue  # a control's own name, which its block has shown
        place, head, details = _place(event), _head(event), _detail_texts(event.details)
        if event.kind is Kind.STATEMENT and place and f"{place} {head}" == shown:
            # the line was shown already, with another of its statements
            if not details:
                continue
            head = event.text
        else:
            shown = f"{place} {head}" if event.kind in (Kind.STATEMENT, Kind.BRANCH) else ""
        indent = "  " * (event.depth + _LEVEL[event.kind])
        yield from _fitted(f"{place:<{column}} {indent}{head}", details, " " * (column + 1) + indent + "    ", width)


def _place(event: Event) -> str:
    return "" if event.span is None else f"{shown_path(event.span.file)}:{event.span.line}"


def _head(event: Event) -> str:
    match event.kind:
        case Kind.STATEMENT | Kind.BRANCH:
            return source_line(event) or event.text
        case Kind.STATE:
            return f"state {event.text}"
        case Kind.TABLE:
            return f"table {event.text}"
        case Kind.ACTION:
            return f"{event.text}:"
        case Kind.DROP:
            return event.text if event.text.startswith("dropped") else f"dropped: {event.text}"
    return event.text


_LEVEL = {
    Kind.ENTER: 0, Kind.BLOCK: 1, Kind.STATE: 2, Kind.TRANSITION: 3, Kind.TABLE: 2, Kind.ACTION: 2, Kind.BRANCH: 1,
    Kind.STATEMENT: 1, Kind.NOTE: 1, Kind.DROP: 1, Kind.LEAVE: 1,
}  # fmt: skip


def _detail_texts(details: Details) -> list[str]:
    """A text for each field; several fields of one header name it once."""
    prefixes = {what.rpartition(".")[0] for what, _ in details}
    if len(details) > 1 and len(prefixes) == 1 and (header := prefixes.pop()):
        texts = [f"{what[len(header) + 1 :]} = {value}" for what, value in details]
        return [f"{header}: {texts[0]}", *texts[1:]]
    return [f"{what} = {value}" if what else value for what, value in details]


def _fitted(head: str, details: list[str], room: str, width: int) -> Iterator[str]:
    """Details after the head where there is room, else on separate lines, indented by at most ``room``."""
    if not details:
        yield head
        return
    joined = "; ".join(details)
    if len(head) + 3 + len(joined) <= width:
        yield f"{head}   {joined}"
        return
    yield head
    room = room[: max(0, width - max(map(len, details)))]
    line = ""
    for detail in details:
        if line and len(room) + len(line) + 2 + len(detail) > width:
            yield room + line
            line = ""
        line = f"{line}; {detail}" if line else detail
    yield room + line


def shown_path(path: str) -> str:
    """Path relative to the current folder; of files elsewhere the name."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return path
    return os.path.basename(path) if relative.startswith("..") else relative


def source_line(event: Event) -> str:
    """The text of the source where the event's span begins; empty where the file is gone."""
    return "" if event.span is None else line_of(event.span.file, event.span.line)


def line_of(path: str, line: int) -> str:
    """Source line without its indentation; empty where there is none."""
    lines = _file_lines(path)
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


@functools.lru_cache(maxsize=64)
def _file_lines(path: str) -> tuple[str, ...]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return tuple(file.read().split("\n"))
    except OSError:
        return ()
