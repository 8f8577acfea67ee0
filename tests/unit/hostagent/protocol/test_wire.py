"""Frames: round trips, every truncation, trailing bytes, each flipped bit; scapy layer and table agree with them."""

from __future__ import annotations

import numpy as np
import pytest

from hostagent.protocol import wire
from hostagent.protocol.frames import Addresses, Frame, build_frame, ones_complement_sum, parse_frame
from hostagent.protocol.wire import Header, Kind, Operator, WireError, decode_header, encode_header

HEADER = Header(Kind.RESULT, 0x1234, 63, 0xFFFFFFFF, 0xFFFFFFFE, 0xDEADBEEF, Operator.MAX, 1, 3)
ADDRESSES = Addresses(0x020000000001, 0x0200000000FF, 0x0A000001, 0x0A0000FE)
LANES = np.array([0, 0xFFFFFFFF, 0x80000000], np.uint32)


def frame(checksum: bool = True) -> Frame:
    return Frame(ADDRESSES, HEADER, LANES, checksum)


def test_header_is_24_bytes_at_byte_42() -> None:
    assert (wire.HEADER_BYTES, wire.HEADER_AT, wire.LANES_AT, wire.UDP_SHORT_BYTES) == (24, 42, 66, 32)


def test_header_round_trip_with_trailing_bytes() -> None:
    data = encode_header(HEADER)
    assert len(data) == wire.HEADER_BYTES
    assert decode_header(data) == decode_header(data + b"more") == HEADER


@pytest.mark.parametrize("length", range(wire.HEADER_BYTES))
def test_truncated_header_is_refused(length: int) -> None:
    with pytest.raises(WireError, match=f"is {length} bytes"):
        decode_header(encode_header(HEADER)[:length])


@pytest.mark.parametrize("field", [field.name for field in wire.HEADER])
def test_a_value_too_wide_is_refused_by_name(field: str) -> None:
    values = {name: getattr(HEADER, name) for name in HEADER.__slots__} | {field: 1 << 32}
    with pytest.raises(WireError, match=field):
        encode_header(Header(**values))


@pytest.mark.parametrize("checksum", [False, True])
def test_frame_round_trip(checksum: bool) -> None:
    parsed = parse_frame(build_frame(frame(checksum)))
    assert (parsed.addresses, parsed.header, parsed.checksum) == (ADDRESSES, HEADER, checksum)
    assert (parsed.lanes == LANES).all()


def test_frame_cut_at_every_byte_or_followed_by_bytes_is_refused() -> None:
    data = build_frame(frame())
    for length in range(len(data)):
        with pytest.raises(WireError):
            parse_frame(data[:length])
    with pytest.raises(WireError, match="IPv4 total length"):
        parse_frame(data + b"\0")


def test_every_flipped_bit_that_matters_is_noticed() -> None:
    data = build_frame(frame())
    unprotected = set(range(12))  # Ethernet's addresses: their check is the frame's CRC, which no port carries
    for at in set(range(len(data))) - unprotected:
        for bit in range(8):
            flipped = bytearray(data)
            flipped[at] ^= 1 << bit
            with pytest.raises(WireError):
                parse_frame(bytes(flipped))


def test_a_checksum_of_zero_travels_as_all_ones() -> None:
    data = build_frame(frame())
    missing = int.from_bytes(data[40:42], "big")  # adding the checksum's value to a lane makes the new sum zero
    lanes = LANES.copy()
    lanes[0] = missing
    assert build_frame(Frame(ADDRESSES, HEADER, lanes, True))[40:42] == b"\xff\xff"


def test_ones_complement_sum_of_rfc_1071() -> None:
    assert ones_complement_sum(bytes.fromhex("0001f203f4f5f6f7")) == 0xDDF2  # the example of RFC 1071, section 3


def test_scapy_reads_what_we_build_and_builds_what_we_read() -> None:
    inet = pytest.importorskip("scapy.layers.inet")
    l2 = pytest.importorskip("scapy.layers.l2")
    from hostagent.protocol.dissector import Netsum

    data = build_frame(frame())
    packet = l2.Ether(data)
    layer = packet[Netsum]
    for field in wire.HEADER:
        assert layer.getfieldval(field.name) == getattr(HEADER, field.name)
    assert layer.lane == list(LANES)
    assert packet[inet.UDP].sport == wire.NETSUM_PORT
    assert bytes(packet) == data
    assert layer.mysummary() == "netsum result (max) job 4660 child 63 epoch 4294967295 chunk 4294967294"


def test_table_for_the_documentation() -> None:
    lines = wire.markdown_table().splitlines()
    assert len(lines) == 2 + len(wire.HEADER)
    assert lines[-1].startswith("| operation | 32 | 20 |")
