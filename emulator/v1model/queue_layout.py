"""Memory layout of a switch's egress queues, for machine code: queues, heap of departures, packets.

The area begins with the words below; then the queues; then a binary heap of entries {time, rank and number, cell}, the
first to leave on top; then the cells. Freed cells are in a free list; the others have never been used, so
their pages take no memory.
"""

from __future__ import annotations

import numpy as np

from emulator.native.memory import offset_of
from emulator.p4.layout import CACHE_LINE_BYTES, round_up
from emulator.ports.batch import MAX_PORTS

MAX_PRIORITIES = 8
"""standard_metadata.priority has 3 bits."""
HELD_PACKETS = 32_768
"""Most packets in all queues of a switch together."""
HELD_FRAME_BYTES = 16_384
"""Longest frame that can be enqueued; recirculated frames are not longer."""
QUEUE = np.dtype([(name, "<i8") for name in ("depth", "interval_ns", "last_ns", "size")])
"""One queue: maximum depth in packets, interval between departures, departure of the packet enqueued last, packets in
the queue. The queue of a port and a priority has number ``port * MAX_PRIORITIES + priority``."""

HELD = 0
"""Number of packets in all queues."""
FREE = 8
"""First free cell, or null."""
USED = 16
"""Cells that have ever been used."""
ENTERED = 24
"""Packets enqueued so far; the number of the next one."""
DEPARTED = 32
"""Cell of the packet that left last, or null."""
PRIORITIES = 40
"""Queues of a port that are in use."""
QUEUES = 64
HEAP = QUEUES + QUEUE.itemsize * MAX_PORTS * MAX_PRIORITIES
ENTRY_BYTES = 24
CELLS = round_up(HEAP + ENTRY_BYTES * (HELD_PACKETS + 1), CACHE_LINE_BYTES)

# A cell: these words, the frame, the packet's state.
CELL_NEXT = 0
"""Next cell of the free list."""
CELL_LEAVES = 0
"""Time at which a packet leaves its queue, ns."""
CELL_REPLICA = 8
"""{u32 port, u32 rid}"""
CELL_ENTERED = 16
"""Time of enqueuing, us."""
CELL_DEPTH = 24
"""Depth of the queue before the packet entered, packets."""
CELL_QUEUE = 32
"""Address of its QUEUE record."""
CELL_PRIORITY = 40
CELL_INGRESS_PORT = 48
CELL_FRAME = 64
CELL_STATE = CELL_FRAME + HELD_FRAME_BYTES

QUEUE_DEPTH, QUEUE_INTERVAL, QUEUE_LAST, QUEUE_SIZE = (
    offset_of(QUEUE, n) for n in ("depth", "interval_ns", "last_ns", "size")
)
RANK_SHIFT = 56
"""Bit of a heap entry's second word: the rank from there on, the packet's number below."""


def area_bytes(state_bytes: int) -> int:
    return CELLS + HELD_PACKETS * cell_bytes(state_bytes)


def cell_bytes(state_bytes: int) -> int:
    return CELL_STATE + state_bytes
