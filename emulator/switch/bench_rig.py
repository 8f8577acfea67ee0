"""What the benches of tables share: frames in memory, rings for what comes out, and honest timing.

A frame lies in a cell of two kilobytes, as ports hand them over. Between two timed batches the frames get new
addresses, drawn from all of the table's entries, so the look-ups of a large table miss the caches as they would live.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.ports.batch import CELL_BYTES, FRAME_HEADROOM_BYTES, FrameBatch, address_of, aligned_bytes
from emulator.switch.control import FieldMatch, TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.view import TableView

PORTS = 4
FRAMES = 256
"""A batch, as a live loop gathers from four busy ports."""
FRAME_BYTES = 64
DESTINATION = 30
"""Of an IPv4 frame's destination address."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Nanoseconds a frame over many batches."""

    best: float
    median: float


class Frames:
    """A batch of frames with the same headers."""

    def __init__(self, content: bytes) -> None:
        self._cells = aligned_bytes(FRAMES * CELL_BYTES).reshape(FRAMES, CELL_BYTES)
        self.bytes = self._cells[:, FRAME_HEADROOM_BYTES : FRAME_HEADROOM_BYTES + FRAME_BYTES]
        self._content = np.frombuffer(content, np.uint8)
        self.reset()
        batch = self.batch = FrameBatch(FRAMES)
        batch.count = FRAMES
        batch.address[:] = address_of(self._cells) + FRAME_HEADROOM_BYTES + np.arange(FRAMES) * CELL_BYTES
        batch.length_bytes[:] = FRAME_BYTES
        batch.port[:] = np.arange(FRAMES) % PORTS

    def reset(self) -> None:
        """As they were before any of them was forwarded."""
        self.bytes[:] = self._content

    def put(self, offset: int, values: NDArray[np.uint8]) -> None:
        """[frames, bytes] at an offset."""
        self.bytes[:, offset : offset + values.shape[1]] = values

    def sum_ipv4(self) -> None:
        """Write the IPv4 header checksums."""
        self.bytes[:, 24:26] = 0
        total = np.ascontiguousarray(self.bytes[:, 14:34]).view(">u2").astype(np.uint32).sum(axis=1)
        for _ in range(2):
            total = (total & 0xFFFF) + (total >> 16)
        self.bytes[:, 24:26] = (0xFFFF - total).astype(">u2").view(np.uint8).reshape(-1, 2)


def ipv4_frame(protocol: int = 17) -> bytes:
    header = bytes([0x45, 0, 0, FRAME_BYTES - 14, 0, 0, 0, 0, 64, protocol, 0, 0]) + bytes([192, 168, 0, 1, 0, 0, 0, 0])
    return (bytes(12) + b"\x08\x00" + header).ljust(FRAME_BYTES, b"\0")


def ipv6_frame() -> bytes:
    return (bytes(12) + b"\x86\xdd" + bytes([0x60, 0, 0, 0, 0, 0, 17, 64])).ljust(FRAME_BYTES, b"\0")


class BenchSwitch:
    """A program on a switch with a ring for each port."""

    def __init__(self, program: CompiledProgram) -> None:
        self.switch = Switch()
        self._kept: list[Any] = []
        for port in range(PORTS):
            self._ring(port)
        self.switch.load(program)
        self.tables: dict[str, TableView] = {t.name.rpartition(".")[2]: t for t in program.view.tables}

    def _ring(self, port: int) -> None:
        ring = self.switch.ports.rings[port]
        cells, lengths = aligned_bytes(FRAMES * CELL_BYTES), np.zeros(FRAMES, np.uint32)
        self._kept += [cells, lengths]
        ring["cells"], ring["lengths"] = address_of(cells) + FRAME_HEADROOM_BYTES, address_of(lengths)
        ring["stride_bytes"], ring["mask"], ring["limit"] = CELL_BYTES, FRAMES - 1, FRAMES

    def insert(
        self, table: str, match: tuple[FieldMatch, ...], action: str, params: tuple[int, ...], priority: int = 0
    ) -> None:
        view = self.tables[table]
        number = next(a.id for a in view.actions if a.name.endswith(f".{action}"))
        self.switch.insert_entry(view.id, TableEntry(match, priority, number, params))

    def run(self, frames: Frames) -> float:
        """Nanoseconds a frame of one batch; the rings are emptied before."""
        rings = self.switch.ports.rings[:PORTS]
        rings["limit"] = rings["tail"] + FRAMES
        start = time.perf_counter_ns()
        self.switch.process(frames.batch, 0)
        return (time.perf_counter_ns() - start) / FRAMES

    def sent(self) -> int:
        return int(self.switch.ports.rings["frames"][:PORTS].sum())


def measure(run: Callable[[], float], prepare: Callable[[], None], batches: int) -> Timing:
    """The first batches warm up and don't count."""
    times = []
    for batch in range(batches + batches // 8):
        prepare()
        elapsed = run()
        if batch >= batches // 8:
            times.append(elapsed)
    times.sort()
    return Timing(times[0], times[len(times) // 2])
