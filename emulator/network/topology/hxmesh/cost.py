"""What networks cost, from counted parts: the sixteen of table II of HammingMesh (Hoefler et al. 2022).

Accelerators have 16 links of 400 Gbit/s. Trees and Dragonflies are 16 networks with a port of each accelerator
(planes), the others four networks with four ports. A link to the first switch is a copper cable in one dimension or
rack, every other link a fibre; traces on boards are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from emulator.network.topology.hxmesh.hammingmesh import RADIX, HammingMesh

SWITCH_DOLLARS, COPPER_DOLLARS, FIBRE_DOLLARS = 14_280, 272, 603
"""Of a switch of 64 ports, a copper cable of 5 m (DAC), an active optical cable of 20 m (AoC)."""
LINKS = 16
"""Of an accelerator."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Of one plane."""

    switches: int
    copper: int
    fibre: int

    @property
    def dollars(self) -> int:
        return self.switches * SWITCH_DOLLARS + self.copper * COPPER_DOLLARS + self.fibre * FIBRE_DOLLARS


@dataclass(frozen=True, slots=True)
class Network:
    """A network, all planes of it."""

    name: str
    accelerators: int
    parts: Parts
    ports: int
    """Of an accelerator in one plane."""
    diameter: int
    """Links between the farthest accelerators, those at the ends included."""

    @property
    def planes(self) -> int:
        return LINKS // self.ports

    @property
    def dollars(self) -> int:
        return self.planes * self.parts.dollars


def fat_tree(name: str, accelerators: int, levels: int, down: int = RADIX // 2) -> Network:
    """Leaves have ``down`` accelerators each, and the rest of their ports up; levels above are not tapered, and have
    as few switches as their ports allow."""
    leaves = -(-accelerators // down)
    uplinks = leaves * (RADIX - down)
    above = -(-uplinks // RADIX) + (-(-uplinks // (RADIX // 2)) if levels == 3 else 0)
    parts = Parts(leaves + above, leaves * down, uplinks * (levels - 1))
    return Network(name, leaves * down, parts, 1, 2 * levels)


def dragonfly(name: str, routers: int, accelerators: int, remote: int, groups: int) -> Network:
    """``groups`` of ``routers`` that are all joined, each with accelerators and links to other groups. A switch is as
    many routers as its ports are enough for, and the links between them are inside it."""
    together = RADIX // (routers - 1 + accelerators + remote)
    switches = groups * routers // together
    local = groups * comb(routers, 2) - switches * comb(together, 2)
    total = groups * routers * accelerators
    return Network(name, total, Parts(switches, total + local, groups * routers * remote // 2), 1, 5)


def hamming_mesh(name: str, mesh: HammingMesh) -> Network:
    """Ports of rows are copper, ports of columns fibre. Rows and columns share switches, as many as fit."""
    ports = [2 * mesh.shape[dimension] * mesh.grid[1 - dimension] for dimension in (0, 1)]
    switches = uplinks = 0
    small = []
    for line in mesh.lines:
        if line.spines:
            switches += len(line.leaves) + len(line.spines)
            uplinks += len(line.leaves) * mesh.radix // 2
        else:
            small.append(2 * line.boards)
    per_switch = mesh.radix // max(small, default=mesh.radix)
    parts = Parts(switches - (-len(small) // per_switch), ports[0], ports[1] + uplinks)
    return Network(name, mesh.shape[0] * mesh.shape[1], parts, 4, mesh.diameter)


def torus(name: str, rows: int, columns: int, board: int = 2) -> Network:
    """Boards of board x board accelerators, with fibres between neighbors and around the edges."""
    fibres = rows * (columns // board) + columns * (rows // board)
    return Network(name, rows * columns, Parts(0, 0, fibres), 4, rows // 2 + columns // 2)


@dataclass(frozen=True, slots=True)
class Published:
    """A row of the paper's table."""

    network: Network
    million_dollars: float
    diameter: int


def published() -> tuple[Published, ...]:
    """The paper's sixteen networks, of some 1,000 and 16,000 accelerators, as counted here, and its numbers.

    The diameter of Dragonflies is in links between switches, which is why it is smaller than ours by the two at the
    ends.
    """
    return (
        Published(fat_tree("fat tree", 1024, 2), 25.3, 4),
        Published(fat_tree("fat tree, 50 % tapered", 1050, 2, 42), 17.6, 4),
        Published(fat_tree("fat tree, 75 % tapered", 1071, 2, 51), 13.2, 4),
        Published(dragonfly("Dragonfly", 16, 8, 8, 8), 27.9, 3),
        Published(hamming_mesh("2-D HyperX 32x32", HammingMesh((1, 1), (32, 32))), 10.8, 4),
        Published(hamming_mesh("Hx2Mesh 16x16", HammingMesh((2, 2), (16, 16))), 5.4, 4),
        Published(hamming_mesh("Hx4Mesh 8x8", HammingMesh((4, 4), (8, 8))), 2.7, 8),
        Published(torus("2-D torus 32x32", 32, 32), 2.5, 32),
        Published(fat_tree("fat tree", 16384, 3), 680, 6),
        Published(fat_tree("fat tree, 50 % tapered", 16384, 3, 42), 419, 6),
        Published(fat_tree("fat tree, 75 % tapered", 16384, 3, 51), 271, 6),
        Published(dragonfly("Dragonfly", 32, 17, 16, 30), 429, 3),
        Published(hamming_mesh("2-D HyperX 128x128", HammingMesh((1, 1), (128, 128))), 448, 8),
        Published(hamming_mesh("Hx2Mesh 64x64", HammingMesh((2, 2), (64, 64))), 224, 8),
        Published(hamming_mesh("Hx4Mesh 32x32", HammingMesh((4, 4), (32, 32))), 43.3, 8),
        Published(torus("2-D torus 128x128", 128, 128), 39.5, 128),
    )
