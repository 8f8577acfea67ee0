"""The links of an operation that switches carry out."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import pairwise

from emulator.network.schedule.parts import Operation, ScheduleError
from emulator.network.topology.parts import NodeKind
from emulator.network.topology.topology import Topology


def switch_tree(
    topology: Topology, nodes: Sequence[str], operation: Operation = Operation.ALLREDUCE, root: str | None = None
) -> tuple[str, ...]:
    """A `Collective.route`: links of shortest routes from those of ``nodes`` that contribute up to a switch, then down
    to those that receive.

    ``nodes``: of the group. Without a root given: the first switch that is nearest to the farthest of them. No host
    forwards, and no NIC sums. Raises ScheduleError.
    """
    candidates = topology.names(NodeKind.SWITCH) if root is None else (topology.node(root).name,)
    found: tuple[int, str, dict[str, str]] | None = None
    for candidate in candidates:
        above, depth = _spread(topology, candidate)
        if all(node in depth for node in nodes):
            farthest = max(depth[node] for node in nodes)
            if found is None or farthest < found[0]:
                found = farthest, candidate, above
    if found is None:
        raise ScheduleError(f"{topology.name}: no switch reaches {', '.join(nodes[:8])} by way of switches")
    _, top, above = found
    contributing = nodes[:1] if operation is Operation.BROADCAST else nodes
    receiving = nodes[:1] if operation is Operation.REDUCE else nodes
    edges = _edges(contributing, above, top)
    for name, count in Counter(higher for _, higher in edges).items():
        if count > 1 and topology.node(name).kind is NodeKind.NIC:
            raise ScheduleError(f"{topology.name}: {count} nodes are below {name}, a NIC, which does not sum")
    up = [_link(topology, node, higher) for node, higher in reversed(edges)]
    return (*up, *(_link(topology, higher, node) for node, higher in _edges(receiving, above, top)))


def _edges(nodes: Sequence[str], above: Mapping[str, str], top: str) -> list[tuple[str, str]]:
    """(node, the one above it) on the ways to the top, those at the top first."""
    depths: dict[tuple[str, str], int] = {}
    for node in nodes:
        path = [node]
        while path[-1] != top:
            path.append(above[path[-1]])
        depths.update({pair: len(path) - 1 - step for step, pair in enumerate(pairwise(path))})
    return sorted(depths, key=lambda edge: depths[edge])


def _spread(topology: Topology, root: str) -> tuple[dict[str, str], dict[str, int]]:
    """Breadth first from the root: the node above each, and how far it is from the root."""
    above: dict[str, str] = {}
    depth, waiting = {root: 0}, deque([root])
    while waiting:
        name = waiting.popleft()
        if topology.node(name).kind is NodeKind.HOST:
            continue
        for other in topology.neighbors(name):
            if other not in depth:
                depth[other], above[other] = depth[name] + 1, name
                waiting.append(other)
    return above, depth


def _link(topology: Topology, source: str, destination: str) -> str:
    links = topology.links_between(source, destination)
    if not links:
        raise ScheduleError(f"there is no link from {source} to {destination}: what goes one way cannot return")
    return links[0].name
