"""Compiled: frames in a stream, each behind its length, many per system call. ``tcp`` makes the connections.

A connection that ends or makes no sense is given up here, without Python; the next one is left in ``next_socket`` by
the thread that greets (``tcp``) and taken at the next turn. Frames for an end that is not connected are lost, as on any
network, and counted; a frame that had left in part is sent whole to the next one.

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
    TX_TAIL,
    batch_append,
    batch_room,
    tx_frame,
    tx_length,
)
from emulator.ports.cable.cable import POST_BYTES, POST_LENGTH
from emulator.ports.sockets.messages import (
    EAGAIN,
    EINTR,
    IOV_LENGTH,
    MESSAGE_IOV,
    MESSAGE_LENGTH,
    MESSAGES,
    MSG_DONTWAIT,
    MSG_NOSIGNAL,
    add,
    note_error,
    settle_ring,
)
from emulator.ports.state import (
    BLOCKED,
    BROKEN_STREAMS,
    IN_BYTES,
    IN_FRAMES,
    MESSAGES_OUT,
    NEXT_SOCKET,
    NO_REMOTE,
    NUMBER,
    OUT_BYTES,
    OUT_FRAMES,
    OUT_NEXT,
    OUT_PUBLISHED,
    OUT_TAKEN,
    PEER_CHANGES,
    POLL_EVENT,
    POLLER,
    POST_MASK,
    POSTS,
    PREFIXES,
    SENT_BYTES,
    SOCKET,
    STREAM,
    STREAM_BYTES,
    STREAM_END,
    STREAM_FROM,
    WIRE_TX,
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
    descriptor = load_i64(port + SOCKET)
    if descriptor < 0:
        return
    shut_down(descriptor, SHUT_BOTH)  # wakes whoever watches a copy of the descriptor
    epoll_control(load_i64(port + POLLER), EPOLL_DELETE, descriptor, 0)
    close_descriptor(descriptor)
    store_i64(port + SOCKET, -1)
    store_i64(port + STREAM_FROM, load_i64(port + STREAM_END))
    store_i64(port + SENT_BYTES, 0)


@njit
def _take_socket(port: int) -> None:
    """Go on with the connection that waits, if one does."""
    if load_acquire64(port + NEXT_SOCKET) < 0:
        return
    descriptor = exchange64(port + NEXT_SOCKET, -1)
    if descriptor >= 0:
        tcp_drop(port)
        store_i64(port + SOCKET, descriptor)
        epoll_control(load_i64(port + POLLER), EPOLL_ADD, descriptor, load_i64(port + POLL_EVENT))
        add(port + PEER_CHANGES, 1)


@njit
def _lose(port: int, result: int) -> None:
    """The connection has ended with -errno, or with 0 in order."""
    if result not in (0, ECONNRESET, EPIPE, ENOTCONN, ETIMEDOUT):
        note_error(port, result)
    tcp_drop(port)


@njit
def _read_more(port: int) -> None:
    end = load_i64(port + STREAM_END)
    room = load_i64(port + STREAM_BYTES) - end
    if load_i64(port + SOCKET) < 0 or room <= 0:
        return
    count = read_descriptor(load_i64(port + SOCKET), load_i64(port + STREAM) + end, room)
    if count > 0:
        store_i64(port + STREAM_END, end + count)
    elif count not in (EAGAIN, EINTR):
        _lose(port, count)


@njit
def _prefix(address: int) -> int:
    return (load_u8(address) << 24) | (load_u8(address + 1) << 16) | (load_u8(address + 2) << 8) | load_u8(address + 3)


@njit
def _next_length(port: int) -> int:
    """Length of the next frame, as its prefix says, once all of it has come; -1: not yet."""
    start = load_i64(port + STREAM_FROM)
    come = load_i64(port + STREAM_END) - start - PREFIX_BYTES
    if come < 0:
        return -1
    length = _prefix(load_i64(port + STREAM) + start)
    return length if length > CELL_BYTES or come >= length else -1


@njit
def tcp_receive(port: int, batch: int, most: int) -> Any:
    """Append up to ``most`` frames to a batch; they stay valid until tcp_release."""
    _take_socket(port)
    _read_more(port)
    room = min(most, batch_room(batch))
    taken = 0
    while taken < room:
        length = _next_length(port)
        if length < 0:
            break
        if length > CELL_BYTES:  # not a stream of ours any more: nobody knows where the next frame begins
            add(port + BROKEN_STREAMS, 1)
            tcp_drop(port)
            break
        start = load_i64(port + STREAM_FROM) + PREFIX_BYTES
        batch_append(batch, load_i64(port + STREAM) + start, length, load_i64(port + NUMBER))
        store_i64(port + STREAM_FROM, start + length)
        add(port + IN_FRAMES, 1)
        add(port + IN_BYTES, length)
        taken += 1
    return taken


@njit
def tcp_release(port: int) -> None:
    """The received frames have been read."""
    start, end = load_i64(port + STREAM_FROM), load_i64(port + STREAM_END)
    if start >= end - start:
        stream = load_i64(port + STREAM)
        copy_bytes(stream, stream + start, end - start)
        store_i64(port + STREAM_FROM, 0)
        store_i64(port + STREAM_END, end - start)


@njit
def tcp_has_input(port: int) -> Any:
    """Whether a whole frame, or another connection, waits in memory; what waits in the socket is told by ppoll."""
    return load_acquire64(port + NEXT_SOCKET) >= 0 or _next_length(port) >= 0


@njit
def _set_frame(port: int, index: int, address: int, length: int, already: int) -> None:
    """Make pieces 2 index and 2 index + 1 a frame and its prefix, of which ``already`` bytes have left."""
    prefix = load_i64(port + PREFIXES) + index * PREFIX_BYTES
    for byte in range(PREFIX_BYTES):
        store_u8(prefix + byte, (length >> (24 - 8 * byte)) & 0xFF)
    piece = load_i64(load_i64(port + MESSAGES_OUT) + MESSAGE_IOV) + 2 * index * IOV_BYTES
    of_prefix = min(already, PREFIX_BYTES)
    of_frame = already - of_prefix
    store_i64(piece, prefix + of_prefix)
    store_i64(piece + IOV_LENGTH, PREFIX_BYTES - of_prefix)
    store_i64(piece + IOV_BYTES, address + of_frame)
    store_i64(piece + IOV_BYTES + IOV_LENGTH, length - of_frame)


@njit
def _send(port: int, count: int) -> Any:
    """Send the pieces of ``count`` frames: how many bytes left; 0 where the socket is full, -1 where it is gone."""
    message = load_i64(port + MESSAGES_OUT)
    store_i64(message + IOV_COUNT, 2 * count)
    while True:
        sent = sendmmsg(load_i64(port + SOCKET), message, 1, MSG_DONTWAIT | MSG_NOSIGNAL)
        if sent > 0:
            return load_u32(message + MESSAGE_LENGTH)
        if sent == EAGAIN:
            store_i64(port + BLOCKED, 1)
            return 0
        if sent != EINTR:
            _lose(port, sent)
            return -1


@njit
def _count_left(port: int, length: int, bytes_left: int) -> int:
    """What remains of ``bytes_left`` bytes after a frame of this length; -1 where the frame has not left whole."""
    needed = length + PREFIX_BYTES - load_i64(port + SENT_BYTES)
    if bytes_left < needed:
        add(port + SENT_BYTES, bytes_left)
        return -1
    store_i64(port + SENT_BYTES, 0)
    add(port + OUT_FRAMES, 1)
    add(port + OUT_BYTES, length)
    return bytes_left - needed


@njit
def _ring_round(port: int, ring: int, done: int, tail: int) -> Any:
    """One system call's worth of a TX_RING: the index of the first frame that has not left."""
    count = min(tail - done, MESSAGES)
    for index in range(count):
        already = load_i64(port + SENT_BYTES) if index == 0 else 0
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
    _take_socket(port)
    ring = load_i64(port + WIRE_TX)
    tail = load_i64(ring + TX_TAIL)
    first = done = load_i64(port + OUT_PUBLISHED)
    store_i64(port + BLOCKED, 0)
    while done < tail and load_i64(port + SOCKET) >= 0 and load_i64(port + BLOCKED) == 0:
        done = _ring_round(port, ring, done, tail)
    if load_i64(port + SOCKET) < 0:
        add(port + NO_REMOTE, tail - done)
        done = tail
    settle_ring(port, ring, done)
    return done - first


@njit
def _posts_round(port: int, done: int, end: int) -> Any:
    """One system call's worth of a host's posts: the index of the first that has not left."""
    posts, mask = load_i64(port + POSTS), load_i64(port + POST_MASK)
    count = min(end - done, MESSAGES)
    for index in range(count):
        post = posts + ((done + index) & mask) * POST_BYTES
        already = load_i64(port + SENT_BYTES) if index == 0 else 0
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
    _take_socket(port)
    first = done = load_i64(port + OUT_TAKEN)
    end = load_i64(port + OUT_NEXT)
    store_i64(port + BLOCKED, 0)
    while done < end and load_i64(port + SOCKET) >= 0 and load_i64(port + BLOCKED) == 0:
        done = _posts_round(port, done, end)
    if load_i64(port + SOCKET) < 0:
        add(port + NO_REMOTE, end - done)
        done = end
    store_i64(port + OUT_TAKEN, done)
    return done - first
