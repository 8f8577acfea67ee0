"""Counts, diameters and bisections of regular topologies, by their closed forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import prod

import pytest

from emulator.network.topology.builders import (
    BUILDERS,
    fat_tree,
    leaf_spine,
    ring_of_racks,
    star,
    torus,
    tree,
)
from emulator.network.topology.check import MAX_NODES
from emulator.network.topology.parts import LinkClass, NodeKind, TopologyError
from emulator.network.topology.plan import HOST_LINK
from emulator.network.topology.routes import bisection_bps, diameter
from emulator.network.topology.topology import Topology

HOST, SWITCH = LinkClass("host", 10), LinkClass("switch", 40)
"""Rates that tell which links a bisection cuts."""


def counts(topology: Topology) -> tuple[int, int, int]:
    """Hosts, switches, cables."""
    for link in topology.links:
        assert topology.link(link.reverse.name) == link.reverse
    return len(topology.hosts), len(topology.names(NodeKind.SWITCH)), len(topology.links) // 2


def degrees(topology: Topology, prefix: str) -> set[int]:
    return {len(topology.ports(node.name)) for node in topology.nodes if node.name.startswith(prefix)}


@pytest.mark.parametrize("hosts", [1, 2, 7, 64])
def test_star(hosts: int) -> None:
    topology = star(hosts, host_link=HOST)
    assert counts(topology) == (hosts, 1, hosts)
    assert diameter(topology) == (2 if hosts > 1 else 0)
    assert bisection_bps(topology) == hosts // 2 * 10


@pytest.mark.parametrize("fan_outs", [(4,), (2, 4), (3, 2), (2, 3, 4), (2, 2, 2, 2)])
def test_tree(fan_outs: tuple[int, ...]) -> None:
    topology = tree(fan_outs, host_link=HOST, switch_link=SWITCH)
    sizes = [prod(fan_outs[:level]) for level in range(len(fan_outs) + 1)]
    assert counts(topology) == (sizes[-1], sum(sizes[:-1]), sum(sizes[1:]))
    assert diameter(topology) == 2 * len(fan_outs)
    if fan_outs[0] % 2 == 0:
        below = HOST if len(fan_outs) == 1 else SWITCH
        assert bisection_bps(topology) == min(fan_outs[0] // 2 * below.rate_bps, sizes[-1] // 2 * 10)


def test_a_tree_of_two_leaves_of_four_hosts() -> None:
    topology = tree((2, 4))
    assert dict(topology.groups) == {"rack0": ("s0", "h0", "h1", "h2", "h3"), "rack1": ("s1", "h4", "h5", "h6", "h7")}
    assert topology.neighbors("root") == ("s0", "s1")
    assert topology.neighbors("s1") == ("root", "h4", "h5", "h6", "h7")


@pytest.mark.parametrize(("leaves", "hosts", "spines"), [(2, 2, 1), (4, 4, 2), (8, 8, 4)])
def test_leaf_spine(leaves: int, hosts: int, spines: int) -> None:
    topology = leaf_spine(leaves, hosts, spines, host_link=HOST, switch_link=SWITCH)
    assert counts(topology) == (leaves * hosts, leaves + spines, leaves * (hosts + spines))
    assert diameter(topology) == 4
    assert bisection_bps(topology) == min(leaves // 2 * spines * 40, leaves * hosts // 2 * 10)
    assert degrees(topology, "leaf") == {hosts + spines}
    assert degrees(topology, "spine") == {leaves}


@pytest.mark.parametrize(("radix", "taper", "uplinks"), [(4, 1, 2), (6, 1, 3), (6, 2, 2), (8, 3, 2), (8, 1, 4)])
def test_fat_tree(radix: int, taper: float, uplinks: int) -> None:
    topology = fat_tree(radix, taper, host_link=HOST, switch_link=HOST_LIKE)
    half = radix // 2
    hosts = radix * half * (radix - uplinks)
    assert counts(topology) == (
        hosts,
        radix * (half + uplinks) + uplinks * half,
        hosts + 2 * radix * half * uplinks,
    )
    if taper == 1:
        assert hosts == radix**3 // 4
    assert diameter(topology) == 6
    assert bisection_bps(topology) * taper == hosts // 2 * 10
    assert degrees(topology, "edge") == degrees(topology, "agg") == degrees(topology, "core") == {radix}


HOST_LIKE = LinkClass("switch", 10)


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 4), (4, 4), (4, 6), (6, 3)])
def test_torus(rows: int, columns: int) -> None:
    topology = torus(rows, columns, host_link=HOST)
    assert counts(topology) == (rows * columns, 0, 2 * rows * columns)
    assert diameter(topology) == rows // 2 + columns // 2
    cuts = [2 * columns] * (rows % 2 == 0) + [2 * rows] * (columns % 2 == 0)
    assert bisection_bps(topology) == 10 * min(cuts)
    assert degrees(topology, "h") == {4}
    assert len(topology.groups) == rows + columns


@pytest.mark.parametrize(("racks", "hosts"), [(2, 4), (4, 1), (6, 4), (5, 2)])
def test_ring_of_racks(racks: int, hosts: int) -> None:
    topology = ring_of_racks(racks, hosts, host_link=HOST, switch_link=SWITCH)
    assert counts(topology) == (racks * hosts, racks, racks * (hosts + 1))
    assert diameter(topology) == 2 + racks // 2
    if racks % 2 == 0:
        assert bisection_bps(topology) == min(2 * 40, racks * hosts // 2 * 10)
    assert degrees(topology, "s") == {hosts + 2}


def test_two_builds_are_equal() -> None:
    assert fat_tree(4) == fat_tree(4)
    assert ring_of_racks(3, 2) != ring_of_racks(2, 3)


def test_hosts_are_numbered_in_order_and_links_have_the_class_of_their_ends() -> None:
    topology = fat_tree(4)
    assert topology.hosts == tuple(f"h{index}" for index in range(16))
    assert Counter(link.link_class.name for link in topology.links) == {"host": 32, "switch": 64}
    assert topology.classes["host"] == HOST_LINK


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: star(0), "star: 0 hosts; at least 1"),
        (lambda: tree((2, 0)), "tree: 0 fan out; at least 1"),
        (lambda: tree(()), "tree: 0 levels of switches; there are 1 to 4"),
        (lambda: tree((2,) * 5), "tree: 5 levels"),
        (lambda: leaf_spine(2, 2, 0), "leaf-spine: 0 spines"),
        (lambda: fat_tree(5), "a radix of 5; it is even"),
        (lambda: fat_tree(4, 100), "a taper of 100 leaves an edge switch of 4 ports 0 uplinks"),
        (lambda: fat_tree(4, -1), "a taper of -1"),
        (lambda: torus(1, 4), "torus: 1 rows; at least 2"),
        (lambda: ring_of_racks(1, 4), "ring: 1 racks; at least 2"),
        (lambda: star(MAX_NODES), "star: 131,073 nodes; at most 131,072"),
        (lambda: fat_tree(1000), "at most 131,072"),
    ],
)
def test_counts_that_make_no_network_are_refused(build: Callable[[], Topology], text: str) -> None:
    with pytest.raises(TopologyError) as caught:
        build()
    assert text in str(caught.value)


def test_the_table_calls_every_builder() -> None:
    built = {
        "star": BUILDERS["star"].build((3,)),
        "tree": BUILDERS["tree"].build((2, 2)),
        "leaf-spine": BUILDERS["leaf-spine"].build((2, 2), spines=1),
        "fat-tree": BUILDERS["fat-tree"].build((4,), taper=1.0),
        "torus": BUILDERS["torus"].build((2, 3)),
        "ring": BUILDERS["ring"].build((2, 3)),
        "hxmesh": BUILDERS["hxmesh"].build((2, 2), board=(1, 2)),
    }
    assert built.keys() == BUILDERS.keys()
    assert all(topology.name.startswith(kind) for kind, topology in built.items())


def test_a_tree_may_have_leaves_with_different_numbers_of_hosts() -> None:
    network = tree((2, (1, 3)))
    assert network.name == "tree-2x1-3"
    assert {name: tuple(members) for name, members in network.groups.items()} == {
        "rack0": ("s0", "h0"),
        "rack1": ("s1", "h1", "h2", "h3"),
    }
    for wrong in ((2, (1, 2, 3)), ((1, 1), 2)):
        with pytest.raises(TopologyError, match="only the last fan-out"):
            tree(wrong)
    with pytest.raises(TopologyError):
        tree((2, (1, 0)))
