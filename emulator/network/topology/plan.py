"""A topology under construction, and what builders share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from emulator.network.topology.check import MAX_NODES
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind, TopologyError
from emulator.network.topology.topology import Topology

HOST_LINK = LinkClass("host", 10_000_000_000)
"""Default of links with a host at an end."""
SWITCH_LINK = LinkClass("switch", 10_000_000_000)
"""Default of links between switches."""


@dataclass(slots=True)
class Plan:
    """A topology under construction."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    hosts: int = 0
    _parallel: Counter[frozenset[str]] = field(default_factory=Counter)

    def switch(self, name: str, coordinates: tuple[int, ...] = (), *, group: str = "") -> str:
        return self._add(Node(name, NodeKind.SWITCH, coordinates), group)

    def host(self, coordinates: tuple[int, ...] = (), *, group: str = "") -> str:
        self.hosts += 1
        return self._add(Node(f"h{self.hosts - 1}", NodeKind.HOST, coordinates), group)

    def _add(self, node: Node, group: str) -> str:
        self.nodes.append(node)
        if group:
            self.groups.setdefault(group, []).append(node.name)
        return node.name

    def rack(self, switch: str, hosts: int, host_link: LinkClass, group: str) -> None:
        """Hosts at a switch, in its group."""
        for _ in range(hosts):
            self.cable(self.host(group=group), switch, host_link)

    def cable(self, one: str, other: str, link_class: LinkClass) -> None:
        ends = frozenset((one, other))
        link = Link(one, other, link_class, self._parallel[ends])
        self._parallel[ends] += 1
        self.links += [link, link.reverse]

    def topology(self) -> Topology:
        groups = {name: tuple(members) for name, members in self.groups.items()}
        return Topology(self.name, tuple(self.nodes), tuple(self.links), groups)


def check_counts(kind: str, nodes: int, **counts: tuple[int, int]) -> None:
    """``counts``: what there are so many of, and how many at least."""
    for name, (count, least) in counts.items():
        if count < least:
            raise TopologyError(f"{kind}: {count} {name.replace('_', ' ')}; at least {least}")
    if nodes > MAX_NODES:
        raise TopologyError(f"{kind}: {nodes:,} nodes; at most {MAX_NODES:,}")
