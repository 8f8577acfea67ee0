"""Marks of congestion through a tunnel of datagrams (RFC 6040): a frame's ECN field is its datagram's, too, and a mark
that the datagram gets on its way is the frame's when it comes out.

The field is of IPv4 inside, of IPv4 or IPv6 outside; other frames have none.
"""

from __future__ import annotations

import socket
from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_be16, load_u8, store_be16

NOT_CAPABLE, MARKED = 0, 3
ECN_FIELD = 3
"""The low bits of an IPv4 header's second byte (RFC 3168, section 5)."""

ETHERTYPE_AT, ETHERTYPE_IPV4 = 12, 0x0800
IPV4_AT, IPV4_BYTES, IPV4_CHECKSUM_AT = 14, 20, 24


def tell_ecn(opened: socket.socket) -> tuple[int, int]:
    """Have datagrams come with their ECN field in a control message; its level and type, also on the way out."""
    is_ipv4 = opened.family == socket.AF_INET
    level = socket.IPPROTO_IP if is_ipv4 else socket.IPPROTO_IPV6
    kind, told = (socket.IP_TOS, socket.IP_RECVTOS) if is_ipv4 else (socket.IPV6_TCLASS, socket.IPV6_RECVTCLASS)
    opened.setsockopt(level, told, 1)
    return int(level), int(kind)


@njit
def ecn_of(frame: int, length_bytes: int) -> Any:
    """The ECN field of a frame with an IPv4 header, of another 0."""
    is_ipv4 = length_bytes >= IPV4_AT + IPV4_BYTES and load_be16(frame + ETHERTYPE_AT) == ETHERTYPE_IPV4
    return load_u8(frame + IPV4_AT + 1, 0) & ECN_FIELD if is_ipv4 else NOT_CAPABLE


@njit
def mark_frame(frame: int) -> None:
    """Set the mark in an IPv4 header, and its checksum accordingly (RFC 1624, equation 3)."""
    before = load_be16(frame + IPV4_AT)
    total = (0xFFFF - load_be16(frame + IPV4_CHECKSUM_AT)) + (0xFFFF - before) + (before | MARKED)
    total = (total & 0xFFFF) + (total >> 16)
    store_be16(frame + IPV4_CHECKSUM_AT, 0xFFFF - ((total & 0xFFFF) + (total >> 16)))
    store_be16(frame + IPV4_AT, before | MARKED)
