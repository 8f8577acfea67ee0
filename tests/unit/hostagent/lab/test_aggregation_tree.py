"""The tree of switches of a topology."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.network.topology.builders import fat_tree, leaf_spine, ring_of_racks, star, torus, tree
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind, TopologyError
from emulator.network.topology.topology import Topology
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.lab.aggregation_tree import aggregation_tree, configs_of

LINK = LinkClass("any", 10**9)


def names(found) -> set[str]:
    return {link.name for link in found.up.values()}


def test_a_star_is_its_own_tree() -> None:
    found = aggregation_tree(star(3))
    assert (found.root, names(found)) == ("s0", {"h0->s0", "h1->s0", "h2->s0"})


def test_a_tree_has_the_root_in_the_middle() -> None:
    found = aggregation_tree(tree((2, 2)))
    assert found.root == "root"
    assert found.switches == ("root", "s0", "s1")
    assert len(found.links) == 2 * 6


def test_a_fat_tree_uses_one_core_and_one_aggregation_switch_of_each_pod() -> None:
    found = aggregation_tree(fat_tree(4))
    assert found.root == "core0"
    assert {name for name in found.switches if name.startswith("agg")} == {f"agg{pod}.0" for pod in range(4)}
    assert len(found.switches) == 1 + 4 + 8
    place = {name: index for index, name in enumerate(found.switches)}
    assert all(place[link.destination] < place[below] for below, link in found.up.items() if below in place)


def test_hosts_of_one_rack_need_one_switch() -> None:
    found = aggregation_tree(leaf_spine(3, 4, 2), hosts=["h4", "h6"])
    assert found.switches == (found.root,)
    assert names(found) == {f"h4->{found.root}", f"h6->{found.root}"}


def test_a_root_may_be_given() -> None:
    found = aggregation_tree(ring_of_racks(4, 1), root="s2")
    assert found.root == "s2"
    assert found.up["s0"].destination in ("s1", "s3")


@pytest.mark.parametrize(
    ("topology", "options", "text"),
    [
        (torus(3, 3), {}, "h0 has links to h1, h3, h2, h6: a host of an aggregation tree has one, to a switch"),
        (star(2), {"root": "h0"}, "h0 is a host: the root of an aggregation tree is a switch"),
        (star(2), {"hosts": ["s0"]}, "s0 is a switch, not a host"),
        (star(2), {"hosts": ["h0", "h0"]}, "a host is named twice"),
        (star(2), {"hosts": ["h7"]}, "there is no node 'h7'"),
    ],
)
def test_mistakes(topology: Topology, options: dict[str, Any], text: str) -> None:
    with pytest.raises(TopologyError) as error:
        aggregation_tree(topology, **options)
    assert text in str(error.value)


def test_a_switch_with_too_many_children_is_refused() -> None:
    topology = star(65)
    children = tuple(Child(rank, 0, rank, rank, True) for rank in range(65))
    entries = JobConfig(1, 0, 1, 0, 4, 0, True, 1, 1, children)
    with pytest.raises(TopologyError, match="65 children of one switch: a set's bitmap has 64 bits"):
        configs_of(topology, aggregation_tree(topology), entries)


def test_entries_have_the_ports_of_the_topology() -> None:
    topology = tree((2, 2))
    children = tuple(Child(rank, 0, rank, rank, True) for rank in range(4))
    entries = JobConfig(1, 0, 1, 0, 4, 0, True, 1, 1, children)
    parts = configs_of(topology, aggregation_tree(topology), entries)
    assert [child.port for child in parts["root"].children] == [1, 2]
    assert [child.port for child in parts["s1"].children] == [2, 3]
    assert parts["root"].parent is None
    parent = parts["s1"].parent
    assert parent is not None
    assert parent.port == 1


def test_results_must_find_the_way_back() -> None:
    there, back = Link("h0", "s0", LINK), Link("h1", "s0", LINK)
    nodes = (*(Node(name, NodeKind.HOST) for name in ("h0", "h1")), Node("s0", NodeKind.SWITCH))
    links = (there, back, back.reverse, Link("s0", "h0", LINK, 1))
    with pytest.raises(TopologyError, match="there is no link back from s0 to h0"):
        aggregation_tree(Topology("oneway", nodes, links))
