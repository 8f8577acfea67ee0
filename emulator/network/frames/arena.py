"""Memory of thousands of nodes side by side on large pages.

Every event of a large network touches another node. On small pages of their own, nodes would cost a walk of page tables
each time, which on a virtual machine takes longer than the event.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import CACHE_LINE_BYTES, reserved_bytes

BLOCK_BYTES = 32 << 20


class Arena:
    """Hands out zeroed memory on cache lines; all of it is freed with the arena and what it has handed out."""

    def __init__(self) -> None:
        self._block = np.empty(0, np.uint8)

    def take(self, size_bytes: int) -> NDArray[np.uint8]:
        """So many bytes, as uint8."""
        rounded = -(-max(1, size_bytes) // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
        if rounded > len(self._block):
            self._block = reserved_bytes(max(BLOCK_BYTES, rounded))
        taken, self._block = self._block[:size_bytes], self._block[rounded:]
        return taken
