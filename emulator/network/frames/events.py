"""What happens next: a tree over all sources of events, in which every source has one time.

Sources are numbered: first the links (the arrival of the frame at their head), in the order of the nodes they lead to;
then the timers of hosts, in the order of nodes. An event is (time, source), and the smaller pair comes first. As a
source has one event at a time, this is a total order: the same seed gives the same run, bit by bit.

The tree is a tournament (Knuth, The Art of Computer Programming 3, 5.4.1): node k holds the earlier of nodes 2k and
2k + 1, node 1 the next event of all, and the leaves are the sources. A new time is compared upwards, until nothing
changes. Unlike in a heap of events, a timer that moves leaves nothing behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.native.memory import load_i64, store_i64
from emulator.network.frames.records import NEVER_NS

Sources = np.ndarray[Any, np.dtype[np.int64]]


def make_sources(count: int) -> tuple[Sources, int]:
    """A tree of that many sources without events, and the number of its leaves: shape (2 * leaves, 2), (time, source)
    of each node. Node 0 is not used."""
    leaves = 1 << max(1, (count - 1).bit_length())
    tree = np.empty((2 * leaves, 2), np.int64)
    tree[:, 0] = NEVER_NS
    tree[leaves:, 1] = np.arange(leaves)
    for node in range(leaves - 1, 0, -1):
        tree[node, 1] = tree[2 * node, 1]
    return tree, leaves


@njit
def set_time(tree: int, leaves: int, source: int, time_ns: int) -> None:
    """The source's next event is then; NEVER_NS: there is none."""
    node = leaves + source
    store_i64(tree + 16 * node, time_ns)
    while node > 1:
        left = node & ~1
        left_ns, right_ns = load_i64(tree + 16 * left), load_i64(tree + 16 * left + 16)
        winner = left if left_ns <= right_ns else left + 1
        first_ns = left_ns if left_ns <= right_ns else right_ns
        first = load_i64(tree + 16 * winner + 8)
        node >>= 1
        if load_i64(tree + 16 * node) == first_ns and load_i64(tree + 16 * node + 8) == first:
            return
        store_i64(tree + 16 * node, first_ns)
        store_i64(tree + 16 * node + 8, first)


@njit
def time_of(tree: int, leaves: int, source: int) -> Any:
    """Of the source's next event."""
    return load_i64(tree + 16 * (leaves + source))


@njit
def next_time_ns(tree: int) -> Any:
    """Of the next event of all; NEVER_NS: nothing happens any more."""
    return load_i64(tree + 16)


@njit
def next_source(tree: int) -> Any:
    """Of the next event of all."""
    return load_i64(tree + 24)
