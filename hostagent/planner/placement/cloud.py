"""Simulated clouds: virtual machines in machines, racks and pods, and a job's ranks at places that nobody chose."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind
from emulator.network.topology.topology import Topology
from hostagent.planner.placement.costs import Costs, PlacementError

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

    def route(self, source: int, destination: int) -> list[Link]:
        """Between two ranks: up to the lowest switch above both, and down."""
        up, down = (self._to_the_core(self.places[rank]) for rank in (source, destination))
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return up + [link.reverse for link in reversed(down)]

    def costs(self) -> Costs:
        """What a perfect probe would find: the latency and the slowest link of the way between each two ranks."""
        count = len(self.places)
        latency_ns, byte_ns = np.zeros((2, count, count))
        for i in range(count):
            for j in range(i):
                links = self.route(i, j)
                latency_ns[i, j] = latency_ns[j, i] = sum(link.latency_ns for link in links)
                byte_ns[i, j] = byte_ns[j, i] = max(8e9 / link.rate_bps for link in links)
        return Costs(self.places, latency_ns, byte_ns)

    def _to_the_core(self, name: str) -> list[Link]:
        found = []
        while name != CORE:
            found.append(self.topology.out_links(name)[0])  # `make_cloud` lists the link up before those down
            name = found[-1].destination
        return found


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
