"""Capture files, classic pcap or pcapng (`pcapng`): what is in one, and how a classic one begins. No ports, no sockets.

A file is read whole into memory: frames are then borrowed from there, and nobody can change them under a switch.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.native.memory import store_i64
from emulator.native.pages import address_of
from emulator.ports.errors import PortError
from emulator.ports.pcap.pcapng import (
    LINK_ETHERNET,
    LONGEST_FRAME_BYTES,
    RECORD,
    RECORD_BYTES,
    SECTION,
    index_of,
    word_at,
)

FILE_HEADER = struct.Struct("<IHHiIII")
"""magic, version (2.4), two fields nobody uses, longest frame, link type."""
FILE_HEADER_BYTES = FILE_HEADER.size
MAGIC_US, MAGIC_NS = 0xA1B2C3D4, 0xA1B23C4D
MAGIC_MODIFIED = 0xA1B2CD34
BILLION = 1_000_000_000
LINK_TYPE_BITS = 0x03FF_FFFF
"""The bits above them: whether frames end in a checksum of the link."""

RECORD_HEADER_BYTES = 16
"""seconds, fraction, bytes captured, bytes on the wire: 32 bits each."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A file's frames, in the file's order."""

    data: NDArray[np.uint8]
    """The file."""
    records: NDArray[Any]
    """dtype RECORD; addresses point into ``data``; times are nanoseconds since 1970."""
    cut_short: int
    """Frames of which the file has only the beginning."""
    incomplete: bool
    """The file ends within a record, which is left out."""
    interfaces: tuple[str, ...] = ("",)
    """Names of the links, as ``records["interface"]`` counts them; a classic file has one without a name."""


def is_pcapng(path: str) -> bool:
    """Whether a file that is written under this name is pcapng."""
    return path.lower().endswith(".pcapng")


def read_capture(path: str) -> Capture:
    """Read a file of either format and byte order. Raises PortError, which names file and problem."""
    try:
        data = np.frombuffer(Path(path).read_bytes(), np.uint8)
    except OSError as error:
        raise PortError(f"cannot read {path}: {error.strerror}") from error
    if data[:4].tobytes() == struct.pack("=I", SECTION):
        found = index_of(path, data)
        incomplete = found.whole_bytes < len(data)
        return Capture(data, found.records, found.cut_short, incomplete, tuple(found.interfaces))
    swapped, unit_ns = _understand_header(path, data)
    counts = np.zeros(3, np.int64)
    start = address_of(data)
    _index(start, len(data), swapped, unit_ns, 0, address_of(counts))
    records = np.zeros(int(counts[0]), RECORD)
    damaged = int(_index(start, len(data), swapped, unit_ns, address_of(records), address_of(counts)))
    if damaged >= 0:
        raise PortError(
            f"{path}: the record at byte {damaged} says its frame has more than {LONGEST_FRAME_BYTES} bytes: "
            "the file is damaged from there on; capture it again"
        )
    return Capture(data, records, int(counts[1]), bool(counts[2]))


def whole_bytes(path: str) -> int:
    """How much of a pcapng file that may be cut off are whole blocks. Raises OSError, PortError."""
    return index_of(path, np.frombuffer(Path(path).read_bytes(), np.uint8)).whole_bytes


def _understand_header(path: str, data: NDArray[np.uint8]) -> tuple[int, int]:
    """(1: bytes are the other way round, nanoseconds in a unit of the fraction)."""
    if len(data) < FILE_HEADER_BYTES:
        raise PortError(f"{path}: {len(data)} bytes are too few for a capture file; its header alone has 24")
    header = data[:FILE_HEADER_BYTES].tobytes()
    for order in "<>":
        magic, *_, link = struct.unpack(order + FILE_HEADER.format[1:], header)
        if magic in (MAGIC_US, MAGIC_NS):
            if link & LINK_TYPE_BITS != LINK_ETHERNET:
                raise PortError(f"{path}: its frames are of link type {link & LINK_TYPE_BITS}, not Ethernet (1)")
            if link & ~LINK_TYPE_BITS:
                raise PortError(f"{path}: its frames end in their checksums; write it without (editcap -C -4)")
            return int(order == ">"), 1 if magic == MAGIC_NS else 1000
        if magic == MAGIC_MODIFIED:
            raise PortError(f"{path}: a variant of pcap; convert it: editcap -F pcapng {path} new.pcapng")
    raise PortError(f"{path}: not a capture file: it begins with {header[:4].hex()}")


@njit
def _index(start: int, size: int, swapped: int, unit_ns: int, records: int, counts: int) -> int:
    """Go through a file at ``start``: counts of {records, cut short, incomplete}, and the records where there is room
    for them (0: only count). Returns where a damaged record begins, or -1."""
    position = FILE_HEADER_BYTES
    count = cut = incomplete = 0
    damaged = -1
    while position < size:
        header = start + position
        if size - position < RECORD_HEADER_BYTES:
            incomplete = 1
            break
        length = word_at(header + 8, swapped)
        if length > LONGEST_FRAME_BYTES:
            damaged = position
            break
        if size - position - RECORD_HEADER_BYTES < length:
            incomplete = 1
            break
        cut += length < word_at(header + 12, swapped)
        if records != 0:
            record = records + count * RECORD_BYTES
            store_i64(record, header + RECORD_HEADER_BYTES)
            store_i64(record + 8, word_at(header, swapped) * BILLION + word_at(header + 4, swapped) * unit_ns)
            store_i64(record + 16, length)
        count += 1
        position += RECORD_HEADER_BYTES + length
    store_i64(counts, count)
    store_i64(counts + 8, cut)
    store_i64(counts + 16, incomplete)
    return damaged


def capture_header() -> bytes:
    """The beginning of a file with nanoseconds, in this machine's byte order."""
    header = struct.Struct("=" + FILE_HEADER.format[1:])
    return header.pack(MAGIC_NS, 2, 4, 0, 0, LONGEST_FRAME_BYTES, LINK_ETHERNET)
