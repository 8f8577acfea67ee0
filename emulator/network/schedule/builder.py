"""Build a schedule from sends in an order in which they are right one by one; the builder finds what waits for what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule.columns import Columns, Ragged, pack
from emulator.network.schedule.parts import Chunks, Collective, Compute, Operation, Reduce, ScheduleError, Send, Task
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.trees import switch_tree
from emulator.network.schedule.waits import waits
from emulator.network.topology.routes import FirstRoutes
from emulator.network.topology.topology import Topology

Ints: TypeAlias = NDArray[np.integer]


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
        self._calls: dict[str, int] = {}
        self._count = 0
        self._tasks: list[Task] = []
        """Those since the last block."""
        self._blocks: list[Columns] = []
        self._first_routes = FirstRoutes(topology)
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
        self._calls.setdefault(call, len(self._calls))
        return self._add(Compute(rank, duration_ns, call, _ascending(reads), _ascending(writes), _ascending(after)))

    def send(
        self,
        source: int,
        destination: int,
        chunks: Iterable[int],
        *,
        route: Sequence[str] | None = None,
        after: Iterable[int] = (),
    ) -> int:
        route = self._route(source, destination) if route is None else tuple(route)
        return self._add(Send(source, destination, _ascending(chunks), route, _ascending(after)))

    def reduce(
        self,
        source: int,
        destination: int,
        chunks: Iterable[int],
        *,
        route: Sequence[str] | None = None,
        after: Iterable[int] = (),
    ) -> int:
        route = self._route(source, destination) if route is None else tuple(route)
        return self._add(Reduce(source, destination, _ascending(chunks), route, _ascending(after)))

    def messages(
        self,
        kind: Ints | int,
        source: Ints,
        destination: Ints,
        first: Ints,
        count: Ints | int = 1,
        routes: Ragged | None = None,
        after: Ragged | None = None,
    ) -> None:
        """Sends or Reduces (`Kind`), as many as the arrays have elements when broadcast to one shape, each of ``count``
        chunks from ``first`` on. ``routes``: indexes of links, ``after``: numbers of tasks, a row each."""
        if self._tasks:
            self._pack()
        wide = np.broadcast_arrays(kind, source, destination, first, count)
        kinds, sources, destinations, firsts, counts = (each.ravel().astype(np.int32) for each in wide)
        tasks = len(kinds)
        if routes is None:
            pairs, rows = np.unique(sources.astype(np.int64) * len(self.places) + destinations, return_inverse=True)
            ways = [self._route(*divmod(pair, len(self.places))) for pair in pairs.tolist()]
            routes = Ragged.of([[self._links[name] for name in way] for way in ways]).take(rows)
        none = Ragged(np.zeros(tasks + 1, np.int64), np.empty(0, np.int32))
        runs = Ragged.equal(np.stack([firsts, counts], axis=1)[:, None, :])
        no_runs = Ragged(none.offsets, np.empty((0, 2), np.int32))
        zeros = np.zeros(tasks, np.int64), np.zeros(tasks, np.int32)
        block = Columns(
            kinds.astype(np.uint8), sources, destinations, *zeros, runs, no_runs, routes, after or none, none
        )
        self._blocks.append(block)
        self._count += tasks

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
        group = tuple(group)
        if route is None:
            route = switch_tree(self.topology, [self.places[rank] for rank in group], operation)
        return self._add(Collective(operation, group, _ascending(chunks), tuple(route), _ascending(after)))

    def build(self) -> Schedule:
        """Raises ScheduleError."""
        if self._tasks or not self._blocks:
            self._pack()
        columns = Columns.joined(self._blocks)
        columns = columns._replace(after=waits(columns, len(self.places), sum(each.count for each in self.chunks)))
        return Schedule(self.name, self.topology, self.places, self.chunks, tuple(self._calls), columns)

    def _add(self, task: Task) -> int:
        number = self._count
        for other in task.after:
            if not 0 <= other < number:
                raise ScheduleError(f"task {other} is not an earlier one", ("tasks", number, "after"))
        self._tasks.append(task)
        self._count += 1
        return number

    def _pack(self) -> None:
        """What came one by one becomes a block."""
        self._blocks.append(pack(self._tasks, self._links, tuple(self._calls), self._count - len(self._tasks)))
        self._tasks = []

    @cached_property
    def _links(self) -> dict[str, int]:
        return {link.name: index for index, link in enumerate(self.topology.links)}

    @cached_property
    def _first_links(self) -> dict[tuple[str, str], str]:
        return {(link.source, link.destination): link.name for link in reversed(self.topology.links)}

    def _route(self, source: int, destination: int) -> tuple[str, ...]:
        if (source, destination) not in self._routes:
            nodes = self._first_routes.route(self.places[source], self.places[destination])
            links = tuple(self._first_links[hop] for hop in pairwise(nodes))
            self._routes[source, destination] = links
        return self._routes[source, destination]


def _ascending(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(numbers)))
