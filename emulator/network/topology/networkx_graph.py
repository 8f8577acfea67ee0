"""Topologies to and from networkx."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import fields
from numbers import Integral
from typing import Any

import networkx as nx

from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind, TopologyError
from emulator.network.topology.plan import HOST_LINK
from emulator.network.topology.topology import Topology

CLASS_FIELDS = tuple(each.name for each in fields(LinkClass) if each.name != "name")


def to_networkx(topology: Topology) -> nx.MultiDiGraph:
    """Nodes by name with ``kind`` and ``coordinates``; a link is an edge, its number the key, with ``link_class`` (the
    name), the fields of the class, ``plane`` and ``index`` (its place in `Topology.links`); ``name`` and ``groups`` are
    attributes of the graph."""
    graph = nx.MultiDiGraph(name=topology.name, groups=dict(topology.groups))
    for node in topology.nodes:
        graph.add_node(node.name, kind=str(node.kind), coordinates=node.coordinates)
    for index, link in enumerate(topology.links):
        own = {"link_class": link.link_class.name, "plane": link.plane, "index": index}
        numbers = {name: getattr(link, name) for name in CLASS_FIELDS}
        graph.add_edge(link.source, link.destination, link.number, **own, **numbers)
    return graph


def from_networkx(graph: nx.Graph, *, default: LinkClass = HOST_LINK) -> Topology:
    """Of any graph: edges without direction become two links; the key of an edge is the link's number.

    Attributes are those of `to_networkx`; nodes without ``kind`` are hosts, and edges without attributes have the class
    ``default``. Fields of a class without its name are a class of their own, named by them. Tuples as nodes, as of
    networkx's grids, are named by their parts: (0, 1) is 0.1. What cannot be in a name is "-" in that of the topology.
    Raises TopologyError.
    """
    names = {node: _name(node) for node in graph.nodes}
    nodes = tuple(_node(names[node], attributes) for node, attributes in graph.nodes(data=True))
    edges = (
        graph.edges(keys=True, data=True) if graph.is_multigraph() else ((*e[:2], 0, e[2]) for e in graph.edges.data())
    )
    links: list[Link] = []
    for source, destination, key, attributes in sorted(edges, key=lambda edge: edge[3].get("index", 0)):
        where = f"{names[source]}->{names[destination]}"
        if not isinstance(key, Integral):
            raise TopologyError(f"edge {where}: the key {key!r} numbers parallel links, so it is a whole number")
        link_class = _class(attributes, default, where)
        link = Link(names[source], names[destination], link_class, int(key), int(attributes.get("plane", 0)))
        links += [link] if graph.is_directed() else [link, link.reverse]
    groups = {name: tuple(members) for name, members in graph.graph.get("groups", {}).items()}
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", str(graph.graph.get("name", ""))).strip("-_.")
    return Topology(name or "graph", nodes, tuple(links), groups)


def _name(node: Hashable) -> str:
    return ".".join(map(str, node)) if isinstance(node, tuple) else str(node)


def _node(name: str, attributes: Mapping[str, Any]) -> Node:
    kind = attributes.get("kind", NodeKind.HOST)
    if kind not in tuple(NodeKind):
        raise TopologyError(f"node {name}: kind {kind!r} is none of {', '.join(NodeKind)}")
    return Node(name, NodeKind(kind), tuple(attributes.get("coordinates", ())))


def _class(attributes: Mapping[str, Any], default: LinkClass, edge: str) -> LinkClass:
    given = {name: attributes[name] for name in CLASS_FIELDS if name in attributes}
    if not all(isinstance(value, Integral) for value in given.values()):
        raise TopologyError(f"edge {edge}: {', '.join(given)} are whole numbers, not {given}")
    own = "-".join(f"{name}-{value}" for name, value in given.items())
    values = {name: int(given.get(name, getattr(default, name))) for name in CLASS_FIELDS}
    return LinkClass(attributes.get("link_class", own or default.name), **values)
