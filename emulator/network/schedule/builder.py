"""Build a schedule from sends in an order in which they are right one by one; the builder finds what waits for what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from emulator.network.schedule.parts import Chunks, Collective, Compute, Operation, Reduce, Send, Task
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.trees import switch_tree
from emulator.network.topology.routes import shortest_route
from emulator.network.topology.topology import Topology


class _Access(Enum):
    """What a task does with a chunk at a rank."""

    READ = "read"
    ADD = "add"
    WRITE = "write"


@dataclass(slots=True)
class _Phase:
    """The latest tasks with one kind of access to a chunk at a rank: one that writes, or those that read, or add."""

    access: _Access
    tasks: list[int]
    before: list[int]
    """The tasks of the phase before, for which each of them waits."""


class Builder:
    """Each method adds a task and returns its number.

    ``after`` has to name what no chunk tells: a task waits by itself for those that have written what it reads, or
    read what it writes. Additions to one place commute, so they do not wait for each other. Routes are the first
    shortest ones unless given.
    """

    def __init__(
        self, name: str, topology: Topology, chunks: Sequence[Chunks], places: Sequence[str] | None = None
    ) -> None:
        self.name, self.topology, self.chunks = name, topology, tuple(chunks)
        self.places = tuple(topology.hosts if places is None else places)
        self._tasks: list[Task] = []
        self._phases: dict[tuple[int, int], _Phase] = {}
        """By (rank, chunk)."""
        self._routes: dict[tuple[int, int], tuple[str, ...]] = {}

    def compute(
        self,
        rank: int,
        duration_ns: int,
        call: str = "",
        *,
        reads: Iterable[int] = (),
        writes: Iterable[int] = (),
        after: Iterable[int] = (),
    ) -> int:
        reads, writes = _ascending(reads), _ascending(writes)
        waits = self._waits(after, (_Access.READ, [rank], reads), (_Access.WRITE, [rank], writes))
        return self._add(Compute(rank, duration_ns, call, reads, writes, waits))

    def send(
        self,
        source: int,
        destination: int,
        chunks: Iterable[int],
        *,
        route: Sequence[str] | None = None,
        after: Iterable[int] = (),
    ) -> int:
        return self._message(Send, _Access.WRITE, source, destination, chunks, route, after)

    def reduce(
        self,
        source: int,
        destination: int,
        chunks: Iterable[int],
        *,
        route: Sequence[str] | None = None,
        after: Iterable[int] = (),
    ) -> int:
        return self._message(Reduce, _Access.ADD, source, destination, chunks, route, after)

    def _message(
        self,
        kind: type[Send] | type[Reduce],
        access: _Access,
        source: int,
        destination: int,
        chunks: Iterable[int],
        route: Sequence[str] | None,
        after: Iterable[int],
    ) -> int:
        chunks = _ascending(chunks)
        waits = self._waits(after, (_Access.READ, [source], chunks), (access, [destination], chunks))
        return self._add(kind(source, destination, chunks, self._route(source, destination, route), waits))

    def collective(
        self,
        operation: Operation,
        group: Sequence[int],
        chunks: Iterable[int],
        *,
        route: Sequence[str] | None = None,
        after: Iterable[int] = (),
    ) -> int:
        """``route``: by default `trees.switch_tree`."""
        chunks, group = _ascending(chunks), tuple(group)
        if route is None:
            route = switch_tree(self.topology, [self.places[rank] for rank in group], operation)
        readers = group[:1] if operation is Operation.BROADCAST else group
        writers = group[:1] if operation is Operation.REDUCE else group
        waits = self._waits(after, (_Access.READ, readers, chunks), (_Access.WRITE, writers, chunks))
        return self._add(Collective(operation, group, chunks, tuple(route), waits))

    def build(self) -> Schedule:
        """Raises ScheduleError."""
        return Schedule.of(self.name, self.topology, self.chunks, self._tasks, self.places)

    def _add(self, task: Task) -> int:
        self._tasks.append(task)
        return len(self._tasks) - 1

    def _route(self, source: int, destination: int, route: Sequence[str] | None) -> tuple[str, ...]:
        if route is not None:
            return tuple(route)
        if (source, destination) not in self._routes:
            nodes = shortest_route(self.topology, self.places[source], self.places[destination])
            links = tuple(self.topology.links_between(*hop)[0].name for hop in pairwise(nodes))
            self._routes[source, destination] = links
        return self._routes[source, destination]

    def _waits(self, after: Iterable[int], *accesses: tuple[_Access, Sequence[int], Sequence[int]]) -> tuple[int, ...]:
        """What the next task waits for, which then has these accesses: (kind, ranks, chunks)."""
        task, waits = len(self._tasks), set(after)
        for access, ranks, chunks in accesses:
            for rank in ranks:
                for chunk in chunks:
                    phase = self._phases.get((rank, chunk))
                    if phase is None:
                        self._phases[rank, chunk] = _Phase(access, [task], [])
                    elif phase.access is access is not _Access.WRITE:
                        phase.tasks.append(task)
                        waits.update(phase.before)
                    else:
                        self._phases[rank, chunk] = _Phase(access, [task], phase.tasks)
                        waits.update(phase.tasks)
        waits.discard(task)
        return tuple(sorted(waits))


def _ascending(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(numbers)))
