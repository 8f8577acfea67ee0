"""Compiled: frames out of a capture file that is in memory, when they are due, and into another. See ``pcap``."""

from __future__ import annotations

import errno
from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, record_at, store_u32
from emulator.native.syscalls import write_descriptor
from emulator.ports.batch import batch_append, batch_room, tx_frame, tx_length, tx_ring_at
from emulator.ports.pcap.capture import RECORD, RECORD_BYTES, RECORD_HEADER_BYTES
from emulator.ports.sockets.mmsg import rewind_ring
from emulator.ports.state import (
    port_at,
)

record_of = record_at(RECORD)

NOT_STARTED = -(1 << 63)
"""A shift not known yet: the first frame is due when the loop first asks."""
BILLION = 1_000_000_000
WORD = 0xFFFF_FFFF
EINTR = -errno.EINTR


@njit
def _due_ns(port: int, index: int) -> Any:
    state = port_at(port)
    return record_of(state.records + index * RECORD_BYTES).time_ns + state.shift_ns


@njit
def pcap_next_ns(port: int, now_ns: int) -> Any:
    """When the next frame is due; -1: the file is at its end."""
    state = port_at(port)
    index = state.in_next
    if index >= state.record_count:
        return -1
    if state.shift_ns == NOT_STARTED:
        state.shift_ns = 0
        state.shift_ns = now_ns - _due_ns(port, index)
    return _due_ns(port, index)


@njit
def pcap_receive(port: int, batch: int, most: int, now_ns: int) -> Any:
    """Append up to ``most`` frames that are due to a batch; they stay where they are."""
    state = port_at(port)
    first = state.in_next
    index = first
    room = min(most, batch_room(batch))
    while index - first < room:
        due_ns = pcap_next_ns(port, now_ns)
        if due_ns < 0 or due_ns > now_ns:
            break
        record = record_of(state.records + index * RECORD_BYTES)
        length = record.length_bytes
        batch_append(batch, record.address, length, state.number)
        state.in_bytes += length
        index += 1
        state.in_next = index
    state.in_frames += index - first
    return index - first


@njit
def pcap_write_out(port: int) -> None:
    """Write what is kept. After a failure the file is closed to us: what follows could not be read."""
    state = port_at(port)
    kept, size = state.buffer, state.buffer_used
    written = 0
    while written < size and state.file >= 0:
        result = write_descriptor(state.file, kept + written, size - written)
        if result >= 0:
            written += result
        elif result != EINTR:
            state.last_error = -result
            state.unwritten += state.buffer_frames
            state.out_frames += -state.buffer_frames
            state.file = -1
            state.notice = 1
    state.buffer_used = 0
    state.buffer_frames = 0


@njit
def _keep(port: int, address: int, length_bytes: int, stamp_ns: int) -> None:
    state = port_at(port)
    if state.buffer_used + RECORD_HEADER_BYTES + length_bytes > state.buffer_bytes:
        pcap_write_out(port)
    if state.file < 0:
        state.unwritten += 1
        return
    record = state.buffer + state.buffer_used
    store_u32(record, (stamp_ns // BILLION) & WORD)
    store_u32(record + 4, stamp_ns % BILLION)
    store_u32(record + 8, length_bytes)
    store_u32(record + 12, length_bytes)
    copy_bytes(record + RECORD_HEADER_BYTES, address, length_bytes)
    state.buffer_used += RECORD_HEADER_BYTES + length_bytes
    state.buffer_frames += 1
    state.out_frames += 1
    state.out_bytes += length_bytes


@njit
def pcap_flush(port: int, now_ns: int) -> Any:
    """Keep what the switch has appended, with its time, for the file; how many frames that are."""
    state = port_at(port)
    ring = state.wire_tx
    first, tail = state.out_published, tx_ring_at(ring).tail
    stamp_ns = now_ns + state.stamp_offset_ns
    for index in range(first, tail):
        _keep(port, tx_frame(ring, index), tx_length(ring, index), stamp_ns)
    rewind_ring(ring)
    state.out_published = tx_ring_at(ring).tail
    return tail - first
