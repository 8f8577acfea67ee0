"""Counts, diameters and routes of a HammingMesh; its virtual channels never wait in a circle."""

from __future__ import annotations

from itertools import pairwise, product

import networkx as nx
import pytest

from emulator.network.topology.hxmesh.hammingmesh import HammingMesh, hamming_mesh
from emulator.network.topology.parts import NodeKind, TopologyError
from emulator.network.topology.routes import diameter
from emulator.network.topology.topology import Topology

SHAPES = [
    (HammingMesh((2, 2), (3, 3)), 64),
    (HammingMesh((1, 1), (3, 4)), 64),
    (HammingMesh((2, 4), (2, 3)), 64),
    (HammingMesh((5, 1), (2, 2)), 64),
    (HammingMesh((2, 2), (2, 4), radix=4), 4),  # rows of four leaves
    (HammingMesh((4, 4), (1, 2)), 64),
]


def built(mesh: HammingMesh) -> Topology:
    return hamming_mesh(mesh.grid, mesh.board, radix=mesh.radix)


@pytest.mark.parametrize(("mesh", "radix"), SHAPES)
def test_counts_and_diameter(mesh: HammingMesh, radix: int) -> None:
    topology = built(mesh)
    (a, b), (x, y) = mesh.board, mesh.grid
    assert len(topology.hosts) == a * b * x * y
    classes = [link.link_class.name for link in topology.links[::2]]
    assert classes.count("board") == x * y * (a * (b - 1) + b * (a - 1))
    assert classes.count("host") == 2 * x * y * (a + b)
    assert {len(topology.ports(host)) for host in topology.hosts} <= {2, 3, 4}
    assert all(len(topology.ports(name)) <= radix for name in topology.names(NodeKind.SWITCH))
    assert diameter(topology) == mesh.diameter
    assert HammingMesh.of(topology) == mesh


@pytest.mark.parametrize(("mesh", "radix"), SHAPES)
def test_routes_are_shortest_and_cross_a_row_and_a_column_at_most(mesh: HammingMesh, radix: int) -> None:
    topology = built(mesh)
    ends = {link.name: (link.source, link.destination) for link in topology.links}
    distances = dict(nx.all_pairs_shortest_path_length(topology.graph))
    hosts = range(len(topology.hosts))
    for source, destination in product(hosts, hosts):
        for route in mesh.routes(source, destination):
            nodes = [f"h{source}"]
            for link, _ in route:
                assert ends[link][0] == nodes[-1]
                nodes.append(ends[link][1])
            assert nodes[-1] == f"h{destination}"
            assert len(route) == distances[nodes[0]][nodes[-1]]
            entered = [name for before, name in pairwise(nodes) if before[0] == "h" != name[0]]
            assert len([name for name in entered if name.startswith("row")]) <= 1
            assert len(entered) <= 2


def channels(mesh: HammingMesh, kept: int, *, rows_first: bool = False) -> nx.DiGraph:
    """Channels, with an edge where a message holds one and waits for the other; their numbers modulo ``kept``."""
    graph = nx.DiGraph()
    hosts = range(mesh.shape[0] * mesh.shape[1])
    for source, destination in product(hosts, hosts):
        routes = mesh.routes(source, destination)
        for route in routes[: len(routes) // 2 or 1] if rows_first else routes:
            graph.add_edges_from(pairwise((link, number % kept) for link, number in route))
    return graph


@pytest.mark.parametrize(("mesh", "radix"), SHAPES)
def test_no_channels_wait_for_each_other_in_a_circle(mesh: HammingMesh, radix: int) -> None:
    graph = channels(mesh, 4)
    assert graph.number_of_edges() > len(built(mesh).links) // 2
    assert nx.is_directed_acyclic_graph(graph)


def test_two_channels_are_enough_for_rows_first_and_one_is_not() -> None:
    mesh = HammingMesh((3, 3), (2, 2))
    assert nx.is_directed_acyclic_graph(channels(mesh, 2, rows_first=True))
    assert not nx.is_directed_acyclic_graph(channels(mesh, 1, rows_first=True))
    assert not nx.is_directed_acyclic_graph(channels(mesh, 2))


def test_what_is_no_hamming_mesh() -> None:
    with pytest.raises(TopologyError, match="hxmesh: 0 board rows; at least 1"):
        hamming_mesh((2, 2), (0, 2))
    with pytest.raises(TopologyError, match="hxmesh: a radix of 6; it is a multiple of 4"):
        hamming_mesh((2, 2), radix=6)
    with pytest.raises(TopologyError, match="hxmesh: 5 boards in a line; a fat tree of two levels has 4"):
        hamming_mesh((2, 5), radix=4)
    with pytest.raises(TopologyError, match="name: 'hxmesh-2x2' is no HammingMesh"):
        HammingMesh.of(Topology("hxmesh-2x2", hamming_mesh((1, 1)).nodes, hamming_mesh((1, 1)).links))
