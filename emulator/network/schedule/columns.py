"""Tasks as columns: what is compiled reads these, and schedules of millions of tasks are built from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule.parts import Collective, Compute, Operation, Reduce, ScheduleError, Send, Task


class Kind(IntEnum):
    """Values of the column ``kind``."""

    COMPUTE = 0
    SEND = 1
    REDUCE = 2
    COLLECTIVE = 3


KINDS: dict[type, Kind] = {Compute: Kind.COMPUTE, Send: Kind.SEND, Reduce: Kind.REDUCE, Collective: Kind.COLLECTIVE}
OPERATIONS = tuple(Operation)
"""The column ``label`` of a collective is an index into it."""


class Ragged(NamedTuple):
    """Rows of different lengths: row i is ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]], width: int = 0) -> Ragged:
        """``width``: numbers in each value, where it is more than a number."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
        shape = (int(offsets[-1]), width) if width else (int(offsets[-1]),)
        return cls(offsets, np.array(list(chain.from_iterable(rows)), np.int32).reshape(shape))

    @classmethod
    def equal(cls, values: NDArray[np.int32]) -> Ragged:
        """Rows of one length: ``values`` [rows, length], or [rows, length, width]."""
        rows, length = values.shape[:2]
        flat = values.reshape(rows * length, *values.shape[2:])
        return cls(np.arange(rows + 1, dtype=np.int64) * length, flat.astype(np.int32))

    @classmethod
    def counted(cls, lengths: NDArray[np.int64]) -> Ragged:
        """Rows of these lengths, each 0, 1, 2 and so on."""
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        return cls(offsets, (np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)).astype(np.int32))

    def take(self, rows: NDArray[np.integer]) -> Ragged:
        """These rows, in this order."""
        found = Ragged.counted(self.lengths[rows])
        return Ragged(found.offsets, self.values[np.repeat(self.offsets[rows], found.lengths) + found.values])

    def row(self, number: int) -> NDArray[np.int32]:
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def rows(self, first: int, last: int) -> list[list[Any]]:
        """Those from ``first`` to ``last`` - 1."""
        ends = self.offsets[first : last + 1].tolist()
        values = self.values[ends[0] : ends[-1]].tolist()
        ends = [end - ends[0] for end in ends]
        return [values[begin:end] for begin, end in pairwise(ends)]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The row of each value."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)


class Columns(NamedTuple):
    """One value, or row, for each task."""

    kind: NDArray[np.uint8]
    """`Kind`."""
    source: NDArray[np.int32]
    """Rank; of a Compute its rank, of a Collective the first of the group."""
    destination: NDArray[np.int32]
    """Rank; of a Compute and a Collective as source."""
    duration_ns: NDArray[np.int64]
    """Of a Compute, else 0."""
    label: NDArray[np.int32]
    """Of a Compute: index into `Schedule.calls`; of a Collective: into `OPERATIONS`; else 0."""
    chunks: Ragged
    """Values (first chunk, count): runs of chunks that are sent, or written by a Compute."""
    reads: Ragged
    """The same for what a Compute reads."""
    route: Ragged
    """Indexes into ``Topology.links``."""
    after: Ragged
    """Numbers of tasks."""
    group: Ragged
    """Ranks of a Collective."""

    @classmethod
    def joined(cls, blocks: Sequence[Columns]) -> Columns:
        """The tasks of all, one or more."""
        if len(blocks) == 1:
            return blocks[0]
        found: list[Any] = []
        for parts in zip(*blocks, strict=True):
            if isinstance(parts[0], Ragged):
                lengths = np.concatenate([part.lengths for part in parts])
                values = np.concatenate([part.values for part in parts])
                found.append(Ragged(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), values))
            elif any(part.any() for part in parts):
                found.append(np.concatenate(parts))
            else:
                found.append(np.zeros(sum(map(len, parts)), parts[0].dtype))  # takes no memory until it is written
        return cls(*found)


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """(first, count) of the runs of consecutive numbers in an ascending sequence; 2, 3, 4, 7 -> (2, 3), (7, 1)."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][0] + found[-1][1] == number:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((number, 1))
    return found


def numbers(runs: Iterable[Sequence[int]]) -> Iterator[int]:
    """What `runs` was made of."""
    for first, count in runs:
        yield from range(int(first), int(first) + int(count))


def set_text(numbers: Sequence[int]) -> str:
    """Numbers in ascending order: (0, 1, 2, 7) -> "0-2,7"."""
    return runs_text(runs(numbers)) if len(numbers) > 1 else str(numbers[0]) if numbers else ""


def runs_text(runs: Iterable[Sequence[int]]) -> str:
    """`set_text` of what runs these are of."""
    return ",".join([str(first) if count == 1 else f"{first}-{first + count - 1}" for first, count in runs])


def pack(tasks: Sequence[Task], links: Mapping[str, int], calls: Sequence[str], first: int = 0) -> Columns:
    """``links``: their indexes by name; ``calls``: the names, in the order of their indexes; ``first``: number of the
    first task. Raises ScheduleError for an unknown link."""
    index = {name: number for number, name in enumerate(calls)}
    count = len(tasks)
    scalars = np.zeros((4, count), np.int64)
    kind = np.empty(count, np.uint8)
    chunks: list[Sequence[Any]] = [()] * count
    reads: list[Sequence[Any]] = [()] * count
    route: list[Sequence[int]] = [()] * count
    group: list[Sequence[int]] = [()] * count
    for number, task in enumerate(tasks):
        kind[number] = KINDS[type(task)]
        match task:
            case Compute():
                scalars[:, number] = task.rank, task.rank, task.duration_ns, index[task.call]
                reads[number], chunks[number] = runs(task.reads), runs(task.writes)
                continue
            case Collective():
                root = task.group[0] if task.group else -1
                scalars[:, number] = root, root, 0, OPERATIONS.index(task.operation)
                group[number] = task.group
            case Send() | Reduce():
                scalars[:, number] = task.source, task.destination, 0, 0
        chunks[number] = runs(task.chunks)
        for step, name in enumerate(task.route):
            if name not in links:
                raise ScheduleError(f"there is no link {name!r}", ("tasks", first + number, "route", step))
        route[number] = [links[name] for name in task.route]
    source, destination, duration_ns, label = scalars
    return Columns(
        kind,
        source.astype(np.int32),
        destination.astype(np.int32),
        duration_ns,
        label.astype(np.int32),
        Ragged.of(chunks, 2),
        Ragged.of(reads, 2),
        Ragged.of(route),
        Ragged.of([task.after for task in tasks]),
        Ragged.of(group),
    )
