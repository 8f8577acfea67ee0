"""All costs of the paper to the dollar; its parts are those of the topologies that we build."""

from __future__ import annotations

from collections import Counter

import pytest

from emulator.network.topology.builders import leaf_spine, torus
from emulator.network.topology.hxmesh import cost
from emulator.network.topology.hxmesh.hammingmesh import HammingMesh, hamming_mesh
from emulator.network.topology.parts import NodeKind

DOLLARS = [
    *(25_303_040, 17_644_320, 13_235_376, 27_918_336, 10_823_680, 5_411_840, 2_705_920, 2_469_888),
    *(679_903_232, 419_094_336, 270_822_720, 429_219_840, 448_233_472, 224_116_736, 43_294_720, 39_518_208),
]


def test_sixteen_costs_to_the_dollar() -> None:
    rows = cost.published()
    assert [row.network.dollars for row in rows] == DOLLARS
    for row in rows:
        assert row.network.dollars / 1e6 == pytest.approx(
            row.million_dollars, abs=0.51 if row.network.dollars > 1e8 else 0.06
        )
        dragonfly = "Dragonfly" in row.network.name
        assert row.network.diameter == row.diameter + 2 * dragonfly


@pytest.mark.parametrize("shape", [((1, 1), (32, 32)), ((2, 2), (16, 16)), ((4, 4), (8, 8)), ((1, 1), (4, 40))])
def test_parts_of_a_hamming_mesh_are_those_of_the_topology(shape: tuple[tuple[int, int], tuple[int, int]]) -> None:
    board, grid = shape
    topology = hamming_mesh(grid, board)
    parts = cost.hamming_mesh("", HammingMesh(board, grid)).parts
    cables: Counter[str] = Counter()
    for link in topology.links[::2]:
        if link.link_class.name != "board":
            cables["copper" if link.destination.startswith("row") and link.source.startswith("h") else "fibre"] += 1
    assert (parts.copper, parts.fibre) == (cables["copper"], cables["fibre"])
    if grid == (32, 32):
        assert parts.switches == len(topology.names(NodeKind.SWITCH))


def test_parts_of_a_fat_tree_and_a_torus_are_those_of_the_topology() -> None:
    tree = leaf_spine(32, 32, 16)
    parts = cost.fat_tree("", 1024, 2).parts
    assert parts.switches == len(tree.names(NodeKind.SWITCH))
    assert parts.copper == len(tree.hosts)
    assert parts.fibre == 32 * 32  # two parallel cables of a leaf and a spine where the topology has one
    boards = {node.name: tuple(place // 2 for place in node.coordinates) for node in torus(8, 12).nodes}
    between = sum(boards[link.source] != boards[link.destination] for link in torus(8, 12).links) // 2
    assert cost.torus("", 8, 12).parts == cost.Parts(0, 0, between)
