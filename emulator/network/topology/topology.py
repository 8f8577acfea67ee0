"""A topology: its nodes and links, and what planners, simulators and drawings ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from emulator.network.topology.check import check_parts, check_reachable, guess
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind, TopologyError


@dataclass(frozen=True)
class Topology:
    """Checked when it is made (TopologyError), never changed. All lookups answer in the order of nodes and links."""

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of nodes that belong together: racks, pods, rows and columns."""

    def __post_init__(self) -> None:
        check_parts(self.name, self.nodes, self.links, self.groups)
        check_reachable(self.nodes, self.graph)

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The nodes' names, and an edge where there are one or more links. Not to be changed."""
        graph = nx.DiGraph()
        graph.add_nodes_from(node.name for node in self.nodes)
        graph.add_edges_from((link.source, link.destination) for link in self.links)
        return nx.freeze(graph)

    @cached_property
    def link_numbers(self) -> NDArray[np.int64]:
        """[5, links]: numbers of the source and destination among the nodes, alpha_ns, latency_ns, rate_bps."""
        number = {node.name: index for index, node in enumerate(self.nodes)}
        rows = [
            (number[link.source], number[link.destination], link.alpha_ns, link.latency_ns, link.rate_bps)
            for link in self.links
        ]
        return np.array(rows, np.int64).reshape(-1, 5).T.copy()

    @cached_property
    def classes(self) -> Mapping[str, LinkClass]:
        """Classes of the links by name."""
        return {link.link_class.name: link.link_class for link in self.links}

    @cached_property
    def planes(self) -> tuple[int, ...]:
        """Numbers of the planes."""
        return tuple(sorted({link.plane for link in self.links}))

    def names(self, kind: NodeKind) -> tuple[str, ...]:
        """Of all nodes of a kind; a host's place in it is the rank of a process there."""
        return tuple(node.name for node in self.nodes if node.kind is kind)

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.names(NodeKind.HOST)

    def node(self, name: str) -> Node:
        """Raises TopologyError for an unknown name, as all lookups do."""
        if name not in self._nodes:
            raise TopologyError(f"{self.name}: there is no node {name!r}{guess(name, self._nodes)}")
        return self._nodes[name]

    def link(self, name: str) -> Link:
        """By `Link.name`."""
        if name not in self._links:
            raise TopologyError(f"{self.name}: there is no link {name!r}{guess(name, self._links)}")
        return self._links[name]

    def out_links(self, name: str) -> tuple[Link, ...]:
        return self._out[self.node(name).name]

    def in_links(self, name: str) -> tuple[Link, ...]:
        return self._in[self.node(name).name]

    def links_between(self, source: str, destination: str) -> tuple[Link, ...]:
        """The parallel links of that direction; empty where there is none."""
        return tuple(link for link in self.out_links(source) if link.destination == destination)

    def neighbors(self, name: str) -> tuple[str, ...]:
        """Nodes to which it has a link."""
        return tuple(self.graph.successors(self.node(name).name))

    def ports(self, name: str) -> tuple[tuple[Link, ...], ...]:
        """The links at each port of a node: port 1 first, in the order of links. A cable's directions share a port."""
        return tuple(tuple(links) for links in self._ports[self.node(name).name].values())

    def port(self, name: str, link: Link) -> int:
        """Number of a node's port that a link leaves or enters by, from 1."""
        cables = list(self._ports[self.node(name).name])
        peer = link.destination if link.source == name else link.source
        if (peer, link.number) not in cables:
            raise TopologyError(f"{self.name}: {link.name} does not end at {name}")
        return cables.index((peer, link.number)) + 1

    @cached_property
    def _nodes(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def _links(self) -> Mapping[str, Link]:
        return {link.name: link for link in self.links}

    @cached_property
    def _out(self) -> Mapping[str, tuple[Link, ...]]:
        return self._by_end("source")

    @cached_property
    def _in(self) -> Mapping[str, tuple[Link, ...]]:
        return self._by_end("destination")

    def _by_end(self, end: str) -> Mapping[str, tuple[Link, ...]]:
        found: dict[str, list[Link]] = {node.name: [] for node in self.nodes}
        for link in self.links:
            found[getattr(link, end)].append(link)
        return {name: tuple(links) for name, links in found.items()}

    @cached_property
    def _ports(self) -> Mapping[str, Mapping[tuple[str, int], list[Link]]]:
        """Of each node: (peer, number of the parallel link) -> the links there, by port."""
        found: dict[str, dict[tuple[str, int], list[Link]]] = {node.name: {} for node in self.nodes}
        for link in self.links:
            for own, peer in ((link.source, link.destination), (link.destination, link.source)):
                found[own].setdefault((peer, link.number), []).append(link)
        return found
