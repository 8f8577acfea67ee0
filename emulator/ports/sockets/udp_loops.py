"""Compiled: frames as datagrams, many per system call. ``udp`` makes the sockets; nothing here waits.

A datagram that can't be sent is lost, as on any network, and counted by its reason: only a full socket buffer keeps it.
A message may have many datagrams of one length (UDP_GRO, udp(7)): they lie one behind the other in its buffer.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, load_u8, load_u32, store_i64, store_u32
from emulator.native.syscalls import recvmmsg
from emulator.ports.batch import CELL_BYTES, batch_append, batch_room, tx_ring_at
from emulator.ports.cable.rings import POST_BYTES, POST_LENGTH
from emulator.ports.sockets.ecn import ECN_FIELD, MARKED, NOT_CAPABLE, ecn_of, mark_frame
from emulator.ports.sockets.mmsg import (
    CONTROL_BYTES,
    CONTROL_TYPE,
    CONTROL_VALUE,
    CONTROLS,
    EAGAIN,
    EINTR,
    MESSAGE_BYTES,
    MESSAGE_CONTROL,
    MESSAGE_CONTROL_BYTES,
    MESSAGE_FLAGS,
    MESSAGE_IOV,
    MESSAGE_LENGTH,
    MESSAGE_NAME,
    MESSAGE_NAME_BYTES,
    MESSAGES,
    MSG_DONTWAIT,
    MSG_TRUNC,
    UDP_GRO,
    flush_ring,
    note_error,
    rewind_ring,
    set_frame,
    transmit,
)
from emulator.ports.state import (
    port_at,
)

SOCKADDR_BYTES = 32
"""A sockaddr_in6 is 28."""


@njit
def _receive(port: int, first: int, count: int) -> int:
    """recvmmsg into messages ``first`` and on; an error left behind by an earlier datagram is noted and passed over."""
    state = port_at(port)
    messages = state.messages_in
    for message in range(messages + first * MESSAGE_BYTES, messages + (first + count) * MESSAGE_BYTES, MESSAGE_BYTES):
        store_i64(message + MESSAGE_CONTROL_BYTES, CONTROLS * CONTROL_BYTES)
        if state.connected == 0:
            store_u32(message + MESSAGE_NAME_BYTES, SOCKADDR_BYTES)
    received = 0
    for _ in range(2):
        received = recvmmsg(state.socket, messages + first * MESSAGE_BYTES, count, MSG_DONTWAIT, 0)
        if received >= 0 or received == EAGAIN:
            break
        if received != EINTR:
            note_error(port, received)
    return max(received, 0)


@njit
def _said(message: int) -> Any:
    """(length, is marked) of a message's datagrams; the last may be shorter. All have one ECN field."""
    segment, is_marked = load_u32(message + MESSAGE_LENGTH), False
    control = load_i64(message + MESSAGE_CONTROL)
    end = control + load_i64(message + MESSAGE_CONTROL_BYTES)
    while control < end:
        if load_u32(control + CONTROL_TYPE) == UDP_GRO:
            segment = load_u32(control + CONTROL_VALUE)
        else:
            is_marked = load_u8(control + CONTROL_VALUE, 0) & ECN_FIELD == MARKED
        control += CONTROL_BYTES
    return segment, is_marked


@njit
def _take_frame(port: int, batch: int, frame: int, length: int, is_marked: bool) -> None:
    """Append a frame to a batch, with the mark of its datagram, if it can have one."""
    state = port_at(port)
    if is_marked and ecn_of(frame, length) == NOT_CAPABLE:
        state.marked_in += 1
        return
    if is_marked:
        mark_frame(frame)
    batch_append(batch, frame, length, state.number)
    state.in_frames += 1
    state.in_bytes += length


@njit
def _hand_over(port: int, batch: int, most: int) -> int:
    """Append up to ``most`` of the frames that have been received to a batch; how many were dealt with."""
    state = port_at(port)
    taken = 0
    while state.in_next < state.in_messages and taken < most:
        message = state.messages_in + state.in_next * MESSAGE_BYTES
        end = load_u32(message + MESSAGE_LENGTH)
        segment, is_marked = _said(message)
        position = state.in_position
        truncated = load_u32(message + MESSAGE_FLAGS) & MSG_TRUNC != 0
        while taken < most:
            length = min(segment, end - position)
            if truncated or length > CELL_BYTES:
                state.too_long_in += 1
            else:
                frame = load_i64(load_i64(message + MESSAGE_IOV)) + position
                _take_frame(port, batch, frame, length, is_marked)
            taken += 1
            position += length
            if position >= end:
                state.in_next += 1
                position = 0
                break
        state.in_position = position
    return taken


@njit
def udp_receive(port: int, batch: int, most: int) -> Any:
    """Append up to ``most`` datagrams to a batch; their buffers are used again after udp_release."""
    state = port_at(port)
    most = min(most, batch_room(batch))
    taken = _hand_over(port, batch, most)
    used = state.in_messages
    room = min(most - taken, MESSAGES - used)
    if room <= 0:
        return taken
    received = _receive(port, used, room)
    if received > 0 and state.connected == 0:
        _learn(port, state.messages_in + (used + received - 1) * MESSAGE_BYTES)
    state.in_messages = used + received
    return taken + _hand_over(port, batch, most - taken)


@njit
def udp_has_input(port: int) -> Any:
    """Whether received frames wait for room in a batch; what the kernel has is ppoll's to report."""
    return port_at(port).in_next < port_at(port).in_messages


@njit
def _learn(port: int, message: int) -> None:
    """Take the latest sender as the remote: a host that comes back from another UDP port is recognized again."""
    state = port_at(port)
    length = min(load_u32(message + MESSAGE_NAME_BYTES), SOCKADDR_BYTES)
    copy_bytes(state.remote, load_i64(message + MESSAGE_NAME), length)
    state.remote_bytes = length


@njit
def udp_release(port: int) -> None:
    """The received frames have been read."""
    if not udp_has_input(port):
        port_at(port).in_next = port_at(port).in_messages = 0


@njit
def _has_remote(port: int) -> Any:
    state = port_at(port)
    return state.connected != 0 or state.remote_bytes != 0


@njit
def udp_switch_flush(port: int) -> Any:
    """Send what the switch has appended; how many frames that are."""
    state = port_at(port)
    ring = state.wire_tx
    waiting = tx_ring_at(ring).tail - state.out_published
    if _has_remote(port):
        return flush_ring(port)
    state.no_remote += waiting
    rewind_ring(ring)
    state.out_published = tx_ring_at(ring).tail
    state.blocked = 0
    return waiting


@njit
def udp_host_post(port: int, address: int, length_bytes: int) -> int:
    """Queue one frame, anywhere in memory: 1, or 0 when the queue is full."""
    state = port_at(port)
    next_post = state.out_next
    mask = state.post_mask
    if length_bytes < 0:
        state.bad_descriptors += 1
        return 0
    if next_post - state.out_taken > mask:
        state.refused += 1
        return 0
    post = state.posts + (next_post & mask) * POST_BYTES
    store_i64(post, address)
    store_u32(post + POST_LENGTH, length_bytes)
    state.out_next = next_post + 1
    return 1


@njit
def udp_host_flush(port: int) -> Any:
    """Send what was posted; the frames dealt with count as consumed at once."""
    state = port_at(port)
    first = state.out_taken
    end = state.out_next
    posts = state.posts
    mask = state.post_mask
    done = first
    state.blocked = 0
    if not _has_remote(port):
        state.no_remote += end - first
        done = end
    while done < end:
        count = min(end - done, MESSAGES)
        for index in range(count):
            post = posts + ((done + index) & mask) * POST_BYTES
            set_frame(port, index, load_i64(post), load_u32(post + POST_LENGTH))
        moved = transmit(port, count)
        done += moved
        if moved < count:
            break
    state.out_taken = done
    return done - first
