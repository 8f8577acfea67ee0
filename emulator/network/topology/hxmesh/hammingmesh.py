"""HammingMesh: boards of accelerators in a grid, whose rows and columns have networks of switches (Hoefler 2022).

A board is a small mesh of accelerators, with four ports each in a plane. The ports that leave boards at their west and
east edges in one row of accelerators belong to the network of that row; those at north and south edges to that of their
column. A network is a switch, or a two-level fat tree where it has more ports than a switch. Boards of one accelerator
make the Hamming graph (2-D HyperX), and rows and columns of boards make a torus with every board as long as its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from emulator.network.topology.parts import LinkClass, TopologyError
from emulator.network.topology.plan import HOST_LINK, SWITCH_LINK, Plan, check_counts
from emulator.network.topology.topology import Topology

RADIX = 64
"""Ports of a switch."""
Hop: TypeAlias = tuple[str, int]
"""Name of a link, and the virtual channel of it that a message takes."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row or column of accelerators: boards of ``width`` of them side by side, and the network between the boards.

    Ports of the network: board k has port 2k at its first accelerator (west, north) and 2k + 1 at its last.
    """

    name: str
    hosts: tuple[str, ...]
    width: int
    radix: int

    @property
    def boards(self) -> int:
        return len(self.hosts) // self.width

    @property
    def leaves(self) -> tuple[str, ...]:
        """The switches with the ports: more than one only where there are more ports than one has."""
        if 2 * self.boards <= self.radix:
            return (self.name,)
        return tuple(f"{self.name}.leaf{index}" for index in range(-(-4 * self.boards // self.radix)))

    @property
    def spines(self) -> tuple[str, ...]:
        count = -(-len(self.leaves) // 2) if len(self.leaves) > 1 else 0
        return tuple(f"{self.name}.spine{index}" for index in range(count))

    def leaf(self, port: int) -> str:
        return self.leaves[port // (self.radix // 2) if len(self.leaves) > 1 else 0]

    def host(self, port: int) -> str:
        return self.hosts[port // 2 * self.width + port % 2 * (self.width - 1)]

    def cable(self, port: int) -> int:
        """Number of the port's cable among parallel ones: both ports of a board of width 1 are one accelerator's."""
        return port % 2 if self.width == 1 else 0

    def across(self, entry: int, exit: int) -> list[list[str]]:
        """Links from the accelerator at one port to that at another, through the switches, for each spine."""
        first, last, number = self.leaf(entry), self.leaf(exit), self.cable(entry)
        up, down = _name(self.host(entry), first, number), _name(last, self.host(exit), self.cable(exit))
        if first == last:
            return [[up, down]]
        parallel = self.radix // 2 // len(self.spines)  # cables from a leaf to a spine
        return [
            [up, _name(first, spine, entry % parallel), _name(spine, last, exit % parallel), down]
            for spine in self.spines
        ]

    def along(self, start: int, end: int) -> list[str]:
        """Links on one board."""
        step = 1 if start < end else -1
        return [_name(self.hosts[at], self.hosts[at + step]) for at in range(start, end, step)]

    def step(self, position: int) -> list[str]:
        """Links to the next accelerator of the line, around its end too: on the board, or from port to port."""
        board, place = divmod(position, self.width)
        if place < self.width - 1:
            return self.along(position, position + 1)
        ways = self.across(2 * board + 1, 2 * ((board + 1) % self.boards))
        return ways[self.leaves.index(self.leaf(2 * board + 1)) % len(ways)]  # neighboring leaves take different spines

    def routes(self, start: int, end: int) -> list[list[Hop]]:
        """All shortest ones between two positions, over the network once at most: channel 0 before it, 1 after."""
        if start == end:
            return [[]]
        (board, place), (other, target) = divmod(start, self.width), divmod(end, self.width)
        found = [[(link, 0) for link in self.along(start, end)]] if board == other else []
        for side, far in product((0, 1), (0, 1)):
            entry, exit = 2 * board + side, 2 * other + far
            if self.host(entry) == self.host(exit):
                continue
            before = self.along(start, start - place + side * (self.width - 1))
            after = self.along(end - target + far * (self.width - 1), end)
            for links in self.across(entry, exit):
                out = [(link, 0) for link in (*before, *links[:-1])]
                found.append([*out, *((link, 1) for link in (links[-1], *after))])
        shortest = min(map(len, found))
        return [route for route in found if len(route) == shortest]


@dataclass(frozen=True, slots=True)
class HammingMesh:
    """The shape of one: accelerators at (row, column) are numbered row by row."""

    board: tuple[int, int]
    """Rows and columns of accelerators on a board."""
    grid: tuple[int, int]
    """Rows and columns of boards."""
    radix: int = RADIX

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of accelerators."""
        return self.board[0] * self.grid[0], self.board[1] * self.grid[1]

    @property
    def name(self) -> str:
        shape = f"hxmesh-{self.grid[0]}x{self.grid[1]}-board-{self.board[0]}x{self.board[1]}"
        return shape if self.radix == RADIX else f"{shape}-radix-{self.radix}"

    def row(self, row: int) -> Line:
        columns = self.shape[1]
        hosts = tuple(f"h{row * columns + column}" for column in range(columns))
        return Line(f"row{row}", hosts, self.board[1], self.radix)

    def column(self, column: int) -> Line:
        rows, columns = self.shape
        hosts = tuple(f"h{row * columns + column}" for row in range(rows))
        return Line(f"column{column}", hosts, self.board[0], self.radix)

    @property
    def lines(self) -> Iterator[Line]:
        yield from map(self.row, range(self.shape[0]))
        yield from map(self.column, range(self.shape[1]))

    @property
    def diameter(self) -> int:
        """In links: for each dimension from the middle of a board to its edge, through the network, and the same
        back."""
        total = 0
        for width, boards in zip(self.board, self.grid, strict=True):
            network = 2 if 2 * boards <= self.radix else 4
            total += 2 * ((width - 1) // 2) + network if boards > 1 else _within_board(width)
        return total

    def routes(self, source: int, destination: int) -> list[list[Hop]]:
        """All shortest routes between two accelerators that change dimension once: along the row first, or the column
        first. Each crosses one row network and one column network at most.

        Virtual channels: 0 and 1 in the first dimension, before and after its network; 2 and 3 in the second one. So
        each message takes channels in ascending order, and those of a number lead along lines one way: no circle of
        channels that wait for each other. Where all messages go along rows first, dimensions have links of their own
        and two channels are enough: the number modulo 2.
        """
        columns = self.shape[1]
        (row, column), (to_row, to_column) = divmod(source, columns), divmod(destination, columns)
        ways = [(self.row(row).routes(column, to_column), self.column(to_column).routes(row, to_row))]
        if row != to_row and column != to_column:
            ways.append((self.column(column).routes(row, to_row), self.row(to_row).routes(column, to_column)))
        return [
            [*first, *((link, 2 + channel) for link, channel in second)]
            for firsts, seconds in ways
            for first, second in product(firsts, seconds)
        ]

    @classmethod
    def of(cls, topology: Topology) -> HammingMesh:
        """The shape of what `hamming_mesh` built. Raises TopologyError."""
        found = re.fullmatch(r"hxmesh-(\d+)x(\d+)-board-(\d+)x(\d+)(?:-radix-(\d+))?", topology.name, re.ASCII)
        if found is None:
            text = f"{topology.name!r} is no HammingMesh: a built one is named hxmesh-ROWSxCOLUMNS-board-ROWSxCOLUMNS"
            raise TopologyError(text, ("name",))
        x, y, a, b, radix = (int(each or RADIX) for each in found.groups())
        mesh = cls((a, b), (x, y), radix)
        if min(*mesh.board, *mesh.grid) < 1 or len(topology.hosts) != mesh.shape[0] * mesh.shape[1]:
            raise TopologyError(f"{topology.name!r} has not {len(topology.hosts)} hosts", ("name",))
        return mesh


def hamming_mesh(
    grid: tuple[int, ...],
    board: tuple[int, ...] = (2, 2),
    *,
    host_link: LinkClass = HOST_LINK,
    switch_link: LinkClass = SWITCH_LINK,
    radix: int = RADIX,
) -> Topology:
    """One plane of a HammingMesh: a grid of x by y boards of a by b accelerators.

    a b x y hosts, at (row, column); a switch for each of a x + b y rows and columns, with two cables for each board of
    it; x y (a (b - 1) + b (a - 1)) cables on boards, of class ``board`` with the properties of host links. Rows of more
    boards than half a switch has ports: leaves of radix / 2 ports and as many cables up, and spines. Rows that would
    share a switch each have their own. Groups: row0, ..., column0, ..., board0.0, ...
    """
    (x, y), (a, b) = grid, board
    count = a * x * b * y
    check_counts("hxmesh", count, board_rows=(a, 1), board_columns=(b, 1), grid_rows=(x, 1), grid_columns=(y, 1))
    if radix < 4 or radix % 4:
        raise TopologyError(f"hxmesh: a radix of {radix}; it is a multiple of 4")
    if 2 * max(x, y) > radix * radix // 2:
        raise TopologyError(f"hxmesh: {max(x, y)} boards in a line; a fat tree of two levels has {radix * radix // 4}")
    mesh = HammingMesh((a, b), (x, y), radix)
    rows, columns = mesh.shape
    plan, on_board = Plan(mesh.name), replace(host_link, name="board")
    for row, column in product(range(rows), range(columns)):
        host = plan.host((row, column), group=f"row{row}")
        plan.groups.setdefault(f"column{column}", []).append(host)
        plan.groups.setdefault(f"board{row // a}.{column // b}", []).append(host)
    for line in mesh.lines:
        for start, one in enumerate(line.hosts[:-1]):
            if (start + 1) % line.width:
                plan.cable(one, line.hosts[start + 1], on_board)
        for switch in (*line.leaves, *line.spines):
            plan.switch(switch)
        for port in range(2 * line.boards):
            plan.cable(line.host(port), line.leaf(port), host_link)
        for leaf in line.leaves if line.spines else ():
            for index in range(radix // 2):
                plan.cable(leaf, line.spines[index % len(line.spines)], switch_link)
    return plan.topology()


def _within_board(width: int) -> int:
    """Largest distance in a line of one board: its ends are joined by the network as well."""
    return max(min(far - near, near + width + 1 - far) for near in range(width) for far in range(near, width))


def _name(source: str, destination: str, number: int = 0) -> str:
    return f"{source}->{destination}" + (f"#{number}" if number else "")
