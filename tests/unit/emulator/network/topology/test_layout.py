from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest

from emulator.network.topology.builders import fat_tree, leaf_spine, ring_of_racks, star, torus, tree
from emulator.network.topology.layout import positions
from emulator.network.topology.networkx_graph import from_networkx
from emulator.network.topology.topology import Topology

BUILT = [
    star(4),
    star(64),
    tree((2, 4)),
    tree((4, 4, 4)),
    leaf_spine(2, 2, 2),
    leaf_spine(8, 8, 4),
    fat_tree(4),
    fat_tree(6),
    fat_tree(6, 2),
    torus(2, 2),
    torus(8, 8),
    ring_of_racks(2, 4),
    ring_of_racks(8, 8),
    ring_of_racks(32, 2),
    from_networkx(nx.hypercube_graph(4)),
]
LETTER, HEIGHT, AROUND = 0.075, 0.2, 0.09
"""Inches of a label in 8 points and of its box."""


@pytest.mark.parametrize("topology", BUILT, ids=lambda topology: topology.name)
def test_no_labels_overlap(topology: Topology) -> None:
    places = positions(topology)
    assert places.keys() == {node.name for node in topology.nodes}
    for one, other in combinations(places, 2):
        width = LETTER * (len(one) + len(other)) / 2 + AROUND
        across, along = (abs(places[one][axis] - places[other][axis]) for axis in (0, 1))
        assert across >= width or along >= HEIGHT, (one, other)


def test_trees_have_a_height_for_each_tier() -> None:
    places = positions(fat_tree(4))
    heights = [{places[name][1] for name in places if name.startswith(kind)} for kind in ("h", "edge", "agg", "core")]
    assert [len(each) for each in heights] == [1, 1, 1, 1]
    assert sorted(heights, key=min) == heights
    assert places["edge0.0"][0] == pytest.approx((places["h0"][0] + places["h1"][0]) / 2)


def test_a_torus_is_a_grid_with_row_0_on_top() -> None:
    places = positions(torus(3, 4))
    assert places["h0"] == (0.0, 0.0)
    assert places["h3"] == (3.0, 0.0)
    assert places["h8"] == (0.0, -2.0)


def test_hosts_of_a_ring_are_outside_near_their_switch() -> None:
    topology = ring_of_racks(4, 3)
    places = positions(topology)
    assert places["s0"][0] == pytest.approx(0)
    for host in topology.hosts:
        switch = topology.neighbors(host)[0]
        distances = {name: abs(complex(*places[host]) - complex(*places[name])) for name in ("s0", "s1", "s2", "s3")}
        assert min(distances, key=lambda name: distances[name]) == switch
        assert abs(complex(*places[host])) > abs(complex(*places[switch]))
