"""Schedules as JSON, with their topology; one task to a line:

{
"name": "ring-2",
"topology": {"name": "star-2", ...},          as of emulator/network/topology/files.py
"places": ["h0", "h1"],                       node of each rank
"chunks": [
{"count": 2, "bytes": 512, "sources": "0-1", "destinations": "0-1"}
],
"tasks": [
{"kind": "reduce", "source": 0, "destination": 1, "chunks": "0", "route": ["h0->s0", "s0->h1"], "after": ""},
{"kind": "compute", "rank": 1, "duration_ns": 900, "call": "norm", "reads": "0", "writes": "1", "after": "0"},
{"kind": "collective", "operation": "allreduce", "group": [0, 1], "chunks": "0-1", "route": [...], "after": "0,3-5"}
]
}

Kinds and fields are those of parts.py. Numbers in ascending order are text, as "0-3,7".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from emulator.native.gc_pause import gc_paused
from emulator.network.schedule.check import MOST_CHUNKS
from emulator.network.schedule.columns import KINDS, OPERATIONS, Kind, Ragged, numbers, runs_text, set_text
from emulator.network.schedule.parts import Chunks, Operation, ScheduleError, Task
from emulator.network.schedule.schedule import Schedule
from emulator.network.topology.check import guess
from emulator.network.topology.files import parse_topology, topology_json
from emulator.network.topology.parts import Place, TopologyError

TYPES: Mapping[str, type[Task]] = {kind.name.lower(): each for each, kind in KINDS.items()}
WORDS = list(TYPES)
"""By value of `Kind`."""
BLOCK_TASKS = 1 << 12
"""So many at a time become lists."""
SETS = ("chunks", "reads", "writes", "after", "sources", "destinations")
"""Fields that are numbers in ascending order."""
FIELDS: Mapping[type[Any], Mapping[str, bool]] = {
    kind: {field.name: field.type == "int" for field in fields(kind)} for kind in (Chunks, *TYPES.values())
}
"""Names of fields, and whether they are whole numbers."""
SHAPES = {int: "a whole number", str: "a text", list: "a list", dict: "fields with values"}


class ScheduleFileError(ScheduleError):
    """A file is no schedule; the text begins with the file's name."""


def read_schedule(path: str | Path) -> Schedule:
    """Raises ScheduleFileError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScheduleFileError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    return parse_schedule(text, str(path))


def parse_schedule(text: str, file: str = "schedule") -> Schedule:
    """Raises ScheduleFileError; ``file`` is its name there."""
    try:
        with gc_paused():
            document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ScheduleFileError(f"{file}:{error.lineno}: not JSON: {error.msg}") from None
    try:
        with gc_paused():
            return _schedule(document)
    except TopologyError as error:
        raise ScheduleFileError(f"{file}: {error}") from None


def schedule_json(schedule: Schedule) -> str:
    """The file's text, which is the same again for what `parse_schedule` makes of it."""
    return "".join(_pieces(schedule))


def write_schedule(schedule: Schedule, path: str | Path) -> None:
    """Raises OSError."""
    with gc_paused(), Path(path).open("w", encoding="utf-8") as file:
        file.writelines(_pieces(schedule))


def chunks_json(chunks: Sequence[Chunks]) -> str:
    """The file's list of chunks."""
    return json.dumps([_document(each) for each in chunks])


def parse_chunks(text: str) -> list[Chunks]:
    """What `chunks_json` was made of. Raises ScheduleError."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ScheduleError(f"chunks: not JSON: {error.msg}") from None
    return _chunks({"chunks": document})


def _chunks(top: Mapping[str, Any]) -> list[Chunks]:
    return [_part(Chunks, each, ("chunks", number)) for number, each in _items(top, "chunks")]


def _pieces(schedule: Schedule) -> Iterator[str]:
    yield "{\n"
    topology = json.loads(topology_json(schedule.topology))
    for name, value in (("name", schedule.name), ("topology", topology), ("places", schedule.places)):
        yield f"{json.dumps(name)}: {json.dumps(value)},\n"
    chunks = (json.dumps(_document(each)) for each in schedule.chunks)
    for name, lines in (("chunks", chunks), ("tasks", _lines(schedule))):
        yield f'"{name}": ['
        before = "\n"
        for line in lines:
            yield before + line
            before = ",\n"
        yield "\n],\n" if name == "chunks" else "\n]\n}\n"


def _document(part: Chunks) -> dict[str, Any]:
    return {name: set_text(getattr(part, name)) if name in SETS else getattr(part, name) for name in FIELDS[Chunks]}


def _lines(schedule: Schedule) -> Iterator[str]:
    """A task to each, written from the columns, which takes a tenth of the time that it takes from dataclasses."""
    columns = schedule.columns
    links, calls = [json.dumps(link.name) for link in schedule.topology.links], list(map(json.dumps, schedule.calls))
    ways: dict[tuple[int, ...], str] = {}
    for first in range(0, len(schedule), BLOCK_TASKS):
        last = min(first + BLOCK_TASKS, len(schedule))
        for kind, source, destination, duration_ns, label, chunks, reads, route, after, group in zip(
            *(each.rows(first, last) if isinstance(each, Ragged) else each[first:last].tolist() for each in columns),
            strict=True,
        ):
            begin, moved, waits = f'{{"kind": "{WORDS[kind]}", ', runs_text(chunks), set_text(after)
            if kind == Kind.COMPUTE:
                yield (
                    f'{begin}"rank": {source}, "duration_ns": {duration_ns}, "call": {calls[label]}, '
                    f'"reads": "{runs_text(reads)}", "writes": "{moved}", "after": "{waits}"}}'
                )
                continue
            ends = f'"source": {source}, "destination": {destination}'
            if kind == Kind.COLLECTIVE:
                ends = f'"operation": "{OPERATIONS[label]}", "group": {group}'
            if (way := ways.get(key := tuple(route))) is None:
                way = ways[key] = ", ".join([links[link] for link in route])
            yield f'{begin}{ends}, "chunks": "{moved}", "route": [{way}], "after": "{waits}"}}'


def _schedule(document: Any) -> Schedule:
    top = _record(document, (), ("name", "topology", "places", "chunks", "tasks"))
    name = _expect(str, top["name"], ("name",))
    try:
        topology = parse_topology(json.dumps(_expect(dict, top["topology"], ("topology",)), indent=0))
    except TopologyError as error:
        raise ScheduleError(error.text, ("topology", *error.place)) from None
    places = [_expect(str, each, ("places", rank)) for rank, each in _items(top, "places")]
    chunks = _chunks(top)
    tasks = [_task(each, ("tasks", number)) for number, each in _items(top, "tasks")]
    return Schedule.of(name, topology, chunks, tasks, places)


def _task(value: Any, place: Place) -> Task:
    given = dict(_expect(dict, value, place))
    kind = _expect(str, given.pop("kind", ""), (*place, "kind"))
    if kind not in TYPES:
        raise ScheduleError(f"{kind!r} is none of {', '.join(TYPES)}", (*place, "kind"))
    task: Task = _part(TYPES[kind], given, place)
    return task


def _part(kind: type[Any], value: Any, place: Place) -> Any:
    """A dataclass from its fields."""
    given = _record(value, place, tuple(FIELDS[kind]))
    for name, is_number in FIELDS[kind].items():
        each, where = given[name], (*place, name)
        if name in SETS:
            given[name] = parse_set(each, where)
        elif name in ("group", "route"):
            of: type = int if name == "group" else str
            given[name] = tuple(_expect(of, item, where) for item in _expect(list, each, where))
        elif name == "operation":
            if each not in tuple(Operation):
                raise ScheduleError(f"{each!r} is none of {', '.join(Operation)}", where)
            given[name] = Operation(each)
        else:
            given[name] = _expect(int if is_number else str, each, where)
    return kind(**given)


def _record(value: Any, place: Place, names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = dict(_expect(dict, value, place))
    for name in found:
        if name not in names:
            raise ScheduleError(f"unknown field{guess(name, names)}; they are {', '.join(names)}", (*place, name))
    for name in names:
        if name not in found:
            raise ScheduleError("is missing", (*place, name))
    return found


def _items(top: Mapping[str, Any], name: str) -> Iterator[tuple[int, Any]]:
    return enumerate(_expect(list, top[name], (name,)))


def _expect(kind: type[Any], value: Any, place: Place) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ScheduleError(f"{json.dumps(value)[:40]} has to be {SHAPES[kind]}", place)
    if kind is int and not -(1 << 63) <= value < 1 << 63:
        raise ScheduleError(f"{value} is too large", place)
    return value


def parse_set(value: Any, place: Place) -> tuple[int, ...]:
    """Numbers of a text as "0-3,7". Raises ScheduleError."""
    found = []
    for word in filter(None, _expect(str, value, place).split(",")):
        first, dash, last = word.partition("-")
        if not (first.isdecimal() and len(word) < 20 and (last.isdecimal() if dash else True)):
            raise ScheduleError(f"{word!r} is neither a number nor as 0-3", place)
        count = int(last or first) - int(first) + 1
        if not 0 < count <= MOST_CHUNKS:
            raise ScheduleError(f"{word!r} is no range of up to {MOST_CHUNKS} numbers", place)
        found.append((int(first), count))
    return tuple(numbers(found))
