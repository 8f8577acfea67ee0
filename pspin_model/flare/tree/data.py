"""What hosts of a reduction send in time, and what they must get back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pspin_model.flare.config import Reduction
from pspin_model.flare.dense.reference import reduce_tree
from pspin_model.flare.dense.run import random_rows
from pspin_model.flare.elements import Values, agree
from pspin_model.flare.models.dense import Algorithm
from pspin_model.flare.operators import ChosenOperator, chosen_operator
from pspin_model.flare.sparse.reference import gather
from pspin_model.flare.sparse.traffic import Vector, fragments_of, packet_of, reduce_vectors, vectors
from pspin_model.flare.sparse.wire import Fragment
from pspin_model.flare.tree.manager import Tree


@dataclass(slots=True)
class HostData:
    """All hosts' messages of one reduction: rows, or vectors cut into fragments."""

    reduction: Reduction
    rows: Values | None = None
    vectors: list[Vector] = field(default_factory=list)
    fragments: list[list[list[Fragment]]] = field(default_factory=list)
    """Fragments by host and block."""

    @property
    def most_packets(self) -> int:
        """Most packets of a block from a host."""
        return max((len(block) for host in self.fragments for block in host), default=1)

    def packets(self, host: int, child: int) -> list[list[bytes]]:
        """A host's packets by block; ``child`` is its number at its switch."""
        if self.rows is not None:
            return [[row.tobytes()] for row in self.rows[host]]
        return [[packet_of(replace(each, child=child)) for each in block] for block in self.fragments[host]]

    def schedule(
        self, packets: list[list[bytes]], child: int, children: int, link_gbps: float
    ) -> tuple[list[int], list[list[int]]]:
        """(blocks in the order of sending, when each of a block's packets is ready): as fast as the link takes them,
        staggered by the child's number at its switch, with random gaps of that mean where arrivals are exponential."""
        reduction, blocks = self.reduction, len(packets)
        first = child * blocks // children if reduction.staggered else 0
        order = [(first + step) % blocks for step in range(blocks)]
        random = np.random.default_rng([reduction.seed, child])
        now = reduction.start_cycles + child * reduction.packet_bytes * 8 / (children * link_gbps)
        ready: list[list[int]] = [[] for _ in range(blocks)]
        for block in order:
            for packet in packets[block]:
                ready[block].append(int(now))
                factor = random.exponential(1.0) if reduction.arrivals == "exponential" else 1.0
                now += factor * len(packet) * 8 / link_gbps
        return order, ready

    def is_right(self, results: Sequence[Sequence[Any]], tree: Tree, hosts: Sequence[str], kinds: Any) -> bool:
        """Whether every host has what it must have; of a tree of trees bit for bit. ``results``: by host and block;
        ``kinds``: each switch's algorithm."""
        operator, kind = chosen_operator(self.reduction), self.reduction.element_kind
        if self.rows is None:
            expected = reduce_vectors(self.vectors, self.reduction.length, operator.rows)
            return all(agree(self._gathered(of_host, operator), expected, kind) for of_host in results)
        found = np.stack([self._row(of_host) for of_host in results])
        expected = self._through(tree, tree.root, {host: n for n, host in enumerate(hosts)}, kinds, operator)
        bitwise = all(kind == Algorithm.TREE for kind in kinds.values())
        return all(agree(row, expected, kind, bitwise=bitwise) for row in found)

    def _gathered(self, of_host: Sequence[tuple[Fragment, ...]], operator: ChosenOperator) -> Values:
        span = self.reduction.span
        rows = [gather(fragments, span, operator.rows) for fragments in of_host]
        return np.concatenate(rows)[: self.reduction.length]

    def _row(self, of_host: Sequence[bytes]) -> Values:
        return np.frombuffer(b"".join(of_host), self.reduction.element_type).reshape(self.reduction.blocks, -1)

    def _through(
        self, tree: Tree, name: str, hosts: Mapping[str, int], kinds: Mapping[str, str], operator: ChosenOperator
    ) -> Values:
        """What a switch makes of its hosts and of the switches below it."""
        assert self.rows is not None
        if name in hosts:
            return np.asarray(self.rows[hosts[name]])
        parts = [self._through(tree, child, hosts, kinds, operator) for child in tree.plans[name].children]
        if kinds[name] == Algorithm.TREE:
            return reduce_tree(np.stack(parts), operator.rows)
        total = parts[0]
        for part in parts[1:]:
            total = operator.rows(total, part)
        return total


def due_cycles(blocks: int, children: int, begin: int, cycles: float) -> list[float]:
    """The cycle, by block, at which its result is due from a tree that takes ``cycles`` for the whole message, where
    ``children`` start at equal distances in it: when the last of them has reached the block."""
    firsts = np.arange(children) * blocks // children
    steps = (np.arange(blocks)[:, None] - firsts[None, :]) % blocks
    return [float(at) for at in begin + (steps.max(axis=1) + 1) * cycles / blocks]


def host_data(reduction: Reduction) -> HostData:
    """Random messages for all of a reduction's children."""
    if not reduction.density:
        return HostData(reduction, rows=random_rows(reduction))
    made = vectors(reduction)
    return HostData(reduction, vectors=made, fragments=fragments_of(reduction, made))
