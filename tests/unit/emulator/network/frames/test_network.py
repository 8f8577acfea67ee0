"""A network's switches, hosts and errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from emulator.network.frames.network import Network
from emulator.network.topology.builders import star, torus
from emulator.network.topology.parts import LinkClass, TopologyError
from emulator.p4.library import find_program
from emulator.switch.core import Switch
from emulator.v1model.compiled import load
from tests.labs.scripted_host import ScriptedHost


def test_a_switch_sends_what_its_program_says(tmp_path: Path) -> None:
    """Ports 1 and 2 are joined: what one host sends the other gets, after two links of 10 Gbit/s and 1 us."""
    joined = tmp_path / "joined.p4"
    bridge = Path(find_program("bridge.p4"))
    shutil.copytree(bridge.parent / "shared", tmp_path / "shared")
    joined.write_text(bridge.read_text().replace("0x100", "3"))
    switch = Switch()
    switch.load(load(joined))
    network = Network(star(2), frame_bytes=1_250)
    network.add_switch("s0", switch)
    hosts = [ScriptedHost([(0, 1_250), (5_000, 125)], expected=1), ScriptedHost([(0, 250)], expected=2)]
    for number, host in enumerate(hosts):
        network.add_host(f"h{number}", host.host)
        network.submitted(f"h{number}")
    assert network.run()
    assert [host.arrivals for host in hosts] == [[(2_400, 250)], [(4_000, 1_250), (7_200, 125)]]
    assert network.hops == 6


def test_frames_to_a_switch_without_a_program_are_counted() -> None:
    network = Network(star(2), frame_bytes=100)
    scripted = ScriptedHost([(0, 60)] * 3, expected=1)
    network.add_host("h0", scripted.host)
    network.submitted("h0")
    assert not network.run()
    assert network.stray == 3


def test_a_frame_that_no_link_carries_is_refused() -> None:
    with pytest.raises(TopologyError, match="fewer lanes, or links with a larger MTU"):
        Network(star(2, host_link=LinkClass("thin", 10**9, mtu_bytes=500)), frame_bytes=1090)


def test_a_host_with_several_links_is_refused() -> None:
    network = Network(torus(3, 3), frame_bytes=100)
    with pytest.raises(TopologyError, match="h0 has 4 links; a simulated host has one"):
        network.add_host("h0", ScriptedHost().host)


def test_a_node_of_another_kind_is_refused() -> None:
    network = Network(star(2), frame_bytes=100)
    with pytest.raises(TopologyError, match="s0 is a switch, not a host"):
        network.add_host("s0", ScriptedHost().host)
    with pytest.raises(ValueError, match="a compiled program without egress queues"):
        network.add_switch("s0", Switch())


def test_an_unknown_link_cannot_lose_frames() -> None:
    with pytest.raises(TopologyError, match="there is no link 'h0->s1'"):
        Network(star(2), frame_bytes=100, losses={"h0->s1": 0.5})
