"""Allreduces on grids: cycles without common edges, sums, bytes, closed forms of their times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from emulator.network.messages.simulate import simulate
from emulator.network.schedule.files import parse_schedule, schedule_json
from emulator.network.schedule.grids import (
    BACK,
    EAST,
    GRID_GENERATORS,
    SOUTH,
    STEPS,
    Grid,
    hamiltonian_cycles,
    line_switches,
    rings,
    torus,
)
from emulator.network.schedule.parts import Reduce, ScheduleError, Send
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.verify import verify
from emulator.network.topology import builders
from emulator.network.topology.hxmesh.hammingmesh import hamming_mesh
from emulator.network.topology.parts import LinkClass, TopologyError
from emulator.network.topology.topology import Topology

ALPHA_NS, LATENCY_NS = 30, 50
LINK = LinkClass("host", 8_000_000_000, LATENCY_NS, ALPHA_NS)
HOP_NS = ALPHA_NS + LATENCY_NS
NETWORKS = [
    builders.torus(2, 2, host_link=LINK),
    builders.torus(4, 6, host_link=LINK),
    builders.torus(6, 4, host_link=LINK),
    hamming_mesh((2, 2), host_link=LINK),
    hamming_mesh((4, 4), (1, 1), host_link=LINK),
    hamming_mesh((1, 2), (4, 2), host_link=LINK),
    hamming_mesh((2, 4), host_link=LINK, switch_link=LINK, radix=4),
]


@pytest.mark.parametrize("rows", range(4, 17, 2))
@pytest.mark.parametrize("columns", range(4, 17, 2))
def test_two_cycles_have_all_ranks_and_share_no_edge(rows: int, columns: int) -> None:
    ranks, directions = hamiltonian_cycles(rows, columns)
    edges = set()
    for cycle, ways in zip(ranks.tolist(), directions.tolist(), strict=True):
        assert sorted(cycle) == list(range(rows * columns))
        for rank, peer, way in zip(cycle, cycle[1:] + cycle[:1], ways, strict=True):
            row, column = divmod(rank, columns)
            assert peer == (row + STEPS[way][0]) % rows * columns + (column + STEPS[way][1]) % columns
            edges.add((rank, way) if way in (EAST, SOUTH) else (peer, BACK[way]))
    assert len(edges) == 2 * rows * columns


@pytest.mark.parametrize("topology", NETWORKS, ids=lambda topology: topology.name)
def test_routes_to_neighbors_share_no_link(topology: Topology) -> None:
    used = Grid.of(topology).routes
    assert np.bincount(used[used >= 0]).max() == 1


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("topology", NETWORKS, ids=lambda topology: topology.name)
def test_a_torus_adds_up(topology: Topology, both_ways: bool) -> None:
    ranks = len(topology.hosts)
    size = 4 * 4 * ranks
    schedule = torus(topology, size, both_ways)
    run = simulate(schedule)
    moved = verify(schedule, run.start_ns, run.finish_ns)
    assert moved.sent_bytes.tolist() == [2 * (ranks - 1) * size // ranks] * ranks


@pytest.mark.parametrize("topology", NETWORKS, ids=lambda topology: topology.name)
def test_rings_add_up_and_use_all_links_alike(topology: Topology) -> None:
    ranks = len(topology.hosts)
    size = 4 * 4 * ranks
    schedule = rings(topology, size)
    run = simulate(schedule)
    moved = verify(schedule, run.start_ns, run.finish_ns)
    assert moved.sent_bytes.tolist() == [2 * (ranks - 1) * size // ranks] * ranks
    leaving = [moved.link_bytes[i] for i, link in enumerate(topology.links) if link.source in topology.hosts]
    # each way around each cycle; in a HammingMesh all links of hosts are on one, and a torus has no others
    assert min(leaving) > 0
    assert max(leaving) == 2 * (ranks - 1) * size // ranks // 4
    text = schedule_json(schedule)
    assert schedule_json(parse_schedule(text)) == text


@pytest.mark.parametrize("build", [rings, torus])
def test_parts_make_the_whole(build: Callable[..., Schedule]) -> None:
    """Each part is right, and together they have the messages of the whole, which has chunks of two sizes."""
    topology, size = builders.torus(4, 6, host_link=LINK), 4 * 5_003
    whole = build(topology, size)
    count = sum(each.count for each in whole.chunks)
    bytes_moved, seen = np.zeros(len(topology.links), np.int64), set()
    for chunks in (range(7), range(7, count - 1), range(count - 1, count)):
        part = build(topology, size, chunks=chunks)
        bytes_moved += verify(part).link_bytes
        seen |= messages(part, chunks.start)
    assert np.array_equal(bytes_moved, verify(whole).link_bytes)
    assert seen == messages(whole, 0)


def messages(schedule: Schedule, first: int) -> set[tuple[type, int, int, int]]:
    """(kind, source, destination, chunk), chunks from ``first`` on."""
    found = set()
    for task in schedule:
        assert isinstance(task, Send | Reduce)
        found |= {(type(task), task.source, task.destination, first + chunk) for chunk in task.chunks}
    return found


@pytest.fixture(scope="module")
def largest() -> Topology:
    return hamming_mesh((64, 64), host_link=LINK)


@pytest.mark.parametrize("build", [rings, torus])
@pytest.mark.parametrize("place", [0, 11_111, 32_767])
def test_of_16384_accelerators_chunks_add_up(build: Callable[..., Schedule], place: int, largest: Topology) -> None:
    """A chunk of each half of the data, or of each cycle: its 32,766 messages, or more in blocks, sum it at all."""
    ranks = len(largest.hosts)
    for chunk in (place, place + 32_768) if build is rings else (place,):
        moved = verify(build(largest, 1 << 20, chunks=range(chunk, chunk + 1)))
        assert moved.sent_bytes.sum() == 2 * (ranks - 1) * ((1 << 20) // (4 * ranks if build is rings else 2 * ranks))


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (4, 8), (3, 5)])
def test_times_on_a_torus_are_the_closed_forms(rows: int, columns: int) -> None:
    ranks, topology = rows * columns, builders.torus(rows, columns, host_link=LINK)
    size = 4 * 4 * ranks * 100  # a byte takes a ns
    if rows % 2 == 0:
        assert simulate(rings(topology, size)).elapsed_ns == 2 * (ranks - 1) * (HOP_NS + size // ranks // 4)
    if rows == columns:
        block = size // 2 // rows
        expected = 4 * (rows - 1) * HOP_NS + 2 * (rows - 1) * (block + block // rows)
        assert simulate(torus(topology, size)).elapsed_ns == expected
    assert verify(torus(topology, size)).sent_bytes.max() == 2 * (ranks - 1) * size // ranks


def test_switches_of_rows_and_columns_add_up() -> None:
    size = 1 << 20
    for topology, hops in ((hamming_mesh((3, 4), host_link=LINK), 4), (NETWORKS[-1], 8)):
        schedule = line_switches(topology, size)
        run = simulate(schedule)
        moved = verify(schedule, run.start_ns, run.finish_ns)
        assert set(moved.link_bytes.tolist()) <= {0, size}
        assert run.elapsed_ns == pytest.approx(size + hops * HOP_NS, abs=ALPHA_NS * hops)


def test_rings_win_large_allreduces_and_the_torus_small_ones() -> None:
    topology = hamming_mesh((4, 4), host_link=LinkClass("host", 400_000_000_000, 40))
    small, large = 1 << 14, 1 << 26
    assert simulate(torus(topology, small)).elapsed_ns < simulate(rings(topology, small)).elapsed_ns
    assert simulate(torus(topology, large)).elapsed_ns > 1.5 * simulate(rings(topology, large)).elapsed_ns


@pytest.mark.parametrize(
    ("name", "topology", "text"),
    [
        ("grid-rings", builders.torus(3, 4), "3x4 ranks: cycles take even numbers"),
        ("grid-rings", builders.torus(2, 4), "2x4 ranks: cycles take even numbers"),
        ("grid-torus", builders.star(4), "star-4: hosts are not in a grid"),
        ("grid-torus", hamming_mesh((1, 2), (1, 2)), "1x4 ranks: a torus has two rows"),
        ("line-switches", hamming_mesh((2, 2), (1, 3)), "topology: boards of 1x3 have ranks without ports"),
        ("line-switches", builders.torus(4, 4), "name: 'torus-4x4' is no HammingMesh"),
        ("grid-rings", builders.torus(4, 4), "16 bytes are too few for 64 chunks"),
    ],
)
def test_what_cannot_be_built(name: str, topology: Topology, text: str) -> None:
    with pytest.raises((ScheduleError, TopologyError)) as caught:
        GRID_GENERATORS[name](topology, 16 if topology.name == "torus-4x4" else 1 << 16)
    assert text in str(caught.value)
