"""GPU machines as topologies: rank i is host hi; nodes of GPUs with NVLink, NICs at one InfiniBand switch.

Sources: the hybrid cube mesh of DGX-1 and NDv2 (Li et al., "Evaluating Modern GPU Interconnect", 2019), DGX-2's
NVSwitch, and TACCL (Shah et al., NSDI 2023, section 2) for NICs. A message pays its alpha once, at the port or NIC by
which it leaves: that is held for alpha + beta s, those that it passes later for beta s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind, TopologyError
from emulator.network.topology.topology import Topology

DOUBLE_CYCLE = (0, 1, 3, 2, 6, 7, 5, 4)
"""Of the eight GPUs of NDv2: neighbors have two NVLinks."""
SINGLE_CYCLE = (0, 2, 1, 5, 6, 4, 7, 3)
"""Neighbors have one."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a message over a link."""

    alpha_ns: int
    beta_ns: int
    """Of ``bytes``."""
    bytes: int

    def link_class(self, name: str) -> LinkClass:
        """Whose messages of ``bytes`` take alpha_ns + beta_ns, exactly."""
        rate_bps = -(-8_000_000_000 * self.bytes // self.beta_ns)
        return LinkClass(name, rate_bps, latency_ns=0, alpha_ns=self.alpha_ns)


def ndv2(nodes: int, double: Cost, single: Cost, remote: Cost, nics: int = 1) -> Topology:
    """Nodes of 8 GPUs: 16 cables of NVLink, double and single."""
    links = []
    for cycle, link_class in (
        (DOUBLE_CYCLE, double.link_class("nvlink-double")),
        (SINGLE_CYCLE, single.link_class("nvlink")),
    ):
        for one, other in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            links += [(one, other, link_class), (other, one, link_class)]
    return mesh("ndv2", nodes, 8, links, remote, nics)


def dgx2(nodes: int, port: Cost, remote: Cost, nics: int = 8, gpus: int = 16) -> Topology:
    """Nodes of 16 GPUs, each with a port to and one from the NVSwitches, which count as one."""
    out = port.link_class("nvswitch")
    back = replace(out, name="nvswitch-out", alpha_ns=0)
    switches = [Node(f"nvswitch{node}", NodeKind.SWITCH) for node in range(nodes)]
    links = []
    for rank in range(nodes * gpus):
        switch = f"nvswitch{rank // gpus}"
        links += [Link(f"h{rank}", switch, out), Link(switch, f"h{rank}", back)]
    return mesh("dgx2", nodes, gpus, (), remote, nics, switches, links)


def mesh(
    name: str,
    nodes: int,
    gpus: int,
    links: Sequence[tuple[int, int, LinkClass]],
    remote: Cost,
    nics: int,
    switches: Sequence[Node] = (),
    switch_links: Sequence[Link] = (),
) -> Topology:
    """``links``: directed, between GPUs of one node. GPU i of a node uses its NIC i * nics // gpus. A single node has
    no NICs. ``switches``, ``switch_links``: what else is in the nodes. Raises TopologyError."""
    if not 1 <= nics <= gpus or gpus % nics:
        raise TopologyError(f"{name}: {nics} NICs for {gpus} GPUs of a node; each NIC serves as many of them")
    members = [Node(f"h{rank}", NodeKind.HOST) for rank in range(nodes * gpus)]
    made = [Link(f"h{node * gpus + a}", f"h{node * gpus + b}", each) for node in range(nodes) for a, b, each in links]
    groups = {f"node{node}": tuple(f"h{node * gpus + gpu}" for gpu in range(gpus)) for node in range(nodes)}
    if nodes > 1:
        out = remote.link_class("infiniband")
        back = replace(out, name="infiniband-in", alpha_ns=0)
        members.append(Node("ib", NodeKind.SWITCH))
        for node in range(nodes):
            for nic in range(nics):
                card = f"nic{node}.{nic}"
                members.append(Node(card, NodeKind.NIC))
                made += [Link(card, "ib", out), Link("ib", card, back)]
            for gpu in range(gpus):
                inside = Link(f"h{node * gpus + gpu}", f"nic{node}.{gpu * nics // gpus}", back)
                made += [inside, inside.reverse]
    return Topology(f"{name}-{nodes}x{gpus}", (*members, *switches), (*made, *switch_links), groups)
