"""Allreduces on grids: a torus, or a HammingMesh, whose rows and columns are rings too; rank i is at host i.

P ranks in R rows and C columns, S bytes of data at each, links of one rate. All of them are made as columns, since two
rings of 1,024 ranks are eight million messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.check import check_count
from emulator.network.schedule.columns import Kind, Ragged
from emulator.network.schedule.generators import even_chunks
from emulator.network.schedule.parts import Operation, ScheduleError
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.trees import switch_tree
from emulator.network.topology.hxmesh.hammingmesh import HammingMesh
from emulator.network.topology.parts import NodeKind
from emulator.network.topology.topology import Topology

Int64s = NDArray[np.int64]
EAST, WEST, SOUTH, NORTH = range(4)
BACK = (WEST, EAST, NORTH, SOUTH)
STEPS = ((0, 1), (0, -1), (1, 0), (-1, 0))
"""Of each direction: rows and columns."""


@dataclass(frozen=True, slots=True)
class Grid:
    """How ranks in a grid reach their neighbors, around the edges too."""

    rows: int
    columns: int
    routes: NDArray[np.int32]
    """[direction, rank, hops]: indexes of links, -1 after the last one. No two routes have a link in common."""

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
        for direction, each in zip((EAST, SOUTH), forward, strict=True):
            down, right = STEPS[direction]
            for rank, route in enumerate(each):
                row, column = divmod(rank, columns)
                peer = (row + down) % rows * columns + (column + right) % columns
                routes[direction, rank, : len(route)] = [index[name] for name in route]
                routes[BACK[direction], peer, : len(route)] = [backward[name] for name in reversed(route)]
        return cls(rows, columns, routes)

    def add(
        self, builder: Builder, kind: Int64s | int, direction: Int64s | int, source: Int64s, first: Int64s, count: int
    ) -> None:
        """Messages to the next rank in a direction, as of `Builder.messages`."""
        steps = np.array(STEPS)[direction]
        row, column = np.divmod(source, self.columns)
        peer = (row + steps[..., 0]) % self.rows * self.columns + (column + steps[..., 1]) % self.columns
        hops = self.routes[np.broadcast_arrays(direction, source, first)[0], np.broadcast_to(source, first.shape)]
        used = (hops >= 0).reshape(-1, hops.shape[-1])
        lengths = used.sum(axis=1)
        routes = Ragged(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), hops[hops >= 0])
        builder.messages(kind, source, peer, first, count, routes)


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


def rings(topology: Topology, size_bytes: int) -> Schedule:
    """Rings each way around two cycles of a grid, a quarter of the data each (Hoefler et al. 2022).

    2(P - 1)(alpha + beta S/4P), and 2(P - 1)/P S bytes sent by each rank: all of its four links are busy.
    """
    grid, ranks = Grid.of(topology), len(topology.hosts)
    source, way = ring_ways(grid)
    check_count(8 * ranks * (ranks - 1))
    builder = Builder(f"rings-{ranks}", topology, even_chunks(size_bytes, 4 * ranks, ranks))
    step, ring, place = np.arange(ranks - 1)[:, None, None], np.arange(4)[:, None], np.arange(ranks)
    grid.add(builder, Kind.REDUCE, way, source, ring * ranks + (place - step) % ranks, 1)
    grid.add(builder, Kind.SEND, way, source, ring * ranks + (place + 1 - step) % ranks, 1)
    return builder.build()


def ring_ways(grid: Grid) -> tuple[Int64s, Int64s]:
    """Ranks of the four rings in their order, and the direction from each to its next: [ring, place]. Raises
    ScheduleError where there are no cycles."""
    cycles, directions = hamiltonian_cycles(grid.rows, grid.columns)
    back = np.roll(np.array(BACK)[directions][:, ::-1], -1, axis=1)
    return np.concatenate([cycles, cycles[:, ::-1]]), np.concatenate([directions, back])


def torus(topology: Topology, size_bytes: int, both_ways: bool = False) -> Schedule:
    """Rings in rows, then in columns, then in rows; half of the data columns first (Hoefler et al. 2022).

    Reduce-scatter in the first dimension, allreduce of a rank's block in the second, allgather in the first: with R = C
    4(R - 1) alpha + beta S (1 - 1/R)(1 + 1/R), while a rank uses two of its four links. ``both_ways``: halves of each
    half go around in both directions, so that all four are used.
    """
    grid = Grid.of(topology)
    if min(grid.rows, grid.columns) < 2:
        raise ScheduleError(f"{grid.rows}x{grid.columns} ranks: a torus has two rows and two columns at least")
    ranks = len(topology.hosts)
    shares = [_Share(grid, half, way) for half in (0, 1) for way in ((0, 1) if both_ways else (0,))]
    builder = Builder(f"torus-{ranks}", topology, even_chunks(size_bytes, len(shares) * ranks, ranks))
    steps = range(2 * max(grid.rows, grid.columns))
    for phase, step, number in product((_Share.scatter, _Share.across, _Share.gather), steps, range(len(shares))):
        phase(shares[number], builder, step, number * ranks)
    return builder.build()


class _Share:
    """Of the data: along rows first (half 0) or columns first, around the rings one way. Rank (p, q): its places in a
    ring of the first dimension, of ``n`` ranks, and of the second one, of ``m``; n blocks of m chunks from ``data`` on.
    """

    def __init__(self, grid: Grid, half: int, way: int) -> None:
        self.grid = grid
        ranks = np.arange(grid.rows * grid.columns).reshape(grid.rows, grid.columns)
        ranks = ranks if half else ranks.T
        self.ranks = ranks[::-1, ::-1] if way else ranks  # [p, q]
        self.n, self.m = self.ranks.shape
        self.first, self.second = ((EAST, SOUTH), (SOUTH, EAST))[half]
        self.first, self.second = (BACK[self.first], BACK[self.second]) if way else (self.first, self.second)
        self.p, self.q = np.arange(self.n)[:, None], np.arange(self.m)

    def scatter(self, builder: Builder, step: int, data: int) -> None:
        if step < self.n - 1:
            self._blocks(builder, Kind.REDUCE, self.p - step, data)

    def across(self, builder: Builder, step: int, data: int) -> None:
        """An allreduce of block p + 1, which is then the sum of a ring, in the second dimension."""
        if step < 2 * (self.m - 1):
            kind = Kind.REDUCE if step < self.m - 1 else Kind.SEND
            chunk = data + (self.p + 1) % self.n * self.m + (self.q - step) % self.m
            self.grid.add(builder, kind, self.second, self.ranks, chunk, 1)

    def gather(self, builder: Builder, step: int, data: int) -> None:
        if step < self.n - 1:
            self._blocks(builder, Kind.SEND, self.p + 1 - step, data)

    def _blocks(self, builder: Builder, kind: Kind, block: Int64s, data: int) -> None:
        self.grid.add(builder, kind, self.first, self.ranks, data + block % self.n * self.m + 0 * self.q, self.m)


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
