"""Bounds from link loads equal closed forms."""

from __future__ import annotations

from itertools import combinations, product

import networkx as nx
import pytest

from emulator.network.topology.bandwidth import alltoall, permutation
from emulator.network.topology.builders import leaf_spine, star, torus
from emulator.network.topology.hxmesh.hammingmesh import hamming_mesh
from emulator.network.topology.networkx_graph import from_networkx
from emulator.network.topology.parts import LinkClass, TopologyError


def test_alltoall_of_boards_of_two_by_two() -> None:
    """Each host has one port to a row, which all messages to other columns of boards cross: 1/4 over their part."""
    for boards in (2, 4, 8):
        hosts = 4 * boards * boards
        crossing = hosts * (boards - 1) / boards / (hosts - 1)
        assert alltoall(hamming_mesh((boards, boards))).least_share == pytest.approx(1 / 4 / crossing)


@pytest.mark.parametrize("side", [4, 8])
def test_alltoall_of_a_torus(side: int) -> None:
    """The mean distance is side / 2, of all hosts with the sender: 2 / side of four links, over (P - 1) / P."""
    hosts = side * side
    assert alltoall(torus(side, side)).least_share == pytest.approx(2 / side * (hosts - 1) / hosts)


def test_alltoall_of_a_hyperx() -> None:
    """As an Hx1Mesh, whose accelerators turn messages by their own ports, and with routers that do it for them."""
    side = 8
    hosts = side * side
    ports = 2 * (side - 1) * side / (hosts - 1)  # of a message: at its source, and where it turns
    assert alltoall(hamming_mesh((side, side), (1, 1))).least_share == pytest.approx(4 / ports / 4)
    graph = nx.Graph()
    for place in product(range(side), range(side)):
        graph.add_node(("router", *place), kind="switch")
        graph.add_edge(place, ("router", *place))
    for one, other in combinations(product(range(side), range(side)), 2):
        if one[0] == other[0] or one[1] == other[1]:
            graph.add_edge(("router", *one), ("router", *other))
    assert alltoall(from_networkx(graph)).least_share == pytest.approx(1)


def test_alltoall_of_tapered_trees() -> None:
    """Uplinks to hosts of a leaf, over the part of the messages that leaves it: the paper's smaller tapered trees."""
    for leaves, hosts, uplinks in ((25, 42, 22), (21, 51, 13)):
        leaving = (leaves - 1) * hosts / (leaves * hosts - 1)
        assert alltoall(leaf_spine(leaves, hosts, uplinks)).least_share == pytest.approx(uplinks / hosts / leaving)


def test_alltoall_of_trees() -> None:
    slow = LinkClass("switch", 5_000_000_000)
    assert alltoall(star(8)).least_bps == pytest.approx(10e9)
    crossing = 12 / 15  # of four hosts a leaf, to the other leaves over four links of half the rate
    assert alltoall(leaf_spine(4, 4, 4, switch_link=slow)).least_share == pytest.approx(0.5 / crossing)


def test_a_permutation() -> None:
    full = permutation(star(16), seed=3)
    assert full.mean_share == full.least_share == pytest.approx(1)
    mesh = hamming_mesh((4, 4))
    found = permutation(mesh, seed=3)
    assert permutation(mesh, seed=3) == found != permutation(mesh, seed=4)
    assert 0 < found.least_share < found.mean_share < 0.5
    assert permutation(star(2)).least_bps == pytest.approx(10e9)


def test_one_host_has_no_bandwidth() -> None:
    with pytest.raises(TopologyError, match="between two hosts or more"):
        alltoall(star(1))
