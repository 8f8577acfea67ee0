"""Frames in arrays: the memory that machine code, compiled loops and Python share.

A batch is how frames reach a switch; a TxRing is how they leave it. Both are plain memory with a fixed layout: numpy
structured types, so that all three kinds of code read the same fields. Compiled loops take the address of a record
(``tx_ring_at``), machine code made from P4 the offsets below (``TX_TAIL`` and so on), and Python the numpy view.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_u32, offset_of, record_at, store_i64, store_u32
from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.spec import MAX_PORTS as MAX_PORTS

FRAME_HEADROOM_BYTES = 62
"""Where a frame starts in its cell: lanes follow 66 bytes of headers (14 + 20 + 8 + 24), so they start a cache line."""

CELL_BYTES = 8704
"""Distance of two frames in a ring, so also the largest frame: 2,048 lanes are 8,258 bytes, the rest is room for longer
headers. A multiple of 64, so that every frame of a ring has the same alignment to cache lines."""

TX_RING = np.dtype(
    [
        ("cells", "<i8"),
        ("stride_bytes", "<u4"),
        ("mask", "<u4"),
        ("tail", "<i8"),
        ("limit", "<i8"),
        ("lengths", "<i8"),
        ("frames", "<i8"),
        ("bytes", "<i8"),
        ("dropped_full", "<i8"),
        ("dropped_too_long", "<i8"),
        ("reserved", "<i8"),
    ],
    align=True,
)
"""Where a switch puts frames for one egress port, 80 bytes.

cells             address of frame 0 (frame i is at cells + (i & mask) * stride_bytes); 0: there is no such port
stride_bytes      distance of two cells, and the longest frame one holds
mask              number of cells - 1; a power of two cells
tail              next frame to write, free running; only the switch moves it
limit             the switch may write while tail < limit; only the port moves it
lengths           address of a uint32 per cell, the frame's length in bytes
frames, bytes     counted by the switch for frames it appended
dropped_full      counted by the switch for frames it could not append because tail == limit
dropped_too_long  counted by the switch for frames longer than stride_bytes
"""


TX_CELLS = offset_of(TX_RING, "cells")
TX_STRIDE = offset_of(TX_RING, "stride_bytes")
TX_MASK = offset_of(TX_RING, "mask")
TX_TAIL = offset_of(TX_RING, "tail")
TX_LIMIT = offset_of(TX_RING, "limit")
TX_LENGTHS = offset_of(TX_RING, "lengths")
TX_FRAMES = offset_of(TX_RING, "frames")
TX_BYTES = offset_of(TX_RING, "bytes")
TX_DROPPED_FULL = offset_of(TX_RING, "dropped_full")
TX_DROPPED_TOO_LONG = offset_of(TX_RING, "dropped_too_long")
TX_RING_BYTES = TX_RING.itemsize

BATCH = np.dtype([(name, "<i8") for name in ("addresses", "lengths", "ports", "capacity", "count")], align=True)
"""A FrameBatch as compiled loops see it: addresses of its three arrays, and how many entries they have and hold."""

tx_ring_at, batch_at = record_at(TX_RING), record_at(BATCH)


class FrameBatch:
    """Up to ``capacity`` frames: address, length in bytes and ingress port of each.

    The frames are borrowed from the ports they came from, until those ports' ``release()``; nobody writes into them.
    """

    def __init__(self, capacity: int = 256) -> None:
        self.address: NDArray[np.uint64] = np.zeros(capacity, np.uint64)
        self.length_bytes: NDArray[np.uint32] = np.zeros(capacity, np.uint32)
        self.port: NDArray[np.uint32] = np.zeros(capacity, np.uint32)
        self.record: NDArray[Any] = np.zeros(1, BATCH)
        self.record["addresses"] = address_of(self.address)
        self.record["lengths"] = address_of(self.length_bytes)
        self.record["ports"] = address_of(self.port)
        self.record["capacity"] = capacity
        self.record_address = address_of(self.record)
        self._kept: list[NDArray[np.uint8]] = []

    @property
    def count(self) -> int:
        """How many frames the batch holds."""
        return int(self.record["count"][0])

    @count.setter
    def count(self, value: int) -> None:
        self.record["count"][0] = value

    @property
    def capacity(self) -> int:
        """How many frames it can hold."""
        return int(self.record["capacity"][0])

    def clear(self) -> None:
        """Forget all frames."""
        self.count = 0
        self._kept.clear()

    def append(self, frame: bytes | NDArray[np.uint8], port: int) -> None:
        """Add a copy of a frame that the batch itself keeps alive; for tests and tools, not for hot loops."""
        if self.count == self.capacity:
            raise IndexError(f"the batch is full: it holds {self.capacity} frames")
        copy = np.frombuffer(bytes(frame) or b"\0", np.uint8).copy()
        self._kept.append(copy)
        self.address[self.count] = address_of(copy)
        self.length_bytes[self.count] = len(frame)
        self.port[self.count] = port
        self.count += 1

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """(port, a copy of the frame) of each, in order."""
        for index in range(self.count):
            yield int(self.port[index]), frame_at(int(self.address[index]), int(self.length_bytes[index]))


def frame_at(address: int, length_bytes: int) -> bytes:
    """A copy of the bytes at an address."""
    return ctypes.string_at(address, length_bytes)


@njit
def batch_append(batch: int, address: int, length_bytes: int, port: int) -> None:
    """Add one borrowed frame to the batch record at ``batch``; the caller has checked that there is room."""
    frames = batch_at(batch)
    index = frames.count
    store_i64(frames.addresses + 8 * index, address)
    store_u32(frames.lengths + 4 * index, length_bytes)
    store_u32(frames.ports + 4 * index, port)
    frames.count = index + 1


@njit
def batch_room(batch: int) -> Any:
    """How many more frames the batch record takes."""
    frames = batch_at(batch)
    return frames.capacity - frames.count


@njit
def tx_append(ring: int, address: int, length_bytes: int) -> int:
    """Copy a frame into the TX_RING at ``ring``, as a switch does: 1, or 0 for a counted drop.

    A ring of no port (``cells`` 0) takes nothing and counts nothing: the switch counts that itself.
    """
    tx = tx_ring_at(ring)
    cells = tx.cells
    if cells == 0:
        return 0
    if length_bytes > tx.stride_bytes:
        tx.dropped_too_long += 1
        return 0
    tail = tx.tail
    if tail >= tx.limit:
        tx.dropped_full += 1
        return 0
    cell = tail & tx.mask
    copy_bytes(cells + cell * tx.stride_bytes, address, length_bytes)
    store_u32(tx.lengths + 4 * cell, length_bytes)
    tx.frames += 1
    tx.bytes += length_bytes
    tx.tail = tail + 1
    return 1


@njit
def tx_frame(ring: int, index: int) -> Any:
    """Address of frame ``index`` (free running) of a TX_RING."""
    tx = tx_ring_at(ring)
    return tx.cells + (index & tx.mask) * tx.stride_bytes


@njit
def tx_length(ring: int, index: int) -> int:
    """Length in bytes of frame ``index`` (free running) of a TX_RING."""
    tx = tx_ring_at(ring)
    return load_u32(tx.lengths + 4 * (index & tx.mask))


class TxPortTable:
    """The TX_RINGs of all egress ports, indexed by port number; ``rings[n]["cells"] == 0`` where there is no port n."""

    def __init__(self) -> None:
        self.rings: NDArray[Any] = aligned_bytes(MAX_PORTS * TX_RING_BYTES).view(TX_RING)
        self.address = address_of(self.rings)

    def ring_address(self, port: int) -> int:
        """The address of an egress port's ring."""
        return self.address + port * TX_RING_BYTES

    def append(self, port: int, frame: bytes | Iterable[int]) -> bool:
        """Append a frame from Python, as the interpreter does. False: dropped (no such port, full, or too long)."""
        memory = np.frombuffer(bytes(frame) or b"\0", np.uint8)
        if not 0 <= port < MAX_PORTS:
            return False
        return bool(tx_append(self.ring_address(port), address_of(memory), len(bytes(frame))))

    def numbers(self) -> list[int]:
        """The port numbers that exist."""
        return [int(number) for number in np.flatnonzero(self.rings["cells"])]
