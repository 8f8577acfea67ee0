"""Compiled: the event loop. Events come in the total order of ``events``.

Frames that arrive at one switch at the same time enter its program in one call, up to BATCH_FRAMES of them, in the
order of the links into it; what comes out goes onto the links port by port. Processing takes no time. A host gets one
frame at a time, and says after each what it wants to send and when its timer is due; a slow host gets nothing, and is
asked nothing, while it is stopped.

Hosts and switches are machine code, called by address:

    process(context, addresses, lengths, ports, count, now_ns)     a switch's program
    receive(state, frame, length, now_ns)                          a host; the frame is only read, only now
    transmit(state, orders, capacity, postings, read, now_ns)      writes ORDER records: how many. Each is a posting,
                                                                   numbered from ``postings`` + 1; memory of postings up
                                                                   to ``read`` is free again
    next_timer(state)                                              when transmit must be called at the latest
    finished(state)                                                operations that have ended since the last call
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.calls import call_compiled
from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u32, store_i64
from emulator.network.faults.parts import SLOW_PERIOD_NS
from emulator.network.frames.events import next_source, next_time_ns, set_time, time_of
from emulator.network.frames.links import (
    ask_for_room,
    collect,
    link_of,
    put,
    read_until,
    set_next,
    take,
    take_into_batch,
)
from emulator.network.frames.records import (
    BATCH_FRAMES,
    MOST_ORDERS,
    NEVER_NS,
    NODE_BYTES,
    ORDER_BYTES,
    network_at,
    node_at,
    order_at,
)
from emulator.ports.batch import batch_at
from emulator.ports.impairments import impair_release
from emulator.ports.loop.program import call_program

FINISHED, SILENT, PAUSED, CROWDED = 0, 1, 2, 3
"""Why ``run`` has stopped: all hosts have finished what they were given; nothing happens any more, or not until the
limit; that many events are over; a ring must be made larger."""


@njit
def node_of(net: Any, index: int) -> Any:
    """The NODE record."""
    return node_at(net.nodes + index * NODE_BYTES)


@njit
def run(network: int, limit_ns: int, most_events: int) -> int:
    """Let things happen, also at the limit itself. Returns why it stopped: see the constants."""
    net = network_at(network)
    last = net.events + most_events
    while net.unfinished > 0:
        due_ns = next_time_ns(net.sources)
        if due_ns >= NEVER_NS or due_ns > limit_ns:
            if limit_ns < NEVER_NS:
                net.now_ns = max(net.now_ns, limit_ns)
            return SILENT
        if net.events >= last:
            return PAUSED
        if net.crowded > 0:
            return CROWDED
        net.now_ns = due_ns
        source = next_source(net.sources)
        if source >= net.link_count:
            ring_timer(net, source)
        elif node_of(net, link_of(net, source).destination).is_host:
            deliver(net, source)
        else:
            switch(net, link_of(net, source).destination)
    return FINISHED


@njit
def switch(net: Any, index: int) -> None:
    """All frames that arrive at a switch now."""
    batch = batch_at(net.batch)
    batch.count = 0
    taken = 0
    while taken < BATCH_FRAMES and next_time_ns(net.sources) == net.now_ns:
        source = next_source(net.sources)
        if source >= net.link_count or link_of(net, source).destination != index:
            break
        take_into_batch(net, source)
        store_i64(net.taken, taken, source)
        taken += 1
    net.events += taken
    net.hops += batch.count
    node = node_of(net, index)
    if node.program == 0:
        net.stray += batch.count
    elif batch.count > 0:
        call_program(node.program, node.context, net.batch, net.now_ns)
        for number in range(node.out_count):
            collect(net, load_i64(node.out, number))
    for number in range(taken):
        link = link_of(net, load_i64(net.taken, number))
        if link.stage != 0:
            impair_release(link.stage)
        give_back(net, link.source)


@njit
def deliver(net: Any, source: int) -> None:
    """A frame has come to a host, which takes it when it runs."""
    net.events += 1
    link = link_of(net, source)
    index = link.destination
    node = node_of(net, index)
    if running_ns(net, node) > net.now_ns:
        set_time(net.sources, net.leaves, source, running_ns(net, node))
        return
    if link.stage == 0:
        entry = take(net, source)
        address, length = entry.address, entry.length
    else:
        batch = batch_at(net.batch)
        batch.count = 0
        take_into_batch(net, source)
        address, length = load_i64(batch.addresses), batch.count * np.int64(load_u32(batch.lengths))
    if length > 0:
        net.hops += 1
        call_compiled(node.receive, node.state, address, length, net.now_ns)
        pump(net, index)
    if link.stage != 0:
        impair_release(link.stage)


@njit
def give_back(net: Any, index: int) -> None:
    """A host all of whose frames have been read may have waited for their memory."""
    node = node_of(net, index)
    if node.is_host:
        link = link_of(net, node.link)
        if link.head == link.tail:
            pump(net, index)


@njit
def ring_timer(net: Any, source: int) -> None:
    """A host's timer. The time in the tree is never later than the host's, but may be earlier."""
    index = source - net.link_count
    node = node_of(net, index)
    net.events += 1
    set_time(net.sources, net.leaves, source, NEVER_NS)
    if node.has_more or call_compiled(node.next_timer, node.state) <= net.now_ns:
        pump(net, index)
    else:
        set_timer(net, index)


@njit
def pump(net: Any, index: int) -> None:
    """Put on the link what a host wants to send; if there is more, its timer rings at once. A host that is stopped is
    asked when it runs."""
    node = node_of(net, index)
    if running_ns(net, node) > net.now_ns:
        node.has_more = 1
        set_time(net.sources, net.leaves, net.link_count + index, running_ns(net, node))
        return
    read = read_until(net, node.link, node.postings)
    count = call_compiled(node.transmit, node.state, net.orders, MOST_ORDERS, node.postings, read, net.now_ns)
    for number in range(count):
        order = order_at(net.orders + number * ORDER_BYTES)
        node.postings += 1
        put(net, node.link, np.int64(order.address), np.int64(order.length), node.postings)
    ask_for_room(net, node.link, MOST_ORDERS)
    net.unfinished -= call_compiled(node.finished, node.state)
    node.has_more = count == MOST_ORDERS
    if node.has_more:
        set_time(net.sources, net.leaves, net.link_count + index, net.now_ns)
    else:
        set_timer(net, index)


@njit
def running_ns(net: Any, node: Any) -> Any:
    """When a host can do something: now, or when it is next continued."""
    if node.runs_ns == SLOW_PERIOD_NS:
        return net.now_ns
    phase_ns = net.now_ns % SLOW_PERIOD_NS
    return net.now_ns if phase_ns < node.runs_ns else net.now_ns - phase_ns + SLOW_PERIOD_NS


@njit
def set_timer(net: Any, index: int) -> None:
    """An earlier timer is noted at once, a later one when the time in the tree has come."""
    node, source = node_of(net, index), net.link_count + index
    due_ns = call_compiled(node.next_timer, node.state)
    if due_ns < time_of(net.sources, net.leaves, source):
        set_time(net.sources, net.leaves, source, max(due_ns, net.now_ns + 1))


@njit
def wake(network: int, index: int) -> None:
    """Ask a host, at the present time, for what it wants to send."""
    pump(network_at(network), index)


@njit
def look_again(network: int, index: int) -> None:
    """Note when a link's next event is, as its stage or its host have changed."""
    set_next(network_at(network), index)
