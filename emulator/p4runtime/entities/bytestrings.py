"""P4Runtime's bytestrings: integers of any width as big-endian bytes (P4Runtime, "Bytestrings").

Written in the shortest form (zero is one zero byte); read in any length, as long as the value fits the width that
P4Info states. The fault's code is left to the caller: the specification asks for INVALID_ARGUMENT in match fields,
action parameters and registers, and for OUT_OF_RANGE elsewhere.
"""

from __future__ import annotations


class BytestringError(ValueError):
    """Bytes that encode no value of the type; the text gives the reason without the field."""


def encode(value: int) -> bytes:
    """The shortest bytestring of an unsigned value."""
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def encode_signed(value: int) -> bytes:
    """The shortest two's complement bytestring of a value of type ``int<W>``."""
    magnitude_bits = (value if value >= 0 else ~value).bit_length()
    return value.to_bytes(magnitude_bits // 8 + 1, "big", signed=True)


def decode(data: bytes, width_bits: int) -> int:
    """The value of a ``bit<width_bits>``. Raises BytestringError when it is empty or does not fit."""
    if not data:
        _refuse_empty(data)
    value = int.from_bytes(data, "big")
    if value >> width_bits:
        raise BytestringError(f"0x{data.hex()} does not fit in {width_bits} bits")
    return value


def decode_signed(data: bytes, width_bits: int) -> int:
    """The value of an ``int<width_bits>``. Raises BytestringError when it is empty or does not fit."""
    _refuse_empty(data)
    value = int.from_bytes(data, "big", signed=True)
    if not -(1 << (width_bits - 1)) <= value < 1 << (width_bits - 1):
        raise BytestringError(f"0x{data.hex()} (that is {value}) does not fit in {width_bits} signed bits")
    return value


def _refuse_empty(data: bytes) -> None:
    if not data:
        raise BytestringError("the value is empty; zero is written as one zero byte")
