"""Links that all messages share at a time, by max-min fairness; compiled.

Each task has one event at most that is still to come: its message begins to pass (after alpha and latency), the last
bit arrives, or a compute unit is done. Where messages begin and end, rates change in all that shares links with them,
directly or by way of others, and nowhere else: only there they are calculated again, once for all events of a moment.
Of such a region only the messages that end first have to be in the heap: with their ends all others get new rates.
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
    passing: Array
    """int32 [links]: how many pass."""


class Region(NamedTuple):
    """Links and messages whose rates are calculated again: all that a changed link is connected with."""

    changed: Array
    """int32 [links]: those on which a message has begun or ended; the first ``counts[0]``."""
    links: Array
    """int32 [links]; the first ``counts[1]``."""
    tasks: Array
    """int32 [tasks]; the first ``counts[2]``."""
    counts: Array
    changed_mark: Array
    """int64 [links]: the moment when it was in the list last; so are the next two."""
    link_mark: Array
    task_mark: Array
    room: Array
    """float64 [links]: bytes per ns that are not given to anybody yet."""
    users: Array
    """int32 [links]: messages that have no rate yet."""
    level: Array
    """float64 [links]: what was left for each of these when it was looked at last."""
    end_ns: Array
    """int64 [tasks]: of the last bit."""


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
        np.zeros(links, np.int32),
    )


@njit(internal=True)
def _make_region(links: int, tasks: int) -> Region:
    return Region(
        np.empty(links, np.int32),
        np.empty(links, np.int32),
        np.empty(tasks, np.int32),
        np.zeros(3, np.int64),
        np.full(links, -1, np.int64),
        np.full(links, -1, np.int64),
        np.full(tasks, -1, np.int64),
        np.zeros(links),
        np.zeros(links, np.int32),
        np.zeros(links),
        np.zeros(tasks, np.int64),
    )


@njit(internal=True)
def _enter(task: int, route: Ragged, flows: Flows, region: Region, moment: int) -> None:
    head, following, previous = flows.head, flows.following, flows.previous
    for hop in range(route.offsets[task], route.offsets[task + 1]):
        link = route.values[hop]
        after = head[link]
        head[link], following[hop], previous[hop] = hop, after, -1
        if after >= 0:
            previous[after] = hop
    _change(task, route, flows, region, moment, 1)


@njit(internal=True)
def _leave(task: int, route: Ragged, flows: Flows, region: Region, moment: int) -> None:
    head, following, previous = flows.head, flows.following, flows.previous
    for hop in range(route.offsets[task], route.offsets[task + 1]):
        before, after = previous[hop], following[hop]
        if before >= 0:
            following[before] = after
        else:
            head[route.values[hop]] = after
        if after >= 0:
            previous[after] = before
    _change(task, route, flows, region, moment, -1)


@njit(internal=True)
def _change(task: int, route: Ragged, flows: Flows, region: Region, moment: int, more: int) -> None:
    """The links of a task have so many messages more."""
    passing, changed, mark, count = flows.passing, region.changed, region.changed_mark, region.counts[0]
    for hop in range(route.offsets[task], route.offsets[task + 1]):
        link = route.values[hop]
        passing[link] += more
        if mark[link] != moment:
            mark[link] = moment
            changed[count] = link
            count += 1
    region.counts[0] = count


@njit(internal=True)
def _share(route: Ragged, flows: Flows, region: Region, capacity: Array, heap: Heap, now: int, moment: int) -> None:
    """New rates, and times of the last bits, wherever something has begun or ended at this moment."""
    tasks, ends_ns, left, rate = region.tasks, region.end_ns, flows.left, flows.rate
    for each in range(region.counts[0]):
        link = region.changed[each]
        if region.link_mark[link] == moment:
            continue  # in the region of a link before
        region.link_mark[link], region.links[0] = moment, link
        _extend(route, flows, region, now, moment)
        _fill(route, flows, region, capacity)
        first_ns = np.iinfo(np.int64).max
        for place in range(region.counts[2]):
            task = tasks[place]
            ends_ns[task] = now + max(0, ceil(left[task] / rate[task] - ROUNDING_NS))
            first_ns = min(first_ns, ends_ns[task])
        for place in range(region.counts[2]):
            task = tasks[place]
            if ends_ns[task] == first_ns or heap.places[task] >= 0:
                put(heap, task, ends_ns[task])
    region.counts[0] = 0


@njit(internal=True)
def _extend(route: Ragged, flows: Flows, region: Region, now: int, moment: int) -> None:
    """From the link of the region to all that shares links with it; what has passed is taken off."""
    offsets, values = route
    rate, left, since_ns, owner, head, following = flows[:6]  # arrays by themselves: a tuple of them is slow to read
    links, tasks, link_mark, task_mark = region.links, region.tasks, region.link_mark, region.task_mark
    link_count, task_count, each = 1, 0, 0
    while each < link_count:
        hop = head[links[each]]
        while hop >= 0:
            task = owner[hop]
            if task_mark[task] != moment:
                task_mark[task] = moment
                tasks[task_count] = task
                task_count += 1
                left[task] -= rate[task] * (now - since_ns[task])
                since_ns[task] = now
                rate[task] = -1.0
                for other in range(offsets[task], offsets[task + 1]):
                    link = values[other]
                    if link_mark[link] != moment:
                        link_mark[link] = moment
                        links[link_count] = link
                        link_count += 1
            hop = following[hop]
        each += 1
    region.counts[1], region.counts[2] = link_count, task_count


@njit(internal=True)
def _fill(route: Ragged, flows: Flows, region: Region, capacity: Array) -> None:
    """Progressive filling: the link with the least for each of its messages gives it to them; again without these.

    What a link has for each of its messages only grows meanwhile. So links are a heap by what they had when they were
    looked at last, and the first one is looked at again.
    """
    links, room, users, level = region.links, region.room, region.users, region.level
    offsets, values = route
    rates, owner, head, following = flows.rate, flows.owner, flows.head, flows.following
    count = region.counts[1]
    for each in range(count):
        link = links[each]
        room[link], users[link] = capacity[link], flows.passing[link]
        level[link] = room[link] / users[link] if users[link] else 0.0
    for each in range(count // 2 - 1, -1, -1):
        _sink(links, level, each, count)
    without = region.counts[2]
    while without > 0:
        link = links[0]
        if users[link] == 0:
            count -= 1
            links[0] = links[count]
        elif room[link] > level[link] * (1 + SAME) * users[link]:
            level[link] = room[link] / users[link]
        else:
            rate = level[link]
            hop = head[link]
            while hop >= 0:
                task = owner[hop]
                if rates[task] < 0.0:
                    rates[task] = rate
                    without -= 1
                    for other in range(offsets[task], offsets[task + 1]):
                        room[values[other]] -= rate
                        users[values[other]] -= 1
                hop = following[hop]
        _sink(links, level, 0, count)


@njit(internal=True)
def _sink(links: Array, level: Array, place: int, count: int) -> None:
    """A link goes down the heap, to where those below it have as much or more."""
    link = links[place]
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and level[links[below + 1]] < level[links[below]]:
            below += 1
        if level[links[below]] >= level[link]:
            break
        links[place] = links[below]
        place = below
    links[place] = link


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
