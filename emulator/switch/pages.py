"""Memory for tables and registers: large ones on large pages, for a look-up touches pages at random, and walks of page
tables are what it then mostly waits for (the more so on virtual machines). And on pages of their own: malloc would keep
what a replaced program leaves, once for each thread that ever loaded one."""

from __future__ import annotations

import mmap
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from emulator.ports.batch import aligned_bytes

PAGE_BYTES = 2 << 20
"""Of x86-64 and of arm64 with small pages of 4 KiB."""
LARGE_FROM_BYTES = 512 << 10


def table_bytes(size_bytes: int) -> NDArray[np.uint8]:
    """Zeroed memory on a cache line; pages that nobody touches cost nothing."""
    if size_bytes < LARGE_FROM_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return aligned_bytes(max(1, size_bytes))
    memory = mmap.mmap(-1, size_bytes + PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without them: small pages do
        memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = -whole.ctypes.data % PAGE_BYTES
    return whole[start : start + size_bytes]
