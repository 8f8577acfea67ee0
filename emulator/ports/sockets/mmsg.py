"""Compiled: frames out of a socket, many per system call, for every kind of port that has one. Nothing here waits.

A frame that can't be sent is lost, as on any network, and counted by its reason: only a full socket buffer keeps it.
"""

from __future__ import annotations

import errno
import socket
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u32, offset_of, store_i64, store_u32
from emulator.native.pages import address_of
from emulator.native.syscalls import sendmmsg
from emulator.ports.batch import tx_frame, tx_length, tx_ring_at
from emulator.ports.state import (
    KIND_PACKET,
    port_at,
)

MESSAGES = 64
"""Frames per system call: beyond it the call itself is under 2 % of the cost of moving them."""

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

MESSAGE_BYTES = MESSAGE.itemsize
MESSAGE_NAME = offset_of(MESSAGE, "name")
MESSAGE_NAME_BYTES = offset_of(MESSAGE, "name_bytes")
MESSAGE_IOV = offset_of(MESSAGE, "iov")
MESSAGE_FLAGS = offset_of(MESSAGE, "flags")
MESSAGE_LENGTH = offset_of(MESSAGE, "length")
IOV_LENGTH = offset_of(IOV, "length")

MSG_DONTWAIT, MSG_TRUNC, MSG_NOSIGNAL = int(socket.MSG_DONTWAIT), int(socket.MSG_TRUNC), int(socket.MSG_NOSIGNAL)
EAGAIN, EINTR, EINVAL, EMSGSIZE = -errno.EAGAIN, -errno.EINTR, -errno.EINVAL, -errno.EMSGSIZE
ENOBUFS, ECONNREFUSED = -errno.ENOBUFS, -errno.ECONNREFUSED
ENETDOWN, ENXIO, ENODEV = -errno.ENETDOWN, -errno.ENXIO, -errno.ENODEV


def make_messages() -> tuple[NDArray[Any], NDArray[Any]]:
    """(IOV, MESSAGE) arrays for MESSAGES frames, each message with its one piece."""
    iov = np.zeros(MESSAGES, IOV)
    messages = np.zeros(MESSAGES, MESSAGE)
    messages["iov"] = address_of(iov) + np.arange(MESSAGES) * IOV.itemsize
    messages["iov_count"] = 1
    return iov, messages


@njit
def note_error(port: int, result: int) -> None:
    """Count a failed call; ``result`` is its -errno."""
    state = port_at(port)
    state.io_errors += 1
    state.last_error = -result


@njit
def set_message(port: int, index: int, address: int, length_bytes: int) -> None:
    """Make message ``index`` the frame at an address."""
    state = port_at(port)
    message = state.messages_out + index * MESSAGE_BYTES
    iov = load_i64(message + MESSAGE_IOV)
    store_i64(iov, address)
    store_i64(iov + IOV_LENGTH, length_bytes)
    if state.connected == 0:
        store_i64(message + MESSAGE_NAME, state.remote)
        store_u32(message + MESSAGE_NAME_BYTES, state.remote_bytes)


@njit
def _count_lost(port: int, result: int) -> None:
    """One frame fewer, by the reason that sendmmsg gave."""
    state = port_at(port)
    if result == EMSGSIZE:
        state.too_long_out += 1
    elif result in (ENETDOWN, ENXIO, ENODEV):
        state.interface_down += 1
        state.last_error = -result
    elif result == EINVAL and state.kind == KIND_PACKET:
        state.too_short_out += 1
    else:
        note_error(port, result)


@njit
def transmit(port: int, count: int) -> int:
    """Send the first ``count`` messages; how many are dealt with, sent or lost. Fewer only when the socket is full."""
    state = port_at(port)
    messages = state.messages_out
    done = 0
    refusals = 0
    while done < count:
        first = messages + done * MESSAGE_BYTES
        sent = sendmmsg(state.socket, first, count - done, MSG_DONTWAIT | MSG_NOSIGNAL)
        if sent > 0:
            for index in range(done, done + sent):
                state.out_frames += 1
                state.out_bytes += load_u32(messages + index * MESSAGE_BYTES + MESSAGE_LENGTH)
            done += sent
        elif sent in (EAGAIN, ENOBUFS):
            state.blocked = 1
            break
        elif sent != EINTR:
            # a refusal or an interface that went down concerns an earlier frame; this one has not been tried yet
            stale = sent in (ECONNREFUSED, ENETDOWN) and refusals == 0
            refusals = 1 if stale else 0
            if not stale:
                _count_lost(port, sent)
                done += 1
            elif sent == ECONNREFUSED:
                note_error(port, sent)
    return done


@njit
def rewind_ring(ring: int) -> None:
    """Go on with the first cell of an empty ring, so that a few cells stay in the caches rather than all pass through.

    Positions only ever grow: the tail moves on to a multiple of the number of cells.
    """
    tx = tx_ring_at(ring)
    mask = tx.mask
    tail = (tx.tail + mask) // (mask + 1) * (mask + 1)
    tx.tail = tail
    tx.limit = tail + mask + 1


@njit
def settle_ring(port: int, ring: int, done: int) -> None:
    """After a flush as far as position ``done``: give the cells before it back, and remember how far it went."""
    tx = tx_ring_at(ring)
    if done == tx.tail:
        rewind_ring(ring)
        done = tx.tail
    else:
        tx.limit = done + tx.mask + 1
    port_at(port).out_published = done


@njit
def flush_ring(port: int) -> Any:
    """Send what the switch has appended; how many frames that are."""
    state = port_at(port)
    ring = state.wire_tx
    tail = tx_ring_at(ring).tail
    first = state.out_published
    done = first
    state.blocked = 0
    while done < tail:
        count = min(tail - done, MESSAGES)
        for index in range(count):
            set_message(port, index, tx_frame(ring, done + index), tx_length(ring, done + index))
        moved = transmit(port, count)
        done += moved
        if moved < count:
            break
    settle_ring(port, ring, done)
    return done - first
