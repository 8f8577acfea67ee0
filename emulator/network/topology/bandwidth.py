"""What bandwidth links allow to patterns of traffic, where every host spreads what it sends over all shortest routes.

At each node traffic divides over the links of shortest routes in proportion to the number of routes that go on there.
So these are bounds from link loads: what switches with perfect queues would reach, under this routing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.network.topology.parts import TopologyError
from emulator.network.topology.topology import Topology

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]


class Bound(NamedTuple):
    """Bits per second of each host, and as a share of what its links inject."""

    mean_bps: float
    least_bps: float
    mean_share: float
    least_share: float


class _Graph(NamedTuple):
    """Links of each node, out and in: link ``out[out_from[n]:out_from[n + 1]]`` leaves node n."""

    out_from: Int64s
    out: Int64s
    in_from: Int64s
    into: Int64s
    source: Int64s
    destination: Int64s


def alltoall(topology: Topology) -> Bound:
    """Every host sends the same to every other: the most loaded link decides for all."""
    graph, hosts, rates, injected_bps = _prepare(topology)
    loads = np.zeros(len(rates))
    demand = np.zeros(len(topology.nodes))
    demand[hosts] = 1 / (len(hosts) - 1)
    for host in hosts:
        demand[host] = 0
        _spread(graph, host, demand, loads)
        demand[host] = 1 / (len(hosts) - 1)
    bps = 1 / float((loads / rates).max())
    share = bps / float(injected_bps.mean())
    return Bound(bps, bps, share, share)


def permutation(topology: Topology, seed: int = 1) -> Bound:
    """Every host sends to one other, and gets from one: max-min fair rates (Bertsekas, Gallager 1992, 6.5.2)."""
    graph, hosts, rates, injected_bps = _prepare(topology)
    random = np.random.default_rng(seed)
    order = random.permutation(len(hosts))
    peers = np.empty(len(hosts), np.int64)
    peers[order] = np.roll(order, -1)  # one cycle: nobody sends to itself
    parts = np.zeros(len(rates))
    rows = []
    for host, peer in zip(hosts, hosts[peers], strict=True):
        demand = np.zeros(len(topology.nodes))
        demand[peer] = 1
        parts[:] = 0
        _spread(graph, host, demand, parts)
        rows.append((np.flatnonzero(parts), parts[parts > 0]))
    flow = np.repeat(np.arange(len(rows)), [len(links) for links, _ in rows])
    bps = _fair_rates(flow, np.concatenate([r[0] for r in rows]), np.concatenate([r[1] for r in rows]), rates)
    shares = bps / injected_bps
    return Bound(float(bps.mean()), float(bps.min()), float(shares.mean()), float(shares.min()))


def _fair_rates(flow: Int64s, link: Int64s, part: Floats, rates: Floats) -> Floats:
    """Part ``part[i]`` of flow ``flow[i]`` is on ``link[i]``. All flows grow alike until a link of theirs is full."""
    found = np.zeros(flow.max() + 1)
    growing = np.ones(len(found), np.bool_)
    left = rates.copy()
    while growing.any():
        load = np.bincount(link, part * growing[flow], len(rates))
        used = load > 1e-12
        growth = float((left[used] / load[used]).min())
        found[growing] += growth
        left -= growth * load
        full = used & (left <= 1e-9 * rates)
        growing[flow[full[link]]] = False
    return found


def _prepare(topology: Topology) -> tuple[_Graph, Int64s, Floats, Floats]:
    """The graph, the hosts' nodes, the links' rates, and what each host's links inject. Raises TopologyError."""
    index = {node.name: number for number, node in enumerate(topology.nodes)}
    hosts = np.array([index[name] for name in topology.hosts], np.int64)
    if len(hosts) < 2:
        raise TopologyError(f"{topology.name}: bandwidth is between two hosts or more", ("nodes",))
    source = np.array([index[link.source] for link in topology.links], np.int64)
    destination = np.array([index[link.destination] for link in topology.links], np.int64)
    rates = np.array([link.rate_bps for link in topology.links], np.float64)
    nodes = np.arange(len(index) + 1)
    out, into = np.argsort(source, kind="stable"), np.argsort(destination, kind="stable")
    out_from, in_from = np.searchsorted(source[out], nodes), np.searchsorted(destination[into], nodes)
    injected_bps = np.bincount(source, rates, len(index)).astype(np.float64)[hosts]
    return _Graph(out_from, out, in_from, into, source, destination), hosts, rates, injected_bps


@njit
def _spread(graph: _Graph, start: int, demand: Floats, loads: Floats) -> None:
    """Adds to ``loads`` [links] what a node sends to the others, ``demand`` [nodes]: breadth first, then back from the
    farthest node, as Brandes (2001) counts shortest paths."""
    nodes = len(demand)
    distance = np.full(nodes, -1, np.int64)
    routes = np.zeros(nodes)
    order = np.empty(nodes, np.int64)
    distance[start], routes[start], order[0] = 0, 1.0, start
    reached = 1
    at = 0
    while at < reached:
        node = order[at]
        at += 1
        for each in range(graph.out_from[node], graph.out_from[node + 1]):
            other = graph.destination[graph.out[each]]
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                order[reached] = other
                reached += 1
            if distance[other] == distance[node] + 1:
                routes[other] += routes[node]
    through = demand.copy()
    for place in range(reached - 1, 0, -1):
        node = order[place]
        if through[node] == 0:
            continue
        for each in range(graph.in_from[node], graph.in_from[node + 1]):
            link = graph.into[each]
            before = graph.source[link]
            if distance[before] == distance[node] - 1:
                part = through[node] * routes[before] / routes[node]
                loads[link] += part
                through[before] += part
