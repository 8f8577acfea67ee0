"""Times of the rings of a grid, without a list of their messages: 2 billion of them for 16,384 ranks.

Of each ring and place only the last message is kept. Rings have no link in common, so a message waits for the one that
its rank has got a step before, and for its own links; that what it replaces has been sent follows from the chain of
messages before it. The times are those of `simulate` for `schedule.grids.rings`, to the nanosecond. Compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.network.messages.passage import Array
from emulator.network.messages.simulate import links_of
from emulator.network.schedule.generators import even_chunks
from emulator.network.schedule.grids import Grid, ring_ways
from emulator.network.topology.topology import Topology


def rings_elapsed_ns(topology: Topology, size_bytes: int) -> int:
    """Of an allreduce of ``size_bytes`` at each rank; links take one message at a time. Raises ScheduleError."""
    grid = Grid.of(topology)
    source, way = ring_ways(grid)
    ranks = source.shape[1]
    sizes = np.repeat(*np.array([(each.bytes, each.count) for each in even_chunks(size_bytes, 4 * ranks, ranks)]).T)
    links = links_of(topology, int(sizes.max()))
    route = grid.routes[way, source]  # [ring, place, hops]
    used = route >= 0
    passes, holds = (np.zeros((2, 4, ranks), np.int64) for _ in range(2))
    for larger, size in enumerate((sizes.min(), sizes.max())):
        occupied = np.where(used, -(-size * links.numerator[route] // links.denominator[route]), 0)
        delay = np.where(used, links.alpha_ns[route] + links.latency_ns[route], 0).sum(axis=2)
        passes[larger] = delay + occupied.max(axis=2)
        holds[larger] = np.where(used, links.alpha_ns[route] + occupied, 0).max(axis=2)
    is_large = (sizes > sizes.min()).astype(np.int64).reshape(4, ranks)
    return int(max(_elapsed_ns(passes[:, ring], holds[:, ring], is_large[ring]) for ring in range(4)))


@njit
def _elapsed_ns(passes: Array, holds: Array, is_large: Array) -> Any:
    """``passes``, ``holds`` [size, place]: ns from a message's start to its arrival, and until its links are free;
    ``is_large`` [chunk]: which size."""
    ranks = len(is_large)
    arrived, now_arrived, free = np.zeros(ranks, np.int64), np.zeros(ranks, np.int64), np.zeros(ranks, np.int64)
    for step in range(2 * (ranks - 1)):
        first = -step % ranks  # chunk of place 0
        for place in range(ranks):
            chunk = first + place
            size = is_large[chunk if chunk < ranks else chunk - ranks]
            start = max(arrived[place - 1], free[place])
            now_arrived[place] = start + passes[size, place]
            free[place] = start + holds[size, place]
        arrived, now_arrived = now_arrived, arrived
    return arrived.max()
