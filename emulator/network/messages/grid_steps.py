"""Times of rings and torus on a grid, without a list of their messages: 2 billion of them for 16,384 ranks.

In each step a rank sends what it has got in the step before, of its ring or its share of the data. So a message waits
for that one and for its own links; that what it replaces has been sent follows from the chain of messages before it.
No two routes of a grid have a link in common. The times are those of `simulate` for `schedule.grids`, to the
nanosecond. Compiled, where it takes long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.network.messages.passage import Array, Links
from emulator.network.messages.simulate import links_of
from emulator.network.schedule.generators import even_chunks
from emulator.network.schedule.grids import Grid, ring_ways, torus_steps
from emulator.network.topology.topology import Topology


def rings_elapsed_ns(topology: Topology, size_bytes: int) -> int:
    """Of an allreduce of ``size_bytes`` at each rank; links take one message at a time. Raises ScheduleError."""
    grid = Grid.of(topology)
    source, way = ring_ways(grid)
    ranks = source.shape[1]
    sizes = _chunk_bytes(size_bytes, 4 * ranks, ranks)
    links = links_of(topology, int(sizes.max()))
    route = grid.routes[way, source]  # [ring, place, hops]
    both = [_message_ns(links, route, size) for size in (sizes.min(), sizes.max())]
    passes, holds = (np.array(each) for each in zip(*both, strict=True))  # [size, ring, place]
    is_large = (sizes > sizes.min()).astype(np.int64).reshape(4, ranks)
    return int(max(_ring_ns(passes[:, ring], holds[:, ring], is_large[ring]) for ring in range(4)))


def torus_elapsed_ns(topology: Topology, size_bytes: int) -> int:
    """The same for the torus algorithm."""
    grid = Grid.of(topology)
    ranks = grid.rows * grid.columns
    before = np.concatenate([[0], np.cumsum(_chunk_bytes(size_bytes, 2 * ranks, ranks))])
    links = links_of(topology, size_bytes)
    arrived, free = np.zeros((2, ranks), np.int64), np.zeros((4, ranks), np.int64)
    elapsed_ns = 0
    for share, step in torus_steps(grid):
        _, way, source, first, length = (each.ravel() for each in np.broadcast_arrays(*step))
        passes, holds = _message_ns(links, grid.routes[way, source], before[first + length] - before[first])
        start = np.maximum(arrived[share, source], free[way, source])
        arrived[share, grid.peers[way, source]] = start + passes
        free[way, source] = start + holds
        elapsed_ns = max(elapsed_ns, int(arrived.max()))
    return elapsed_ns


def _chunk_bytes(size_bytes: int, count: int, ranks: int) -> Array:
    chunks = even_chunks(size_bytes, count, ranks)
    return np.repeat([each.bytes for each in chunks], [each.count for each in chunks])


def _message_ns(links: Links, route: Array, size: Array) -> tuple[Array, Array]:
    """From a message's start to its arrival, and until its links are free; ``route`` [..., hops]."""
    used = route >= 0
    occupied = np.where(used, -(-size[..., None] * links.numerator[route] // links.denominator[route]), 0)
    delay = np.where(used, links.alpha_ns[route] + links.latency_ns[route], 0).sum(axis=-1)
    holds = np.where(used, links.alpha_ns[route] + occupied, 0).max(axis=-1)
    return delay + occupied.max(axis=-1), holds


@njit
def _ring_ns(passes: Array, holds: Array, is_large: Array) -> Any:
    """``passes``, ``holds`` [size, place] of `_message_ns`; ``is_large`` [chunk]: which size. Of each place only the
    last message is kept."""
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
