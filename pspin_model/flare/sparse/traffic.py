"""What children send in a sparse reduction, and when: fragments of their blocks, each child on its own link."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pspin_model.flare.config import Reduction
from pspin_model.flare.elements import Operator, Values, drawn
from pspin_model.flare.sparse.reference import SparseShape
from pspin_model.flare.sparse.reference_tree import cut_vector
from pspin_model.flare.sparse.wire import IP_UDP_BYTES, Fragment, Indices, encode
from pspin_model.flare.traffic import Inbound

Vector = tuple[Indices, Values]
"""(ascending indices, values)."""


def shape_of(reduction: Reduction, children: int) -> SparseShape:
    """A sparse reduction on a switch with a number of children."""
    return SparseShape(
        span=reduction.span,
        children=children,
        dtype=reduction.element_type,
        storage=reduction.storage,
        entries=reduction.entries,
        probe=reduction.probe,
        spill_pairs=reduction.spill_pairs,
        packet_bytes=reduction.packet_bytes,
    )


def vectors(reduction: Reduction) -> list[Vector]:
    """For each child a random vector: every element is there with the reduction's density, independent of the others;
    integers are small, zero among them, so that sums cancel and rarely wrap."""
    random = np.random.default_rng(reduction.seed)
    normal = reduction.dtype in ("float16", "float32")
    found: list[Vector] = []
    for _ in range(reduction.children):
        indices = np.flatnonzero(random.random(reduction.length) < reduction.density)
        kind = reduction.element_kind
        values = random.standard_normal(len(indices), np.float32) if normal else drawn(random, indices.shape, kind)
        found.append((indices, values.astype(kind.dtype)))  # type: ignore[arg-type]
    return found


def fragments_of(reduction: Reduction, given: Sequence[Vector]) -> list[list[list[Fragment]]]:
    """Fragments by child and block."""
    shape = shape_of(reduction, len(given))
    return [cut_vector(vector, reduction.blocks, child, shape) for child, vector in enumerate(given)]


def packet_of(fragment: Fragment) -> bytes:
    """A fragment as the machine gets it: room for IP and UDP, header, pairs."""
    return bytes(IP_UDP_BYTES) + encode(fragment, 0)


def inbound(reduction: Reduction, fragments: list[list[list[Fragment]]]) -> Inbound:
    """Children send block after block, each as fast as its share of the line rate lets it; staggered, child i begins
    i/P of the way through the message. With exponential arrivals a packet takes a random factor of mean 1
    longer."""
    children, blocks = len(fragments), reduction.blocks
    rate = reduction.line_rate_gbps / children
    random = np.random.default_rng(reduction.seed)
    at, block, owner, data = [], [], [], []
    for child, of_child in enumerate(fragments):
        first = child * blocks // children if reduction.staggered else 0
        numbers = [(first + step) % blocks for step in range(blocks)]
        packets = [packet_of(fragment) for number in numbers for fragment in of_child[number]]
        gaps = np.array([len(packet) for packet in packets]) * 8 / rate
        if reduction.arrivals == "exponential":
            gaps *= random.exponential(1.0, len(gaps))
        at.append(reduction.start_cycles + np.floor(child * reduction.interval_cycles + np.cumsum(gaps) - gaps[0]))
        block.append(np.repeat(numbers, [len(of_child[number]) for number in numbers]))
        owner.append(np.full(len(packets), child))
        data += packets
    return Inbound(np.concatenate(at).astype(np.int64), np.concatenate(block), np.concatenate(owner), data).in_order()


def reduce_vectors(given: Sequence[Vector], length: int, operator: Operator) -> Values:
    """The dense result: children in order, an element that nobody sent is 0."""
    dtype = given[0][1].dtype
    total, seen = np.zeros(length, dtype), np.zeros(length, np.bool_)
    for indices, values in given:
        there = seen[indices]
        total[indices[~there]] = values[~there]
        total[indices[there]] = operator(total[indices[there]], values[there])
        seen[indices] = True
    return total
