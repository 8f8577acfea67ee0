"""Where the nodes of a topology are in a picture, in inches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean as mean
from typing import TypeAlias

import networkx as nx

from emulator.network.topology.topology import Topology

Positions: TypeAlias = dict[str, tuple[float, float]]

LETTER, AROUND_LABEL = 0.085, 0.2
"""Width of a letter, and of a label's box around it with the gap to the next."""
TIER_GAP, ROW_GAP, GRID_GAP, RING_GAP = 1.5, 0.34, 1.0, 0.5
"""Least distances of tiers, of rows of hosts, of nodes in a grid and around a ring."""
SLOPE = 0.16
"""Least slope of a link between tiers, so that it is clear of the boxes beside its ends."""
HOSTS_PER_ROW = 32
LEAST_WIDTH = 6.0


def positions(topology: Topology) -> Positions:
    """By coordinates where nodes have some: a grid, or a ring. Else by tiers, the distance from the nearest host."""
    dimensions = max(len(node.coordinates) for node in topology.nodes)
    if dimensions == 2:
        return _grid(topology)
    if dimensions == 1:
        ring = sorted((node for node in topology.nodes if node.coordinates), key=lambda node: node.coordinates)
        return _ring(topology, [node.name for node in ring])
    tiers = _tiers(topology)
    if len(tiers) == 1:
        return _ring(topology, tiers[0])
    if len(tiers) == 2 and len(tiers[1]) == 1 and len(tiers[0]) > HOSTS_PER_ROW:  # a star with many rays
        return {**_circle(tiers[0], len(tiers[0]) * _gap(tiers[0]) / math.tau), tiers[1][0]: (0.0, 0.0)}
    return _layers(topology, tiers)


def _tiers(topology: Topology) -> list[list[str]]:
    """Nodes by distance from the nearest host, hosts first."""
    sources = set(topology.hosts or (topology.nodes[0].name,))
    distances = nx.multi_source_dijkstra_path_length(topology.graph, sources, weight=lambda *_: 1)
    tiers: list[list[str]] = [[] for _ in range(int(max(distances.values())) + 1)]
    for node in topology.nodes:
        tiers[int(distances[node.name])].append(node.name)
    return tiers


def _layers(topology: Topology, tiers: Sequence[Sequence[str]]) -> Positions:
    """Every tier above the last, its nodes over the mean of their neighbors below as far as they have room there."""
    order = {node.name: index for index, node in enumerate(topology.nodes)}
    hosts = sorted(tiers[0], key=lambda name: min(order[other] for other in topology.neighbors(name)))
    rows = math.ceil(len(hosts) / HOSTS_PER_ROW)
    width = max(LEAST_WIDTH, len(hosts) * _label_width(hosts) / rows, *(len(t) * _label_width(t) for t in tiers[1:]))
    y = 0.0
    found = {name: ((i + 0.5) * width / len(hosts), -ROW_GAP * (i % rows)) for i, name in enumerate(hosts)}
    for tier in tiers[1:]:
        below = {name: [found[other][0] for other in topology.neighbors(name) if other in found] for name in tier}
        xs = {name: mean(below[name]) for name in sorted(tier, key=lambda name: mean(below[name]))}
        if min((right - left for left, right in pairwise(xs.values())), default=width) < _label_width(tier):
            xs = {name: (index + 0.5) * width / len(xs) for index, name in enumerate(xs)}
        y += max(TIER_GAP, SLOPE * max(abs(xs[name] - x) for name in tier for x in below[name]))
        found |= {name: (x, y) for name, x in xs.items()}
    return found


def _grid(topology: Topology) -> Positions:
    """Row 0 on top; what has no coordinates is next to the middle of its neighbors."""
    placed = {n.name: n.coordinates for n in topology.nodes if len(n.coordinates) == 2}
    gap = max(GRID_GAP, _label_width(list(placed)) + RING_GAP)
    found = {name: (column * gap, -row * gap) for name, (row, column) in placed.items()}
    for node in topology.nodes:
        if node.name not in found:
            near = [found[name] for name in topology.neighbors(node.name) if name in placed] or [(0.0, 0.0)]
            found[node.name] = (mean(x for x, _ in near) + gap / 2, mean(y for _, y in near) - gap / 2)
    return found


def _ring(topology: Topology, ring: Sequence[str]) -> Positions:
    """Clockwise from the top; the other nodes on a circle around it, each near its neighbor on the ring."""
    attached: Mapping[str, list[str]] = {name: [] for name in ring}
    for node in topology.nodes:
        if node.name not in attached:
            near = [name for name in topology.neighbors(node.name) if name in attached]
            attached[near[0] if near else ring[0]].append(node.name)
    most = max(map(len, attached.values()))
    gap = _gap([node.name for node in topology.nodes])
    inner = max(1.2, len(ring) * gap / math.tau)
    outer = max(inner + 0.9, len(ring) * (most + 0.5) * gap / math.tau)
    found = _circle(ring, max(inner, outer - 1.8))
    for index, name in enumerate(ring):
        for place, other in enumerate(attached[name]):
            offset = (place - (len(attached[name]) - 1) / 2) / (most + 0.5)
            found[other] = _on_circle(outer, (index + offset) / len(ring))
    return found


def _circle(names: Sequence[str], radius: float) -> Positions:
    return {name: _on_circle(radius, index / len(names)) for index, name in enumerate(names)}


def _on_circle(radius: float, turn: float) -> tuple[float, float]:
    return radius * math.sin(math.tau * turn), radius * math.cos(math.tau * turn)


def _gap(names: Sequence[str]) -> float:
    return max(RING_GAP, _label_width(names))


def _label_width(names: Sequence[str]) -> float:
    return LETTER * max(map(len, names)) + AROUND_LABEL
