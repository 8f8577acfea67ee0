"""The tree of links that hosts share, from a probe: of exact latencies to the nanosecond, of a cloud with jitter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.network.topology.parts import TopologyError
from emulator.network.topology.topology import Topology
from hostagent.planner.placement.cloud import Cloud, make_cloud
from hostagent.planner.placement.costs import Costs, PlacementError, read_costs, write_costs
from hostagent.planner.placement.evaluate import evaluate
from hostagent.planner.placement.model import ALGORITHMS
from hostagent.planner.placement.network import across, infer_network
from hostagent.planner.placement.probe import probe_cloud

Link = tuple[frozenset[str], int, int]


def links_by_hosts(topology: Topology) -> list[Link]:
    """Of each link, the hosts at the side that has not the first one, its latency and its rate."""
    found = []
    for link in topology.links:
        side, ahead = {link.destination}, [link.destination]
        while ahead:
            near = {each.destination for each in topology.out_links(ahead.pop())} - side - {link.source}
            side |= near
            ahead += near
        hosts = frozenset(side.intersection(topology.hosts))
        if min(topology.hosts) not in hosts:
            found.append((hosts, link.latency_ns, link.rate_bps))
    return sorted(found, key=lambda link: sorted(link[0]))


def true_links(cloud: Cloud) -> list[Link]:
    return links_by_hosts(cloud.topology)


@pytest.mark.parametrize("shape", [(3, 2, 2), (3, 3, 1, 2)])
def test_exact_latencies_are_an_exact_tree(shape: tuple[int, ...]) -> None:
    """Except that where a switch has two links only, they are one."""
    cloud = make_cloud(shape, 1, noisy=0.3)
    costs = cloud.costs()
    found = infer_network(costs, lambda pairs: [0.8 * len(pairs)] * len(pairs))
    summed: dict[frozenset[str], int] = {}
    for hosts, latency_ns, _ in true_links(cloud):
        summed[hosts] = summed.get(hosts, 0) + latency_ns
    assert {hosts: latency_ns for hosts, latency_ns, _ in links_by_hosts(found)} == summed


@pytest.mark.parametrize("count", [2, 3])
def test_few_hosts(count: int) -> None:
    latency_ns = 30_000.0 * ~np.eye(count, dtype=bool)
    costs = Costs(tuple("abc"[:count]), latency_ns, 0.8 * np.sign(latency_ns))
    found = infer_network(costs, lambda pairs: [0.8] * len(pairs))
    assert found.hosts == costs.names
    assert {(link.latency_ns, link.rate_bps) for link in found.links} == {(30_000 // (count - 1), 10_000_000_000)}


def test_as_many_pairs_as_there_can_be_cross_a_link() -> None:
    """Three hosts near each other: to the nearest three others, and to three in several places."""
    latency_ns = np.full((9, 9), 70.0)
    latency_ns[:3, 3:6] = latency_ns[3:6, :3] = 60.0
    nearest, spread = across({0, 1, 2}, latency_ns, list(range(9)))
    assert {*nearest[0], *nearest[1], *nearest[2]} == {*range(6)}
    assert spread == [(0, 3), (1, 5), (2, 7)]
    nearest, spread = across({*range(6)}, latency_ns, list(range(9)))
    assert sorted(pair[0] for pair in spread) == [6, 7, 8]


def test_a_probe_with_jitter_finds_the_links_and_their_rates() -> None:
    cloud = make_cloud((3, 2, 3), 4, noisy=0.3)
    network = probe_cloud(cloud, 4, large_bytes=65_536).network
    assert network is not None
    found, true = links_by_hosts(network), true_links(cloud)
    assert [each[0] for each in found] == [each[0] for each in true]
    for (_, *numbers), (_, *expected) in zip(found, true, strict=True):
        assert numbers == pytest.approx(expected, rel=0.1, abs=1_000)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", [1, 5])
def test_predicted_and_simulated_gains_agree_where_links_are_shared(algorithm: str, seed: int) -> None:
    cloud = make_cloud((4, 2, 2), seed, noisy=0.25)
    found = evaluate(cloud, probe_cloud(cloud, seed, large_bytes=65_536), algorithm, 65_536)
    assert found.measured > 1.1
    assert found.predicted == pytest.approx(found.measured, rel=0.1)


def test_the_file_has_the_network(tmp_path: Path) -> None:
    costs, file = probe_cloud(make_cloud((2, 2, 2), 1), large_bytes=4_096), tmp_path / "costs.json"
    write_costs(costs, file)
    assert read_costs(file).network == costs.network
    text = file.read_text()
    file.write_text(text.replace('"duplex"', '"duplx"', 1))
    with pytest.raises(TopologyError, match=r"costs.json: network:1: links\[0\].duplx: unknown field 'duplx'"):
        read_costs(file)
    assert costs.network is not None
    with pytest.raises(PlacementError, match="network: its hosts are not those of the names"):
        Costs(("a", "b"), np.zeros((2, 2)), np.zeros((2, 2)), costs.network)
