"""Compiled: frames out of a socket, many per system call, for every kind of port that has one. Nothing here waits.

A frame that can't be sent is lost, as on any network, and counted by its reason: only a full socket buffer keeps it.

Where the kernel segments datagrams (UDP_SEGMENT, udp(7)), frames of one length go out as one message, which passes
the kernel's stack once for all of them and becomes a datagram each at the latest on the wire.
"""

from __future__ import annotations

import errno
import socket
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u32, offset_of, store_i64, store_u16, store_u32
from emulator.native.pages import address_of
from emulator.native.syscalls import sendmmsg
from emulator.ports.batch import tx_frame, tx_length, tx_ring_at
from emulator.ports.sockets.ecn import NOT_CAPABLE, ecn_of
from emulator.ports.state import (
    KIND_PACKET,
    port_at,
)

MESSAGES = 64
"""Frames per system call: beyond it the call itself is under 2 % of the cost of moving them."""

MOST_SEGMENTS_BYTES = 65_000
"""Of all frames of one message: a datagram before it is segmented is one of IP, 65,507 bytes at most over IPv4."""

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
CONTROL = np.dtype([("bytes", "<u8"), ("level", "<i4"), ("type", "<i4"), ("value", "<i4"), ("padding", "<i4")])
"""struct cmsghdr and its data: of UDP_SEGMENT 16 bits, of UDP_GRO an int, of the ECN field 8 bits in, an int out."""
CONTROLS = 2
"""Of a message: on the way out the ECN field's and that of UDP_SEGMENT, in any order in."""
SOL_UDP, UDP_SEGMENT, UDP_GRO = 17, 103, 104
"""linux/udp.h; Python's socket module does not name them."""

MESSAGE_BYTES = MESSAGE.itemsize
MESSAGE_NAME = offset_of(MESSAGE, "name")
MESSAGE_NAME_BYTES = offset_of(MESSAGE, "name_bytes")
MESSAGE_IOV = offset_of(MESSAGE, "iov")
MESSAGE_IOV_COUNT = offset_of(MESSAGE, "iov_count")
MESSAGE_CONTROL = offset_of(MESSAGE, "control")
MESSAGE_CONTROL_BYTES = offset_of(MESSAGE, "control_bytes")
MESSAGE_FLAGS = offset_of(MESSAGE, "flags")
MESSAGE_LENGTH = offset_of(MESSAGE, "length")
IOV_BYTES = IOV.itemsize
IOV_LENGTH = offset_of(IOV, "length")
CONTROL_BYTES = CONTROL.itemsize
CONTROL_TYPE = offset_of(CONTROL, "type")
CONTROL_VALUE = offset_of(CONTROL, "value")

MSG_DONTWAIT, MSG_TRUNC, MSG_NOSIGNAL = int(socket.MSG_DONTWAIT), int(socket.MSG_TRUNC), int(socket.MSG_NOSIGNAL)
EAGAIN, EINTR, EINVAL, EMSGSIZE = -errno.EAGAIN, -errno.EINTR, -errno.EINVAL, -errno.EMSGSIZE
EIO, EOPNOTSUPP = -errno.EIO, -errno.EOPNOTSUPP
ENOBUFS, ECONNREFUSED = -errno.ENOBUFS, -errno.ECONNREFUSED
ENETDOWN, ENXIO, ENODEV = -errno.ENETDOWN, -errno.ENXIO, -errno.ENODEV


def make_messages() -> tuple[NDArray[Any], NDArray[Any]]:
    """(IOV, MESSAGE) arrays for MESSAGES frames, each message with its one piece."""
    iov = np.zeros(MESSAGES, IOV)
    messages = np.zeros(MESSAGES, MESSAGE)
    messages["iov"] = address_of(iov) + np.arange(MESSAGES) * IOV.itemsize
    messages["iov_count"] = 1
    return iov, messages


def make_controls(messages: NDArray[Any]) -> NDArray[Any]:
    """CONTROL[messages, CONTROLS], empty, as each message's control."""
    controls = np.zeros((len(messages), CONTROLS), CONTROL)
    messages["control"] = address_of(controls) + np.arange(len(messages)) * CONTROLS * CONTROL_BYTES
    return controls


@njit
def note_error(port: int, result: int) -> None:
    """Count a failed call; ``result`` is its -errno."""
    state = port_at(port)
    state.io_errors += 1
    state.last_error = -result


@njit
def set_frame(port: int, index: int, address: int, length_bytes: int) -> None:
    """Make the frame at an address the one that `transmit` sends as number ``index``."""
    piece = load_i64(port_at(port).messages_out + MESSAGE_IOV) + index * IOV_BYTES
    store_i64(piece, address)
    store_i64(piece + IOV_LENGTH, length_bytes)


@njit
def _piece_ecn(port: int, piece: int) -> Any:
    """The ECN field of a frame to be sent as a datagram."""
    if port_at(port).controls_out == 0:
        return NOT_CAPABLE
    return ecn_of(load_i64(piece), load_i64(piece + IOV_LENGTH))


@njit
def _set_control(port: int, index: int, ecn: int, segment_bytes: int) -> None:
    """What message ``index`` says of its datagrams; ``segment_bytes``: 0 where it is one."""
    state = port_at(port)
    message = state.messages_out + index * MESSAGE_BYTES
    if state.controls_out == 0:
        return
    first = state.controls_out + index * CONTROLS * CONTROL_BYTES
    second = first + CONTROL_BYTES
    store_u32(first + CONTROL_VALUE, ecn)
    store_u16(second + CONTROL_VALUE, segment_bytes)
    start = first if ecn != NOT_CAPABLE else second
    end = second + CONTROL_BYTES if segment_bytes > 0 else second
    store_i64(message + MESSAGE_CONTROL, start)
    store_i64(message + MESSAGE_CONTROL_BYTES, end - start)


@njit
def _gather(port: int, first: int, count: int) -> int:
    """Messages of the frames ``first`` and on, of ``count``; how many messages."""
    state = port_at(port)
    pieces = load_i64(state.messages_out + MESSAGE_IOV)
    piece, last = pieces + first * IOV_BYTES, pieces + count * IOV_BYTES
    messages = 0
    while piece < last:
        length, ecn = load_i64(piece + IOV_LENGTH), _piece_ecn(port, piece)
        frames = 1
        most = min(state.most_segments, MOST_SEGMENTS_BYTES // length) if length > 0 else 1
        end = piece + IOV_BYTES
        while end < last and frames < most and load_i64(end + IOV_LENGTH) == length and _piece_ecn(port, end) == ecn:
            frames += 1
            end += IOV_BYTES
        message = state.messages_out + (first + messages) * MESSAGE_BYTES
        store_i64(message + MESSAGE_IOV, piece)
        store_i64(message + MESSAGE_IOV_COUNT, frames)
        _set_control(port, first + messages, ecn, length if frames > 1 else 0)
        if state.connected == 0:
            store_i64(message + MESSAGE_NAME, state.remote)
            store_u32(message + MESSAGE_NAME_BYTES, state.remote_bytes)
        messages += 1
        piece = end
    return messages


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
    """Send the first ``count`` frames; how many are dealt with, sent or lost. Fewer only when the socket is full."""
    state = port_at(port)
    done = 0
    refusals = 0
    while done < count:
        messages = _gather(port, done, count)
        message = state.messages_out + done * MESSAGE_BYTES
        frames = load_i64(message + MESSAGE_IOV_COUNT)
        sent = sendmmsg(state.socket, message, messages, MSG_DONTWAIT | MSG_NOSIGNAL)
        if sent > 0:
            for index in range(sent):
                frames = load_i64(message + index * MESSAGE_BYTES + MESSAGE_IOV_COUNT)
                state.out_frames += frames
                state.out_bytes += load_u32(message + index * MESSAGE_BYTES + MESSAGE_LENGTH)
                done += frames
        elif sent in (EAGAIN, ENOBUFS):
            state.blocked = 1
            break
        elif sent != EINTR:
            # a refusal or an interface that went down concerns an earlier frame; this one has not been tried yet
            stale = sent in (ECONNREFUSED, ENETDOWN) and refusals == 0
            refusals = 1 if stale else 0
            if not stale and frames > 1 and sent in (EINVAL, EMSGSIZE, EIO, EOPNOTSUPP):
                # the path does not take segments, or not of this length: each alone tells
                state.most_segments = 1
            elif not stale:
                for _ in range(frames):
                    _count_lost(port, sent)
                done += frames
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
            set_frame(port, index, tx_frame(ring, done + index), tx_length(ring, done + index))
        moved = transmit(port, count)
        done += moved
        if moved < count:
            break
    settle_ring(port, ring, done)
    return done - first
