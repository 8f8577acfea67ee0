"""Compiled: frames out of a capture file that is in memory, when they are due, and into another. See ``pcap``."""

from __future__ import annotations

import errno
from typing import Any

from emulator.native.intrinsics import copy_memory, read64, write32, write64, write_descriptor
from emulator.native.jit import njit
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
    return read64(read64(port + RECORDS) + index * RECORD_BYTES + RECORD_TIME) + read64(port + SHIFT_NS)


@njit
def pcap_next_ns(port: int, now_ns: int) -> Any:
    """When the next frame is due; -1: the file is at its end."""
    index = read64(port + IN_NEXT)
    if index >= read64(port + RECORD_COUNT):
        return -1
    if read64(port + SHIFT_NS) == NOT_STARTED:
        write64(port + SHIFT_NS, 0)
        write64(port + SHIFT_NS, now_ns - _due_ns(port, index))
    return _due_ns(port, index)


@njit
def pcap_receive(port: int, batch: int, most: int, now_ns: int) -> Any:
    """Append up to ``most`` frames that are due to a batch; they stay where they are."""
    first = read64(port + IN_NEXT)
    index = first
    room = min(most, batch_room(batch))
    while index - first < room:
        due_ns = pcap_next_ns(port, now_ns)
        if due_ns < 0 or due_ns > now_ns:
            break
        record = read64(port + RECORDS) + index * RECORD_BYTES
        length = read64(record + RECORD_LENGTH)
        batch_append(batch, read64(record), length, read64(port + NUMBER))
        add(port + IN_BYTES, length)
        index += 1
        write64(port + IN_NEXT, index)
    add(port + IN_FRAMES, index - first)
    return index - first


@njit
def pcap_write_out(port: int) -> None:
    """Write what is kept. After a failure the file is closed to us: what follows could not be read."""
    kept, size = read64(port + BUFFER), read64(port + BUFFER_USED)
    written = 0
    while written < size and read64(port + FILE) >= 0:
        result = write_descriptor(read64(port + FILE), kept + written, size - written)
        if result >= 0:
            written += result
        elif result != EINTR:
            write64(port + LAST_ERROR, -result)
            add(port + UNWRITTEN, read64(port + BUFFER_FRAMES))
            add(port + OUT_FRAMES, -read64(port + BUFFER_FRAMES))
            write64(port + FILE, -1)
            write64(port + NOTICE, 1)
    write64(port + BUFFER_USED, 0)
    write64(port + BUFFER_FRAMES, 0)


@njit
def _keep(port: int, address: int, length_bytes: int, stamp_ns: int) -> None:
    if read64(port + BUFFER_USED) + RECORD_HEADER_BYTES + length_bytes > read64(port + BUFFER_BYTES):
        pcap_write_out(port)
    if read64(port + FILE) < 0:
        add(port + UNWRITTEN, 1)
        return
    record = read64(port + BUFFER) + read64(port + BUFFER_USED)
    write32(record, (stamp_ns // BILLION) & WORD)
    write32(record + 4, stamp_ns % BILLION)
    write32(record + 8, length_bytes)
    write32(record + 12, length_bytes)
    copy_memory(record + RECORD_HEADER_BYTES, address, length_bytes)
    add(port + BUFFER_USED, RECORD_HEADER_BYTES + length_bytes)
    add(port + BUFFER_FRAMES, 1)
    add(port + OUT_FRAMES, 1)
    add(port + OUT_BYTES, length_bytes)


@njit
def pcap_flush(port: int, now_ns: int) -> Any:
    """Keep what the switch has appended, with its time, for the file; how many frames that are."""
    ring = read64(port + WIRE_TX)
    first, tail = read64(port + OUT_PUBLISHED), read64(ring + TX_TAIL)
    stamp_ns = now_ns + read64(port + STAMP_OFFSET_NS)
    for index in range(first, tail):
        _keep(port, tx_frame(ring, index), tx_length(ring, index), stamp_ns)
    rewind_ring(ring)
    write64(port + OUT_PUBLISHED, read64(ring + TX_TAIL))
    return tail - first
