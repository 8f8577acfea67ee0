"""Times of rings and torus without their messages are those of the simulated schedules, to the nanosecond."""

from __future__ import annotations

import pytest

from emulator.network.messages.grid_steps import rings_elapsed_ns, torus_elapsed_ns
from emulator.network.messages.simulate import simulate
from emulator.network.schedule import grids
from emulator.network.schedule.parts import ScheduleError
from emulator.network.topology.builders import star, torus
from emulator.network.topology.hxmesh.hammingmesh import hamming_mesh
from emulator.network.topology.parts import LinkClass
from emulator.network.topology.topology import Topology

HOST = LinkClass("host", 400_000_000_000, latency_ns=40, alpha_ns=7)
SLOW = LinkClass("switch", 100_000_000_000, latency_ns=90)


@pytest.mark.parametrize(
    "topology",
    [
        torus(2, 2, host_link=HOST),
        torus(4, 6, host_link=HOST),
        hamming_mesh((2, 2), host_link=HOST),
        hamming_mesh((4, 3), (1, 2), host_link=HOST),
        hamming_mesh((2, 4), host_link=HOST, switch_link=SLOW, radix=4),  # rows of four leaves
    ],
    ids=lambda topology: topology.name,
)
@pytest.mark.parametrize("size_bytes", [4 * 4_096, 4 * 5_003, 1 << 20])
def test_times_of_the_schedule(topology: Topology, size_bytes: int) -> None:
    assert rings_elapsed_ns(topology, size_bytes) == simulate(grids.rings(topology, size_bytes)).elapsed_ns
    assert torus_elapsed_ns(topology, size_bytes) == simulate(grids.torus(topology, size_bytes)).elapsed_ns


def test_of_1024_accelerators_rings_overtake_the_torus_between_2_and_32_mib() -> None:
    topology = hamming_mesh((16, 16), host_link=LinkClass("host", 400_000_000_000, latency_ns=40))
    for size_bytes, rings_win in ((2 << 20, False), (32 << 20, True)):
        assert (rings_elapsed_ns(topology, size_bytes) < torus_elapsed_ns(topology, size_bytes)) is rings_win


def test_what_is_refused() -> None:
    with pytest.raises(ScheduleError, match="hosts are not in a grid"):
        rings_elapsed_ns(star(8), 1 << 20)
    with pytest.raises(ScheduleError, match="64 bytes are too few for 64 chunks"):
        rings_elapsed_ns(torus(4, 4), 64)
