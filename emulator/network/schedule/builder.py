"""Build a schedule from sends in an order in which they are right one by one; the builder finds what waits for what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from emulator.network.schedule.parts import Chunks, Collective, Compute, Operation, Reduce, Send, Task
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.trees import switch_tree
from emulator.network.topology.routes import shortest_route
from emulator.network.topology.topology import Topology


@dataclass(slots=True)
class _Place:
    """The tasks that a chunk at a rank has seen since it was last written."""

    written: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)


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
        self._places: dict[tuple[int, int], _Place] = {}
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
        waits = self._waits(after, reads=_at(rank, reads), writes=_at(rank, writes))
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
        chunks = _ascending(chunks)
        waits = self._waits(after, reads=_at(source, chunks), writes=_at(destination, chunks))
        return self._add(Send(source, destination, chunks, self._route(source, destination, route), waits))

    def reduce(
        self,
        source: int,
        destination: int,
        chunks: Iterable[int],
        *,
        route: Sequence[str] | None = None,
        after: Iterable[int] = (),
    ) -> int:
        chunks = _ascending(chunks)
        waits = self._waits(after, reads=_at(source, chunks), adds=_at(destination, chunks))
        return self._add(Reduce(source, destination, chunks, self._route(source, destination, route), waits))

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
        read = [place for rank in readers for place in _at(rank, chunks)]
        written = [place for rank in writers for place in _at(rank, chunks)]
        waits = self._waits(after, reads=read, writes=written)
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

    def _waits(
        self,
        after: Iterable[int],
        reads: Iterable[tuple[int, int]] = (),
        adds: Iterable[tuple[int, int]] = (),
        writes: Iterable[tuple[int, int]] = (),
    ) -> tuple[int, ...]:
        """What the next task waits for, which then has these accesses; a place is (rank, chunk)."""
        waits, task = set(after), len(self._tasks)
        writes = list(writes)
        for place in (self._places.setdefault(each, _Place()) for each in reads):
            waits.update(place.written, place.added)
            place.read.append(task)
        for place in (self._places.setdefault(each, _Place()) for each in adds):
            waits.update(place.written, place.read)
            place.added.append(task)
        for each in writes:
            if (seen := self._places.get(each)) is not None:
                waits.update(seen.written, seen.added, seen.read)
        self._places.update((each, _Place([task])) for each in writes)
        waits.discard(task)
        return tuple(sorted(waits))


def _ascending(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(numbers)))


def _at(rank: int, chunks: Iterable[int]) -> list[tuple[int, int]]:
    return [(rank, chunk) for chunk in chunks]
