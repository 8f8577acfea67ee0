"""Simulated clouds: virtual machines in machines, racks and pods, and a job's ranks at places that nobody chose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule.columns import Ragged
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind
from emulator.network.topology.topology import Topology
from hostagent.planner.placement.costs import Costs, PlacementError

Ranks = NDArray[np.integer]
CORE = "core"
LEVELS = ("pod", "rack", "machine", "vm")
LATENCY_NS = {"pod": 50_000, "rack": 35_000, "machine": 10_000, "vm": 5_000}
"""Of the link above each, one way: VMs of one machine are 10 us apart, of one rack 30, of one pod 100, else 200."""
RATE_BPS = 10_000_000_000
NOISE_LATENCY_NS = 25_000
"""What a noisy neighbour adds at the uplink of its machine, one way, for queues that it fills."""
MOST_VMS = 1_024


@dataclass(frozen=True)
class Cloud:
    """Rank i was given the virtual machine ``places[i]``."""

    topology: Topology
    places: tuple[str, ...]

    def routes(self, source: Ranks, destination: Ranks) -> Ragged:
        """Between two ranks each: up to the lowest switch above both, and down. Indexes of links."""
        up, down = self._to_the_core[source], self._to_the_core[destination]
        hops = np.concatenate([up, (down ^ 1)[:, ::-1]], axis=1)  # `make_cloud` lists a link's reverse after it
        used = np.concatenate([up != down, (up != down)[:, ::-1]], axis=1)
        return Ragged(Ragged.counted(used.sum(axis=1)).offsets, hops[used])

    def costs(self) -> Costs:
        """What a perfect probe would find: the latency and the slowest link of the way between each two ranks."""
        latency_ns, byte_ns = np.zeros((2, len(self.places), len(self.places)))
        i, j = np.triu_indices(len(self.places), 1)
        routes = self.routes(i, j)
        links = [self.topology.links[link] for link in routes.values]
        np.add.at(latency_ns, (i[routes.owners], j[routes.owners]), [link.latency_ns for link in links])
        np.maximum.at(byte_ns, (i[routes.owners], j[routes.owners]), [8e9 / link.rate_bps for link in links])
        return Costs(self.places, latency_ns + latency_ns.T, byte_ns + byte_ns.T)

    @cached_property
    def _to_the_core(self) -> NDArray[np.int32]:
        """[rank, level]: indexes of links."""
        up = {link.source: index for index, link in enumerate(self.topology.links) if index % 2 == 0}
        found = []
        for place in self.places:
            found.append([up[place]])
            while (above := self.topology.links[found[-1][-1]].destination) != CORE:
                found[-1].append(up[above])
        return np.array(found, np.int32)


def make_cloud(shape: tuple[int, ...], seed: int, noisy: float = 0.0, rate_bps: int = RATE_BPS) -> Cloud:
    """``shape``: racks, machines in each, VMs in each; or pods first. ``noisy``: the share of machines, 0 to 1, with a
    neighbour that halves the rate of their uplink and adds `NOISE_LATENCY_NS`. The seed decides which, and the places.

    Host names of VMs are of their place: vm0.1.2 is VM 2 in machine 1 of rack 0. Raises PlacementError.
    """
    if len(shape) not in (3, 4) or min(shape) < 1 or not 2 <= prod(shape) <= MOST_VMS:
        text = "x".join(map(str, shape))
        raise PlacementError(
            f"a cloud of {text}: it is RACKSxMACHINESxVMS, or PODSxRACKSxMACHINESxVMS, to {MOST_VMS:,}"
        )
    if not 0 <= noisy <= 1:
        raise PlacementError(f"a share of {noisy:g} noisy machines: it is from 0 to 1")
    random = np.random.default_rng(seed)
    levels = LEVELS[-len(shape) :]
    nodes, links = [Node(CORE, NodeKind.SWITCH)], []
    machines = prod(shape[:-1])
    is_noisy = set(random.permutation(machines)[: round(noisy * machines)].tolist())
    for depth, level in enumerate(levels):
        usual = LinkClass(level, rate_bps, LATENCY_NS[level])
        loud = LinkClass("noisy", rate_bps // 2, LATENCY_NS[level] + NOISE_LATENCY_NS)
        for number, path in enumerate(product(*map(range, shape[: depth + 1]))):
            name = level + ".".join(map(str, path))
            above = levels[depth - 1] + ".".join(map(str, path[:-1])) if depth else CORE
            nodes.append(Node(name, NodeKind.HOST if level == "vm" else NodeKind.SWITCH))
            up = Link(name, above, loud if level == "machine" and number in is_noisy else usual)
            links += [up, up.reverse]
    topology = Topology("cloud-" + "x".join(map(str, shape)), tuple(nodes), tuple(links))
    return Cloud(topology, tuple(topology.hosts[index] for index in random.permutation(prod(shape))))
