"""Routes through a topology, its diameter and bisection. Distances are counted in links.

A host forwards only where no route goes without it: in a torus hosts do, but in a network of two planes no route
changes planes at a host.
"""

from __future__ import annotations

from collections import deque

import networkx as nx

from emulator.network.topology.parts import NodeKind, TopologyError
from emulator.network.topology.topology import Topology

FIRST_HALF, SECOND_HALF = ("half", 0), ("half", 1)
"""Nodes that stand for all hosts of a half; no name is a tuple."""


def shortest_routes(topology: Topology, source: str, destination: str) -> tuple[tuple[str, ...], ...]:
    """All shortest routes between two nodes, each as the names of its nodes, in order of names."""
    ends = topology.node(source).name, topology.node(destination).name
    forwarding = [node.name for node in topology.nodes if node.kind is not NodeKind.HOST]
    graph = topology.graph.subgraph([*forwarding, *ends])
    if not nx.has_path(graph, *ends):
        graph = topology.graph
    return tuple(sorted(tuple(route) for route in nx.all_shortest_paths(graph, *ends)))


class FirstRoutes:
    """The first of `shortest_routes` of any two nodes, from one search for each destination."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._before: dict[bool, dict[str, list[str]]] = {}
        """With or without hosts that forward: of each node those that forward to it."""
        self._towards: dict[tuple[str, bool], dict[str, tuple[int, str]]] = {}
        """By destination, and whether hosts forward: of each node that does its distance and the next one."""

    def route(self, source: str, destination: str) -> tuple[str, ...]:
        """Names of nodes. Raises TopologyError where there is no route, or no such node."""
        links = self._topology.out_links(source)
        if source == self._topology.node(destination).name:
            return (source,)
        for hosts_forward in (False, True):
            towards = self._search(destination, hosts_forward)
            ahead = [(towards[link.destination][0], link.destination) for link in links if link.destination in towards]
            if ahead:
                found = [source, min(ahead)[1]]
                while found[-1] != destination:
                    found.append(towards[found[-1]][1])
                return tuple(found)
        raise TopologyError(f"{self._topology.name}: there is no route from {source} to {destination}")

    def _search(self, destination: str, hosts_forward: bool) -> dict[str, tuple[int, str]]:
        """Breadth first against the links' direction."""
        key = destination, hosts_forward
        if key not in self._towards:
            found = self._towards[key] = {destination: (0, "")}
            before, waiting = self._forwarding(hosts_forward), deque([destination])
            while waiting:
                name = waiting.popleft()
                for node in before[name]:
                    if node not in found:
                        waiting.append(node)
                    found[node] = min(found.get(node, (found[name][0] + 1, name)), (found[name][0] + 1, name))
        return self._towards[key]

    def _forwarding(self, hosts_forward: bool) -> dict[str, list[str]]:
        if hosts_forward not in self._before:
            forward = {node.name for node in self._topology.nodes if hosts_forward or node.kind is not NodeKind.HOST}
            self._before[hosts_forward] = {
                node.name: [link.source for link in self._topology.in_links(node.name) if link.source in forward]
                for node in self._topology.nodes
            }
        return self._before[hosts_forward]


def diameter(topology: Topology) -> int:
    """The largest distance of two hosts; 0 for a single one."""
    hosts, graph = topology.hosts, topology.graph
    transit = nx.DiGraph()  # in which a host as a destination is a node without edges out: nothing passes through it
    arriving = {name: ("to", name) for name in hosts}
    transit.add_nodes_from(hosts)
    transit.add_edges_from((source, arriving.get(target, target)) for source, target in graph.edges)
    # hosts with the same neighbors have the same distances: one of them is enough
    alike = {(frozenset(graph.successors(name)), frozenset(graph.predecessors(name))): name for name in hosts}
    longest = 0
    for name in alike.values():
        lengths = nx.single_source_shortest_path_length(transit, name)
        others = [other for other in hosts if other != name]
        if any(arriving[other] not in lengths for other in others):
            lengths = nx.single_source_shortest_path_length(graph, name) | lengths
        longest = max(longest, max((lengths.get(arriving[o], lengths.get(o, 0)) for o in others), default=0))
    return longest


def bisection_bps(topology: Topology) -> int:
    """Most bits per second from one half of the hosts to the other: the minimum cut between them.

    The halves are the first and second half in the order of hosts and, in a grid, also in the order of columns; the
    smaller value counts. The least over all possible halves, which is NP-hard to find, may be smaller in an irregular
    network; for the networks of `builders` it is this.
    """
    hosts = [topology.node(name) for name in topology.hosts]
    orders = [hosts, sorted(hosts, key=lambda host: host.coordinates[::-1])]
    return min(_cut_bps(topology, {host.name for host in order[: len(order) // 2]}) for order in orders)


def _cut_bps(topology: Topology, first_half: set[str]) -> int:
    """Maximum flow (Ford, Fulkerson 1956) from some hosts to all others."""
    ends = {name: FIRST_HALF if name in first_half else SECOND_HALF for name in topology.hosts}
    graph = nx.DiGraph()
    graph.add_nodes_from((FIRST_HALF, SECOND_HALF))
    for link in topology.links:
        source, destination = ends.get(link.source, link.source), ends.get(link.destination, link.destination)
        before = graph.get_edge_data(source, destination, {"capacity": 0})["capacity"]
        graph.add_edge(source, destination, capacity=before + link.rate_bps)
    return int(nx.maximum_flow_value(graph, FIRST_HALF, SECOND_HALF))
