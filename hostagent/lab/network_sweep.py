"""A sweep of simulated allreduces: topology x hosts x size x lanes x window x loss x seed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from emulator.network.topology.parts import TopologyError
from emulator.network.topology.topology import Topology
from emulator.sweep import Row
from hostagent.lab.simulated_job import SimulatedJob

ELEMENT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Point:
    """One simulation; the sums are of float32."""

    topology: Topology
    hosts: int
    """How many take part, the topology's first ones."""
    size_bytes: int
    lanes: int
    window: int
    loss: float
    seed: int


def grid(
    topologies: Sequence[Topology],
    hosts: Sequence[int],
    sizes_bytes: Sequence[int],
    lanes: Sequence[int],
    windows: Sequence[int],
    losses: Sequence[float],
    seeds: Sequence[int],
) -> list[Point]:
    """All combinations; without ``hosts`` all of each topology's. Raises TopologyError where one has too few."""
    points = []
    for topology in topologies:
        counts = hosts or [len(topology.hosts)]
        if max(counts) > len(topology.hosts):
            raise TopologyError(f"{max(counts)} hosts: {topology.name} has {len(topology.hosts)}")
        others = product(counts, sizes_bytes, lanes, windows, losses, seeds)
        points += [Point(topology, *values) for values in others]
    return points


def key_of(point: Point) -> Row:
    """The columns that say which point a row is of."""
    names = ("hosts", "size_bytes", "lanes", "window", "loss", "seed")
    return {"topology": point.topology.name} | {name: getattr(point, name) for name in names}


def run_point(point: Point) -> Row:
    """Simulate one allreduce; its sums are verified."""
    began_s = time.perf_counter()
    job = SimulatedJob(
        point.topology,
        hosts=point.topology.hosts[: point.hosts],
        lanes=point.lanes,
        window=point.window,
        loss=point.loss,
        seed=point.seed,
    )
    call = job.allreduce(point.size_bytes // ELEMENT_BYTES)
    return {
        "elapsed_ms": call.elapsed_ns / 1e6,
        "tensor_mbit": round(8e3 * point.size_bytes / call.elapsed_ns, 3),
        "chunks": call.chunks,
        "retransmissions": call.retransmissions,
        "lost": call.lost,
        "dropped": call.dropped,
        "hops": call.hops,
        "wall_s": round(time.perf_counter() - began_s, 3),
    }
