"""What pairs share: the tree of links between hosts, from a probe alone.

Latencies of a tree add up along its links, so neighbour joining (Saitou, Nei 1987) finds the tree, and the latency of
each link, from those of all pairs. A link's rate takes probes of its own, in which as many pairs as there can be
exchange across it at once: what they move together. So an allreduce can be simulated before it runs, with all that its
messages have to share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind
from emulator.network.topology.topology import Topology
from hostagent.planner.placement.costs import Costs, Matrix
from hostagent.planner.placement.solve import clustered

SHORT = 0.025
"""Of the largest latency: inner links that are shorter are errors of measurement, and their ends one switch."""
Edges: TypeAlias = list[tuple[int, int, float]]
"""Two nodes, and the latency between them, ns; hosts have the first numbers."""
Pairs: TypeAlias = list[tuple[int, int]]
LEAST_BYTE_NS = 1e-3
"""8 Tbit/s: a faster link is an error of measurement."""


def infer_network(costs: Costs, crossing: Callable[[Pairs], Sequence[float]]) -> Topology:
    """``costs``: of all pairs, probed with large messages. ``crossing``: large messages from the first of each pair to
    the second, all at once; until when each has crossed, from the first one's begin on, ns for each byte of one.

    A host's own link is as fast as the fastest of its pairs. Other links are crossed by pairs of near hosts and by
    spread ones, as what is slower on their way may hide the link: the faster of the two counts.
    """
    count = len(costs.names)
    edges = joined(costs.latency_ns)
    names = [*costs.names, *(f"switch{number}" for number in range(count, 2 * count))]
    inner = sorted({node for edge in edges for node in edge[:2] if node >= count})
    nodes = [Node(name, NodeKind.HOST) for name in costs.names] + [
        Node(names[number], NodeKind.SWITCH) for number in inner
    ]
    neighbours, links = clustered(costs.latency_ns).tolist(), []
    for edge in edges:
        one, other = edge[:2]
        if min(one, other) < count:
            byte_ns = np.delete(costs.byte_ns[min(one, other)], min(one, other)).min()
        else:
            both = across(_side(edges, edge, count), costs.latency_ns, neighbours)
            byte_ns = min(_shared_byte_ns(crossing(pairs)) for pairs in both)
        rate_bps = round(8e9 / max(byte_ns, LEAST_BYTE_NS))
        link = Link(names[one], names[other], LinkClass(f"{names[one]}-{names[other]}", rate_bps, round(edge[2])))
        links += [link, link.reverse]
    return Topology("inferred", tuple(nodes), tuple(links))


def _shared_byte_ns(byte_ns: Sequence[float]) -> float:
    """Of a link, from messages that begin to cross it at once: when the k-th has crossed, k have."""
    return min(each / number for number, each in enumerate(sorted(byte_ns), 1))


def joined(latency_ns: Matrix) -> Edges:
    """The tree: inner nodes are numbered from the number of hosts on."""
    count = len(latency_ns)
    between = np.zeros((2 * count, 2 * count))
    between[:count, :count] = latency_ns
    left, edges = list(range(count)), []
    for new in range(count, 2 * count - 2):
        part = between[np.ix_(left, left)]
        total = part.sum(axis=1)
        gain = (len(left) - 2) * part - total - total[:, None]
        np.fill_diagonal(gain, np.inf)
        i, j = sorted(divmod(int(np.argmin(gain)), len(left)))
        nearer = part[i, j] / 2 + (total[i] - total[j]) / (2 * (len(left) - 2))
        edges += [(left[i], new, nearer), (left[j], new, part[i, j] - nearer)]
        between[new, left] = between[left, new] = (part[i] + part[j] - part[i, j]) / 2
        left = [each for each in left if each not in (left[i], left[j])] + [new]
    edges.append((left[0], left[1], between[left[0], left[1]]))
    return _without_short(edges, count, SHORT * float(latency_ns.max()))


def _without_short(edges: Edges, count: int, least_ns: float) -> Edges:
    """The ends of short inner links become one node."""
    same = {node: node for edge in edges for node in edge[:2]}
    kept = []
    for one, other, latency_ns in edges:
        if min(one, other) >= count and latency_ns < least_ns:
            gone, stays = same[one], same[other]
            same = {node: stays if each == gone else each for node, each in same.items()}
        else:
            kept.append((one, other, max(0.0, latency_ns)))
    return [(same[one], same[other], latency_ns) for one, other, latency_ns in kept]


def across(side: set[int], latency_ns: Matrix, neighbours: Sequence[int]) -> tuple[Pairs, Pairs]:
    """As many pairs as there can be with a host in ``side`` and one beyond: those that have together the least latency,
    and some spread evenly. ``neighbours``: the hosts, near ones after each other."""
    parts = [[host for host in neighbours if (host in side) is inside] for inside in (True, False)]
    here, there = sorted(parts, key=len)
    near = linear_sum_assignment(latency_ns[np.ix_(here, there)])[1].tolist()
    even = [place * len(there) // len(here) for place in range(len(here))]
    nearest, spread = (
        [(host, there[place]) for host, place in zip(here, places, strict=True)] for places in (near, even)
    )
    return nearest, spread


def _side(edges: Edges, edge: tuple[int, int, float], count: int) -> set[int]:
    """Hosts before a link."""
    near: dict[int, set[int]] = {}
    for each in edges:
        if each is not edge:
            near.setdefault(each[0], set()).add(each[1])
            near.setdefault(each[1], set()).add(each[0])
    found, ahead = {edge[0]}, [edge[0]]
    while ahead:
        new = near.get(ahead.pop(), set()) - found
        found |= new
        ahead += new
    return {node for node in found if node < count}
