"""A schedule: chunks, and tasks that move them over a topology."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule.check import check_chunks, check_columns, check_places
from emulator.network.schedule.columns import KINDS, OPERATIONS, Columns, Kind, numbers, pack, set_text
from emulator.network.schedule.parts import Chunks, Collective, Compute, Reduce, Send, Task
from emulator.network.topology.topology import Topology


@dataclass(frozen=True, eq=False)
class Schedule:
    """Well-formed when it is made (ScheduleError), never changed; `verify` says whether it does what it should.

    A task starts when all tasks of its ``after`` have finished and its resources are free: the compute unit of its
    rank, or each link of its route. A resource takes its tasks in the order of the list, one at a time.
    """

    name: str
    topology: Topology
    places: tuple[str, ...]
    """Rank i runs at node ``places[i]``."""
    chunks: tuple[Chunks, ...]
    calls: tuple[str, ...]
    """Names of what Computes call, the empty one included, in the order of first use."""
    columns: Columns

    def __post_init__(self) -> None:
        check_places(self.topology, self.places)
        check_chunks(self.chunks, self.ranks)
        chunks = sum(each.count for each in self.chunks)
        check_columns(self.columns, self.ranks, chunks, len(self.topology.links), len(self.calls))

    @classmethod
    def of(
        cls,
        name: str,
        topology: Topology,
        chunks: Sequence[Chunks],
        tasks: Sequence[Task],
        places: Sequence[str] | None = None,
    ) -> Schedule:
        """From tasks one by one; ``places``: by default the topology's hosts, in their order."""
        calls = tuple(dict.fromkeys(task.call for task in tasks if isinstance(task, Compute)))
        columns = pack(tasks, {link.name: index for index, link in enumerate(topology.links)}, calls)
        return cls(name, topology, tuple(topology.hosts if places is None else places), tuple(chunks), calls, columns)

    @property
    def ranks(self) -> int:
        return len(self.places)

    @cached_property
    def chunk_bytes(self) -> NDArray[np.int64]:
        """Of each chunk."""
        return np.repeat([each.bytes for each in self.chunks], [each.count for each in self.chunks]).astype(np.int64)

    @cached_property
    def task_bytes(self) -> NDArray[np.int64]:
        """Of each task's message, or what a Compute writes."""
        before = np.concatenate([[0], np.cumsum(self.chunk_bytes)])
        runs = self.columns.chunks
        first, count = runs.values[:, 0].astype(np.int64), runs.values[:, 1]
        total = np.concatenate([[0], np.cumsum(before[first + count] - before[first])])
        return total[runs.offsets[1:]] - total[runs.offsets[:-1]]  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.columns.kind)

    def __iter__(self) -> Iterator[Task]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Task:
        if not 0 <= number < len(self):
            raise IndexError(number)
        columns = self.columns
        chunks = tuple(numbers(columns.chunks.row(number)))
        after = tuple(columns.after.row(number).tolist())
        source, destination = int(columns.source[number]), int(columns.destination[number])
        label, kind = int(columns.label[number]), Kind(columns.kind[number])
        if kind is Kind.COMPUTE:
            reads = tuple(numbers(columns.reads.row(number)))
            return Compute(source, int(columns.duration_ns[number]), self.calls[label], reads, chunks, after)
        route = tuple(self.topology.links[link].name for link in columns.route.row(number))
        if kind is Kind.COLLECTIVE:
            return Collective(OPERATIONS[label], tuple(columns.group.row(number).tolist()), chunks, route, after)
        return (Send if kind is Kind.SEND else Reduce)(source, destination, chunks, route, after)

    def describe(self, number: int) -> tuple[str, str, str, str, str]:
        """A task for people: kind, ranks, chunks, bytes, what it waits for."""
        task = self[number]
        kind, after = KINDS[type(task)].name.lower(), set_text(task.after)
        size = f"{self.task_bytes[number]:,}"
        match task:
            case Compute():
                chunks = f"{set_text(task.reads)} -> {set_text(task.writes)}" if task.reads or task.writes else ""
                return f"{kind} {task.call}".strip(), str(task.rank), chunks, "", after
            case Collective():
                return str(task.operation), set_text(sorted(task.group)), set_text(task.chunks), size, after
        return kind, f"{task.source} -> {task.destination}", set_text(task.chunks), size, after
