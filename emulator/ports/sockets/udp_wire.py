"""Compiled: frames as datagrams, many per system call. ``udp`` makes the sockets; nothing here waits.

A datagram that can't be sent is lost, as on any network, and counted by its reason: only a full socket buffer keeps it.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, load_u32, store_i64, store_u32
from emulator.native.syscalls import recvmmsg
from emulator.ports.batch import TX_TAIL, batch_append, batch_room
from emulator.ports.cable.cable import POST_BYTES, POST_LENGTH
from emulator.ports.sockets.messages import (
    EAGAIN,
    EINTR,
    MESSAGE_BYTES,
    MESSAGE_FLAGS,
    MESSAGE_IOV,
    MESSAGE_LENGTH,
    MESSAGE_NAME,
    MESSAGE_NAME_BYTES,
    MESSAGES,
    MSG_DONTWAIT,
    MSG_TRUNC,
    add,
    flush_ring,
    note_error,
    rewind_ring,
    set_message,
    transmit,
)
from emulator.ports.state import (
    BAD_DESCRIPTORS,
    BLOCKED,
    CONNECTED,
    IN_BYTES,
    IN_FRAMES,
    IN_NEXT,
    MESSAGES_IN,
    NO_REMOTE,
    NUMBER,
    OUT_NEXT,
    OUT_PUBLISHED,
    OUT_TAKEN,
    POST_MASK,
    POSTS,
    REFUSED,
    REMOTE,
    REMOTE_BYTES,
    SOCKET,
    TOO_LONG_IN,
    WIRE_TX,
)

SOCKADDR_BYTES = 32
"""A sockaddr_in6 is 28."""


@njit
def _receive(port: int, first: int, count: int) -> int:
    """recvmmsg into messages ``first`` and on; an error left behind by an earlier datagram is noted and passed over."""
    messages = load_i64(port + MESSAGES_IN)
    if load_i64(port + CONNECTED) == 0:
        for index in range(first, first + count):
            store_u32(messages + index * MESSAGE_BYTES + MESSAGE_NAME_BYTES, SOCKADDR_BYTES)
    received = 0
    for _ in range(2):
        received = recvmmsg(load_i64(port + SOCKET), messages + first * MESSAGE_BYTES, count, MSG_DONTWAIT, 0)
        if received >= 0 or received == EAGAIN:
            break
        if received != EINTR:
            note_error(port, received)
    return max(received, 0)


@njit
def udp_receive(port: int, batch: int, most: int) -> Any:
    """Append up to ``most`` datagrams to a batch; their buffers are used again after udp_release."""
    used = load_i64(port + IN_NEXT)
    room = min(most, batch_room(batch), MESSAGES - used)
    if room <= 0:
        return 0
    received = _receive(port, used, room)
    messages = load_i64(port + MESSAGES_IN)
    number = load_i64(port + NUMBER)
    for index in range(used, used + received):
        message = messages + index * MESSAGE_BYTES
        length = load_u32(message + MESSAGE_LENGTH)
        if load_u32(message + MESSAGE_FLAGS) & MSG_TRUNC:
            add(port + TOO_LONG_IN, 1)
            continue
        batch_append(batch, load_i64(load_i64(message + MESSAGE_IOV)), length, number)
        add(port + IN_FRAMES, 1)
        add(port + IN_BYTES, length)
    if received > 0 and load_i64(port + CONNECTED) == 0:
        _learn(port, messages + (used + received - 1) * MESSAGE_BYTES)
    store_i64(port + IN_NEXT, used + received)
    return received


@njit
def _learn(port: int, message: int) -> None:
    """The remote is whoever sent last: a host that comes back from another UDP port is found again."""
    length = min(load_u32(message + MESSAGE_NAME_BYTES), SOCKADDR_BYTES)
    copy_bytes(load_i64(port + REMOTE), load_i64(message + MESSAGE_NAME), length)
    store_i64(port + REMOTE_BYTES, length)


@njit
def udp_release(port: int) -> None:
    """The received frames have been read."""
    store_i64(port + IN_NEXT, 0)


@njit
def _has_remote(port: int) -> bool:
    return load_i64(port + CONNECTED) != 0 or load_i64(port + REMOTE_BYTES) != 0


@njit
def udp_switch_flush(port: int) -> Any:
    """Send what the switch has appended; how many frames that are."""
    ring = load_i64(port + WIRE_TX)
    waiting = load_i64(ring + TX_TAIL) - load_i64(port + OUT_PUBLISHED)
    if _has_remote(port):
        return flush_ring(port)
    add(port + NO_REMOTE, waiting)
    rewind_ring(ring)
    store_i64(port + OUT_PUBLISHED, load_i64(ring + TX_TAIL))
    store_i64(port + BLOCKED, 0)
    return waiting


@njit
def udp_host_post(port: int, address: int, length_bytes: int) -> int:
    """Queue one frame, anywhere in memory: 1, or 0 when the queue is full."""
    next_post = load_i64(port + OUT_NEXT)
    mask = load_i64(port + POST_MASK)
    if length_bytes < 0:
        add(port + BAD_DESCRIPTORS, 1)
        return 0
    if next_post - load_i64(port + OUT_TAKEN) > mask:
        add(port + REFUSED, 1)
        return 0
    post = load_i64(port + POSTS) + (next_post & mask) * POST_BYTES
    store_i64(post, address)
    store_u32(post + POST_LENGTH, length_bytes)
    store_i64(port + OUT_NEXT, next_post + 1)
    return 1


@njit
def udp_host_flush(port: int) -> Any:
    """Send what was posted; the frames dealt with count as consumed at once."""
    first = load_i64(port + OUT_TAKEN)
    end = load_i64(port + OUT_NEXT)
    posts = load_i64(port + POSTS)
    mask = load_i64(port + POST_MASK)
    done = first
    store_i64(port + BLOCKED, 0)
    if not _has_remote(port):
        add(port + NO_REMOTE, end - first)
        done = end
    while done < end:
        count = min(end - done, MESSAGES)
        for index in range(count):
            post = posts + ((done + index) & mask) * POST_BYTES
            set_message(port, index, load_i64(post), load_u32(post + POST_LENGTH))
        moved = transmit(port, count)
        done += moved
        if moved < count:
            break
    store_i64(port + OUT_TAKEN, done)
    return done - first
