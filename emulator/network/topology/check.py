"""What has to hold for a topology, wherever it came from: one place for builders, files and networkx.

Every function raises TopologyError for the first fault, with its place in the description.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

import networkx as nx

from emulator.network.topology.parts import Link, LinkClass, Node, Place, TopologyError

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
NAME_RULE = "a name has letters, digits and, between them, '.', '_' or '-'"
MIN_MTU_BYTES = 68
"""RFC 791, section 3.2: what every IP link carries."""
MAX_MTU_BYTES = 65_535
MAX_NODES = 1 << 17
"""Beyond it a description is taken for a mistake rather than built for minutes."""


def check_parts(name: str, nodes: Sequence[Node], links: Sequence[Link], groups: Mapping[str, Sequence[str]]) -> None:
    """All that can be said of the parts one by one."""
    _check_name(name, ("name",))
    if not 1 <= len(nodes) <= MAX_NODES:
        raise TopologyError(f"{len(nodes):,} nodes: there are 1 to {MAX_NODES:,}", ("nodes",))
    _check_nodes(nodes)
    known = {node.name for node in nodes}
    _check_links(links, known)
    for group, members in groups.items():
        _check_name(group, ("groups", group))
        for index, member in enumerate(members):
            _check_known(member, known, ("groups", group, index))
        if (twice := _first_repeated(members)) is not None:
            raise TopologyError(f"{members[twice]!r} is listed twice", ("groups", group, twice))


def check_reachable(nodes: Sequence[Node], graph: nx.DiGraph) -> None:
    """Every node reaches every other; ``graph``: their names, with an edge for each link."""
    first = nodes[0].name
    reached, reaching = nx.descendants(graph, first), nx.ancestors(graph, first)
    for index, node in enumerate(nodes[1:], 1):
        if node.name not in reached or node.name not in reaching:
            source, target = (first, node.name) if node.name not in reached else (node.name, first)
            raise TopologyError(f"{node.kind} {node.name!r}: no links lead from {source} to {target}", ("nodes", index))


def guess(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'h1'?)`` where something known is close to the word."""
    close = difflib.get_close_matches(word, known, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _check_nodes(nodes: Sequence[Node]) -> None:
    for index, node in enumerate(nodes):
        _check_name(node.name, ("nodes", index, "name"))
        if len(node.coordinates) > 2 or min(node.coordinates, default=0) < 0:
            text = f"{list(node.coordinates)}: write [row, column] or [position], from 0"
            raise TopologyError(text, ("nodes", index, "coordinates"))
    if (twice := _first_repeated([node.name for node in nodes])) is not None:
        raise TopologyError(f"there are two nodes {nodes[twice].name!r}", ("nodes", twice, "name"))
    placed = [node.coordinates or node.name for node in nodes]
    if (twice := _first_repeated(placed)) is not None:
        other = nodes[placed.index(placed[twice])].name
        raise TopologyError(f"{nodes[twice].name} is where {other} is", ("nodes", twice, "coordinates"))


def _check_links(links: Sequence[Link], known: set[str]) -> None:
    classes: dict[str, LinkClass] = {}
    for index, link in enumerate(links):
        _check_known(link.source, known, ("links", index, "source"))
        _check_known(link.destination, known, ("links", index, "destination"))
        if link.source == link.destination:
            raise TopologyError(f"it leads from {link.source!r} to itself", ("links", index, "destination"))
        for field, value in (("number", link.number), ("plane", link.plane)):
            if value < 0:
                raise TopologyError(f"{value} is negative", ("links", index, field))
        if link.link_class.name not in classes:
            classes[link.link_class.name] = link.link_class
            _check_class(link.link_class)
        elif classes[link.link_class.name] != link.link_class:
            text = f"two classes are named {link.link_class.name!r}, with different properties"
            raise TopologyError(text, ("links", index, "class"))
    if (twice := _first_repeated([(link.source, link.destination, link.number) for link in links])) is not None:
        link = links[twice]
        text = f"there are two links {link.name}; give one of them the number {link.number + 1}"
        raise TopologyError(text, ("links", twice))


def _check_class(each: LinkClass) -> None:
    _check_name(each.name, ("classes", each.name))
    rules = (
        ("rate_bps", each.rate_bps > 0, "a rate is positive"),
        ("latency_ns", each.latency_ns >= 0, "a time is not negative"),
        ("alpha_ns", each.alpha_ns >= 0, "a time is not negative"),
        (
            "mtu_bytes",
            MIN_MTU_BYTES <= each.mtu_bytes <= MAX_MTU_BYTES,
            f"an MTU is {MIN_MTU_BYTES} to {MAX_MTU_BYTES:,} bytes",
        ),
        (
            "queue_bytes",
            each.queue_bytes >= each.mtu_bytes,
            f"a queue holds at least a packet of {each.mtu_bytes} bytes",
        ),
    )
    int64 = tuple((field, getattr(each, field) < 1 << 63, "a number fits int64") for field, _, _ in rules)
    for field, holds, rule in (*rules, *int64):
        if not holds:
            raise TopologyError(f"{getattr(each, field)}: {rule}", ("classes", each.name, field))


def _check_name(name: str, place: Place) -> None:
    if not NAME.fullmatch(name):
        raise TopologyError(f"{name!r}: {NAME_RULE}", place)


def _check_known(name: str, known: set[str], place: Place) -> None:
    if name not in known:
        raise TopologyError(f"there is no node {name!r}{guess(name, known)}", place)


def _first_repeated(values: Sequence[object]) -> int | None:
    """The index of the first value that was there before."""
    if len(set(values)) == len(values):
        return None
    seen: set[object] = set()
    for index, value in enumerate(values):
        if value in seen:
            return index
        seen.add(value)
    return None
