"""The hash algorithms of v1model over bytes, plainly written: the interpreter's, and what tests compare with."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from emulator.v1model.metadata import Algorithm


def crc16(data: bytes) -> int:
    """CRC-16/ARC: polynomial 0x8005 reflected, initial 0."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xA001 if value & 1 else 0)
    return value


def _words(data: bytes) -> list[int]:
    """Big-endian 16-bit words; an odd tail is padded with a zero byte."""
    padded = data + b"\0" * (len(data) % 2)
    return [int.from_bytes(padded[i : i + 2], "big") for i in range(0, len(padded), 2)]


def csum16(data: bytes) -> int:
    """RFC 1071: the complement of the one's complement sum."""
    total = sum(_words(data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def xor16(data: bytes) -> int:
    value = 0
    for word in _words(data):
        value ^= word
    return value


def identity(data: bytes) -> int:
    """The first eight bytes as a number (fewer: those)."""
    return int.from_bytes(data[:8], "big")


FUNCTIONS: dict[Algorithm, Callable[[bytes], int]] = {
    Algorithm.CRC16: crc16,
    Algorithm.CRC16_CUSTOM: crc16,
    Algorithm.CRC32: zlib.crc32,
    Algorithm.CRC32_CUSTOM: zlib.crc32,
    Algorithm.CSUM16: csum16,
    Algorithm.XOR16: xor16,
    Algorithm.IDENTITY: identity,
}
