"""Compiled: frames out of the kernel's ring of a packet socket, as they were on the wire. ``interface`` makes the ring.

The kernel copies each frame into a slot of memory that both map (TPACKET_V2) and hands the slot over by its status
word; frames go to the switch from there, without a system call, and the slots go back when the switch has read them.

What the kernel took off a frame is put back: a VLAN tag, which it keeps in the slot's header, and a checksum that a
sender on this machine left to a network card. A frame of several segments, left to a card too, never existed on any
wire: it is dropped and counted.
"""

from __future__ import annotations

import errno
from typing import Any

import numpy as np

from emulator.native.atomics import load_acquire32, store_release32
from emulator.native.jit import njit
from emulator.native.memory import load_u8, load_u16, load_u32, offset_of, store_u16, store_u32
from emulator.native.syscalls import read_descriptor
from emulator.ports.batch import batch_append, batch_room
from emulator.ports.sockets.mmsg import EAGAIN, EINTR
from emulator.ports.state import (
    SCRATCH_WORD,
    port_at,
)

SLOT_HEADER = np.dtype(
    [
        ("status", "<u4"),
        ("length", "<u4"),
        ("captured", "<u4"),
        ("frame", "<u2"),
        ("network", "<u2"),
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
        ("tag", "<u2"),
        ("tag_type", "<u2"),
        ("padding", "<u4"),
        # struct sockaddr_ll
        ("family", "<u2"),
        ("protocol", "<u2"),
        ("interface", "<u4"),
        ("hardware", "<u2"),
        ("direction", "u1"),
        ("address_bytes", "u1"),
        ("address", "u1", 8),
    ]
)
"""struct tpacket2_hdr of linux/if_packet.h and the struct sockaddr_ll behind it."""
STATUS = offset_of(SLOT_HEADER, "status")
LENGTH = offset_of(SLOT_HEADER, "length")
CAPTURED = offset_of(SLOT_HEADER, "captured")
FRAME = offset_of(SLOT_HEADER, "frame")
TAG = offset_of(SLOT_HEADER, "tag")
TAG_TYPE = offset_of(SLOT_HEADER, "tag_type")
DIRECTION = offset_of(SLOT_HEADER, "direction")

OURS, TAG_VALID, TAG_TYPE_VALID = 0x1, 0x10, 0x40
"""TP_STATUS_USER, TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID."""
THE_KERNELS = 0
OUTGOING = 4
"""PACKET_OUTGOING: what this machine itself sends there."""
TAG_TYPE_8021Q = 0x8100
TAG_BYTES = 4
MACS_BYTES = 12

OFFLOAD = np.dtype(
    [("flags", "u1"), ("segments", "u1"), ("header", "<u2"), ("size", "<u2"), ("start", "<u2"), ("offset", "<u2")]
)
"""struct virtio_net_hdr, right before the frame: what was left to the network card. In the machine's byte order."""
OFFLOAD_BYTES = OFFLOAD.itemsize
OFFLOAD_SEGMENTS = offset_of(OFFLOAD, "segments")
OFFLOAD_START = offset_of(OFFLOAD, "start")
OFFLOAD_OFFSET = offset_of(OFFLOAD, "offset")
NEEDS_CHECKSUM = 1
CHECKSUM_OFFSET_SCTP = 8
"""Its checksum is a CRC; TCP's is at 16 and UDP's at 6, and both are sums."""

ENETDOWN = -errno.ENETDOWN


@njit
def _swap16(value: int) -> int:
    return (value & 0xFF) << 8 | value >> 8


@njit
def complete_checksum(frame: int, length_bytes: int, start: int, offset: int) -> bool:
    """Finish the checksum at ``start + offset`` over the bytes from ``start`` on; False: they aren't there.

    The field holds the pseudo header's sum. Ones' complement sums do not depend on the byte order they are made in.
    """
    if start + offset + 2 > length_bytes:
        return False
    total = 0
    for position in range(start, length_bytes - 1, 2):
        total += load_u16(frame + position)
    if (length_bytes - start) & 1:
        total += load_u8(frame + length_bytes - 1)
    while total >> 16 != 0:
        total = (total & 0xFFFF) + (total >> 16)
    total = ~total & 0xFFFF
    store_u16(frame + start + offset, total if total != 0 else 0xFFFF)
    return True


@njit
def restore_tag(frame: int, tag_type: int, tag: int) -> int:
    """Put a VLAN tag back behind the addresses; returns where the frame begins now, 4 bytes before."""
    first = frame - TAG_BYTES
    # the two overlap, so in pieces that do not: 12 bytes moved by 4
    for position in range(0, MACS_BYTES, 4):
        store_u32(first + position, load_u32(frame + position))
    store_u16(first + MACS_BYTES, _swap16(tag_type))
    store_u16(first + MACS_BYTES + 2, _swap16(tag))
    return first


@njit
def _finish_offloads(port: int, frame: int, length_bytes: int) -> bool:
    """Do what the sender left to a network card; False: the frame was dropped and counted."""
    state = port_at(port)
    offload = frame - OFFLOAD_BYTES
    if load_u8(offload + OFFLOAD_SEGMENTS) != 0:
        state.segments_joined += 1
        state.notice = 1
        return False
    if load_u8(offload) & NEEDS_CHECKSUM == 0:
        return True
    offset = load_u16(offload + OFFLOAD_OFFSET)
    if offset == CHECKSUM_OFFSET_SCTP or not complete_checksum(
        frame, length_bytes, load_u16(offload + OFFLOAD_START), offset
    ):
        state.checksum_unfinished += 1
        return False
    state.checksums_completed += 1
    return True


@njit
def _deliver(port: int, slot: int, status: int, batch: int) -> None:
    """Append a slot's frame to a batch, unless it is ours or has to be dropped."""
    state = port_at(port)
    if load_u8(slot + DIRECTION) == OUTGOING:
        return
    length = load_u32(slot + CAPTURED)
    frame = slot + load_u16(slot + FRAME)
    if not _finish_offloads(port, frame, length):
        return
    if length < load_u32(slot + LENGTH):
        state.too_long_in += 1
        return
    if status & TAG_VALID:
        tag_type = load_u16(slot + TAG_TYPE) if status & TAG_TYPE_VALID else TAG_TYPE_8021Q
        frame = restore_tag(frame, tag_type, load_u16(slot + TAG))
        length += TAG_BYTES
        state.tags_restored += 1
    batch_append(batch, frame, length, state.number)
    state.in_frames += 1
    state.in_bytes += length


@njit
def packet_receive(port: int, batch: int, most: int) -> Any:
    """Append up to ``most`` frames to a batch; returns how many slots were taken. They are given back by release."""
    state = port_at(port)
    first = state.in_next
    slots, mask, stride = state.slots, state.slot_mask, state.slot_bytes
    room = min(most, batch_room(batch), mask + 1 - (first - state.in_released))
    last = first
    while last < first + room:
        slot = slots + (last & mask) * stride
        status = load_acquire32(slot + STATUS)
        if status & OURS == 0:
            break
        _deliver(port, slot, status, batch)
        last += 1
    state.in_next = last
    return last - first


@njit
def packet_release(port: int) -> None:
    """The received frames have been read: their slots are the kernel's again."""
    state = port_at(port)
    slots, mask, stride = state.slots, state.slot_mask, state.slot_bytes
    end = state.in_next
    for index in range(state.in_released, end):
        store_release32(slots + (index & mask) * stride + STATUS, THE_KERNELS)
    state.in_released = end


@njit
def packet_has_input(port: int) -> bool:
    """Whether the next slot holds a frame."""
    state = port_at(port)
    slot = state.slots + (state.in_next & state.slot_mask) * state.slot_bytes
    return load_acquire32(slot + STATUS) & OURS != 0


@njit
def packet_settle(port: int) -> None:
    """Before a sleep: take the error off the socket, which would end every sleep at once, and note it."""
    state = port_at(port)
    result = read_descriptor(state.receiver, port + SCRATCH_WORD, 1)
    if result < 0 and result != EAGAIN and result != EINTR:
        state.last_error = -result
        state.notice = 1
