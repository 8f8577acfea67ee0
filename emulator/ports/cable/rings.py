"""A cable: two rings in one piece of memory, between a switch and a host. Shared memory or not, the code is the same.

Host to switch: the host owns a pool of frames and posts descriptors {offset into the pool, length}. The switch counts
what it has finished reading in ``up.head``; a frame may be rewritten once its latest posting is below that. Frames can
be posted any number of times without copying. Switch to host: the switch writes frames into cells, in order.

All positions are free running 64-bit numbers. ``tail`` belongs to the writer of a ring and ``head`` to its reader, each
on separate cache lines; they are in the cable, so that either end can die at any instruction and another can take
its place where it was: an entry exists when ``tail`` has passed it and not before, so nobody ever sees half a frame.

The other process is not trusted with our memory: each descriptor and length is read once, checked, and only then used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.atomics import load_acquire64, load_once32, load_once64, store_release64
from emulator.native.jit import njit
from emulator.native.memory import offset_of, store_i64, store_u32
from emulator.ports.batch import (
    CELL_BYTES,
    FRAME_HEADROOM_BYTES,
    TX_RING,
    batch_append,
    batch_at,
    batch_room,
    tx_ring_at,
)
from emulator.ports.state import (
    port_at,
)

MAGIC = 0x314D5553_54454E  # "NETSUM1", little endian
LAYOUT_VERSION = 2
HEADER_BYTES = 4096
PAGE_BYTES = 4096

END = np.dtype([("generation", "<u8"), ("bell", "<u8"), ("pid", "<u8")])
"""What one end publishes: how often it was attached, its bell's identity, its process (for messages only)."""
END_GENERATION = offset_of(END, "generation")
END_BELL = offset_of(END, "bell")

_HEADER_FIELDS: dict[str, tuple[Any, int]] = {
    "magic": ("<u8", 0),
    "version": ("<u4", 8),
    "posts": ("<u4", 12),
    "cells": ("<u4", 16),
    "stride_bytes": ("<u4", 20),
    "pool_bytes": ("<u8", 24),
    # what is written while frames flow is 128 bytes apart: cores fetch cache lines in pairs
    "switch": (END, 128),
    "host": (END, 256),
    "up_tail": ("<u8", 512),
    "up_head": ("<u8", 640),
    "down_tail": ("<u8", 768),
    "down_head": ("<u8", 896),
}
HEADER = np.dtype(
    {
        "names": list(_HEADER_FIELDS),
        "formats": [kind for kind, _ in _HEADER_FIELDS.values()],
        "offsets": [offset for _, offset in _HEADER_FIELDS.values()],
        "itemsize": HEADER_BYTES,
    }
)
SWITCH_END = offset_of(HEADER, "switch")
HOST_END = offset_of(HEADER, "host")
UP_TAIL = offset_of(HEADER, "up_tail")
UP_HEAD = offset_of(HEADER, "up_head")
DOWN_TAIL = offset_of(HEADER, "down_tail")
DOWN_HEAD = offset_of(HEADER, "down_head")

POST = np.dtype([("offset", "<u8"), ("length_bytes", "<u4"), ("reserved", "<u4")])
POST_BYTES = POST.itemsize
POST_LENGTH = offset_of(POST, "length_bytes")


@dataclass(frozen=True, slots=True)
class Geometry:
    """The sizes of a cable. Both ends compute the same offsets from them."""

    posts: int = 2048
    """Descriptors from the host in flight: four windows of 512 chunks."""
    cells: int = 128
    """Frames to the host in flight: the usual window of up to four ranks.

    Cells are used in turn, so all of them pass through the caches: at 4 KiB a frame and four ranks, 256 cells took a
    fifth more CPU time an allreduce. A full ring is a counted drop, which a repeat mends.
    """
    stride_bytes: int = CELL_BYTES
    pool_bytes: int = 256 << 20
    """The host's frames at most; memory is behind them only where the host has asked for frames."""

    def problem(self) -> str | None:
        """What is impossible about these sizes; None if nothing."""
        for name, value in (("posts", self.posts), ("cells", self.cells)):
            if not 2 <= value <= 1 << 20 or value & (value - 1):
                return f"{name} is {value}, which is not a power of two from 2 to 2^20"
        if not 64 <= self.stride_bytes <= 1 << 17 or self.stride_bytes % 64:
            return f"stride_bytes is {self.stride_bytes}, which is not a multiple of 64 up to 2^17"
        if not 0 < self.pool_bytes <= 1 << 40 or self.pool_bytes % PAGE_BYTES:
            return f"pool_bytes is {self.pool_bytes}, which is not a multiple of {PAGE_BYTES} up to 2^40"
        return None

    @property
    def lengths_offset(self) -> int:
        """Where the lengths of the cells start."""
        return HEADER_BYTES + self.posts * POST_BYTES

    @property
    def cells_offset(self) -> int:
        """Where the cells start; frame 0 is FRAME_HEADROOM_BYTES on."""
        return _up(self.lengths_offset + 4 * self.cells, PAGE_BYTES)

    @property
    def pool_offset(self) -> int:
        """Where the host's pool starts; all before it has memory behind it from the beginning."""
        return _up(self.cells_offset + self.cells * self.stride_bytes + FRAME_HEADROOM_BYTES, PAGE_BYTES)

    @property
    def total_bytes(self) -> int:
        """The whole cable."""
        return self.pool_offset + self.pool_bytes


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def header_of(memory: NDArray[np.uint8]) -> Any:
    """The header at the start of a cable's memory, as a numpy record."""
    return memory[:HEADER_BYTES].view(HEADER)[0]


def write_header(memory: NDArray[np.uint8], geometry: Geometry) -> None:
    """Make zeroed memory an unused cable."""
    header = header_of(memory)
    for name in ("posts", "cells", "stride_bytes", "pool_bytes"):
        header[name] = getattr(geometry, name)
    header["version"] = LAYOUT_VERSION
    header["magic"] = MAGIC


def place(state: Any, address: int, geometry: Geometry) -> None:
    """Fill in a PORT record where things lie in the cable at ``address``."""
    state["cable"] = address
    state["posts"] = address + HEADER_BYTES
    state["post_mask"] = geometry.posts - 1
    state["lengths"] = address + geometry.lengths_offset
    state["cells"] = address + geometry.cells_offset + FRAME_HEADROOM_BYTES
    state["cell_mask"] = geometry.cells - 1
    state["stride_bytes"] = geometry.stride_bytes
    state["pool"] = address + geometry.pool_offset
    state["pool_bytes"] = geometry.pool_bytes
    state["peer_fifo"] = -1


def place_tx(ring: Any, state: Any, tail: int) -> None:
    """Make a TX_RING one over the cells of the cable; ``tail`` is how far it had been published."""
    assert ring.dtype == TX_RING
    ring["stride_bytes"] = state["stride_bytes"]
    ring["mask"] = state["cell_mask"]
    ring["tail"] = ring["limit"] = tail
    ring["lengths"] = state["lengths"]
    ring["cells"] = state["cells"]


# --- the switch's end ------------------------------------------------------------------------------------------------


@njit
def cable_switch_receive(port: int, batch: int, most: int) -> Any:
    """Append posted frames to a batch, up to ``most``, or until they have the port's ``turn_bytes``; returns how many
    entries were taken. Release them later."""
    frames = batch_at(batch)
    state = port_at(port)
    head = state.in_next
    tail = load_acquire64(state.cable + UP_TAIL)
    available = tail - head
    mask = state.post_mask
    if available < 0 or available > mask + 1:
        # nothing in the ring can be believed; what the host posts next can
        state.bad_rings += 1
        state.in_next = tail
        return 0
    end = head + min(available, most, batch_room(batch))
    posts = state.posts
    pool = state.pool
    pool_bytes = state.pool_bytes
    number = state.number
    first = frames.count
    total_bytes, most_bytes = 0, state.turn_bytes
    index = head
    while index < end and (total_bytes < most_bytes or most_bytes == 0):
        post = posts + (index & mask) * POST_BYTES
        index += 1
        offset = load_once64(post)
        length = load_once32(post + POST_LENGTH)
        if offset < 0 or length > pool_bytes or offset > pool_bytes - length:
            state.bad_descriptors += 1
            continue
        batch_append(batch, pool + offset, length, number)
        total_bytes += length
    state.in_next = index
    state.in_frames += frames.count - first
    state.in_bytes += total_bytes
    return index - head


@njit
def cable_switch_release(port: int) -> None:
    """Tell the host that all frames taken so far have been read."""
    state = port_at(port)
    head = state.in_next
    if head != state.in_released:
        store_release64(state.cable + UP_HEAD, head)
        state.in_released = head


@njit
def cable_switch_refresh(port: int) -> None:
    """Let the switch write where the host has finished reading."""
    state = port_at(port)
    ring = tx_ring_at(state.wire_tx)
    head = load_acquire64(state.cable + DOWN_HEAD)
    cells = state.cell_mask + 1
    held = state.out_published - head
    if held < 0 or held > cells:
        state.bad_rings += 1
        return
    ring.limit = head + cells


@njit
def cable_switch_publish(port: int) -> Any:
    """Show the host what the switch has appended; how many frames that are. The caller rings the bell."""
    state = port_at(port)
    ring = tx_ring_at(state.wire_tx)
    tail = ring.tail
    published = state.out_published
    if tail == published:
        return 0
    store_release64(state.cable + DOWN_TAIL, tail)
    state.out_published = tail
    state.out_frames = ring.frames
    state.out_bytes = ring.bytes
    return tail - published


@njit
def cable_switch_has_input(port: int) -> Any:
    """Whether the host has posted something not yet taken."""
    state = port_at(port)
    return load_acquire64(state.cable + UP_TAIL) != state.in_next


# --- the host's end --------------------------------------------------------------------------------------------------


@njit
def cable_host_post(port: int, address: int, length_bytes: int) -> int:
    """Queue one frame of the pool: 1, or 0 when the ring is full or the frame is not the pool's (counted)."""
    state = port_at(port)
    next_post = state.out_next
    mask = state.post_mask
    if next_post - state.out_taken > mask:
        cable_host_consumed(port)
        if next_post - state.out_taken > mask:
            state.refused += 1
            return 0
    offset = address - state.pool
    pool_bytes = state.pool_bytes
    if offset < 0 or length_bytes < 0 or length_bytes > pool_bytes or offset > pool_bytes - length_bytes:
        state.bad_descriptors += 1
        return 0
    post = state.posts + (next_post & mask) * POST_BYTES
    store_i64(post, offset)
    store_u32(post + POST_LENGTH, length_bytes)
    state.out_next = next_post + 1
    state.out_frames += 1
    state.out_bytes += length_bytes
    return 1


@njit
def cable_host_publish(port: int) -> Any:
    """Show the switch what was posted; how many frames that are. The caller rings the bell."""
    state = port_at(port)
    next_post = state.out_next
    published = state.out_published
    if next_post == published:
        return 0
    store_release64(state.cable + UP_TAIL, next_post)
    state.out_published = next_post
    return next_post - published


@njit
def cable_host_consumed(port: int) -> Any:
    """How many postings, counted from the cable's first, the switch has finished reading."""
    state = port_at(port)
    head = load_acquire64(state.cable + UP_HEAD)
    if head > state.out_published or head < state.out_taken:
        # going back, or ahead of us: a broken switch; frames stay taken rather than being rewritten under its eyes
        state.bad_rings += 1
        return state.out_taken
    state.out_taken = head
    return head


@njit
def cable_host_receive(port: int, batch: int, most: int) -> Any:
    """Append up to ``most`` frames from the switch to a batch; returns how many cells were taken. Release later."""
    frames = batch_at(batch)
    state = port_at(port)
    head = state.in_next
    tail = load_acquire64(state.cable + DOWN_TAIL)
    available = tail - head
    mask = state.cell_mask
    if available < 0 or available > mask + 1:
        state.bad_rings += 1
        state.in_next = tail
        return 0
    taken = min(available, most, batch_room(batch))
    cells = state.cells
    lengths = state.lengths
    stride = state.stride_bytes
    number = state.number
    first = frames.count
    total_bytes = 0
    for index in range(head, head + taken):
        length = load_once32(lengths + 4 * (index & mask))
        if length > stride:
            state.bad_descriptors += 1
            continue
        batch_append(batch, cells + (index & mask) * stride, length, number)
        total_bytes += length
    state.in_next = head + taken
    state.in_frames += frames.count - first
    state.in_bytes += total_bytes
    return taken


@njit
def cable_host_release(port: int) -> None:
    """Give the cells of all frames taken so far back to the switch."""
    state = port_at(port)
    head = state.in_next
    if head != state.in_released:
        store_release64(state.cable + DOWN_HEAD, head)
        state.in_released = head


@njit
def cable_host_has_input(port: int) -> Any:
    """Whether the switch has sent something not yet taken."""
    state = port_at(port)
    return load_acquire64(state.cable + DOWN_TAIL) != state.in_next
