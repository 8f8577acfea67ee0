"""What is to be planned: pieces of data that go from rank to rank over edges, and what a sketch leaves of these."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from emulator.network.topology.parts import NodeKind, TopologyError
from emulator.network.topology.topology import Topology
from hostagent.planner.synthesis.inputs import Machine, Sketch

MOST_WAYS, MOST_STEPS = 2_000_000, 12_000
"""Pieces times edges, and pieces times destinations: more would take long before any program begins."""
Step = tuple[int, int]
"""(piece, edge): the piece goes over the edge."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A message can go from one rank to another without a third one."""

    source: int
    destination: int
    links: tuple[int, ...]
    """Indexes in ``topology.links``; all are occupied."""
    cost_ns: int
    """Of one piece, for routing."""
    remote: bool
    """To another node of GPUs."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Of the data that a rank has at the start."""

    source: int
    destinations: tuple[int, ...]
    number: int
    """Of a chunk that is split."""


@dataclass(frozen=True, eq=False)
class Problem:
    topology: Topology
    ranks: int
    edges: tuple[Edge, ...]
    pieces: tuple[Piece, ...]
    piece_bytes: int
    allowed: tuple[tuple[int, ...], ...]
    """Of each piece: the edges that may carry it."""
    gpus: int = 0
    """Ranks of a node: those of rank // gpus; 0: all are one."""
    symmetries: tuple[tuple[int, ...], ...] = ()
    """Each the rank to which rank r moves."""
    policy: str = ""
    """uc-min, uc-max or none: see `Sketch`."""
    order: dict[Step, int] | None = None
    """Of remote steps of one sender: those with a lower number go first."""

    @property
    def split(self) -> int:
        """Pieces of a chunk."""
        return 1 + max(piece.number for piece in self.pieces)

    @cached_property
    def edges_of_link(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for index, edge in enumerate(self.edges):
            for link in edge.links:
                found.setdefault(link, []).append(index)
        return {link: tuple(each) for link, each in found.items()}

    @cached_property
    def alpha_ns(self) -> tuple[int, ...]:
        """Of each link."""
        return tuple(link.alpha_ns for link in self.topology.links)

    def bits_ns(self, link: int, pieces: int) -> int:
        """As `emulator.network.messages` counts them."""
        return -(-pieces * self.piece_bytes * 8_000_000_000 // self.topology.links[link].rate_bps)

    def held_ns(self, link: int, pieces: int) -> int:
        """How long a message of so many pieces occupies the link."""
        return self.alpha_ns[link] + self.bits_ns(link, pieces)

    def passage_ns(self, edge: int, pieces: int) -> int:
        """From a message's start to its arrival."""
        links = self.edges[edge].links
        delay = sum(self.alpha_ns[link] + self.topology.links[link].latency_ns for link in links)
        return delay + max(self.bits_ns(link, pieces) for link in links)


def allgather_pieces(ranks: int, split: int) -> list[Piece]:
    return [
        Piece(rank, tuple(each for each in range(ranks) if each != rank), number)
        for rank in range(ranks)
        for number in range(split)
    ]


def alltoall_pieces(ranks: int, split: int) -> list[Piece]:
    pairs = [(one, other) for one in range(ranks) for other in range(ranks) if one != other]
    return [Piece(one, (other,), number) for one, other in pairs for number in range(split)]


def sketched_problem(machine: Machine, sketch: Sketch, collective: str, size_bytes: int) -> Problem:
    """``collective``: allgather or alltoall. Raises TopologyError that names the field of the sketch."""
    ranks, gpus = len(machine.topology.hosts), machine.gpus
    if size_bytes < 4 * sketch.pieces or size_bytes % (4 * sketch.pieces):
        raise TopologyError(
            f"the size, {size_bytes} bytes, is not {sketch.pieces} equal pieces of int32: it has to be a multiple of "
            f"{4 * sketch.pieces}, as {-(-size_bytes // (4 * sketch.pieces)) * 4 * sketch.pieces} is "
            f"({sketch.file}: input_chunkup)"
        )
    for name, members in (("switches", sketch.switches), ("internode_conn", _members(sketch.relays))):
        for row in members:
            if outside := [gpu for gpu in row if gpu >= gpus]:
                raise _wrong(sketch, f"there is no GPU {outside[0]} among {gpus} of a node", name)
    for row in _members(sketch.senders):
        if outside := [gpu for gpu in row if gpu >= gpus]:
            raise _wrong(sketch, f"there is no GPU {outside[0]} among {gpus} of a node", "gpus_to_sender_rev_map")
    edges = tuple(edge for edge in all_edges(machine, size_bytes // sketch.pieces) if _in_sketch(edge, sketch, gpus))
    if sketch.switches and not any(len(edge.links) > 1 and not edge.remote for edge in edges):
        raise _wrong(sketch, "links, not switches, join the GPUs that are left of a node", "switches")
    make = allgather_pieces if collective == "allgather" else alltoall_pieces
    steps = ranks * (ranks - 1) * sketch.pieces
    if steps > MOST_STEPS or steps * len(edges) > MOST_WAYS * (ranks - 1 if collective == "allgather" else 1):
        text = f"{ranks} ranks with {sketch.pieces} pieces each over {len(edges)} edges are more than can be planned"
        raise TopologyError(f"{text}: take fewer nodes, or fewer pieces (input_chunkup), or a sketch with fewer edges")
    pieces = tuple(make(ranks, sketch.pieces))
    allowed = tuple(_allowed(piece, edges, sketch, gpus, ranks) for piece in pieces)
    symmetries = tuple(_moved(sketch, ranks, *pair) for pair in sketch.symmetry)
    order = None
    if sketch.own_first and sketch.senders:
        order = {
            (number, edge): sketch.senders[edges[edge].source % gpus].index(piece.source % gpus)
            for number, piece in enumerate(pieces)
            for edge in allowed[number]
            if edges[edge].remote
        }
    return Problem(
        machine.topology,
        ranks,
        edges,
        pieces,
        size_bytes // sketch.pieces,
        allowed,
        gpus,
        symmetries,
        sketch.policy if sketch.switches else "",
        order,
    )


def all_edges(machine: Machine, piece_bytes: int) -> list[Edge]:
    """Between each two hosts that have a way by switches and NICs alone, the shortest one. Costs that the file rounds
    are for pieces of its size."""
    topology = machine.topology
    index = {link: number for number, link in enumerate(topology.links)}
    numbers = {host: number for number, host in enumerate(topology.hosts)}
    whole = Problem(topology, len(numbers), (), (), piece_bytes, ())
    found = []
    for source, rank in numbers.items():
        ways: dict[str, tuple[int, ...]] = {source: ()}
        waiting = deque([source])
        while waiting:
            name = waiting.popleft()
            nic = topology.node(name).kind is NodeKind.NIC
            for link in topology.out_links(name):
                host = topology.node(link.destination).kind is NodeKind.HOST
                if link.destination in ways or (nic and host and len(ways[name]) == 1):  # a NIC leads to the network
                    continue
                ways[link.destination] = (*ways[name], index[link])
                if not host:
                    waiting.append(link.destination)
        for name, links in ways.items():
            if name == source or name not in numbers:
                continue
            other = numbers[name]
            alpha = sum(topology.links[link].alpha_ns + topology.links[link].latency_ns for link in links)
            cost = alpha + max(whole.bits_ns(link, 1) for link in links)
            if piece_bytes == machine.chunk_bytes:
                cost = machine.costs_ns.get((rank, other), cost)
            found.append(Edge(rank, other, links, cost, rank // machine.gpus != other // machine.gpus))
    return found


def _in_sketch(edge: Edge, sketch: Sketch, gpus: int) -> bool:
    one, other = edge.source % gpus, edge.destination % gpus
    if edge.remote:
        if sketch.direct:
            return one == other
        return sketch.relays is None or other in sketch.relays.get(one, ())
    by_switch = len(edge.links) > 1
    return not (by_switch and sketch.switches) or any(one in row and other in row for row in sketch.switches)


def _allowed(piece: Piece, edges: Sequence[Edge], sketch: Sketch, gpus: int, ranks: int) -> tuple[int, ...]:
    """Ranks on shortest ways, by their number of edges, may carry a piece."""
    usable = [index for index, edge in enumerate(edges) if _carries(edge, piece, sketch, gpus)]
    ahead: dict[int, list[int]] = {}
    behind: dict[int, list[int]] = {}
    for index in usable:
        ahead.setdefault(edges[index].source, []).append(edges[index].destination)
        behind.setdefault(edges[index].destination, []).append(edges[index].source)
    away = _distances(piece.source, ahead)
    for target in piece.destinations:
        if target not in away:
            raise _wrong(
                sketch,
                f"nothing leads from rank {piece.source} to rank {target}: the links, switches and relays that are "
                "left are no connected network",
                "internode_sketch"
                if sketch.senders is None and sketch.relays is None
                else "internode_conn"
                if sketch.senders is None
                else "gpus_to_sender_rev_map",
            )
    if len(piece.destinations) == ranks - 1:
        return tuple(index for index in usable if edges[index].destination != piece.source)
    ranks_used: set[int] = set()
    for target in piece.destinations:
        left = _distances(target, behind)
        ranks_used |= {rank for rank in away if rank in left and away[rank] + left[rank] == away[target]}
    return tuple(
        index
        for index in usable
        if {edges[index].source, edges[index].destination} <= ranks_used
        and away[edges[index].source] < away[edges[index].destination]
    )


def _carries(edge: Edge, piece: Piece, sketch: Sketch, gpus: int) -> bool:
    if not edge.remote:
        return True
    if edge.source // gpus != piece.source // gpus:
        return False
    return sketch.senders is None or piece.source % gpus in sketch.senders.get(edge.source % gpus, ())


def _distances(start: int, following: dict[int, list[int]]) -> dict[int, int]:
    found, waiting = {start: 0}, deque([start])
    while waiting:
        rank = waiting.popleft()
        for other in following.get(rank, ()):
            if other not in found:
                found[other] = found[rank] + 1
                waiting.append(other)
    return found


def _moved(sketch: Sketch, ranks: int, offset: int, size: int) -> tuple[int, ...]:
    if not 1 <= size <= ranks or ranks % size:
        raise _wrong(sketch, f"groups of {size} ranks do not divide {ranks}", "symmetry_offsets")
    return tuple(rank - rank % size + (rank % size + offset) % size for rank in range(ranks))


def _members(rows: dict[int, tuple[int, ...]] | None) -> list[tuple[int, ...]]:
    return [(key, *row) for key, row in (rows or {}).items()]


def _wrong(sketch: Sketch, text: str, field: str) -> TopologyError:
    return TopologyError(text, (f"{sketch.file}: {field}",))
