"""Compiled: a frame goes onto a link and comes off it.

A frame that finds the link busy waits in the queue at its source, or is dropped where the queue is full (drop-tail).
Then its bits leave one after another at the link's rate, and the last one arrives the latency later. A frame that the
link loses has taken its time all the same.

`put` is where every frame of a network passes, with its link, bytes and time: there it gets into a capture. An impaired
link ends in a stage (`emulator.ports.impairments`): what has arrived goes on when and as the stage lets it.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_u32, store_u32
from emulator.network.frames.events import set_time
from emulator.network.frames.records import BATCH_FRAMES, ENTRY_BYTES, LINK_BYTES, NEVER_NS, entry_at, link_at
from emulator.ports.batch import batch_append, tx_ring_at
from emulator.ports.impairments import (
    GOLDEN,
    PROBABILITY_ONE,
    impair_next_ns,
    impair_pop,
    impair_push,
    splitmix,
)
from emulator.ports.pcap.writer import OUT, record_frame


@njit
def link_of(net: Any, index: int) -> Any:
    """The LINK record."""
    return link_at(net.links + index * LINK_BYTES)


@njit
def place(link: Any, number: int) -> Any:
    """Address of the entry with a free-running number."""
    return link.entries + (number & link.mask) * ENTRY_BYTES


@njit
def put(net: Any, index: int, address: int, length_bytes: int, posting: int) -> bool:
    """A frame goes onto a link now; False: dropped. The frame stays where it is until it has arrived."""
    link, now_ns = link_of(net, index), net.now_ns
    wire_bytes = length_bytes + net.encapsulation_bytes
    start_ns = max(link.free_ns, now_ns)
    if start_ns > now_ns:
        settle(net, link)
        if link.waiting_bytes + wire_bytes > link.queue_bytes:
            link.dropped += 1
            link.dropped_bytes += wire_bytes
            return False
    if wire_bytes != link.length:
        link.length = wire_bytes
        link.length_ns = (wire_bytes * 8_000_000_000 + link.rate_bps - 1) // link.rate_bps
    link.free_ns = start_ns + link.length_ns
    due_ns = max(link.free_ns + link.latency_ns, link.last_due_ns)
    link.last_due_ns = due_ns
    if link.head == link.tail:
        set_time(net.sources, net.leaves, index, due_ns if link.stage == 0 else min(due_ns, stage_ns(net, link)))
        link.started = link.tail
    entry = entry_at(place(link, link.tail))
    entry.due_ns = due_ns
    entry.start_ns = start_ns
    entry.address = address
    entry.length = length_bytes
    entry.posting = posting
    link.tail += 1
    link.waiting_bytes += wire_bytes
    if start_ns == now_ns:
        settle(net, link)
    link.most_waiting_bytes = max(link.most_waiting_bytes, link.waiting_bytes)
    link.frames += 1
    link.bytes += wire_bytes
    if link.loss > 0:
        drawn = (splitmix(link.seed + link.number * GOLDEN) >> 11) & (PROBABILITY_ONE - 1)
        if drawn < link.loss:
            entry.length = -length_bytes
            link.lost += 1
    link.number += 1
    if link.interface > 0:
        record_frame(net.capture, link.interface - 1, OUT, address, length_bytes, now_ns)
    return True


@njit
def settle(net: Any, link: Any) -> None:
    """Take the frames that have started by now out of the queue."""
    while link.started < link.tail:
        entry = entry_at(place(link, link.started))
        if entry.start_ns > net.now_ns:
            return
        link.waiting_bytes -= abs(entry.length) + net.encapsulation_bytes
        link.started += 1


@njit
def take(net: Any, index: int) -> Any:
    """The frame at the head of a link has arrived: its ENTRY record, to be read before the next one is put."""
    link = link_of(net, index)
    entry = entry_at(place(link, link.head))
    if link.started == link.head:
        link.waiting_bytes -= abs(entry.length) + net.encapsulation_bytes
        link.started += 1
    link.head += 1
    if link.ring != 0:
        tx_ring_at(link.ring).limit = link.head + link.mask + 1
    due_ns = entry_at(place(link, link.head)).due_ns if link.head < link.tail else NEVER_NS
    set_time(net.sources, net.leaves, index, max(due_ns, net.now_ns))  # a slow host may be behind
    return entry


@njit
def stage_ns(net: Any, link: Any) -> Any:
    """When the next frame leaves the stage of an impaired link."""
    due_ns = impair_next_ns(link.stage)
    return NEVER_NS if due_ns < 0 else max(due_ns, net.now_ns)


@njit
def take_into_batch(net: Any, index: int) -> None:
    """An event of a link: what has arrived goes into the batch, which may be nothing. At an impaired link it goes into
    the stage, and one frame that is due there comes out of it, lent until `impair_release`."""
    link = link_of(net, index)
    if link.stage == 0:
        entry = take(net, index)
        if entry.length > 0:
            batch_append(net.batch, entry.address, entry.length, link.port)
        return
    arrival_ns = NEVER_NS
    if link.head < link.tail:
        arrival_ns = entry_at(place(link, link.head)).due_ns
    if arrival_ns <= net.now_ns:
        entry = take(net, index)
        if entry.length > 0:
            impair_push(link.stage, entry.address, entry.length, net.now_ns)
    impair_pop(link.stage, net.batch, link.port, 1, net.now_ns)
    set_next(net, index)


@njit
def set_next(net: Any, index: int) -> None:
    """Note when a link's next event is: an arrival, or a frame that leaves its stage."""
    link = link_of(net, index)
    due_ns = NEVER_NS
    if link.head < link.tail:
        due_ns = max(entry_at(place(link, link.head)).due_ns, net.now_ns)
    if link.stage != 0:
        due_ns = min(due_ns, stage_ns(net, link))
    set_time(net.sources, net.leaves, index, due_ns)


@njit
def collect(net: Any, index: int) -> None:
    """Put what a switch has left in a link's ring onto the link."""
    link = link_of(net, index)
    ring = tx_ring_at(link.ring)
    first = link.tail
    if ring.tail == first:
        return
    stride = ring.stride_bytes
    for number in range(first, ring.tail):
        cell, length_bytes = number & ring.mask, load_u32(ring.lengths, number & ring.mask)
        kept = link.tail & ring.mask  # another cell only where one before has been dropped
        if kept != cell:
            copy_bytes(ring.cells + kept * stride, ring.cells + cell * stride, length_bytes)
            store_u32(ring.lengths, kept, length_bytes)
        put(net, index, ring.cells + kept * stride, length_bytes, 0)
    ring.tail = link.tail
    ask_for_room(net, index, BATCH_FRAMES)


@njit
def ask_for_room(net: Any, index: int, frames: int) -> None:
    """Stop before the next event, for Python to make a ring larger that has no room for so many more frames."""
    link = link_of(net, index)
    if link.tail - link.head + frames > link.mask + 1:
        net.crowded = 1


@njit
def read_until(net: Any, index: int, postings: int) -> Any:
    """The last posting on a host's link whose frame, like all before it, is no longer needed."""
    link = link_of(net, index)
    if link.head == link.tail:
        return postings
    return entry_at(place(link, link.head)).posting - 1
