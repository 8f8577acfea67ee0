"""What the benches of tables share: frames in memory, rings for what comes out, and honest timing.

A frame is in a cell as ports hand them over. Between two timed batches the frames get new keys, drawn from all of the
table's entries, so the look-ups of a large table miss the caches as they would live (``tables_rounds``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import CELL_BYTES, FRAME_HEADROOM_BYTES, FrameBatch
from emulator.switch.control import FieldMatch, TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.view import TableView
from hostagent.cli.bench.tables_rounds import switch_rounds

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


@dataclass(frozen=True, slots=True)
class Keys:
    """What makes frames hit entries."""

    offset: int
    """Of the frame's bytes."""
    values: NDArray[np.uint8]
    """[entries, bytes]"""


class Frames:
    """A batch of frames with the same headers."""

    def __init__(self, content: bytes) -> None:
        self._cells = aligned_bytes(FRAMES * CELL_BYTES).reshape(FRAMES, CELL_BYTES)
        self.bytes = self._cells[:, FRAME_HEADROOM_BYTES : FRAME_HEADROOM_BYTES + FRAME_BYTES]
        self.bytes[:] = np.frombuffer(content, np.uint8)
        batch = self.batch = FrameBatch(FRAMES)
        batch.count = FRAMES
        batch.address[:] = address_of(self._cells) + FRAME_HEADROOM_BYTES + np.arange(FRAMES) * CELL_BYTES
        batch.length_bytes[:] = FRAME_BYTES
        batch.port[:] = np.arange(FRAMES) % PORTS


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

    def measure(self, frames: Frames, keys: Keys, batches: int, *, summed: bool = False) -> Timing:
        """Of batches whose frames have any of the keys, and IPv4 checksums if ``summed``. Raises RuntimeError when the
        switch dropped one."""
        rings = self.switch.ports.ring_address(0)
        program, context = self.switch.program_address, self.switch.context_address
        batch = frames.batch.record_address

        def run(times_ns: NDArray[np.int64]) -> None:
            switch_rounds(
                program, context, batch, rings, PORTS, frames.bytes, keys.offset, keys.values, summed, times_ns
            )

        timing = timed(run, batches)
        if self.switch.drops:
            raise RuntimeError(f"the switch dropped frames: {dict(self.switch.drops)}")
        return timing


def timed(run: Callable[[NDArray[np.int64]], object], batches: int) -> Timing:
    """``run`` fills in the nanoseconds of as many batches as it is given; the first ones warm up and don't count."""
    run(np.zeros(batches // 2, np.int64))
    times_ns = np.zeros(batches, np.int64)
    run(times_ns)
    return Timing(float(times_ns.min()) / FRAMES, float(np.median(times_ns)) / FRAMES)
