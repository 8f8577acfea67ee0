"""The switches of a topology that add up a job's contributions: a tree along shortest routes, and what each must know
of the job."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from emulator.network.topology.parts import Link, NodeKind, TopologyError
from emulator.network.topology.topology import Topology
from hostagent.controller.drivers.groups.tree import split_job
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.tree import TreeRefused, TreeSwitch


@dataclass(frozen=True, slots=True)
class AggregationTree:
    """Of hosts, in order of ranks."""

    hosts: tuple[str, ...]
    root: str
    up: Mapping[str, Link]
    """Of every host and every switch but the root: the link towards the root."""

    @property
    def switches(self) -> tuple[str, ...]:
        """The root first, every other one after the one above it."""
        found = [self.root]
        for name in found:
            found += [below for below, link in self.up.items() if link.destination == name and below not in self.hosts]
        return tuple(found)

    @property
    def links(self) -> tuple[Link, ...]:
        """Those that carry the job's frames, both directions of each cable."""
        return tuple(each for link in self.up.values() for each in (link, link.reverse))


def aggregation_tree(
    topology: Topology, hosts: Sequence[str] | None = None, root: str | None = None
) -> AggregationTree:
    """Every host at the end of a shortest route from the root. Without a root given: the first switch in the order of
    nodes that is nearest to the farthest host. Without hosts: all. Raises TopologyError."""
    chosen = tuple(topology.hosts if hosts is None else hosts)
    leaves = {name: _leaf(topology, name) for name in chosen}
    if len(leaves) < len(chosen):
        raise TopologyError("a host is named twice: a job has one rank on each")
    if root is not None and topology.node(root).kind is not NodeKind.SWITCH:
        raise TopologyError(f"{root} is a {topology.node(root).kind}: the root of an aggregation tree is a switch")
    candidates = [root] if root is not None else list(topology.names(NodeKind.SWITCH))
    if not candidates:
        raise TopologyError(f"{topology.name} has no switch that could add anything up")
    best, best_depth, best_above = "", len(topology.nodes), dict[str, str]()
    for name in candidates:
        above, depth = _spread(topology, name)
        reached = max((depth.get(leaf, len(topology.nodes)) for leaf in leaves.values()), default=0)
        if reached < best_depth:
            best, best_depth, best_above = name, reached, above
    if not best:
        raise TopologyError(f"{topology.name}: no switch reaches all hosts by way of switches alone")
    up = {name: topology.links_between(name, leaf)[0] for name, leaf in leaves.items()}
    for leaf in leaves.values():
        while leaf != best and leaf not in up:
            up[leaf] = topology.links_between(leaf, best_above[leaf])[0]
            leaf = best_above[leaf]
    _check_cables(topology, up)
    return AggregationTree(chosen, best, up)


def _leaf(topology: Topology, host: str) -> str:
    """The switch of a host."""
    if topology.node(host).kind is not NodeKind.HOST:
        raise TopologyError(f"{host} is a {topology.node(host).kind}, not a host")
    neighbors = topology.neighbors(host)
    if len(topology.out_links(host)) != 1 or topology.node(neighbors[0]).kind is not NodeKind.SWITCH:
        raise TopologyError(
            f"{host} has links to {', '.join(neighbors)}: a host of an aggregation tree has one, to a switch"
        )
    return neighbors[0]


def _spread(topology: Topology, root: str) -> tuple[dict[str, str], dict[str, int]]:
    """Breadth first over switches: the one above each, and how far it is from the root."""
    above: dict[str, str] = {}
    depth, waiting = {root: 0}, deque([root])
    while waiting:
        name = waiting.popleft()
        for other in topology.neighbors(name):
            if other not in depth and topology.node(other).kind is NodeKind.SWITCH:
                depth[other], above[other] = depth[name] + 1, name
                waiting.append(other)
    return above, depth


def _check_cables(topology: Topology, up: Mapping[str, Link]) -> None:
    for link in up.values():
        if link.reverse not in topology.out_links(link.destination):
            raise TopologyError(
                f"there is no link back from {link.destination} to {link.source}: results could not return"
            )


def configs_of(topology: Topology, tree: AggregationTree, config: JobConfig) -> dict[str, JobConfig]:
    """Parts of a job by switch. ``config.children`` are the hosts in order; their ports are filled in here. Raises
    TopologyError where a switch has more children than a bitmap has bits."""
    names = tree.switches
    place = {name: index for index, name in enumerate(names)}
    leaf_of = [tree.up[host].destination for host in tree.hosts]
    switches = []
    for name in names:
        # Numbers of ranks stand for ports: those of different switches must differ here, and not in a topology.
        ports = frozenset(rank for rank, leaf in enumerate(leaf_of) if leaf == name)
        link = tree.up.get(name)
        if link is None:
            switches.append(TreeSwitch(ports))
            continue
        ends = topology.port(name, link), topology.port(link.destination, link)
        allowed = all(child.zero_checksum_allowed for child in config.children)
        switches.append(TreeSwitch(ports, place[link.destination], *ends, zero_checksum_allowed=allowed))
    children = tuple(replace(child, port=rank) for rank, child in enumerate(config.children))
    try:
        parts = split_job(replace(config, children=children), switches)
    except TreeRefused as error:
        raise TopologyError(str(error)) from error
    own_ports = [topology.port(leaf, tree.up[host]) for host, leaf in zip(tree.hosts, leaf_of, strict=True)]
    return {names[index]: replace(part, children=_at_ports(part, own_ports)) for index, part in parts.items()}


def _at_ports(part: JobConfig, ports: Sequence[int]) -> tuple[Child, ...]:
    """Children with the switch's own port numbers; those of switches below have them already."""
    return tuple(child if child.workers else replace(child, port=ports[child.child]) for child in part.children)
