"""What has to hold for a schedule to mean anything: shapes, and numbers that name something. The first fault of a kind
raises ScheduleError with its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule.columns import OPERATIONS, Columns, Kind, Ragged
from emulator.network.schedule.parts import Chunks, ScheduleError
from emulator.network.topology.parts import TopologyError
from emulator.network.topology.topology import Topology

Bits = NDArray[np.bool_]
MOST_CHUNKS = 1 << 24
"""All together: columns have an entry for each."""
MOST_TASKS = 1 << 23
"""Two gigabytes, with what is calculated of them."""
MOST_BYTES = 1 << 38
"""Of a chunk: all of them together can be counted."""
MOST_NS = 1 << 62
"""Of all tasks, one after another."""


def check_places(topology: Topology, places: Sequence[str]) -> None:
    if not places:
        raise ScheduleError("there are no ranks", ("places",))
    for rank, place in enumerate(places):
        try:
            topology.node(place)
        except TopologyError as error:
            raise ScheduleError(error.text, ("places", rank)) from None


def check_chunks(chunks: Sequence[Chunks], ranks: int) -> None:
    seen: set[tuple[int, ...]] = set()  # all chunks of an allreduce share theirs
    total = 0
    for number, each in enumerate(chunks):
        for name, most in (("count", MOST_CHUNKS), ("bytes", MOST_BYTES)):
            if not 1 <= getattr(each, name) <= most:
                text = f"{getattr(each, name)} is not between 1 and {most:,}"
                raise ScheduleError(text, ("chunks", number, name))
        total += each.count
        if total > MOST_CHUNKS:
            raise ScheduleError(f"with these there are {total:,} chunks; at most {MOST_CHUNKS:,}", ("chunks", number))
        if not each.sources:
            raise ScheduleError("nobody holds them at the start", ("chunks", number, "sources"))
        for name in ("sources", "destinations"):
            given = getattr(each, name)
            if given in seen:
                continue
            if list(given) != sorted(set(given)) or (given and not 0 <= given[0] <= given[-1] < ranks):
                raise ScheduleError(f"not ranks 0 to {ranks - 1} in ascending order", ("chunks", number, name))
            seen.add(given)


def check_count(tasks: int) -> None:
    if tasks > MOST_TASKS:
        raise ScheduleError(f"{tasks:,} tasks are too many: at most {MOST_TASKS:,}", ("tasks",))


def check_columns(columns: Columns, ranks: int, chunks: int, links: int, calls: int) -> None:
    """``chunks``, ``links``, ``calls``: how many there are."""
    check_count(count := len(columns.kind))
    for name, column in columns._asdict().items():
        rows = len(column.offsets) - 1 if isinstance(column, Ragged) else len(column)
        if rows != count:
            raise ScheduleError(f"{rows} rows for {count} tasks", (name,))
    kind, label = columns.kind, columns.label
    _all(kind <= max(Kind), "kind", lambda task: f"there is no kind {kind[task]}")
    computes, collectives = kind == Kind.COMPUTE, kind == Kind.COLLECTIVE
    moves = ~computes & ~collectives
    _check_ranks("source", columns.source, ranks)
    _check_ranks("destination", columns.destination, ranks)
    _all(~moves | (columns.source != columns.destination), "destination", lambda task: "a rank sends to itself")
    _all(computes | collectives | (label == 0), "label", lambda task: "this kind has none")
    _all(~computes | ((label >= 0) & (label < calls)), "label", lambda task: f"there is no call {label[task]}")
    known = (label >= 0) & (label < len(OPERATIONS))
    _all(~collectives | known, "label", lambda task: f"there is no operation {label[task]}")
    duration = columns.duration_ns
    _all((duration >= 0) & (computes | (duration == 0)), "duration_ns", lambda task: f"{duration[task]} cannot be")
    most = MOST_NS // max(1, count)
    _all(
        duration <= most, "duration_ns", lambda task: f"{duration[task]} is too long: at most {most:,} in {count} tasks"
    )
    _check_runs("chunks", columns.chunks, chunks)
    _check_runs("reads", columns.reads, chunks)
    for name, owners in (("reads", computes), ("group", collectives)):
        _all(owners | (getattr(columns, name).lengths == 0), name, lambda task: "this kind has none")
    _all(~computes | (columns.route.lengths == 0), "route", lambda task: "this kind has none")
    _all(computes | (columns.chunks.lengths > 0), "chunks", lambda task: "a message has chunks")
    _all(~collectives | (columns.group.lengths > 0), "group", lambda task: "a collective has members")
    _check_values("route", columns.route, links, "link")
    _check_values("group", columns.group, ranks, "rank")
    after = columns.after
    _each(after, after.values < after.owners, "after", lambda value: f"task {value} is not an earlier one")
    _check_values("after", after, count, "task")
    _each(after, _ascending(after, after.values), "after", lambda value: f"task {value} is not in ascending order")


def _check_ranks(name: str, values: NDArray[np.int32], ranks: int) -> None:
    _all((values >= 0) & (values < ranks), name, lambda task: f"there is no rank {values[task]}")


def _check_runs(name: str, runs: Ragged, chunks: int) -> None:
    """Ascending, and as few as can be, so that there is one way to write them."""
    if runs.values.shape[1:] != (2,):
        raise ScheduleError("not pairs of first chunk and count", (name,))
    first, run = runs.values[:, 0].astype(np.int64), runs.values[:, 1]
    _each(runs, (first >= 0) & (run > 0) & (first + run <= chunks), name, lambda value: f"there is no chunk {value}")
    gaps = np.ones(len(first), np.bool_)
    gaps[1:] = first[1:] > first[:-1] + run[:-1]
    gaps |= _starts(runs)
    _each(runs, gaps, name, lambda value: f"chunk {value} is not in ascending order, or extends the run before")


def _check_values(name: str, rows: Ragged, count: int, noun: str) -> None:
    good = (rows.values >= 0) & (rows.values < count)
    _each(rows, good, name, lambda value: f"there is no {noun} {value}")


def _starts(rows: Ragged) -> Bits:
    """Is a value the first of its row?"""
    found = np.zeros(len(rows.values) + 1, np.bool_)
    found[rows.offsets[:-1]] = True
    return found[:-1]


def _ascending(rows: Ragged, values: NDArray[np.int32]) -> Bits:
    good = np.ones(len(values), np.bool_)
    good[1:] = values[1:] > values[:-1]
    return good | _starts(rows)


def _all(good: Bits, name: str, text: Callable[[int], str]) -> None:
    """``good``: of each task."""
    if not good.all():
        task = int(np.argmin(good))
        raise ScheduleError(text(task), ("tasks", task, name))


def _each(rows: Ragged, good: Bits, name: str, text: Callable[[int], str]) -> None:
    """``good``: of each value."""
    if not good.all():
        position = int(np.argmin(good))
        task = int(np.searchsorted(rows.offsets, position, side="right")) - 1
        value = rows.values[position]
        raise ScheduleError(text(int(value if value.ndim == 0 else value[0])), ("tasks", task, name))
