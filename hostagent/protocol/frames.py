"""Whole frames in Python: building and strict taking apart, for tests, tools and the reference aggregator.

The compiled builders write the same bytes; a test compares the two.
"""

from __future__ import annotations

import struct
from collections.abc import Container
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hostagent.protocol.wire import (
    ECN_CAPABLE,
    ECN_FIELD,
    ETHERNET_BYTES,
    ETHERTYPE_IPV4,
    FORWARDED_KINDS,
    HEADER_AT,
    IPV4_BYTES,
    LANE_BYTES,
    LANES_AT,
    NETSUM_PORT,
    NETSUM_VERSION,
    PROTOCOL_UDP,
    TIME_TO_LIVE,
    UDP_BYTES,
    Header,
    Kind,
    WireError,
    decode_header,
    encode_header,
)

Lanes = np.ndarray[Any, np.dtype[np.uint32]]

PASSING_KINDS = (*FORWARDED_KINDS, Kind.WAITING)


def no_lanes() -> Lanes:
    """The lanes of a short frame."""
    return np.empty(0, np.uint32)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Who sends a frame and who gets it."""

    source_mac: int
    destination_mac: int
    source_ip: int
    destination_ip: int

    def swapped(self) -> Addresses:
        """The addresses of an answer."""
        return Addresses(self.destination_mac, self.source_mac, self.destination_ip, self.source_ip)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the protocol. ``lanes`` are host-order numbers; ``checksum`` says whether UDP's is computed.

    ``payload``: what follows the header of a frame for another child, which has no lanes.
    """

    addresses: Addresses
    header: Header
    lanes: Lanes = field(default_factory=no_lanes)
    checksum: bool = False
    payload: bytes = b""
    ecn: int = ECN_CAPABLE
    """Of the IPv4 header; those of frames for another child are not ECN-capable."""


def ones_complement_sum(data: bytes) -> int:
    """Sum of big-endian 16-bit words with the carries added back; an odd last byte is the high one (RFC 1071)."""
    padded = data + b"\0" * (len(data) % 2)
    total = int(np.frombuffer(padded, ">u2").sum(dtype=np.uint64))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ipv4_header(total_bytes: int, source_ip: int, destination_ip: int, ecn: int = 0) -> bytes:
    """An IPv4 header without options, its checksum set."""
    fields = (0x45, ecn, total_bytes, 0, 0, TIME_TO_LIVE, PROTOCOL_UDP)
    start, end = struct.pack(">BBHHHBB", *fields), struct.pack(">II", source_ip, destination_ip)
    return start + struct.pack(">H", 0xFFFF - ones_complement_sum(start + end)) + end


def build_frame(frame: Frame) -> bytes:
    """The frame's bytes. The header's ``lanes`` is set to the number of lanes given."""
    lanes = np.asarray(frame.lanes, np.uint32)
    payload = encode_header(replace(frame.header, lanes=len(lanes))) + lanes.astype(">u4").tobytes() + frame.payload
    udp_bytes = UDP_BYTES + len(payload)
    to = frame.addresses
    macs = to.destination_mac.to_bytes(6, "big") + to.source_mac.to_bytes(6, "big")
    ethernet = macs + struct.pack(">H", ETHERTYPE_IPV4)
    ecn = 0 if frame.header.kind in FORWARDED_KINDS else frame.ecn
    ipv4 = ipv4_header(IPV4_BYTES + udp_bytes, to.source_ip, to.destination_ip, ecn)
    udp = struct.pack(">HHH", NETSUM_PORT, NETSUM_PORT, udp_bytes)
    checksum = udp_checksum(ipv4, udp + b"\0\0" + payload) if frame.checksum else 0
    return ethernet + ipv4 + udp + struct.pack(">H", checksum) + payload


def udp_checksum(ipv4: bytes, udp: bytes) -> int:
    """What the UDP checksum field must hold, given the datagram with that field zero: never 0 itself."""
    pseudo = ipv4[12:20] + struct.pack(">BBH", 0, PROTOCOL_UDP, len(udp))
    return 0xFFFF - ones_complement_sum(pseudo + udp) or 0xFFFF


def updated_checksum(checksum: int, before: bytes, after: bytes) -> int:
    """A UDP checksum after words that it covers have changed (RFC 1624, equation 3): the difference between it and the
    right one, as of a damaged frame, stays. 0, "not computed", stays 0, and no other becomes 0.

    ``before``, ``after``: an even number of bytes, at an even offset of the datagram or of the pseudo header.
    """
    if not checksum:
        return 0
    words = (0xFFFF - checksum).to_bytes(2, "big") + bytes(255 - byte for byte in before) + after
    return 0xFFFF - ones_complement_sum(words) or 0xFFFF


def readdressed(data: bytes, addresses: Addresses) -> bytes:
    """A whole frame as an aggregator forwards it: other addresses, a fresh time to live, checksums that follow."""
    start, end = ETHERNET_BYTES, ETHERNET_BYTES + IPV4_BYTES
    macs = addresses.destination_mac.to_bytes(6, "big") + addresses.source_mac.to_bytes(6, "big")
    ips = struct.pack(">II", addresses.source_ip, addresses.destination_ip)
    ipv4 = data[start : start + 8] + bytes([TIME_TO_LIVE]) + data[start + 9 : start + 10] + b"\0\0" + ips
    ipv4 = ipv4[:10] + struct.pack(">H", 0xFFFF - ones_complement_sum(ipv4)) + ips
    checksum = updated_checksum(int.from_bytes(data[end + 6 : end + 8], "big"), data[end - 8 : end], ips)
    return macs + data[12:14] + ipv4 + data[end : end + 6] + struct.pack(">H", checksum) + data[end + 8 :]


def parse_frame(data: bytes, *, at_destination: bool = True, passing: Container[int] = PASSING_KINDS) -> Frame:
    """A frame from its bytes. Raises WireError for anything but a whole, unharmed frame of this protocol.

    ``at_destination``: False where a frame of the kinds ``passing`` only passes: what is the receiver's to examine, as
    its UDP checksum, is not. By default these are ``FORWARDED_KINDS``, and what a leaf's parent says to a worker of who
    is missing.
    """
    if len(data) < LANES_AT:
        raise WireError(f"frame is {len(data)} bytes, should be at least {LANES_AT}")
    ipv4, udp = data[ETHERNET_BYTES : ETHERNET_BYTES + IPV4_BYTES], data[ETHERNET_BYTES + IPV4_BYTES :]
    _expect("ethertype", int.from_bytes(data[12:14], "big"), ETHERTYPE_IPV4)
    _expect("IPv4 version and header length", ipv4[0], 0x45)
    _expect("IPv4 total length", int.from_bytes(ipv4[2:4], "big"), len(data) - ETHERNET_BYTES)
    _expect("IPv4 fragment fields", int.from_bytes(ipv4[6:8], "big") & 0x3FFF, 0)
    _expect("IPv4 protocol", ipv4[9], PROTOCOL_UDP)
    _expect("sum over the IPv4 header", ones_complement_sum(ipv4), 0xFFFF)
    _, port, udp_bytes, checksum = struct.unpack(">HHHH", udp[:UDP_BYTES])
    _expect("UDP destination port", port, NETSUM_PORT)
    _expect("UDP length", udp_bytes, len(udp))
    header = decode_header(data[HEADER_AT:])
    passes = not at_destination and header.kind in passing
    if checksum and not passes:
        _expect("UDP checksum", checksum, udp_checksum(ipv4, udp[:6] + b"\0\0" + udp[8:]))
    _expect("version", header.version, NETSUM_VERSION)
    payload = data[LANES_AT:] if header.kind in FORWARDED_KINDS else b""
    count = (len(data) - LANES_AT - len(payload)) // LANE_BYTES
    if not passes:
        _expect("bytes of lanes", len(data) - LANES_AT - len(payload), LANE_BYTES * header.lanes)
    addresses = Addresses(
        destination_mac=int.from_bytes(data[0:6], "big"),
        source_mac=int.from_bytes(data[6:12], "big"),
        source_ip=int.from_bytes(ipv4[12:16], "big"),
        destination_ip=int.from_bytes(ipv4[16:20], "big"),
    )
    lanes = np.frombuffer(data, ">u4", count, LANES_AT).astype(np.uint32)
    return Frame(addresses, header, lanes, checksum != 0, payload, ipv4[1] & ECN_FIELD)


def _expect(what: str, value: int, wanted: int) -> None:
    if value != wanted:
        raise WireError(f"{what} is {value:#x}, should be {wanted:#x}")
