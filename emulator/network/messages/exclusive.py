"""Links that take one message at a time, in the order of the list: no event has to be looked for, since a task's
resources and all that it waits for come before it in the list. Compiled."""

from __future__ import annotations

import numpy as np

from emulator.native.jit import njit
from emulator.network.messages.passage import COMPUTE, Array, Links, bits_ns, delay_ns
from emulator.network.schedule.columns import Columns


@njit
def run(columns: Columns, size: Array, links: Links, nodes: int, ranks: int, start_ns: Array, finish_ns: Array) -> None:
    """``size``: bytes of each task; fills in ``start_ns`` and ``finish_ns`` [tasks]."""
    after, route = columns.after, columns.route
    link_free_ns = np.zeros(len(links.source), np.int64)
    unit_free_ns = np.zeros(ranks, np.int64)
    passed = np.zeros(nodes, np.int64)
    for task in range(len(columns.kind)):
        start = 0
        for each in range(after.offsets[task], after.offsets[task + 1]):
            start = max(start, finish_ns[after.values[each]])
        if columns.kind[task] == COMPUTE:
            rank = columns.source[task]
            start_ns[task] = start = max(start, unit_free_ns[rank])
            finish_ns[task] = unit_free_ns[rank] = start + columns.duration_ns[task]
            continue
        for hop in range(route.offsets[task], route.offsets[task + 1]):
            start = max(start, link_free_ns[route.values[hop]])
        slowest = 0
        for hop in range(route.offsets[task], route.offsets[task + 1]):
            link = route.values[hop]
            occupied = bits_ns(size[task], link, links)
            slowest = max(slowest, occupied)
            link_free_ns[link] = start + links.alpha_ns[link] + occupied
        start_ns[task] = start
        finish_ns[task] = start + delay_ns(columns, task, links, passed) + slowest
