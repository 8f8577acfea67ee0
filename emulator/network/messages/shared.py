"""Links that all messages share at a time, by max-min fairness; compiled.

Each task has one event at most that is still to come: its message begins to pass (after alpha and latency), the last
bit arrives, or a compute unit is done. Where messages begin and end, rates change in all that shares links with them,
directly or by way of others, and nowhere else: only there they are calculated again, once for all events of a moment.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from emulator.native.jit import njit
from emulator.network.messages.heap import Heap, make_heap, put, take
from emulator.network.messages.passage import COMPUTE, Array, Links, delay_ns
from emulator.network.schedule.columns import Columns, Ragged

WAITING, PASSING, DONE = 0, 1, 2
SAME = 1e-9
"""Two rates that differ by less than this part are one: sums of floats in another order."""
ROUNDING_NS = 1e-6
"""A time in floats that is past a whole number by less is that number."""


class Flows(NamedTuple):
    """Messages that pass, and lists of those on each link. A hop is a place in ``route.values``."""

    rate: Array
    """float64 [tasks]: bytes per ns."""
    left: Array
    """float64 [tasks]: bytes at ``since_ns``."""
    since_ns: Array
    owner: Array
    """int32 [hops]: the task."""
    head: Array
    """int32 [links]: first hop of those that pass the link, or -1."""
    following: Array
    """int32 [hops]: the next one, or -1."""
    previous: Array


class Region(NamedTuple):
    """The links and messages whose rates are calculated again."""

    links: Array
    """int32 [links]; the first ``counts[0]``."""
    tasks: Array
    """int32 [tasks]; the first ``counts[1]``."""
    counts: Array
    link_mark: Array
    """int64 [links], [tasks]: the number of the region that it was in last."""
    task_mark: Array
    room: Array
    """float64 [links]: bytes per ns that are not given to anybody yet."""
    users: Array
    """int32 [links]: messages that have no rate yet."""


@njit
def run(columns: Columns, size: Array, links: Links, nodes: int, ranks: int, start_ns: Array, finish_ns: Array) -> None:
    """``size``: bytes of each task; fills in ``start_ns`` and ``finish_ns`` [tasks]."""
    tasks, route = len(columns.kind), columns.route
    count = len(links.source)
    next_tasks = _transposed(columns.after, tasks)
    waits = (columns.after.offsets[1:] - columns.after.offsets[:-1]).astype(np.int32)
    unit_next, unit_later = _unit_orders(columns, ranks)
    state = np.zeros(tasks, np.int8)
    heap = make_heap(tasks)
    flows = _make_flows(route, size, count)
    region = _make_region(count, tasks)
    capacity = links.denominator / links.numerator
    passed = np.zeros(nodes, np.int64)
    ready = np.empty(tasks + 1, np.int32)  # a stack
    ready_count = 0
    for task in range(tasks):
        if waits[task] == 0:
            ready[ready_count] = task
            ready_count += 1
    now, moment = 0, 0
    while True:
        while ready_count:
            ready_count -= 1
            task = ready[ready_count]
            if columns.kind[task] != COMPUTE:
                start_ns[task] = now
                put(heap, task, now + delay_ns(columns, task, links, passed))
            elif unit_next[columns.source[task]] == task:
                start_ns[task] = now
                put(heap, task, now + columns.duration_ns[task])
        if heap.size[0] == 0 or heap.times[heap.numbers[0]] > now:
            _share(route, flows, region, capacity, heap, now, moment)
            moment += 1
            if heap.size[0] == 0:
                return
            now = heap.times[heap.numbers[0]]
            continue
        task = take(heap)
        passes = columns.kind[task] != COMPUTE and route.offsets[task] < route.offsets[task + 1]
        if passes and state[task] == WAITING:
            state[task] = PASSING
            flows.since_ns[task] = now
            _enter(task, route, flows, region, moment)
            continue
        if passes:
            _leave(task, route, flows, region, moment)
        state[task] = DONE
        finish_ns[task] = now
        if columns.kind[task] == COMPUTE:
            rank = columns.source[task]
            unit_next[rank] = unit_later[task]
            if unit_next[rank] >= 0 and waits[unit_next[rank]] == 0:
                ready[ready_count] = unit_next[rank]
                ready_count += 1
        for each in range(next_tasks.offsets[task], next_tasks.offsets[task + 1]):
            waiting = next_tasks.values[each]
            waits[waiting] -= 1
            if waits[waiting] == 0:
                ready[ready_count] = waiting
                ready_count += 1


@njit(internal=True)
def _make_flows(route: Ragged, size: Array, links: int) -> Flows:
    tasks, hops = len(size), len(route.values)
    owner = np.empty(hops, np.int32)
    for task in range(tasks):
        owner[route.offsets[task] : route.offsets[task + 1]] = task
    return Flows(
        np.zeros(tasks),
        size.astype(np.float64),
        np.zeros(tasks, np.int64),
        owner,
        np.full(links, -1, np.int32),
        np.empty(hops, np.int32),
        np.empty(hops, np.int32),
    )


@njit(internal=True)
def _make_region(links: int, tasks: int) -> Region:
    return Region(
        np.empty(links, np.int32),
        np.empty(tasks, np.int32),
        np.zeros(2, np.int64),
        np.full(links, -1, np.int64),
        np.full(tasks, -1, np.int64),
        np.zeros(links),
        np.zeros(links, np.int32),
    )


@njit(internal=True)
def _enter(task: int, route: Ragged, flows: Flows, region: Region, moment: int) -> None:
    for hop in range(route.offsets[task], route.offsets[task + 1]):
        link = route.values[hop]
        after = flows.head[link]
        flows.head[link], flows.following[hop], flows.previous[hop] = hop, after, -1
        if after >= 0:
            flows.previous[after] = hop
        _include(link, region, moment)


@njit(internal=True)
def _leave(task: int, route: Ragged, flows: Flows, region: Region, moment: int) -> None:
    for hop in range(route.offsets[task], route.offsets[task + 1]):
        link, before, after = route.values[hop], flows.previous[hop], flows.following[hop]
        if before >= 0:
            flows.following[before] = after
        else:
            flows.head[link] = after
        if after >= 0:
            flows.previous[after] = before
        _include(link, region, moment)


@njit(internal=True)
def _include(link: int, region: Region, moment: int) -> None:
    if region.link_mark[link] != moment:
        region.link_mark[link] = moment
        region.links[region.counts[0]] = link
        region.counts[0] += 1


@njit(internal=True)
def _share(route: Ragged, flows: Flows, region: Region, capacity: Array, heap: Heap, now: int, moment: int) -> None:
    """New rates, and times of the last bits, wherever something has begun or ended at this moment."""
    _extend(route, flows, region, now, moment)
    _fill(route, flows, region, capacity)
    for each in range(region.counts[1]):
        task = region.tasks[each]
        put(heap, task, now + max(0, ceil(flows.left[task] / flows.rate[task] - ROUNDING_NS)))
    region.counts[:] = 0


@njit(internal=True)
def _extend(route: Ragged, flows: Flows, region: Region, now: int, moment: int) -> None:
    """From the links of the region to all that shares links with them; what has passed is taken off."""
    each = 0
    while each < region.counts[0]:
        hop = flows.head[region.links[each]]
        while hop >= 0:
            task = flows.owner[hop]
            if region.task_mark[task] != moment:
                region.task_mark[task] = moment
                region.tasks[region.counts[1]] = task
                region.counts[1] += 1
                flows.left[task] -= flows.rate[task] * (now - flows.since_ns[task])
                flows.since_ns[task] = now
                for other in range(route.offsets[task], route.offsets[task + 1]):
                    _include(route.values[other], region, moment)
            hop = flows.following[hop]
        each += 1


@njit(internal=True)
def _fill(route: Ragged, flows: Flows, region: Region, capacity: Array) -> None:
    """Progressive filling: the link with the least for each of its messages gives it to them; again without these."""
    for each in range(region.counts[0]):
        region.room[region.links[each]] = capacity[region.links[each]]
        region.users[region.links[each]] = 0
    for each in range(region.counts[1]):
        task = region.tasks[each]
        flows.rate[task] = -1.0
        for hop in range(route.offsets[task], route.offsets[task + 1]):
            region.users[route.values[hop]] += 1
    without = region.counts[1]
    while without > 0:
        least = np.inf
        for each in range(region.counts[0]):
            link = region.links[each]
            if region.users[link] > 0:
                least = min(least, region.room[link] / region.users[link])
        for each in range(region.counts[0]):
            link = region.links[each]
            if region.users[link] == 0 or region.room[link] / region.users[link] > least * (1 + SAME):
                continue
            hop = flows.head[link]
            while hop >= 0:
                task = flows.owner[hop]
                if flows.rate[task] < 0.0:
                    flows.rate[task] = least
                    without -= 1
                    for other in range(route.offsets[task], route.offsets[task + 1]):
                        region.room[route.values[other]] -= least
                        region.users[route.values[other]] -= 1
                hop = flows.following[hop]


@njit(internal=True)
def _transposed(rows: Ragged, count: int) -> Ragged:
    """Of tasks and what they wait for: what waits for each task."""
    offsets = np.zeros(count + 1, np.int64)
    for value in rows.values:
        offsets[value + 1] += 1
    for row in range(count):
        offsets[row + 1] += offsets[row]
    values = np.empty(len(rows.values), np.int32)
    filled = offsets[:-1].copy()
    for row in range(count):
        for each in range(rows.offsets[row], rows.offsets[row + 1]):
            value = rows.values[each]
            values[filled[value]] = row
            filled[value] += 1
    return Ragged(offsets, values)


@njit(internal=True)
def _unit_orders(columns: Columns, ranks: int) -> tuple[Array, Array]:
    """The first Compute of each rank, and the next one after each; -1: none."""
    first = np.full(ranks, -1, np.int32)
    later = np.full(len(columns.kind), -1, np.int32)
    last = np.full(ranks, -1, np.int32)
    for task in range(len(columns.kind)):
        if columns.kind[task] == COMPUTE:
            rank = columns.source[task]
            if last[rank] < 0:
                first[rank] = task
            else:
                later[last[rank]] = task
            last[rank] = task
    return first, later
