"""What bad links do to frames: rate, delay, jitter, loss, duplication, reordering, bit flips. No I/O, virtual time.

``impair_push`` takes a frame at a time and decides its fate; ``impair_pop`` yields the frames that are due. The caller
owns the clock, so the same compiled code runs in a live port and in a simulation.

Randomness is counted, not drawn from a stream: every decision is a hash of (seed, number of the frame, decision). So
the fate of frame 17 under ``loss`` stays the same when ``delay`` is changed, and a run is repeated by its seed alone.

Order of events for a frame: lost? duplicated? and then for each copy: one bit flipped? wait for the link to be free and
for its own bits to pass (rate), delay, jitter; held back? Frames not held back leave in the order they came.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, load_u8, load_u32, record_at, store_i64, store_u8, store_u32
from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import (
    CELL_BYTES,
    FRAME_HEADROOM_BYTES,
    batch_append,
    batch_at,
    batch_room,
    tx_append,
)
from emulator.ports.spec import DEFAULT_REORDER_BY_NS, Impairments

_FIELDS = (
    "rate_bps",
    "delay_ns",
    "jitter_ns",
    "reorder_by_ns",
    "loss",  # probabilities, in units of 2^-53
    "duplicate",
    "reorder",
    "corrupt",
    "seed",
    "frame",  # number of the next frame
    "order",  # number of the next copy: ties of time leave in the order they came
    "link_free_ns",
    "last_due_ns",
    "limit",  # copies on the link at most
    "waiting",  # copies on the link
    "free_count",
    "lent_count",
    "heap",  # int64 triples (due_ns, order, slot), a binary heap
    "free",  # int64 stack of slots
    "lent",  # int64 list of slots that were popped and not yet released
    "store",
    "slot_bytes",  # the longest frame, and the distance of two in the store
    "lengths",
    "pushed",
    "lost",
    "duplicated",
    "reordered",
    "corrupted",
    "dropped_full",
    "dropped_too_long",
)
IMPAIRMENT = np.dtype([(name, "<i8") for name in _FIELDS], align=True)
link_at = record_at(IMPAIRMENT)
COUNTERS = ("pushed", "lost", "duplicated", "reordered", "corrupted", "dropped_full", "dropped_too_long")


ENTRY_BYTES = 24
PROBABILITY_ONE = 1 << 53

DRAW_LOSS, DRAW_DUPLICATE, DRAW_COPY = 0, 1, 2
DRAWS_PER_COPY = 5
DRAWS_PER_FRAME = DRAW_COPY + 2 * DRAWS_PER_COPY
"""The decisions of one frame: lost, duplicated, and five for each of two copies."""

MASK_63 = (1 << 63) - 1

GOLDEN = -7046029254386353131
MIX_1, MIX_2 = -4658895280553007687, -7723592293110705685
"""0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9 and 0x94D049BB133111EB of splitmix64, as int64."""


class ImpairmentState:
    """The state of one impaired direction; ``address`` is what the compiled functions take."""

    def __init__(self, impairments: Impairments, *, stream: int = 0, frame_bytes: int = CELL_BYTES) -> None:
        """``stream`` keeps several directions with one seed apart; ``frame_bytes`` is the longest frame it carries."""
        slots = impairments.queue_frames
        self.record: Any = np.zeros(1, IMPAIRMENT)
        self._heap = np.zeros(slots * ENTRY_BYTES // 8, np.int64)
        self._free = np.arange(slots - 1, -1, -1, dtype=np.int64)
        self._lent = np.zeros(slots, np.int64)
        self._lengths = np.zeros(slots, np.uint32)
        self._store = aligned_bytes(slots * frame_bytes + FRAME_HEADROOM_BYTES)
        self.configure(impairments)
        self.record["seed"] = splitmix(splitmix(impairments.seed & MASK_63) ^ stream)
        self.record["limit"] = self.record["free_count"] = slots
        for name, array in (
            ("heap", self._heap),
            ("free", self._free),
            ("lent", self._lent),
            ("lengths", self._lengths),
        ):
            self.record[name] = address_of(array)
        self.record["slot_bytes"] = frame_bytes
        self.record["store"] = address_of(self._store) + FRAME_HEADROOM_BYTES
        self.address = address_of(self.record)

    def configure(self, impairments: Impairments) -> None:
        """All but queue and seed, from the next frame on."""
        for name in ("rate_bps", "delay_ns", "jitter_ns"):
            self.record[name] = getattr(impairments, name)
        for name in ("loss", "duplicate", "reorder", "corrupt"):
            self.record[name] = round(getattr(impairments, name) * PROBABILITY_ONE)
        natural = impairments.delay_ns + impairments.jitter_ns
        self.record["reorder_by_ns"] = impairments.reorder_by_ns or natural or DEFAULT_REORDER_BY_NS

    def statistics(self) -> dict[str, int]:
        """Frames pushed, and what became of them, so far."""
        return {name: int(self.record[name][0]) for name in COUNTERS}


@njit
def splitmix(value: int) -> Any:
    """One step of splitmix64 (Steele, Lea, Flood 2014) on int64."""
    value += GOLDEN
    value = (value ^ ((value >> 30) & 0x3FFFFFFFF)) * MIX_1
    value = (value ^ ((value >> 27) & 0x1FFFFFFFFF)) * MIX_2
    return value ^ ((value >> 31) & 0x1FFFFFFFF)


@njit
def _draw(state: int, decision: int) -> Any:
    """53 random bits for one decision on the present frame."""
    link = link_at(state)
    counter = link.frame * DRAWS_PER_FRAME + decision
    return (splitmix(link.seed + counter * GOLDEN) >> 11) & (PROBABILITY_ONE - 1)


@njit
def _earlier(one: int, other: int) -> bool:
    due, other_due = load_i64(one), load_i64(other)
    return due < other_due or (due == other_due and load_i64(one + 8) < load_i64(other + 8))


@njit
def _swap(one: int, other: int) -> None:
    for part in range(0, ENTRY_BYTES, 8):
        kept = load_i64(one + part)
        store_i64(one + part, load_i64(other + part))
        store_i64(other + part, kept)


@njit
def _heap_push(state: int, due_ns: int, slot: int) -> None:
    link = link_at(state)
    heap = link.heap
    index = link.waiting
    entry = heap + index * ENTRY_BYTES
    store_i64(entry, due_ns)
    store_i64(entry + 8, link.order)
    store_i64(entry + 16, slot)
    link.order += 1
    link.waiting = index + 1
    while index > 0:
        parent = (index - 1) // 2
        if not _earlier(heap + index * ENTRY_BYTES, heap + parent * ENTRY_BYTES):
            break
        _swap(heap + index * ENTRY_BYTES, heap + parent * ENTRY_BYTES)
        index = parent


@njit
def _heap_pop(state: int) -> int:
    """Remove the earliest entry; returns its slot."""
    link = link_at(state)
    heap = link.heap
    slot = load_i64(heap + 16)
    count = link.waiting - 1
    link.waiting = count
    _swap(heap, heap + count * ENTRY_BYTES)
    index = 0
    while True:
        child = 2 * index + 1
        if child >= count:
            break
        if child + 1 < count and _earlier(heap + (child + 1) * ENTRY_BYTES, heap + child * ENTRY_BYTES):
            child += 1
        if not _earlier(heap + child * ENTRY_BYTES, heap + index * ENTRY_BYTES):
            break
        _swap(heap + child * ENTRY_BYTES, heap + index * ENTRY_BYTES)
        index = child
    return slot


@njit
def _due_ns(state: int, length_bytes: int, now_ns: int, first_draw: int) -> Any:
    """When a copy that enters the link now leaves it; moves the link's clocks on."""
    link = link_at(state)
    departs = now_ns
    rate = link.rate_bps
    if rate > 0:
        departs = max(now_ns, link.link_free_ns) + (length_bytes * 8 * 1_000_000_000 + rate - 1) // rate
        link.link_free_ns = departs
    due = departs + link.delay_ns
    jitter = link.jitter_ns
    if jitter > 0:
        due += _draw(state, first_draw + 2) % (jitter + 1)
    if _draw(state, first_draw + 3) < link.reorder:
        link.reordered += 1
        return due + 1 + _draw(state, first_draw + 4) % link.reorder_by_ns
    due = max(due, link.last_due_ns)
    link.last_due_ns = due
    return due


@njit
def _push_copy(state: int, address: int, length_bytes: int, now_ns: int, first_draw: int) -> None:
    link = link_at(state)
    free = link.free_count
    if free == 0:
        link.dropped_full += 1
        return
    link.free_count = free - 1
    slot = load_i64(link.free + 8 * (free - 1))
    frame = link.store + slot * link.slot_bytes
    copy_bytes(frame, address, length_bytes)
    store_u32(link.lengths + 4 * slot, length_bytes)
    if length_bytes > 0 and _draw(state, first_draw) < link.corrupt:
        bit = _draw(state, first_draw + 1) % (8 * length_bytes)
        store_u8(frame + bit // 8, load_u8(frame + bit // 8) ^ (1 << (bit % 8)))
        link.corrupted += 1
    _heap_push(state, _due_ns(state, length_bytes, now_ns, first_draw), slot)


@njit
def impair_push(state: int, address: int, length_bytes: int, now_ns: int) -> None:
    """Put a copy of a frame on the link (or none, or two); ``now_ns`` never goes back."""
    link = link_at(state)
    link.pushed += 1
    if length_bytes > link.slot_bytes:
        link.dropped_too_long += 1
    elif _draw(state, DRAW_LOSS) < link.loss:
        link.lost += 1
    else:
        _push_copy(state, address, length_bytes, now_ns, DRAW_COPY)
        if _draw(state, DRAW_DUPLICATE) < link.duplicate:
            link.duplicated += 1
            _push_copy(state, address, length_bytes, now_ns, DRAW_COPY + DRAWS_PER_COPY)
    link.frame += 1


@njit
def impair_push_batch(state: int, batch: int, now_ns: int) -> None:
    """Put all frames of a batch on the link and empty the batch."""
    frames = batch_at(batch)
    addresses, lengths = frames.addresses, frames.lengths
    for index in range(frames.count):
        impair_push(state, load_i64(addresses + 8 * index), load_u32(lengths + 4 * index), now_ns)
    frames.count = 0


@njit
def impair_next_ns(state: int) -> int:
    """When the next frame is due; -1 when the link is empty."""
    link = link_at(state)
    return load_i64(link.heap) if link.waiting > 0 else -1


@njit
def impair_pop(state: int, batch: int, port: int, most: int, now_ns: int) -> Any:
    """Append up to ``most`` due frames to a batch, as from ``port``; they are lent until impair_release."""
    link = link_at(state)
    lengths = link.lengths
    taken = 0
    while taken < most and batch_room(batch) > 0 and link.waiting > 0:
        if load_i64(link.heap) > now_ns:
            break
        slot = _heap_pop(state)
        lent = link.lent_count
        store_i64(link.lent + 8 * lent, slot)
        link.lent_count = lent + 1
        batch_append(batch, link.store + slot * link.slot_bytes, load_u32(lengths + 4 * slot), port)
        taken += 1
    return taken


@njit
def impair_release(state: int) -> None:
    """Take back all frames lent by impair_pop."""
    link = link_at(state)
    lent, free = link.lent_count, link.free_count
    for index in range(lent):
        store_i64(link.free + 8 * (free + index), load_i64(link.lent + 8 * index))
    link.free_count = free + lent
    link.lent_count = 0


@njit
def impair_transmit(state: int, ring: int, now_ns: int) -> None:
    """Move all due frames into a TX_RING, which counts those it has no room for."""
    link = link_at(state)
    while link.waiting > 0 and load_i64(link.heap) <= now_ns:
        slot = _heap_pop(state)
        tx_append(
            ring,
            link.store + slot * link.slot_bytes,
            load_u32(link.lengths + 4 * slot),
        )
        free = link.free_count
        store_i64(link.free + 8 * free, slot)
        link.free_count = free + 1
