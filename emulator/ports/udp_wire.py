"""Compiled: frames as datagrams, many per system call. ``udp`` makes the sockets; nothing here waits.

A datagram that can't be sent is lost, as on any network, and counted by its reason: only a full socket buffer keeps it.
"""

from __future__ import annotations

import errno
import socket
from typing import Any

import numpy as np

from emulator.ports.batch import (
    TX_LIMIT,
    TX_MASK,
    TX_TAIL,
    batch_append,
    batch_room,
    offset_of,
    tx_frame,
    tx_length,
)
from emulator.ports.cable import POST_BYTES, POST_LENGTH
from emulator.ports.intrinsics import copy_memory, read32, read64, recvmmsg, sendmmsg, write32, write64
from emulator.ports.jit import njit
from emulator.ports.state import (
    BAD_DESCRIPTORS,
    BLOCKED,
    CONNECTED,
    IN_BYTES,
    IN_FRAMES,
    IN_NEXT,
    IO_ERRORS,
    LAST_ERROR,
    MESSAGES_IN,
    MESSAGES_OUT,
    NO_REMOTE,
    NUMBER,
    OUT_BYTES,
    OUT_FRAMES,
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
    TOO_LONG_OUT,
    WIRE_TX,
)

UDP_BATCH = 64
"""Datagrams per system call: beyond it the call itself is under 2 % of the cost of moving them."""

MESSAGE = np.dtype(
    [
        ("name", "<u8"),
        ("name_bytes", "<u8"),
        ("iov", "<u8"),
        ("iov_count", "<u8"),
        ("control", "<u8"),
        ("control_bytes", "<u8"),
        ("flags", "<u8"),
        ("length", "<u8"),
    ]
)
"""struct mmsghdr of LP64 Linux; name_bytes, flags and length are 32 bits and padding there."""
IOV = np.dtype([("base", "<u8"), ("length", "<u8")])
SOCKADDR_BYTES = 32
"""A sockaddr_in6 is 28."""

MESSAGE_BYTES = MESSAGE.itemsize
MESSAGE_NAME = offset_of(MESSAGE, "name")
MESSAGE_NAME_BYTES = offset_of(MESSAGE, "name_bytes")
MESSAGE_IOV = offset_of(MESSAGE, "iov")
MESSAGE_FLAGS = offset_of(MESSAGE, "flags")
MESSAGE_LENGTH = offset_of(MESSAGE, "length")
IOV_LENGTH = offset_of(IOV, "length")

MSG_DONTWAIT, MSG_TRUNC, MSG_NOSIGNAL = int(socket.MSG_DONTWAIT), int(socket.MSG_TRUNC), int(socket.MSG_NOSIGNAL)
EAGAIN, EINTR, EMSGSIZE = -errno.EAGAIN, -errno.EINTR, -errno.EMSGSIZE
ENOBUFS, ECONNREFUSED = -errno.ENOBUFS, -errno.ECONNREFUSED


@njit
def _add(address: int, value: int) -> None:
    write64(address, read64(address) + value)


@njit
def _note_error(port: int, result: int) -> None:
    _add(port + IO_ERRORS, 1)
    write64(port + LAST_ERROR, -result)


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
            _note_error(port, received)
    return max(received, 0)


@njit
def udp_receive(port: int, batch: int, most: int) -> Any:
    """Append up to ``most`` datagrams to a batch; their buffers are used again after udp_release."""
    used = read64(port + IN_NEXT)
    room = min(most, batch_room(batch), UDP_BATCH - used)
    if room <= 0:
        return 0
    received = _receive(port, used, room)
    messages = read64(port + MESSAGES_IN)
    number = read64(port + NUMBER)
    for index in range(used, used + received):
        message = messages + index * MESSAGE_BYTES
        length = read32(message + MESSAGE_LENGTH)
        if read32(message + MESSAGE_FLAGS) & MSG_TRUNC:
            _add(port + TOO_LONG_IN, 1)
            continue
        batch_append(batch, read64(read64(message + MESSAGE_IOV)), length, number)
        _add(port + IN_FRAMES, 1)
        _add(port + IN_BYTES, length)
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
def _set_message(port: int, index: int, address: int, length_bytes: int) -> None:
    message = read64(port + MESSAGES_OUT) + index * MESSAGE_BYTES
    iov = read64(message + MESSAGE_IOV)
    write64(iov, address)
    write64(iov + IOV_LENGTH, length_bytes)
    if read64(port + CONNECTED) == 0:
        write64(message + MESSAGE_NAME, read64(port + REMOTE))
        write32(message + MESSAGE_NAME_BYTES, read64(port + REMOTE_BYTES))


@njit
def _transmit(port: int, count: int) -> int:
    """Send the first ``count`` messages; how many are dealt with, sent or lost. Fewer only when the socket is full."""
    messages = read64(port + MESSAGES_OUT)
    done = 0
    refusals = 0
    while done < count:
        first = messages + done * MESSAGE_BYTES
        sent = sendmmsg(read64(port + SOCKET), first, count - done, MSG_DONTWAIT | MSG_NOSIGNAL)
        if sent > 0:
            for index in range(done, done + sent):
                _add(port + OUT_FRAMES, 1)
                _add(port + OUT_BYTES, read32(messages + index * MESSAGE_BYTES + MESSAGE_LENGTH))
            done += sent
        elif sent in (EAGAIN, ENOBUFS):
            write64(port + BLOCKED, 1)
            break
        elif sent == EMSGSIZE:
            _add(port + TOO_LONG_OUT, 1)
            done += 1
        elif sent != EINTR:
            _note_error(port, sent)
            # a refusal tells of an earlier datagram; this one has not been tried yet
            refusals += 1
            if sent != ECONNREFUSED or refusals > 1:
                done += 1
                refusals = 0
    return done


@njit
def _has_remote(port: int) -> bool:
    return read64(port + CONNECTED) != 0 or read64(port + REMOTE_BYTES) != 0


@njit
def udp_switch_flush(port: int) -> Any:
    """Send what the switch has appended; how many frames that are."""
    ring = read64(port + WIRE_TX)
    tail = read64(ring + TX_TAIL)
    first = read64(port + OUT_PUBLISHED)
    done = first
    write64(port + BLOCKED, 0)
    if not _has_remote(port):
        _add(port + NO_REMOTE, tail - first)
        done = tail
    while done < tail:
        count = min(tail - done, UDP_BATCH)
        for index in range(count):
            _set_message(port, index, tx_frame(ring, done + index), tx_length(ring, done + index))
        moved = _transmit(port, count)
        done += moved
        if moved < count:
            break
    write64(port + OUT_PUBLISHED, done)
    write64(ring + TX_LIMIT, done + read32(ring + TX_MASK) + 1)
    return done - first


@njit
def udp_host_post(port: int, address: int, length_bytes: int) -> int:
    """Queue one frame, anywhere in memory: 1, or 0 when the queue is full."""
    next_post = read64(port + OUT_NEXT)
    mask = read64(port + POST_MASK)
    if length_bytes < 0:
        _add(port + BAD_DESCRIPTORS, 1)
        return 0
    if next_post - read64(port + OUT_TAKEN) > mask:
        _add(port + REFUSED, 1)
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
        _add(port + NO_REMOTE, end - first)
        done = end
    while done < end:
        count = min(end - done, UDP_BATCH)
        for index in range(count):
            post = posts + ((done + index) & mask) * POST_BYTES
            _set_message(port, index, read64(post), read32(post + POST_LENGTH))
        moved = _transmit(port, count)
        done += moved
        if moved < count:
            break
    write64(port + OUT_TAKEN, done)
    return done - first
