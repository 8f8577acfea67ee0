"""Egress rings in private memory: what a switch sends, by any port, is kept for looking at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import CELL_BYTES, MAX_PORTS, TxPortTable

CELLS = 256
"""A packet's copies by one port, at most; more of them are counted as "egress ring full"."""


class Rings:
    """All 512 ports share the address space of one ring each; memory comes with use.

    ``table`` goes to the `Switch`; the Rings must live as long as that.
    """

    def __init__(self, longest_bytes: int = CELL_BYTES) -> None:
        self.table = TxPortTable()
        stride = -(-max(longest_bytes, CELL_BYTES) // 64) * 64
        self._frames = [aligned_bytes(CELLS * stride) for _ in range(MAX_PORTS)]
        self._lengths = np.zeros((MAX_PORTS, CELLS), np.uint32)
        for port, frames in enumerate(self._frames):
            ring = self.table.rings[port]
            ring["cells"], ring["lengths"] = address_of(frames), address_of(self._lengths[port])
            ring["stride_bytes"], ring["mask"], ring["limit"] = stride, CELLS - 1, CELLS

    @contextmanager
    def unread(self) -> Iterator[None]:
        """For when nobody looks at what leaves: meanwhile all ports write into the memory of one."""
        cells = self.table.rings["cells"]
        own = cells.copy()
        cells[:] = own[0]
        try:
            yield
        finally:
            cells[:] = own

    def _frame(self, port: int, cell: int) -> bytes:
        start = cell * int(self.table.rings[port]["stride_bytes"])
        content: bytes = self._frames[port][start : start + int(self._lengths[port, cell])].tobytes()
        return content

    def take(self) -> list[tuple[int, bytes]]:
        """(port, frame) of all that left since the last call, by port; within a port in order."""
        rings = self.table.rings
        heads = rings["limit"] - np.uint64(CELLS)
        found = []
        for port in np.flatnonzero(rings["tail"] != heads).tolist():
            indices = range(int(heads[port]), int(rings["tail"][port]))
            found += [(port, self._frame(port, i & (CELLS - 1))) for i in indices]
            rings["limit"][port] = int(rings["tail"][port]) + CELLS
        return found
