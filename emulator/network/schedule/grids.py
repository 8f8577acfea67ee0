"""Allreduces on grids: a torus, or a HammingMesh, whose rows and columns are rings too; rank i is at host i.

P ranks in R rows and C columns, S bytes of data at each, links of one rate. All of them are made as columns, since two
rings of 1,024 ranks are eight million messages. Of more there is the part that moves some chunks (``chunks``): what
`verify` asks of data, it asks chunk by chunk, so a schedule of which all parts are right is right. Its times are those
of `messages.grid_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.check import check_count
from emulator.network.schedule.columns import Kind, Ragged
from emulator.network.schedule.generators import even_chunks
from emulator.network.schedule.parts import Chunks, Operation, ScheduleError
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.trees import switch_tree
from emulator.network.topology.hxmesh.hammingmesh import HammingMesh
from emulator.network.topology.parts import NodeKind
from emulator.network.topology.topology import Topology

Int64s = NDArray[np.int64]
Ints = NDArray[np.integer]
EAST, WEST, SOUTH, NORTH = range(4)
BACK = (WEST, EAST, NORTH, SOUTH)
STEPS = ((0, 1), (0, -1), (1, 0), (-1, 0))
"""Of each direction: rows and columns."""


class Step(NamedTuple):
    """Messages that go at once, arrays of one shape or what is broadcast to it."""

    kind: Ints | int
    direction: Ints | int
    source: Ints
    first: Ints
    """Chunk, of ``length``."""
    length: int


@dataclass(frozen=True, slots=True)
class Grid:
    """How ranks in a grid reach their neighbors, around the edges too."""

    rows: int
    columns: int
    routes: NDArray[np.int32]
    """[direction, rank, hops]: indexes of links, -1 after the last one. No two routes have a link in common."""
    peers: NDArray[np.int32]
    """[direction, rank]: the rank there."""

    @classmethod
    def of(cls, topology: Topology) -> Grid:
        """Raises ScheduleError where the hosts are not in a grid, TopologyError for switches of another network."""
        places = [topology.node(name).coordinates for name in topology.hosts]
        rows, columns = (places[-1][0] + 1, places[-1][1] + 1) if len(places[-1]) == 2 else (0, 0)
        if places != list(product(range(rows), range(columns))):
            raise ScheduleError(f"{topology.name}: hosts are not in a grid, row by row", ("topology",))
        index = {link.name: number for number, link in enumerate(topology.links)}
        backward = {link.name: index[link.reverse.name] for link in topology.links}
        forward = _hamming_steps(topology) if topology.names(NodeKind.SWITCH) else _torus_steps(topology, rows, columns)
        longest = max(len(route) for routes in forward for route in routes)
        routes = np.full((4, rows * columns, longest), -1, np.int32)
        row, column = np.divmod(np.arange(rows * columns), columns)
        peers = [(row + down) % rows * columns + (column + right) % columns for down, right in STEPS]
        for direction, each in zip((EAST, SOUTH), forward, strict=True):
            for rank, route in enumerate(each):
                routes[direction, rank, : len(route)] = [index[name] for name in route]
                back = [backward[name] for name in reversed(route)]
                routes[BACK[direction], peers[direction][rank], : len(route)] = back
        return cls(rows, columns, routes, np.array(peers, np.int32))

    def add(self, builder: Builder, step: Step, chunks: range | None = None) -> None:
        """Its messages, without other chunks than ``chunks``, of which the first one becomes number 0."""
        kind, direction, source, first, length = np.broadcast_arrays(*step)
        if chunks is not None:
            begin, end = np.maximum(first, chunks.start), np.minimum(first + length, chunks.stop)
            some = end > begin
            first, length = begin[some] - chunks.start, (end - begin)[some]
            kind, direction, source = kind[some], direction[some], source[some]
        hops = self.routes[direction, source].reshape(-1, self.routes.shape[-1])
        used = hops >= 0
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(used.sum(axis=1))])
        builder.messages(kind, source, self.peers[direction, source], first, length, Ragged(offsets, hops[used]))


def _torus_steps(topology: Topology, rows: int, columns: int) -> tuple[list[list[str]], list[list[str]]]:
    """Routes east and south from each rank. Of two rows or columns, neighbors have two cables, one for each way."""
    found: tuple[list[list[str]], list[list[str]]] = ([], [])
    for row, column in product(range(rows), range(columns)):
        for routes, peer, length, at in (
            (found[0], row * columns + (column + 1) % columns, columns, column),
            (found[1], (row + 1) % rows * columns + column, rows, row),
        ):
            links = topology.links_between(f"h{row * columns + column}", f"h{peer}")
            routes.append([links[at if length == 2 else 0].name])
    return found


def _hamming_steps(topology: Topology) -> tuple[list[list[str]], list[list[str]]]:
    mesh = HammingMesh.of(topology)
    rows, columns = mesh.shape
    down = [mesh.column(column) for column in range(columns)]
    along = [mesh.row(row) for row in range(rows)]
    ranks = list(product(range(rows), range(columns)))
    return [along[row].step(column) for row, column in ranks], [down[column].step(row) for row, column in ranks]


def hamiltonian_cycles(rows: int, columns: int) -> tuple[Int64s, Int64s]:
    """Two cycles through all ranks of a torus, without an edge in common: (ranks [2, P], directions [2, P] from each to
    its next).

    At first one has all edges along rows, the other all along columns. Where they exchange the four edges of a square,
    rows r and r + 1 become one cycle, and so do columns c and c + 1. Squares (r, r) on the diagonal join all columns
    and as many rows; each further pair of squares, at (r, 0) and (r + 1, 1), joins two rows more, divides the other
    cycle and joins it again. Raises ScheduleError but for even numbers of at least 4, and 2x2.
    """
    if rows % 2 or columns % 2 or (2 in (rows, columns) and rows != columns):
        raise ScheduleError(f"{rows}x{columns} ranks: cycles take even numbers of rows and columns, from 4x4, or 2x2")
    if rows < columns:
        ranks, directions = hamiltonian_cycles(columns, rows)
        return ranks % rows * columns + ranks // rows, (directions + 2) % 4
    horizontal, vertical = np.zeros((rows, columns), np.int64), np.ones((rows, columns), np.int64)
    for row in range(rows - 1):
        column = row if row < columns - 1 else (row - columns + 1) % 2
        horizontal[row : row + 2, column] = 1
        vertical[row, column : column + 2] = 0
    ranks, directions = (np.empty((2, rows * columns), np.int64) for _ in range(2))
    for cycle in range(2):
        row = column = 0
        came = -1
        for step in range(rows * columns):
            edges = (
                horizontal[row, column],
                horizontal[row, column - 1],
                vertical[row, column],
                vertical[row - 1, column],
            )
            came = next(each for each in range(4) if edges[each] == cycle and each != came)
            ranks[cycle, step], directions[cycle, step] = row * columns + column, came
            row, column = (row + STEPS[came][0]) % rows, (column + STEPS[came][1]) % columns
            came = BACK[came]
    return ranks, directions


def rings(topology: Topology, size_bytes: int, chunks: range | None = None) -> Schedule:
    """Rings each way around two cycles of a grid, a quarter of the data each (Hoefler et al. 2022).

    2(P - 1)(alpha + beta S/4P), and 2(P - 1)/P S bytes sent by each rank: all of its four links are busy. Chunk c is of
    ring c // P, and starts at its place c % P.
    """
    grid, ranks = Grid.of(topology), len(topology.hosts)
    source, way = (each.astype(np.int32) for each in ring_ways(grid))
    own = range(4 * ranks) if chunks is None else chunks
    check_count(2 * (ranks - 1) * len(own))
    builder = Builder(f"rings-{ranks}", topology, _some(even_chunks(size_bytes, 4 * ranks, ranks), own))
    step, chunk = np.arange(2 * (ranks - 1), dtype=np.int32)[:, None], np.arange(own.start, own.stop, dtype=np.int32)
    ring, place = chunk // ranks, (chunk + step) % ranks
    kind = np.where(step < ranks - 1, np.uint8(Kind.REDUCE), np.uint8(Kind.SEND))
    grid.add(builder, Step(kind, way[ring, place], source[ring, place], chunk - own.start, 1))
    return builder.build()


def _some(chunks: list[Chunks], own: range) -> list[Chunks]:
    """Those numbers alone."""
    found, first = [], 0
    for each in chunks:
        count = min(first + each.count, own.stop) - max(first, own.start)
        found += [replace(each, count=count)] if count > 0 else []
        first += each.count
    return found


def ring_ways(grid: Grid) -> tuple[Int64s, Int64s]:
    """Ranks of the four rings in their order, and the direction from each to its next: [ring, place]. Raises
    ScheduleError where there are no cycles."""
    cycles, directions = hamiltonian_cycles(grid.rows, grid.columns)
    back = np.roll(np.array(BACK)[directions][:, ::-1], -1, axis=1)
    return np.concatenate([cycles, cycles[:, ::-1]]), np.concatenate([directions, back])


def torus(topology: Topology, size_bytes: int, both_ways: bool = False, chunks: range | None = None) -> Schedule:
    """Rings in rows, then in columns, then in rows; half of the data columns first (Hoefler et al. 2022).

    Reduce-scatter in the first dimension, allreduce of a rank's block in the second, allgather in the first: with R = C
    4(R - 1) alpha + beta S (1 - 1/R)(1 + 1/R), while a rank uses two of its four links. ``both_ways``: halves of each
    half go around in both directions, so that all four are used.
    """
    grid, ranks = Grid.of(topology), len(topology.hosts)
    count = (4 if both_ways else 2) * ranks
    own = range(count) if chunks is None else chunks
    builder = Builder(f"torus-{ranks}", topology, _some(even_chunks(size_bytes, count, ranks), own))
    for _, step in torus_steps(grid, both_ways):
        grid.add(builder, step, chunks)
    return builder.build()


def torus_steps(grid: Grid, both_ways: bool = False) -> Iterator[tuple[int, Step]]:
    """Of each share of the data, by number: in a step each rank sends what it has got in the step before. Raises
    ScheduleError."""
    if min(grid.rows, grid.columns) < 2:
        raise ScheduleError(f"{grid.rows}x{grid.columns} ranks: a torus has two rows and two columns at least")
    shares = [_Share(grid, half, way) for half in (0, 1) for way in ((0, 1) if both_ways else (0,))]
    steps = range(2 * max(grid.rows, grid.columns))
    for phase, step, number in product((_Share.scatter, _Share.across, _Share.gather), steps, range(len(shares))):
        if (made := phase(shares[number], step, number * grid.rows * grid.columns)) is not None:
            yield number, made


class _Share:
    """Of the data: along rows first (half 0) or columns first, around the rings one way. Rank (p, q): its places in a
    ring of the first dimension, of ``n`` ranks, and of the second one, of ``m``; n blocks of m chunks from ``data`` on.
    """

    def __init__(self, grid: Grid, half: int, way: int) -> None:
        ranks = np.arange(grid.rows * grid.columns).reshape(grid.rows, grid.columns)
        ranks = ranks if half else ranks.T
        self.ranks = ranks[::-1, ::-1] if way else ranks  # [p, q]
        self.n, self.m = self.ranks.shape
        self.first, self.second = ((EAST, SOUTH), (SOUTH, EAST))[half]
        self.first, self.second = (BACK[self.first], BACK[self.second]) if way else (self.first, self.second)
        self.p, self.q = np.arange(self.n)[:, None], np.arange(self.m)

    def scatter(self, step: int, data: int) -> Step | None:
        return self._blocks(Kind.REDUCE, self.p - step, data) if step < self.n - 1 else None

    def across(self, step: int, data: int) -> Step | None:
        """An allreduce of block p + 1, which is then the sum of a ring, in the second dimension."""
        kind = Kind.REDUCE if step < self.m - 1 else Kind.SEND
        chunk = data + (self.p + 1) % self.n * self.m + (self.q - step) % self.m
        return Step(kind, self.second, self.ranks, chunk, 1) if step < 2 * (self.m - 1) else None

    def gather(self, step: int, data: int) -> Step | None:
        return self._blocks(Kind.SEND, self.p + 1 - step, data) if step < self.n - 1 else None

    def _blocks(self, kind: Kind, block: Int64s, data: int) -> Step:
        return Step(kind, self.first, self.ranks, data + block % self.n * self.m + 0 * self.q, self.m)


def line_switches(topology: Topology, size_bytes: int) -> Schedule:
    """The switches of the rows of a HammingMesh add up and copy, then those of columns; half of the data columns first.

    4 alpha + beta S with a switch for each row and column; every rank sends S bytes. On boards whose ranks all have
    ports to both, which are those of up to 2x2.
    """
    mesh = HammingMesh.of(topology)
    if max(mesh.board) > 2:
        text = f"boards of {mesh.board[0]}x{mesh.board[1]} have ranks without ports to switches; up to 2x2 all have"
        raise ScheduleError(text, ("topology",))
    ranks = len(topology.hosts)
    builder = Builder(f"line-switches-{ranks}", topology, even_chunks(size_bytes, 2, ranks))
    lines = list(mesh.lines)
    for chunks in ((0, 1), (1, 0)):
        for number, line in enumerate(lines):
            group = [int(host[1:]) for host in line.hosts]
            route = switch_tree(topology, line.hosts, root=(line.spines or line.leaves)[0])
            builder.collective(Operation.ALLREDUCE, group, [chunks[number >= mesh.shape[0]]], route=route)
    return builder.build()


GRID_GENERATORS: Mapping[str, Callable[..., Schedule]] = {
    "grid-rings": rings,
    "grid-torus": torus,
    "line-switches": line_switches,
}
"""By the word on the command line."""
