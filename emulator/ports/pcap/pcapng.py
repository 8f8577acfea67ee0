"""The pcapng format (draft-ietf-opsawg-pcapng): blocks of a file, and the index of the frames in one that was read.

Files may have several sections, of either byte order, with any number of Ethernet interfaces, and time stamps of any
resolution. Blocks that say nothing about frames are passed over.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u8, load_u16, load_u32, store_i32, store_i64
from emulator.native.pages import address_of
from emulator.ports.errors import PortError

SECTION, INTERFACE, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 3, 6
BYTE_ORDER = 0x1A2B3C4D
OPTION_NAME, OPTION_DESCRIPTION, OPTION_FLAGS, OPTION_APPLICATION = 2, 3, 2, 4
OPTION_RESOLUTION, OPTION_OFFSET = 9, 14
"""if_name, if_description, epb_flags, shb_userappl, if_tsresol, if_tsoffset."""
PACKET_HEADER_BYTES = 28
"""Of an enhanced packet block: type, length, interface, time (high, low), bytes captured, bytes on the wire."""
LEAST_BLOCK_BYTES = 12
LONGEST_FRAME_BYTES = 0x40000
"""libpcap's MAXIMUM_SNAPLEN: a record that says more is damaged."""
LONGEST_BLOCK_BYTES = 1 << 24
LINK_ETHERNET = 1

RECORD = np.dtype(
    [
        ("address", "<i8"),
        ("time_ns", "<i8"),
        ("length_bytes", "<i8"),
        ("interface", "<i4"),
        ("direction", "<i4"),
    ]
)
"""A frame of a file that has been read; direction: 0 unknown, 1 in, 2 out."""
RECORD_BYTES = RECORD.itemsize
CLOCK = np.dtype([("base", "<i8"), ("exponent", "<i8"), ("offset_ns", "<i8"), ("interface", "<i8")])
"""Of an interface of a section: a unit of its time stamps is base ** -exponent seconds, 0 is ``offset_ns``."""
CLOCK_BYTES = CLOCK.itemsize


def option(code: int, value: bytes) -> bytes:
    """An option of a block, padded, in this machine's byte order."""
    return struct.pack("=HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind: int, body: bytes) -> bytes:
    """A block in this machine's byte order; ``body`` is a multiple of 4 bytes."""
    length = struct.pack("=I", LEAST_BLOCK_BYTES + len(body))
    return struct.pack("=I", kind) + length + body + length


def section_header() -> bytes:
    """The beginning of a section of unknown length, in this machine's byte order."""
    return block(SECTION, struct.pack("=IHHq", BYTE_ORDER, 1, 0, -1) + option(OPTION_APPLICATION, b"netsum") + bytes(4))


@dataclass
class Index:
    """What is in a file."""

    records: NDArray[Any]
    """dtype RECORD."""
    interfaces: list[str] = field(default_factory=list)
    """Names, of all sections, as ``records["interface"]`` counts them."""
    cut_short: int = 0
    whole_bytes: int = 0
    """Where the last whole block ends; less than the file's length: it ends within a block."""


def index_of(path: str, data: NDArray[np.uint8]) -> Index:
    """Find all frames of a file in memory. Raises PortError that names file and byte."""
    counted = _Walk(path, data, np.zeros(0, RECORD))
    return _Walk(path, data, np.zeros(counted.count, RECORD)).index


class _Walk:
    """One pass over a file: compiled over the blocks with frames, in Python over the others. Without room for records
    it counts them."""

    def __init__(self, path: str, data: NDArray[np.uint8], records: NDArray[Any]) -> None:
        self._path, self._data = path, data
        self.index = Index(records)
        self.count = 0
        self._order = "="
        self._clocks: list[tuple[int, int, int, int]] = []
        counts = np.zeros(3, np.int64)
        address = address_of(records) if len(records) else 0
        position = 0
        while position < len(data):
            length = self._other_block(position)
            if not length:
                break
            clocks = np.array(self._clocks, CLOCK) if self._clocks else np.zeros(1, CLOCK)
            known = address_of(clocks), len(self._clocks)
            where = address_of(data), len(data), position + length, self._is_swapped
            position = int(index_packets(*where, address, address_of(counts), *known))
            if counts[2]:
                raise self._damaged(
                    position, f"is not of a known interface, or longer than {LONGEST_FRAME_BYTES} bytes"
                )
        self.count = int(counts[0])
        self.index.cut_short = int(counts[1])
        self.index.whole_bytes = position

    @property
    def _is_swapped(self) -> int:
        return int(struct.pack(self._order + "H", 1) != struct.pack("=H", 1))

    def _damaged(self, position: int, what: str) -> PortError:
        return PortError(f"{self._path}: the block at byte {position} {what}: the file is damaged from there on")

    def _other_block(self, position: int) -> int:
        """Take a block without a frame in; its length, 0 where the file ends within it."""
        rest = self._data[position : position + LONGEST_BLOCK_BYTES]
        if len(rest) < LEAST_BLOCK_BYTES:
            return 0
        head = rest[:LEAST_BLOCK_BYTES].tobytes()
        if head[:4] == struct.pack("=I", SECTION):
            self._order = next((o for o in "<>" if struct.unpack_from(o + "I", head, 8)[0] == BYTE_ORDER), "")
            if not self._order:
                raise self._damaged(position, "begins a section of no byte order")
            self._clocks = []
        kind, length = struct.unpack_from(self._order + "II", head)
        if length % 4 or not LEAST_BLOCK_BYTES <= length <= LONGEST_BLOCK_BYTES:
            raise self._damaged(position, f"says that it has {length} bytes")
        if len(rest) < length:
            return 0
        if kind == SIMPLE_PACKET:
            raise PortError(f"{self._path}: the frame at byte {position} has no time (a simple packet block)")
        if kind == INTERFACE:
            self._interface(rest[8 : length - 4].tobytes())
        return int(length)

    def _interface(self, body: bytes) -> None:
        (link,) = struct.unpack_from(self._order + "H", body)
        if link != LINK_ETHERNET:
            raise PortError(f"{self._path}: its frames are of link type {link}, not Ethernet (1)")
        name, base, exponent, offset_ns, position = "", 10, 6, 0, 8
        while position + 4 <= len(body):
            code, length = struct.unpack_from(self._order + "HH", body, position)
            value = body[position + 4 : position + 4 + length]
            if code == OPTION_NAME:
                name = value.decode(errors="replace").rstrip("\0")
            elif code == OPTION_RESOLUTION and value:
                base, exponent = (2, value[0] & 0x7F) if value[0] & 0x80 else (10, value[0])
            elif code == OPTION_OFFSET and length == 8:
                offset_ns = struct.unpack(self._order + "q", value)[0] * 1_000_000_000
            position += 4 + length + -length % 4
        if exponent > (32 if base == 2 else 18):
            raise PortError(f"{self._path}: its time stamps are of a unit of {base}^-{exponent} s, which is too fine")
        self._clocks.append((base, exponent, offset_ns, len(self.index.interfaces)))
        self.index.interfaces.append(name or f"interface {len(self.index.interfaces)}")


@njit
def word_at(address: int, swapped: int) -> Any:
    """32 bits in this machine's byte order, or the other."""
    if swapped == 0:
        return load_u32(address)
    return load_u8(address) << 24 | load_u8(address + 1) << 16 | load_u8(address + 2) << 8 | load_u8(address + 3)


@njit
def _half_at(address: int, swapped: int) -> int:
    return load_u8(address) << 8 | load_u8(address + 1) if swapped != 0 else load_u16(address)


@njit
def _time_ns(stamp: int, clock: int) -> int:
    base, exponent, offset_ns = load_i64(clock), load_i64(clock + 8), load_i64(clock + 16)
    if base == 2:
        rest = stamp & ((1 << exponent) - 1)
        return offset_ns + (stamp >> exponent) * 1_000_000_000 + ((rest * 1_000_000_000) >> exponent)
    for _ in range(exponent, 9):
        stamp *= 10
    for _ in range(9, exponent):
        stamp //= 10
    return offset_ns + stamp


@njit
def _direction(at: int, end: int, swapped: int) -> Any:
    """The direction in epb_flags among a block's options, or 0."""
    while at + 8 <= end:
        code, length = _half_at(at, swapped), _half_at(at + 2, swapped)
        if code == OPTION_FLAGS and length == 4:
            return word_at(at + 4, swapped) & 3
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 0


@njit
def index_packets(
    start: int, size: int, position: int, swapped: int, records: int, counts: int, clocks: int, clock_count: int
) -> int:
    """Go through enhanced packet blocks from ``position`` on; counts of {records, cut short, damaged}, and the records
    where there is room for them (0: only count). Returns where the first other or incomplete block begins."""
    while size - position >= PACKET_HEADER_BYTES + 4:
        at = start + position
        block_bytes, interface, length = word_at(at + 4, swapped), word_at(at + 8, swapped), word_at(at + 20, swapped)
        if word_at(at, swapped) != ENHANCED_PACKET or size - position < block_bytes:
            break
        padded = (length + 3) // 4 * 4
        if (
            length > LONGEST_FRAME_BYTES
            or interface >= clock_count
            or block_bytes % 4 != 0
            or block_bytes < PACKET_HEADER_BYTES + padded + 4
        ):
            store_i64(counts + 16, 1)
            break
        count = load_i64(counts)
        if records != 0:
            record, clock = records + count * RECORD_BYTES, clocks + interface * CLOCK_BYTES
            stamp = word_at(at + 12, swapped) << 32 | word_at(at + 16, swapped)
            options, end = at + PACKET_HEADER_BYTES + padded, at + block_bytes - 4
            store_i64(record, at + PACKET_HEADER_BYTES)
            store_i64(record + 8, _time_ns(stamp, clock))
            store_i64(record + 16, length)
            store_i32(record + 24, load_i64(clock + 24))
            store_i32(record + 28, _direction(options, end, swapped))
        store_i64(counts, count + 1)
        store_i64(counts + 8, load_i64(counts + 8) + (length < word_at(at + 24, swapped)))
        position += block_bytes
    return position
