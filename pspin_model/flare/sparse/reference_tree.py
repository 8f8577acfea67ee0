"""A sparse allreduce through a tree of switches, without time: hosts, nodes, and a network that may lose, duplicate and
reorder packets. It shows that the fragments' protocol ends with the right sums, and how a result fills up on its way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pspin_model.flare.elements import Operator, Values
from pspin_model.flare.sparse.reference import Outcome, SparseNode, SparseShape, Totals, gather
from pspin_model.flare.sparse.wire import Fragment, Indices, cut
from pspin_model.flare.tree.network import Impairments


class NoProgress(RuntimeError):
    """Hosts retransmit without end: a bug of the protocol, or a network that loses everything."""


@dataclass(frozen=True, slots=True)
class Network:
    """What happens to packets between any two neighbours."""

    seed: int = 0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: bool = True


@dataclass(frozen=True, slots=True)
class LevelReport:
    """One level of the tree, leaves first."""

    nodes: int
    pairs_in: int
    totals: Totals


@dataclass(frozen=True, slots=True)
class SparseReport:
    """The outcome of a reduction."""

    rows: list[Values]
    """Dense vector of each host."""
    levels: list[LevelReport]
    host_bytes_up: int
    """First copies, over all hosts, with headers."""
    packets: int
    """Delivered by the network, all together."""
    rounds: int
    """How often hosts had to retransmit."""


@dataclass(slots=True)
class Assembly:
    """Fragments of one block's result until it is whole."""

    parts: dict[int, Fragment] = field(default_factory=dict)
    total: int = 0

    def take(self, fragment: Fragment) -> tuple[Fragment, ...]:
        """All fragments, when none is missing."""
        self.parts[fragment.fragment] = fragment
        self.total = fragment.fragments or self.total
        if not self.total or len(self.parts) < self.total:
            return ()
        return tuple(self.parts[number] for number in range(self.total))


@dataclass(slots=True)
class _Host:
    number: int
    blocks: list[list[Fragment]]
    slots: int
    rows: dict[int, tuple[Fragment, ...]] = field(default_factory=dict)
    assemblies: dict[int, Assembly] = field(default_factory=dict)
    sent: int = 0

    def window(self) -> list[Fragment]:
        """Blocks that may be sent for the first time: those with a free slot."""
        fragments: list[Fragment] = []
        while self.sent < len(self.blocks) and (self.sent < self.slots or self.sent - self.slots in self.rows):
            fragments += self.blocks[self.sent]
            self.sent += 1
        return fragments

    def unfinished(self) -> list[Fragment]:
        missing = [number for number in range(self.sent) if number not in self.rows]
        return [fragment for number in missing for fragment in self.blocks[number]]

    def receive(self, fragment: Fragment) -> None:
        number = fragment.block
        if number not in self.rows:
            whole = self.assemblies.setdefault(number, Assembly()).take(fragment)
            if whole:
                self.rows[number] = whole


class _Switch:
    """A node of the tree with its place in it."""

    def __init__(self, node: SparseNode, level: int, number: int, parent: int) -> None:
        self.node, self.level, self.number, self.parent = node, level, number, parent
        self.assemblies: dict[int, Assembly] = {}
        self.pairs_in = 0


Place = tuple[int, int]
"""(level, number): level -1 are the hosts."""


class SparseTree:
    """``fan_in`` children at each level, leaves first: (4, 2) are 8 hosts under two leaves under a root."""

    def __init__(self, shape: SparseShape, operator: Operator, fan_in: Sequence[int]) -> None:
        self._operator = operator
        self._fan_in = tuple(fan_in)
        self.hosts = int(np.prod(self._fan_in))
        self.shape = shape
        counts = [self.hosts]
        for fan in self._fan_in:
            counts.append(counts[-1] // fan)
        self._levels = [
            [self._switch(level, number) for number in range(counts[level + 1])] for level in range(len(self._fan_in))
        ]

    def _switch(self, level: int, number: int) -> _Switch:
        is_root = level == len(self._fan_in) - 1
        above = 1 if is_root else self._fan_in[level + 1]
        shape = replace(self.shape, children=self._fan_in[level])
        node = SparseNode(shape, self._operator, is_root=is_root, number=number % above)
        return _Switch(node, level, number, number // above)

    def reduce(
        self, vectors: Sequence[tuple[Indices, Values]], length: int, network: Network | None = None
    ) -> SparseReport:
        """Allreduce of one sparse vector a host, given as (ascending indices, values) of ``length`` elements."""
        run = _Run(self, network or Network())
        span = self.shape.span
        blocks = -(-length // span)
        run.hosts = [self._host(number, vector, blocks) for number, vector in enumerate(vectors)]
        first = sum(f.wire_bytes for host in run.hosts for block in host.blocks for f in block)
        run.play()
        rows = [self._dense(host, length) for host in run.hosts]
        return SparseReport(rows, [self._report(level) for level in self._levels], first, run.packets, run.rounds)

    def _host(self, number: int, vector: tuple[Indices, Values], blocks: int) -> _Host:
        child = number % self._fan_in[0]
        return _Host(number, cut_vector(vector, blocks, child, self.shape), self.shape.slots)

    def _dense(self, host: _Host, length: int) -> Values:
        rows = [gather(host.rows[number], self.shape.span, self._operator) for number in range(len(host.blocks))]
        return np.concatenate(rows)[:length]

    def _report(self, level: list[_Switch]) -> LevelReport:
        totals = Totals()
        for switch in level:
            for name in Totals.__dataclass_fields__:
                setattr(totals, name, getattr(totals, name) + getattr(switch.node.totals, name))
        return LevelReport(len(level), sum(s.pairs_in for s in level), totals)

    def switch(self, level: int, number: int) -> _Switch:
        return self._levels[level][number]


def cut_vector(vector: tuple[Indices, Values], blocks: int, child: int, shape: SparseShape) -> list[list[Fragment]]:
    """A sparse vector's fragments by block, a block without pairs as an empty one."""
    indices, values = np.asarray(vector[0], np.int64), vector[1].astype(shape.dtype)
    starts = np.searchsorted(indices, np.arange(blocks + 1) * shape.span)
    made = []
    for block in range(blocks):
        inside = slice(starts[block], starts[block + 1])
        local = (indices[inside] - block * shape.span).astype(np.uint16)
        made.append(cut(block, child, local, values[inside], shape.per_packet))
    return made


class _Run:
    """Packets under way and what they lead to."""

    MOST_ROUNDS = 2_000

    def __init__(self, tree: SparseTree, network: Network) -> None:
        self.tree, self.network = tree, network
        self.random = random.Random(network.seed)
        self.impairments = Impairments(network.loss, network.duplicate, self.random)
        self.hosts: list[_Host] = []
        self.flying: list[tuple[Place, Fragment, bool]] = []
        """(to, packet, whether it goes up)."""
        self.packets = 0
        self.rounds = 0

    def play(self) -> None:
        for host in self.hosts:
            self._send_window(host)
        while True:
            while self.flying:
                self._deliver(*self._next())
            waiting = [host for host in self.hosts if len(host.rows) < len(host.blocks)]
            if not waiting:
                return
            self.rounds += 1
            if self.rounds > self.MOST_ROUNDS:
                raise NoProgress(f"{len(waiting)} hosts wait after {self.rounds} rounds of retransmissions")
            for host in waiting:
                self._up((0, host.number // self.tree._fan_in[0]), host.unfinished())

    def _next(self) -> tuple[Place, Fragment, bool]:
        if self.network.reorder:
            at = self.random.randrange(len(self.flying))
            self.flying[at], self.flying[-1] = self.flying[-1], self.flying[at]
            return self.flying.pop()
        return self.flying.pop(0)

    def _fly(self, to: Place, fragment: Fragment, up: bool) -> None:
        self.flying += [(to, fragment, up)] * self.impairments.copies()

    def _up(self, to: Place, fragments: Sequence[Fragment]) -> None:
        for fragment in fragments:
            self._fly(to, fragment, True)

    def _send_window(self, host: _Host) -> None:
        self._up((0, host.number // self.tree._fan_in[0]), host.window())

    def _deliver(self, to: Place, fragment: Fragment, up: bool) -> None:
        self.packets += 1
        level, number = to
        if level < 0:
            host = self.hosts[number]
            host.receive(fragment)
            self._send_window(host)
        elif up:
            self._climb(self.tree.switch(level, number), fragment)
        else:
            self._descend(self.tree.switch(level, number), fragment)

    def _climb(self, switch: _Switch, fragment: Fragment) -> None:
        taken = switch.node.take(fragment)
        if taken.outcome in (Outcome.STORED, Outcome.COMPLETED):
            switch.pairs_in += len(fragment.indices)
        result = switch.node.result(fragment.block)
        if taken.outcome is Outcome.COMPLETED and result:
            self._down_to_all(switch, result)
        elif switch.level + 1 < len(self.tree._fan_in):
            self._up((switch.level + 1, switch.parent), taken.up)
        for part in taken.down:
            self._fly((switch.level - 1, self._child(switch, fragment.child)), part, False)

    def _descend(self, switch: _Switch, fragment: Fragment) -> None:
        if switch.node.result(fragment.block):
            return
        whole = switch.assemblies.setdefault(fragment.block, Assembly()).take(fragment)
        if whole:
            del switch.assemblies[fragment.block]
            switch.node.finish(whole)
            self._down_to_all(switch, whole)

    def _child(self, switch: _Switch, child: int) -> int:
        return switch.number * self.tree._fan_in[switch.level] + child

    def _down_to_all(self, switch: _Switch, fragments: Sequence[Fragment]) -> None:
        for child in range(self.tree._fan_in[switch.level]):
            for fragment in fragments:
                self._fly((switch.level - 1, self._child(switch, child)), fragment, False)
