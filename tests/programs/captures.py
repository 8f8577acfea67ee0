"""Capture files, written and read by hand: independent of the code under test."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

Frames = Sequence[tuple[int, bytes]]
"""(time in ns, frame)."""


def write_capture(path: Path, frames: Frames, *, order: str = "<", nanoseconds: bool = True, link: int = 1) -> Path:
    """A classic pcap file in either byte order and resolution."""
    magic, unit = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    content = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for time_ns, frame in frames:
        seconds, rest = divmod(time_ns, 1_000_000_000)
        content += struct.pack(order + "IIII", seconds, rest // unit, len(frame), len(frame)) + frame
    path.write_bytes(content)
    return path


def pcapng_block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def pcapng_section(order: str = "<") -> bytes:
    """The beginning of a section."""
    return pcapng_block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def pcapng_interface(order: str = "<", *, link: int = 1, options: bytes = b"") -> bytes:
    """A block that describes an interface."""
    return pcapng_block(1, struct.pack(order + "HHI", link, 0, 0) + options, order)


def pcapng_frame(time: int, frame: bytes, order: str = "<", *, interface: int = 0, options: bytes = b"") -> bytes:
    """An enhanced packet block; the time is in units of its interface."""
    head = struct.pack(order + "IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(frame), len(frame))
    return pcapng_block(6, head + frame + bytes(-len(frame) % 4) + options, order)


def read_captured(path: Path) -> list[tuple[int, bytes]]:
    """What a file with nanoseconds in this machine's byte order holds."""
    content = path.read_bytes()
    assert struct.unpack_from("=IHH", content) == (0xA1B23C4D, 2, 4)
    assert struct.unpack_from("=I", content, 20) == (1,)
    frames, position = [], 24
    while position < len(content):
        seconds, rest, captured, length = struct.unpack_from("=IIII", content, position)
        assert captured == length
        frames.append((seconds * 1_000_000_000 + rest, content[position + 16 : position + 16 + length]))
        position += 16 + length
    return frames
