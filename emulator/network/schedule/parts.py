"""What a schedule is made of: chunks of data and four kinds of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from emulator.network.topology.parts import TopologyError


@dataclass(frozen=True, slots=True)
class Chunks:
    """``count`` chunks with consecutive numbers that are alike.

    Chunk c at rank r is a place that holds a sum of contributions. At the start each source holds its own contribution
    (or from the Compute on that writes it); in the end each destination must hold the sum of all sources' ones, each
    once. So allgather has one source for a chunk, reduce-scatter one destination, allreduce all ranks as both.
    """

    count: int
    bytes: int
    """Of each."""
    sources: tuple[int, ...]
    """Ranks, ascending."""
    destinations: tuple[int, ...]
    """Ranks, ascending; none: data that is used on the way only."""


class Operation(StrEnum):
    """What a network does with the chunks of a group that it sums or copies itself."""

    ALLREDUCE = "allreduce"
    """All members contribute; all hold the sum afterwards."""
    REDUCE = "reduce"
    """All contribute; the first of the group holds the sum afterwards."""
    BROADCAST = "broadcast"
    """All others hold what the first of the group holds."""


@dataclass(frozen=True, slots=True)
class Compute:
    """Occupies the compute unit of a rank."""

    rank: int
    duration_ns: int
    call: str = ""
    """Name of what is called in a live run; empty: nothing."""
    reads: tuple[int, ...] = ()
    """Chunks, ascending, as everywhere."""
    writes: tuple[int, ...] = ()
    """Chunks of which the rank holds its own contribution afterwards, and nothing else."""
    after: tuple[int, ...] = ()
    """Numbers of earlier tasks that have finished before it starts, ascending, as everywhere."""


@dataclass(frozen=True, slots=True)
class Send:
    """One message over a route; the destination then holds what the source held when it started."""

    source: int
    destination: int
    chunks: tuple[int, ...]
    route: tuple[str, ...]
    """Names of links, from the source's node to the destination's; the task occupies them."""
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reduce:
    """As Send, but the destination adds what arrives to what it holds."""

    source: int
    destination: int
    chunks: tuple[int, ...]
    route: tuple[str, ...]
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Collective:
    """An operation that switches carry out on their way: each link of the route is used once."""

    operation: Operation
    group: tuple[int, ...]
    """Ranks; the first one is the root of reduce and broadcast."""
    chunks: tuple[int, ...]
    route: tuple[str, ...]
    """Links of a tree in the order in which data passes: from the members up, then down to the members."""
    after: tuple[int, ...] = ()


Task: TypeAlias = Compute | Send | Reduce | Collective


class ScheduleError(TopologyError):
    """A schedule cannot be as described; ``place`` as in ("tasks", 3, "route")."""
