"""Compiled: frames out of a capture file that is in memory, when they are due, and into another. See ``pcap``."""

from __future__ import annotations

import errno
from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, store_i64, store_u32
from emulator.native.syscalls import write_descriptor
from emulator.ports.batch import TX_TAIL, batch_append, batch_room, offset_of, tx_frame, tx_length
from emulator.ports.pcap.capture import RECORD, RECORD_BYTES, RECORD_HEADER_BYTES
from emulator.ports.sockets.messages import add, rewind_ring
from emulator.ports.state import (
    BUFFER,
    BUFFER_BYTES,
    BUFFER_FRAMES,
    BUFFER_USED,
    FILE,
    IN_BYTES,
    IN_FRAMES,
    IN_NEXT,
    LAST_ERROR,
    NOTICE,
    NUMBER,
    OUT_BYTES,
    OUT_FRAMES,
    OUT_PUBLISHED,
    RECORD_COUNT,
    RECORDS,
    SHIFT_NS,
    STAMP_OFFSET_NS,
    UNWRITTEN,
    WIRE_TX,
)

RECORD_TIME = offset_of(RECORD, "time_ns")
RECORD_LENGTH = offset_of(RECORD, "length_bytes")

NOT_STARTED = -(1 << 63)
"""A shift not known yet: the first frame is due when the loop first asks."""
BILLION = 1_000_000_000
WORD = 0xFFFF_FFFF
EINTR = -errno.EINTR


@njit
def _due_ns(port: int, index: int) -> int:
    return load_i64(load_i64(port + RECORDS) + index * RECORD_BYTES + RECORD_TIME) + load_i64(port + SHIFT_NS)


@njit
def pcap_next_ns(port: int, now_ns: int) -> Any:
    """When the next frame is due; -1: the file is at its end."""
    index = load_i64(port + IN_NEXT)
    if index >= load_i64(port + RECORD_COUNT):
        return -1
    if load_i64(port + SHIFT_NS) == NOT_STARTED:
        store_i64(port + SHIFT_NS, 0)
        store_i64(port + SHIFT_NS, now_ns - _due_ns(port, index))
    return _due_ns(port, index)


@njit
def pcap_receive(port: int, batch: int, most: int, now_ns: int) -> Any:
    """Append up to ``most`` frames that are due to a batch; they stay where they are."""
    first = load_i64(port + IN_NEXT)
    index = first
    room = min(most, batch_room(batch))
    while index - first < room:
        due_ns = pcap_next_ns(port, now_ns)
        if due_ns < 0 or due_ns > now_ns:
            break
        record = load_i64(port + RECORDS) + index * RECORD_BYTES
        length = load_i64(record + RECORD_LENGTH)
        batch_append(batch, load_i64(record), length, load_i64(port + NUMBER))
        add(port + IN_BYTES, length)
        index += 1
        store_i64(port + IN_NEXT, index)
    add(port + IN_FRAMES, index - first)
    return index - first


@njit
def pcap_write_out(port: int) -> None:
    """Write what is kept. After a failure the file is closed to us: what follows could not be read."""
    kept, size = load_i64(port + BUFFER), load_i64(port + BUFFER_USED)
    written = 0
    while written < size and load_i64(port + FILE) >= 0:
        result = write_descriptor(load_i64(port + FILE), kept + written, size - written)
        if result >= 0:
            written += result
        elif result != EINTR:
            store_i64(port + LAST_ERROR, -result)
            add(port + UNWRITTEN, load_i64(port + BUFFER_FRAMES))
            add(port + OUT_FRAMES, -load_i64(port + BUFFER_FRAMES))
            store_i64(port + FILE, -1)
            store_i64(port + NOTICE, 1)
    store_i64(port + BUFFER_USED, 0)
    store_i64(port + BUFFER_FRAMES, 0)


@njit
def _keep(port: int, address: int, length_bytes: int, stamp_ns: int) -> None:
    if load_i64(port + BUFFER_USED) + RECORD_HEADER_BYTES + length_bytes > load_i64(port + BUFFER_BYTES):
        pcap_write_out(port)
    if load_i64(port + FILE) < 0:
        add(port + UNWRITTEN, 1)
        return
    record = load_i64(port + BUFFER) + load_i64(port + BUFFER_USED)
    store_u32(record, (stamp_ns // BILLION) & WORD)
    store_u32(record + 4, stamp_ns % BILLION)
    store_u32(record + 8, length_bytes)
    store_u32(record + 12, length_bytes)
    copy_bytes(record + RECORD_HEADER_BYTES, address, length_bytes)
    add(port + BUFFER_USED, RECORD_HEADER_BYTES + length_bytes)
    add(port + BUFFER_FRAMES, 1)
    add(port + OUT_FRAMES, 1)
    add(port + OUT_BYTES, length_bytes)


@njit
def pcap_flush(port: int, now_ns: int) -> Any:
    """Keep what the switch has appended, with its time, for the file; how many frames that are."""
    ring = load_i64(port + WIRE_TX)
    first, tail = load_i64(port + OUT_PUBLISHED), load_i64(ring + TX_TAIL)
    stamp_ns = now_ns + load_i64(port + STAMP_OFFSET_NS)
    for index in range(first, tail):
        _keep(port, tx_frame(ring, index), tx_length(ring, index), stamp_ns)
    rewind_ring(ring)
    store_i64(port + OUT_PUBLISHED, load_i64(ring + TX_TAIL))
    return tail - first
