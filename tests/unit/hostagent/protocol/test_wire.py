"""Frames: round trips, every truncation, trailing bytes, each flipped bit; scapy layer and table agree with them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from hostagent.protocol import wire
from hostagent.protocol.frames import (
    Addresses,
    Frame,
    build_frame,
    ones_complement_sum,
    parse_frame,
    readdressed,
    updated_checksum,
)
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


MESSAGE = Header(Kind.MESSAGE, 7, 2, 5, 0xFFFFFFFF, 9, peer=3)
ONWARD = Addresses(0x0200000000FF, 0x020000000003, 0x0A0000FE, 0x0A000003)


def test_a_message_has_bytes_of_any_number() -> None:
    rng = random.Random(1)
    for size in range(80):
        made = Frame(ADDRESSES, MESSAGE, checksum=size % 2 == 0, payload=rng.randbytes(size))
        data = build_frame(made)
        assert len(data) == wire.LANES_AT + size
        parsed = parse_frame(data)
        assert (parsed.header, parsed.payload, parsed.checksum) == (MESSAGE, made.payload, made.checksum)
        assert not len(parsed.lanes)


def test_a_message_with_a_lane_count_is_refused_at_its_destination_only() -> None:
    data = bytearray(build_frame(Frame(ADDRESSES, MESSAGE, payload=b"12345678")))
    data[wire.HEADER_AT + wire.OFFSET["lanes"] + 1] = 2
    with pytest.raises(WireError, match="bytes of lanes"):
        parse_frame(bytes(data))
    assert parse_frame(bytes(data), at_destination=False).payload == b"12345678"


def test_a_readdressed_frame_equals_one_built_for_its_destination() -> None:
    """Whatever the bytes: the checksum follows the addresses as if it had been computed anew."""
    rng = random.Random(2)
    for case in range(2000):
        size = rng.choice((0, 1, 2, 3, rng.randrange(1, 1024)))
        payload = rng.choice((rng.randbytes(size), bytes(size), b"\xff" * size))
        made = Frame(drawn_addresses(rng), MESSAGE, checksum=case % 4 != 0, payload=payload)
        onward = drawn_addresses(rng)
        assert readdressed(build_frame(made), onward) == build_frame(replace(made, addresses=onward))


def drawn_addresses(rng: random.Random) -> Addresses:
    return Addresses(rng.getrandbits(48), rng.getrandbits(48), rng.getrandbits(32), rng.getrandbits(32))


def test_a_damaged_message_is_forwarded_and_refused_at_its_destination() -> None:
    data = build_frame(Frame(ADDRESSES, MESSAGE, checksum=True, payload=b"some bytes"))
    for bit in range(8 * wire.LANES_AT, 8 * len(data)):
        harmed = bytearray(data)
        harmed[bit // 8] ^= 1 << bit % 8
        passed = readdressed(bytes(harmed), ONWARD)
        parse_frame(passed, at_destination=False)
        with pytest.raises(WireError, match="UDP checksum"):
            parse_frame(passed)


def test_an_updated_checksum_is_never_zero_unless_none_was_computed() -> None:
    assert updated_checksum(0, b"\1\2", b"\3\4") == 0
    assert updated_checksum(0xFFFF, b"\0\0", b"\0\0") == 0xFFFF
    assert updated_checksum(0x0001, b"\0\0", b"\0\1") == 0xFFFF  # RFC 1624: 0 would be it, and means another thing
    assert updated_checksum(0xDD2F, b"\x55\x55", b"\x32\x85") == 0xFFFF  # the example of RFC 1624, section 4


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


def test_scapy_reads_a_message() -> None:
    l2 = pytest.importorskip("scapy.layers.l2")
    from hostagent.protocol.dissector import Netsum

    data = build_frame(Frame(ADDRESSES, MESSAGE, checksum=True, payload=b"hello"))
    layer = l2.Ether(data)[Netsum]
    assert bytes(layer.payload) == b"hello"
    assert layer.mysummary() == "netsum message job 7 child 2 to 3 epoch 5 chunk 4294967295 fragment 9"
    assert bytes(l2.Ether(data)) == data


def test_table_for_the_documentation() -> None:
    lines = wire.markdown_table().splitlines()
    assert len(lines) == 2 + len(wire.HEADER)
    assert lines[-1].startswith("| operation | 32 | 20 |")
