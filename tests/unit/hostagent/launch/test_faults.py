"""Where a run's links are: every cable of the topology is at one port of a switch."""

from __future__ import annotations

import pytest

from emulator.network.faults.files import parse_faults
from emulator.network.topology.builders import star
from emulator.ports.spec import parse_port
from hostagent.launch.faults import LiveFaults, RunNetwork, changeable


@pytest.mark.parametrize("fan_outs", [(), (3,), (2, 3), (2, 2, 2)])
def test_each_link_is_at_one_port(fan_outs: tuple[int, ...]) -> None:
    network = RunNetwork(3, fan_outs)
    at = [name for names in network.cables.values() for name in names]
    assert sorted(at) == sorted(link.name for link in network.topology.links)
    for (index, _), (into, out_of) in network.cables.items():
        assert network.topology.link(into).destination == network.switches[index]
        assert network.topology.link(out_of).source == network.switches[index]


def test_hosts_are_at_the_ports_of_their_ranks() -> None:
    network = RunNetwork(4, (2, 2))
    assert network.switches == ["root", "s0", "s1"]
    assert network.cables[2, 3] == ("h2->s1", "s1->h2")


@pytest.mark.parametrize("given", ["", "loss=1%&seed=3", "loss=1%&direction=in"])
def test_ports_can_be_changed_both_ways_whatever_they_do(given: str) -> None:
    spec = parse_port(f"1=shm:a?{changeable(given, 7)}")
    assert spec.inbound is not None
    assert spec.outbound is not None
    assert spec.inbound.is_changeable
    assert spec.inbound.seed == (3 if "seed" in given else 7)
    assert (spec.inbound.loss, spec.outbound.loss > 0) == (
        0.01 if given else 0,
        "direction" not in given and bool(given),
    )


def test_slowed_ranks_are_known_before_the_run() -> None:
    network = RunNetwork(4)
    script = parse_faults("faults: [{at: 0s, slow: h2, to: 0%, for: 1s}, {at: 0s, kill: h1}]", star(4))
    assert LiveFaults(script, network, "", 4).slowed == (2,)
