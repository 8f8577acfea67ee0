"""Compiled: frames in a stream, each behind its length, many per system call. ``tcp`` makes the connections.

A connection that ends or breaks the protocol is abandoned here, without Python; the next one is left in ``next_socket``
by the thread that greets (``tcp``) and taken at the next turn. Frames for an end that is not connected are lost, as on
any network, and counted; a frame that had left in part is sent whole to the next one.

Received frames stay where the stream brought them until they are released. What has come of the frame after them is
moved to the front then, once it does not overlap itself.
"""

from __future__ import annotations

import errno
from typing import Any

from emulator.native.atomics import exchange64, load_acquire64
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, load_u8, load_u32, store_i64, store_u8
from emulator.native.syscalls import close_descriptor, epoll_control, read_descriptor, sendmmsg, shut_down
from emulator.ports.batch import (
    CELL_BYTES,
    batch_append,
    batch_room,
    tx_frame,
    tx_length,
    tx_ring_at,
)
from emulator.ports.cable.rings import POST_BYTES, POST_LENGTH
from emulator.ports.sockets.mmsg import (
    EAGAIN,
    EINTR,
    IOV_LENGTH,
    MESSAGE_IOV,
    MESSAGE_LENGTH,
    MESSAGES,
    MSG_DONTWAIT,
    MSG_NOSIGNAL,
    note_error,
    settle_ring,
)
from emulator.ports.state import (
    NEXT_SOCKET,
    port_at,
)

PREFIX_BYTES = 4
"""A frame's length, big endian."""
STREAM_CAPACITY_BYTES = 1 << 19
"""Sixty of the longest frames: about what a turn of a loop takes."""

IOV_BYTES = 16
IOV_COUNT = 24
"""Offset of the number of pieces in struct msghdr."""
EPOLL_ADD, EPOLL_DELETE = 1, 2
SHUT_BOTH = 2
ENOTCONN, ECONNRESET, EPIPE = -errno.ENOTCONN, -errno.ECONNRESET, -errno.EPIPE
ETIMEDOUT = -errno.ETIMEDOUT


@njit
def offer_socket(port: int, descriptor: int) -> int:
    """Leave a greeted connection for the loop, from another thread; the one it had not taken yet, or -1."""
    return exchange64(port + NEXT_SOCKET, descriptor)


@njit
def tcp_drop(port: int) -> None:
    """Give the connection up. Its frames that were received stay until they are released."""
    state = port_at(port)
    descriptor = state.socket
    if descriptor < 0:
        return
    shut_down(descriptor, SHUT_BOTH)  # wakes whoever watches a copy of the descriptor
    epoll_control(state.poller, EPOLL_DELETE, descriptor, 0)
    close_descriptor(descriptor)
    state.socket = -1
    state.stream_from = state.stream_end
    state.sent_bytes = 0


@njit
def _take_socket(port: int) -> None:
    """Go on with the connection that waits, if one does."""
    state = port_at(port)
    if load_acquire64(port + NEXT_SOCKET) < 0:
        return
    descriptor = exchange64(port + NEXT_SOCKET, -1)
    if descriptor >= 0:
        tcp_drop(port)
        state.socket = descriptor
        epoll_control(state.poller, EPOLL_ADD, descriptor, state.poll_event)
        state.peer_changes += 1


@njit
def _lose(port: int, result: int) -> None:
    """The connection has ended with -errno, or with 0 in order."""
    if result not in (0, ECONNRESET, EPIPE, ENOTCONN, ETIMEDOUT):
        note_error(port, result)
    tcp_drop(port)


@njit
def _read_more(port: int) -> None:
    state = port_at(port)
    end = state.stream_end
    room = state.stream_bytes - end
    if state.socket < 0 or room <= 0:
        return
    count = read_descriptor(state.socket, state.stream + end, room)
    if count > 0:
        state.stream_end = end + count
    elif count not in (EAGAIN, EINTR):
        _lose(port, count)


@njit
def _prefix(address: int) -> int:
    return (load_u8(address) << 24) | (load_u8(address + 1) << 16) | (load_u8(address + 2) << 8) | load_u8(address + 3)


@njit
def _next_length(port: int) -> int:
    """Length of the next frame, as its prefix says, once all of it has come; -1: not yet."""
    state = port_at(port)
    start = state.stream_from
    come = state.stream_end - start - PREFIX_BYTES
    if come < 0:
        return -1
    length = _prefix(state.stream + start)
    return length if length > CELL_BYTES or come >= length else -1


@njit
def tcp_receive(port: int, batch: int, most: int) -> Any:
    """Append up to ``most`` frames to a batch; they stay valid until tcp_release."""
    state = port_at(port)
    _take_socket(port)
    _read_more(port)
    room = min(most, batch_room(batch))
    taken = 0
    while taken < room:
        length = _next_length(port)
        if length < 0:
            break
        if length > CELL_BYTES:  # not a stream of ours any more: nobody knows where the next frame begins
            state.broken_streams += 1
            tcp_drop(port)
            break
        start = state.stream_from + PREFIX_BYTES
        batch_append(batch, state.stream + start, length, state.number)
        state.stream_from = start + length
        state.in_frames += 1
        state.in_bytes += length
        taken += 1
    return taken


@njit
def tcp_release(port: int) -> None:
    """The received frames have been read."""
    state = port_at(port)
    start, end = state.stream_from, state.stream_end
    if start >= end - start:
        stream = state.stream
        copy_bytes(stream, stream + start, end - start)
        state.stream_from = 0
        state.stream_end = end - start


@njit
def tcp_has_input(port: int) -> Any:
    """Whether a whole frame, or another connection, waits in memory; input of the socket is ppoll's to report."""
    return load_acquire64(port + NEXT_SOCKET) >= 0 or _next_length(port) >= 0


@njit
def _set_frame(port: int, index: int, address: int, length: int, already: int) -> None:
    """Make pieces 2 index and 2 index + 1 a frame and its prefix, of which ``already`` bytes have left."""
    state = port_at(port)
    prefix = state.prefixes + index * PREFIX_BYTES
    for byte in range(PREFIX_BYTES):
        store_u8(prefix + byte, (length >> (24 - 8 * byte)) & 0xFF)
    piece = load_i64(state.messages_out + MESSAGE_IOV) + 2 * index * IOV_BYTES
    of_prefix = min(already, PREFIX_BYTES)
    of_frame = already - of_prefix
    store_i64(piece, prefix + of_prefix)
    store_i64(piece + IOV_LENGTH, PREFIX_BYTES - of_prefix)
    store_i64(piece + IOV_BYTES, address + of_frame)
    store_i64(piece + IOV_BYTES + IOV_LENGTH, length - of_frame)


@njit
def _send(port: int, count: int) -> Any:
    """Send the pieces of ``count`` frames: how many bytes left; 0 where the socket is full, -1 where it is gone."""
    state = port_at(port)
    message = state.messages_out
    store_i64(message + IOV_COUNT, 2 * count)
    while True:
        sent = sendmmsg(state.socket, message, 1, MSG_DONTWAIT | MSG_NOSIGNAL)
        if sent > 0:
            return load_u32(message + MESSAGE_LENGTH)
        if sent == EAGAIN:
            state.blocked = 1
            return 0
        if sent != EINTR:
            _lose(port, sent)
            return -1


@njit
def _count_left(port: int, length: int, bytes_left: int) -> Any:
    """What remains of ``bytes_left`` bytes after a frame of this length; -1 where the frame has not left whole."""
    state = port_at(port)
    needed = length + PREFIX_BYTES - state.sent_bytes
    if bytes_left < needed:
        state.sent_bytes += bytes_left
        return -1
    state.sent_bytes = 0
    state.out_frames += 1
    state.out_bytes += length
    return bytes_left - needed


@njit
def _ring_round(port: int, ring: int, done: int, tail: int) -> Any:
    """One system call's worth of a TX_RING: the index of the first frame that has not left."""
    count = min(tail - done, MESSAGES)
    for index in range(count):
        already = port_at(port).sent_bytes if index == 0 else 0
        _set_frame(port, index, tx_frame(ring, done + index), tx_length(ring, done + index), already)
    left = _send(port, count)
    while left > 0:
        left = _count_left(port, tx_length(ring, done), left)
        if left >= 0:
            done += 1
    return done


@njit
def tcp_switch_flush(port: int) -> Any:
    """Send what the switch has appended; how many frames that are."""
    state = port_at(port)
    _take_socket(port)
    ring = state.wire_tx
    tail = tx_ring_at(ring).tail
    first = done = state.out_published
    state.blocked = 0
    while done < tail and state.socket >= 0 and state.blocked == 0:
        done = _ring_round(port, ring, done, tail)
    if state.socket < 0:
        state.no_remote += tail - done
        done = tail
    settle_ring(port, ring, done)
    return done - first


@njit
def _posts_round(port: int, done: int, end: int) -> Any:
    """One system call's worth of a host's posts: the index of the first that has not left."""
    state = port_at(port)
    posts, mask = state.posts, state.post_mask
    count = min(end - done, MESSAGES)
    for index in range(count):
        post = posts + ((done + index) & mask) * POST_BYTES
        already = state.sent_bytes if index == 0 else 0
        _set_frame(port, index, load_i64(post), load_u32(post + POST_LENGTH), already)
    left = _send(port, count)
    while left > 0:
        left = _count_left(port, load_u32(posts + (done & mask) * POST_BYTES + POST_LENGTH), left)
        if left >= 0:
            done += 1
    return done


@njit
def tcp_host_flush(port: int) -> Any:
    """Send what was posted; the frames dealt with count as consumed at once. Posting is as for udp."""
    state = port_at(port)
    _take_socket(port)
    first = done = state.out_taken
    end = state.out_next
    state.blocked = 0
    while done < end and state.socket >= 0 and state.blocked == 0:
        done = _posts_round(port, done, end)
    if state.socket < 0:
        state.no_remote += end - done
        done = end
    state.out_taken = done
    return done - first
