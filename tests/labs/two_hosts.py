"""Two scripted hosts on one cable."""

from __future__ import annotations

from emulator.network.frames.network import Network
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind
from emulator.network.topology.topology import Topology
from tests.labs.scripted_host import FRAME_BYTES, ScriptedHost


def two_hosts(
    frames: list[tuple[int, int]], link_class: LinkClass, *, loss: float = 0.0, seed: int = 1
) -> tuple[Network, ScriptedHost]:
    """Let a host send frames to another until nothing happens any more: the network, and the receiver."""
    cable = Link("a", "b", link_class)
    topology = Topology("pair", (Node("a", NodeKind.HOST), Node("b", NodeKind.HOST)), (cable, cable.reverse))
    network = Network(topology, frame_bytes=FRAME_BYTES, losses={"a->b": loss}, seed=seed)
    sender, receiver = ScriptedHost(frames), ScriptedHost(expected=len(frames) + 1)
    network.add_host("a", sender.host)
    network.add_host("b", receiver.host)
    network.submitted("a")
    network.submitted("b")
    assert not network.run(), "the receiver waits for one more than there are"
    return network, receiver
