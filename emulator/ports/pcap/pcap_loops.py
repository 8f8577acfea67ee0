"""Compiled: frames out of a capture file that is in memory, when they are due, and into another. See ``pcap``."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import record_at
from emulator.ports.batch import batch_append, batch_room, tx_frame, tx_length, tx_ring_at
from emulator.ports.pcap.pcapng import RECORD, RECORD_BYTES
from emulator.ports.pcap.writer import OUT, record_frame, writer_at, writer_flush
from emulator.ports.sockets.mmsg import rewind_ring
from emulator.ports.state import port_at

record_of = record_at(RECORD)

NOT_STARTED = -(1 << 63)
"""A shift not known yet: the first frame is due when the loop first asks."""


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
def _account(port: int) -> None:
    """What the port's file did not take after all."""
    state = port_at(port)
    writer = writer_at(state.writer)
    state.out_frames += -writer.lost
    state.unwritten += writer.lost
    writer.lost = 0
    state.notice |= writer.notice


@njit
def pcap_write_out(port: int) -> None:
    """Write what is kept."""
    state = port_at(port)
    if state.writer != 0:
        writer_flush(state.writer)
        _account(port)


@njit
def pcap_flush(port: int, now_ns: int) -> Any:
    """Keep what the switch has appended, with its time, for the file; how many frames that are."""
    state = port_at(port)
    ring = state.wire_tx
    first, tail = state.out_published, tx_ring_at(ring).tail
    stamp_ns = now_ns + state.stamp_offset_ns
    for index in range(first, tail):
        length = tx_length(ring, index)
        if state.writer != 0 and record_frame(state.writer, 0, OUT, tx_frame(ring, index), length, stamp_ns):
            state.out_frames += 1
            state.out_bytes += length
        else:
            state.unwritten += 1
    if state.writer != 0:
        _account(port)
    rewind_ring(ring)
    state.out_published = tx_ring_at(ring).tail
    return tail - first
