"""Bytestrings against the two tables of examples in P4Runtime's section "Bytestrings"."""

import pytest

from emulator.p4runtime.entities.bytestrings import BytestringError, decode, decode_signed, encode, encode_signed


@pytest.mark.parametrize(
    ("width_bits", "data", "value"),
    [
        (8, b"\x63", 0x63),
        (16, b"\x00\x63", 0x63),
        (16, b"\x63", 0x63),
        (16, b"\x30\x64", 0x3064),
        (16, b"\x00\x30\x64", 0x3064),
        (12, b"\x00\x00\x63", 0x63),
        (1, b"\x01", 1),
        (9, b"\x01\xff", 511),
        (128, b"\xff" * 16, 2**128 - 1),
    ],
)
def test_valid_unsigned(width_bits: int, data: bytes, value: int) -> None:
    assert decode(data, width_bits) == value


@pytest.mark.parametrize(
    ("width_bits", "data"),
    [
        (8, b"\x01\x63"),
        (8, b""),
        (16, b"\x01\x00\x63"),
        (12, b"\x10\x63"),
        (12, b"\x01\x00\x63"),
        (12, b"\x00\x40\x63"),
        (9, b"\x02\x00"),
    ],
)
def test_invalid_unsigned(width_bits: int, data: bytes) -> None:
    with pytest.raises(BytestringError):
        decode(data, width_bits)


@pytest.mark.parametrize(
    ("width_bits", "data", "value"),
    [(8, b"\x63", 99), (8, b"\x9d", -99), (8, b"\xff\x9d", -99), (12, b"\xfd\x1d", -739), (16, b"\x00\x00", 0)],
)
def test_valid_signed(width_bits: int, data: bytes, value: int) -> None:
    assert decode_signed(data, width_bits) == value


@pytest.mark.parametrize(("width_bits", "data"), [(8, b"\x00\x9d"), (12, b"\x8d\x1d"), (16, b"")])
def test_invalid_signed(width_bits: int, data: bytes) -> None:
    with pytest.raises(BytestringError):
        decode_signed(data, width_bits)


@pytest.mark.parametrize(("value", "data"), [(0, b"\0"), (1, b"\1"), (255, b"\xff"), (256, b"\1\0"), (99, b"\x63")])
def test_shortest_unsigned(value: int, data: bytes) -> None:
    assert encode(value) == data


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, b"\0"),
        (-1, b"\xff"),
        (127, b"\x7f"),
        (128, b"\0\x80"),
        (-128, b"\x80"),
        (-129, b"\xff\x7f"),
        (-739, b"\xfd\x1d"),
    ],
)
def test_shortest_signed(value: int, data: bytes) -> None:
    assert encode_signed(value) == data
    assert decode_signed(data, 16) == value
