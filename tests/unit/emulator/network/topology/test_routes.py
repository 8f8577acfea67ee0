from __future__ import annotations

import pytest

from emulator.network.topology.builders import fat_tree, leaf_spine, ring_of_racks, torus
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind, TopologyError
from emulator.network.topology.routes import FirstRoutes, bisection_bps, diameter, shortest_routes
from emulator.network.topology.topology import Topology


def test_all_shortest_routes_of_a_leaf_spine() -> None:
    topology = leaf_spine(2, 2, 3)
    assert shortest_routes(topology, "h0", "h1") == (("h0", "leaf0", "h1"),)
    assert shortest_routes(topology, "h0", "h2") == tuple(
        ("h0", "leaf0", f"spine{index}", "leaf1", "h2") for index in range(3)
    )
    assert FirstRoutes(topology).route("h0", "h2") == ("h0", "leaf0", "spine0", "leaf1", "h2")


def test_between_pods_of_a_fat_tree_there_is_a_route_for_each_core_switch() -> None:
    routes = shortest_routes(fat_tree(6), "h0", "h53")
    assert len({route[3] for route in routes}) == len(routes) == 9
    assert {len(route) for route in routes} == {7}


def test_hosts_of_a_torus_forward() -> None:
    topology = torus(4, 4)
    assert set(shortest_routes(topology, "h0", "h5")) == {("h0", "h1", "h5"), ("h0", "h4", "h5")}
    assert shortest_routes(topology, "h0", "h3") == (("h0", "h3"),)


def test_opposite_racks_of_an_even_ring_have_two_routes() -> None:
    assert len(shortest_routes(ring_of_racks(6, 1), "h0", "h3")) == 2
    assert len(shortest_routes(ring_of_racks(5, 1), "h0", "h2")) == 1


def two_planes() -> Topology:
    """Switches a0 - a1 - a2 between h0 and h2, and b0 - b1 - b2; the route by h1, at a0 and b2, is as short."""
    link_class = LinkClass("any", 8)
    pairs = ["h0 a0", "a0 a1", "a1 a2", "a2 h2", "h1 a0", "h1 b2", "b2 h2", "b2 b1", "b1 b0", "b0 h0"]
    links = [Link(source, destination, link_class) for source, destination in map(str.split, pairs)]
    names = ("h0", "h1", "h2", "a0", "a1", "a2", "b0", "b1", "b2")
    nodes = tuple(Node(name, NodeKind.HOST if name[0] == "h" else NodeKind.SWITCH) for name in names)
    return Topology("planes", nodes, tuple(each for link in links for each in (link, link.reverse)))


def test_no_route_changes_planes_at_a_host() -> None:
    topology = two_planes()
    assert [route[1:-1] for route in shortest_routes(topology, "h0", "h2")] == [("a0", "a1", "a2"), ("b0", "b1", "b2")]
    assert diameter(topology) == 4
    assert len(FirstRoutes(topology).route("h0", "h1")) == 3


def test_links_of_one_direction_count_in_their_direction() -> None:
    slow, fast = LinkClass("slow", 3), LinkClass("fast", 5)
    nodes = (Node("h0", NodeKind.HOST), Node("h1", NodeKind.HOST))
    there, back = Link("h0", "h1", fast), Link("h1", "h0", slow)
    assert bisection_bps(Topology("t", nodes, (there, back, Link("h0", "h1", fast, 1)))) == 10


def test_unknown_ends_are_refused() -> None:
    with pytest.raises(TopologyError, match="there is no node 'h99'"):
        shortest_routes(torus(2, 2), "h0", "h99")
