"""When which child sends which block, and on which cores it is worked on.

Children send at a steady pace (or with random gaps) on their own links; the switch sees one packet every
``interval`` cycles. Together, all children send block 0 first; staggered, child i starts i/P of the way through the
message, so that packets of a block come far apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Packets in order of time."""

    at: Numbers
    """Cycle."""
    block: Numbers
    child: Numbers


@dataclass(frozen=True, slots=True)
class Inbound:
    """Packets to a switch with their bytes, in order of time."""

    at: Numbers
    """Cycle."""
    block: Numbers
    source: Numbers
    """Number of the child; of a request `records.REQUEST_SOURCE` more."""
    data: list[bytes]

    def in_order(self) -> Inbound:
        """Sorted by time, then by source."""
        order = np.lexsort((self.source, self.at))
        return Inbound(self.at[order], self.block[order], self.source[order], [self.data[place] for place in order])


def arrivals(
    blocks: int,
    children: int,
    interval_cycles: float,
    *,
    staggered: bool = True,
    exponential: bool = False,
    seed: int = 0,
    start: int = 0,
) -> Arrivals:
    """One packet of every block from every child. ``interval_cycles`` is the mean time between two packets at the
    switch; each child sends every ``children * interval_cycles``, child 0 first, or after random gaps of that mean."""
    step = np.arange(blocks)
    offset = np.arange(children) * blocks // children if staggered else np.zeros(children, np.int64)
    block = (step[None, :] + offset[:, None]) % blocks
    if exponential:
        gaps = np.random.default_rng(seed).exponential(children * interval_cycles, (children, blocks))
        times = gaps.cumsum(axis=1)
    else:
        times = (step[None, :] * children + np.arange(children)[:, None]) * interval_cycles
    child = np.repeat(np.arange(children), blocks)
    flat = times.ravel()
    order = np.lexsort((child, flat))
    return Arrivals(start + np.floor(flat[order]).astype(np.int64), block.ravel()[order], child[order])


def core_group(block: Numbers, blocks: int, children: int, groups: int) -> Numbers:
    """The group of cores on which a block is worked on: hierarchical first-come scheduling within it.

    Blocks that staggered children send at the same time (one in each of P parts of the message, as far into it) are on
    different groups, and so do blocks that follow each other: neither a round of all children nor a run of one child
    meets on a group's cores.
    """
    if blocks <= children:
        return np.asarray(block % groups, np.int64)
    part = block * children // blocks
    begins = -(-part * blocks // children)
    if children < groups:
        return np.asarray((block - begins + part * (groups // children)) % groups, np.int64)
    # a round of all children goes on where the last one ended, but not where it began
    return np.asarray(((block - begins) * (children % groups or 1) + part) % groups, np.int64)


def slots_in_cluster(cluster: Numbers, clusters: int) -> tuple[Numbers, int]:
    """For every block its place among the blocks of its cluster, and how many places that takes."""
    slot = np.zeros(len(cluster), np.int64)
    used = np.zeros(clusters, np.int64)
    for at, where in enumerate(cluster):
        slot[at] = used[where]
        used[where] += 1
    return slot, int(used.max(initial=0))
