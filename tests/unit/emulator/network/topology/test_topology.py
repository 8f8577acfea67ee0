"""What a topology answers, and what it refuses to be."""

from __future__ import annotations

import pytest

from emulator.network.topology.builders import ring_of_racks, tree
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind, Place, TopologyError
from emulator.network.topology.topology import Topology

FAST = LinkClass("fast", 1_000_000_000)
H0, H1, S0 = Node("h0", NodeKind.HOST), Node("h1", NodeKind.HOST), Node("s0", NodeKind.SWITCH)


def duplex(source: str, destination: str, link_class: LinkClass = FAST, number: int = 0) -> tuple[Link, Link]:
    link = Link(source, destination, link_class, number)
    return link, link.reverse


PAIR = (*duplex("h0", "s0"), *duplex("h1", "s0"))


def test_ports_are_numbered_by_the_order_of_links_and_shared_by_both_directions() -> None:
    topology = Topology("t", (H0, H1, S0), (PAIR[2], *PAIR[:2], PAIR[3], *duplex("s0", "h0", number=1)))
    ports = [[link.name for link in links] for links in topology.ports("s0")]
    assert ports == [["h1->s0", "s0->h1"], ["h0->s0", "s0->h0"], ["s0->h0#1", "h0->s0#1"]]
    assert topology.port("s0", topology.link("h0->s0#1")) == 3
    assert topology.port("h0", topology.link("h0->s0#1")) == 2
    assert topology.neighbors("s0") == ("h0", "h1")
    with pytest.raises(TopologyError, match="h0->s0 does not end at h1"):
        topology.port("h1", topology.link("h0->s0"))


def test_lookups() -> None:
    topology = tree((2, 2))
    assert topology.node("s0").kind is NodeKind.SWITCH
    assert [link.name for link in topology.out_links("s0")] == ["s0->root", "s0->h0", "s0->h1"]
    assert [link.name for link in topology.in_links("h3")] == ["s1->h3"]
    assert topology.links_between("h0", "h1") == ()
    assert [link.name for link in ring_of_racks(2, 1).links_between("s0", "s1")] == ["s0->s1", "s0->s1#1"]
    link = topology.link("h0->s0")
    assert (link.rate_bps, link.latency_ns, link.alpha_ns) == (10_000_000_000, 1_000, 0)
    assert (link.queue_bytes, link.mtu_bytes) == (256 << 10, 1_500)


def test_planes_are_those_of_the_links() -> None:
    first, second = Link("h0", "h1", FAST), Link("h0", "h1", FAST, 1, 1)
    topology = Topology("t", (H0, H1), (first, first.reverse, second, second.reverse))
    assert topology.planes == (0, 1)


def test_unknown_names_are_answered_with_the_nearest() -> None:
    topology = tree((2, 2))
    with pytest.raises(TopologyError, match=r"tree-2x2: there is no node 'roof' \(did you mean 'root'\?\)"):
        topology.neighbors("roof")
    with pytest.raises(TopologyError, match=r"there is no link 'h0->s9' \(did you mean 'h0->s0'\?\)"):
        topology.link("h0->s9")


def placed(*coordinates: int) -> Node:
    return Node("h0", NodeKind.HOST, coordinates)


def with_class(**values: int) -> tuple[Link, ...]:
    return duplex("h0", "h1", LinkClass(**{"name": "fast", "rate_bps": 1, **values}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("nodes", "links", "groups", "place", "text"),
    [
        ((), (), {}, ("nodes",), "0 nodes"),
        ((Node("a b", NodeKind.HOST),), (), {}, ("nodes", 0, "name"), "'a b': a name has letters"),
        ((H0, H1, H0), PAIR, {}, ("nodes", 2, "name"), "two nodes 'h0'"),
        ((placed(0, 0), Node("h1", NodeKind.HOST, (0, 0))), (), {}, ("nodes", 1, "coordinates"), "h1 is where h0 is"),
        ((placed(0, -1),), (), {}, ("nodes", 0, "coordinates"), "write [row, column]"),
        ((placed(0, 1, 2),), (), {}, ("nodes", 0, "coordinates"), "write [row, column]"),
        ((H0, H1), PAIR, {}, ("links", 0, "destination"), "there is no node 's0'"),
        ((H0,), duplex("h0", "h0"), {}, ("links", 0, "destination"), "leads from 'h0' to itself"),
        ((H0, H1), duplex("h0", "h1") * 2, {}, ("links", 2), "two links h0->h1; give one of them the number 1"),
        ((H0, H1), duplex("h0", "h1", number=-1), {}, ("links", 0, "number"), "-1 is negative"),
        ((H0, H1), (*with_class(), *duplex("h0", "h1", number=1)), {}, ("links", 2, "class"), "two classes are"),
        ((H0, H1), with_class(rate_bps=0), {}, ("classes", "fast", "rate_bps"), "0: a rate is positive"),
        ((H0, H1), with_class(rate_bps=1 << 63), {}, ("classes", "fast", "rate_bps"), "a number fits int64"),
        ((H0, H1), with_class(latency_ns=-1), {}, ("classes", "fast", "latency_ns"), "not negative"),
        ((H0, H1), with_class(alpha_ns=-1), {}, ("classes", "fast", "alpha_ns"), "not negative"),
        ((H0, H1), with_class(mtu_bytes=67), {}, ("classes", "fast", "mtu_bytes"), "67: an MTU is 68 to 65,535 bytes"),
        ((H0, H1), with_class(queue_bytes=1_499), {}, ("classes", "fast", "queue_bytes"), "a packet of 1500 bytes"),
        ((H0, H1), (), {}, ("nodes", 1), "host 'h1': no links lead from h0 to h1"),
        ((H0, H1), (Link("h0", "h1", FAST),), {}, ("nodes", 1), "host 'h1': no links lead from h1 to h0"),
        ((H0, H1, S0), duplex("h0", "h1"), {}, ("nodes", 2), "switch 's0': no links lead from h0 to s0"),
        ((H0,), (), {"rack": ("h0", "h1")}, ("groups", "rack", 1), "there is no node 'h1'"),
        ((H0,), (), {"rack": ("h0", "h0")}, ("groups", "rack", 1), "'h0' is listed twice"),
        ((H0,), (), {"my rack": ("h0",)}, ("groups", "my rack"), "a name has letters"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_place(
    nodes: tuple[Node, ...], links: tuple[Link, ...], groups: dict[str, tuple[str, ...]], place: Place, text: str
) -> None:
    with pytest.raises(TopologyError) as caught:
        Topology("t", nodes, links, groups)
    assert caught.value.place == place
    assert text in str(caught.value)


def test_the_text_of_an_error_has_the_place() -> None:
    assert str(TopologyError("wrong", ("links", 3, "source"))) == "links[3].source: wrong"
    assert str(TopologyError("wrong")) == "wrong"
