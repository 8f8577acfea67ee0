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
