"""Compiled: frames as datagrams, many per system call. ``udp`` makes the sockets; nothing here waits.

A datagram that can't be sent is lost, as on any network, and counted by its reason: only a full socket buffer keeps it.
"""

from __future__ import annotations

from typing import Any

from emulator.native.intrinsics import copy_memory, read32, read64, recvmmsg, write32, write64
from emulator.native.jit import njit
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
    messages = read64(port + MESSAGES_IN)
    if read64(port + CONNECTED) == 0:
        for index in range(first, first + count):
            write32(messages + index * MESSAGE_BYTES + MESSAGE_NAME_BYTES, SOCKADDR_BYTES)
    received = 0
    for _ in range(2):
        received = recvmmsg(read64(port + SOCKET), messages + first * MESSAGE_BYTES, count, MSG_DONTWAIT, 0)
        if received >= 0 or received == EAGAIN:
            break
        if received != EINTR:
            note_error(port, received)
    return max(received, 0)


@njit
def udp_receive(port: int, batch: int, most: int) -> Any:
    """Append up to ``most`` datagrams to a batch; their buffers are used again after udp_release."""
    used = read64(port + IN_NEXT)
    room = min(most, batch_room(batch), MESSAGES - used)
    if room <= 0:
        return 0
    received = _receive(port, used, room)
    messages = read64(port + MESSAGES_IN)
    number = read64(port + NUMBER)
    for index in range(used, used + received):
        message = messages + index * MESSAGE_BYTES
        length = read32(message + MESSAGE_LENGTH)
        if read32(message + MESSAGE_FLAGS) & MSG_TRUNC:
            add(port + TOO_LONG_IN, 1)
            continue
        batch_append(batch, read64(read64(message + MESSAGE_IOV)), length, number)
        add(port + IN_FRAMES, 1)
        add(port + IN_BYTES, length)
    if received > 0 and read64(port + CONNECTED) == 0:
        _learn(port, messages + (used + received - 1) * MESSAGE_BYTES)
    write64(port + IN_NEXT, used + received)
    return received


@njit
def _learn(port: int, message: int) -> None:
    """The remote is whoever sent last: a host that comes back from another UDP port is found again."""
    length = min(read32(message + MESSAGE_NAME_BYTES), SOCKADDR_BYTES)
    copy_memory(read64(port + REMOTE), read64(message + MESSAGE_NAME), length)
    write64(port + REMOTE_BYTES, length)


@njit
def udp_release(port: int) -> None:
    """The received frames have been read."""
    write64(port + IN_NEXT, 0)


@njit
def _has_remote(port: int) -> bool:
    return read64(port + CONNECTED) != 0 or read64(port + REMOTE_BYTES) != 0


@njit
def udp_switch_flush(port: int) -> Any:
    """Send what the switch has appended; how many frames that are."""
    ring = read64(port + WIRE_TX)
    waiting = read64(ring + TX_TAIL) - read64(port + OUT_PUBLISHED)
    if _has_remote(port):
        return flush_ring(port)
    add(port + NO_REMOTE, waiting)
    rewind_ring(ring)
    write64(port + OUT_PUBLISHED, read64(ring + TX_TAIL))
    write64(port + BLOCKED, 0)
    return waiting


@njit
def udp_host_post(port: int, address: int, length_bytes: int) -> int:
    """Queue one frame, anywhere in memory: 1, or 0 when the queue is full."""
    next_post = read64(port + OUT_NEXT)
    mask = read64(port + POST_MASK)
    if length_bytes < 0:
        add(port + BAD_DESCRIPTORS, 1)
        return 0
    if next_post - read64(port + OUT_TAKEN) > mask:
        add(port + REFUSED, 1)
        return 0
    post = read64(port + POSTS) + (next_post & mask) * POST_BYTES
    write64(post, address)
    write32(post + POST_LENGTH, length_bytes)
    write64(port + OUT_NEXT, next_post + 1)
    return 1


@njit
def udp_host_flush(port: int) -> Any:
    """Send what was posted; the frames dealt with count as consumed at once."""
    first = read64(port + OUT_TAKEN)
    end = read64(port + OUT_NEXT)
    posts = read64(port + POSTS)
    mask = read64(port + POST_MASK)
    done = first
    write64(port + BLOCKED, 0)
    if not _has_remote(port):
        add(port + NO_REMOTE, end - first)
        done = end
    while done < end:
        count = min(end - done, MESSAGES)
        for index in range(count):
            post = posts + ((done + index) & mask) * POST_BYTES
            set_message(port, index, read64(post), read32(post + POST_LENGTH))
        moved = transmit(port, count)
        done += moved
        if moved < count:
            break
    write64(port + OUT_TAKEN, done)
    return done - first
