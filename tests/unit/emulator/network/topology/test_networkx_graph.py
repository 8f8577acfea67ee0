from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from emulator.network.topology.builders import BUILDERS, fat_tree, leaf_spine, torus
from emulator.network.topology.networkx_graph import from_networkx, to_networkx
from emulator.network.topology.parts import LinkClass, NodeKind, TopologyError
from emulator.network.topology.plan import HOST_LINK
from emulator.network.topology.routes import diameter

BUILT = [
    BUILDERS["tree"].build((2, 3)),
    leaf_spine(2, 2, 2),
    fat_tree(4),
    torus(2, 3),
    BUILDERS["ring"].build((2, 2)),
]


@pytest.mark.parametrize("topology", BUILT, ids=lambda topology: topology.name)
def test_there_and_back_is_the_same(topology) -> None:
    assert from_networkx(to_networkx(topology)) == topology


def test_attributes_of_the_graph() -> None:
    graph = to_networkx(leaf_spine(2, 2, 1, switch_link=LinkClass("up", 40, alpha_ns=7)))
    assert graph.nodes["leaf0"]["kind"] == "switch"
    edge = graph.edges["leaf0", "spine0", 0]
    assert (edge["link_class"], edge["rate_bps"], edge["alpha_ns"], edge["plane"]) == ("up", 40, 7, 0)
    assert graph.graph["groups"]["rack0"] == ("leaf0", "h0", "h1")


def test_a_plain_graph_is_a_network_of_hosts() -> None:
    topology = from_networkx(nx.hypercube_graph(3))
    assert (len(topology.hosts), len(topology.links), diameter(topology)) == (8, 24, 3)
    assert topology.link("0.0.0->0.0.1").link_class == HOST_LINK


def test_kinds_and_classes_may_be_given() -> None:
    graph = nx.MultiGraph(name="mine")
    graph.add_node("s", kind="switch")
    graph.add_edge("a", "s", link_class="fast", rate_bps=np.int64(5))
    graph.add_edge("a", "s", plane=1)
    topology = from_networkx(graph, default=LinkClass("slow", 1))
    assert topology.names(NodeKind.SWITCH) == ("s",)
    assert [link.name for link in topology.links] == ["s->a", "a->s", "s->a#1", "a->s#1"]
    assert [link.rate_bps for link in topology.links] == [5, 5, 1, 1]
    assert topology.links[2].plane == 1
    assert type(topology.links[0].rate_bps) is int


def test_any_name_of_a_graph_and_fields_without_a_class() -> None:
    graph = nx.petersen_graph()
    nx.set_edge_attributes(graph, {(0, 1): {"rate_bps": 5}, (1, 2): {"rate_bps": 5}, (2, 3): {"latency_ns": 7}})
    topology = from_networkx(graph)
    assert topology.name == "Petersen-Graph"
    assert set(topology.classes) == {HOST_LINK.name, "rate_bps-5", "latency_ns-7"}
    assert topology.link("2->1").rate_bps == 5
    assert topology.link("2->1").queue_bytes == HOST_LINK.queue_bytes


@pytest.mark.parametrize(
    ("edge", "text"),
    [
        ({"rate_bps": "fast", "link_class": "x"}, "whole numbers"),
        ({"rate_bps": -5, "link_class": "x"}, r"classes.x.rate_bps: -5: a rate is positive"),
        ({"key": "blue"}, "the key 'blue' numbers parallel links"),
    ],
)
def test_wrong_edges_are_refused(edge: dict[str, object], text: str) -> None:
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", **edge)
    with pytest.raises(TopologyError, match=text):
        from_networkx(graph)


def test_a_wrong_kind_is_refused() -> None:
    graph = nx.Graph()
    graph.add_node("a", kind="router")
    with pytest.raises(TopologyError, match="node a: kind 'router' is none of host, nic, switch"):
        from_networkx(graph)
