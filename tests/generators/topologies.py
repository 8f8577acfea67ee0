"""Random topologies that are valid: connected, with parallel and one-way links, classes, groups and planes."""

from __future__ import annotations

from hypothesis import strategies as st

from emulator.network.topology.check import MIN_MTU_BYTES
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind
from emulator.network.topology.topology import Topology

AWKWARD_NAMES = ("no", "1", "null", "1e3", "true", "0x1F", "a.b-c_d", "12.5", "2001-01-01", "on")
"""Names that YAML takes for something else when they are not quoted."""


@st.composite
def link_classes(draw: st.DrawFn, name: str) -> LinkClass:
    mtu = draw(st.integers(MIN_MTU_BYTES, 9_216))
    times = st.one_of(st.integers(0, 10**10), st.integers(0, 999).map(lambda n: n * 1_000))
    return LinkClass(
        name,
        draw(st.one_of(st.integers(1, 10**12), st.integers(1, 400).map(lambda n: n * 10**9))),
        draw(times),
        draw(times),
        mtu + draw(st.integers(0, 1 << 20)),
        mtu,
    )


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    count = draw(st.integers(1, 12))
    names = [*draw(st.permutations(AWKWARD_NAMES)), *(f"n{index}" for index in range(count))][:count]
    dimensions = draw(st.integers(0, 2))
    nodes = tuple(
        Node(name, draw(st.sampled_from(NodeKind)), (index, 0)[:dimensions]) for index, name in enumerate(names)
    )
    classes = [draw(link_classes(f"class{index}")) for index in range(draw(st.integers(1, 3)))]
    links: list[Link] = []
    seen: set[str] = set()

    def add(source: str, destination: str, duplex: bool) -> None:
        link = Link(
            source, destination, draw(st.sampled_from(classes)), draw(st.integers(0, 2)), draw(st.integers(0, 1))
        )
        for each in (link, link.reverse) if duplex else (link,):
            if each.name not in seen:
                seen.add(each.name)
                links.append(each)

    for index in range(1, count):  # a spanning tree, in both directions
        add(names[index], names[draw(st.integers(0, index - 1))], duplex=True)
    for _ in range(draw(st.integers(0, 10)) if count > 1 else 0):
        source, destination = draw(st.permutations(names))[:2]
        add(source, destination, duplex=draw(st.booleans()))
    shuffled = tuple(draw(st.permutations(links)))
    groups = {f"g{index}": tuple(draw(st.permutations(names))[: index + 1]) for index in range(draw(st.integers(0, 3)))}
    return Topology("random", nodes, shuffled, groups)
