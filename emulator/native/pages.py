"""Memory on large pages, for what is looked up at random: walks of page tables are what a look-up in a large table then
mostly waits for, the more so on virtual machines. And on separate pages: malloc would keep what a replaced program
leaves, once for each thread that ever loaded one.

A rack server's chunk touches its set, its lanes, its key's versions and the cells of its answers; with eight tenants'
windows it walks page tables far more often than with one.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

CACHE_LINE_BYTES = 64
LARGE_PAGE_BYTES = 2 << 20
"""Size of large pages of x86-64, and of arm64 with small pages of 4 KiB."""
LARGE_FROM_BYTES = 512 << 10
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
MAP_NORESERVE = 0x4000
"""asm-generic/mman.h; Python's mmap has no name for it before 3.13."""


def aligned_bytes(size_bytes: int, alignment: int = CACHE_LINE_BYTES) -> NDArray[np.uint8]:
    """Zeroed private memory that starts on a multiple of ``alignment``; untouched pages cost nothing."""
    memory = np.zeros(size_bytes + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + size_bytes]


def address_of(array: NDArray[Any]) -> int:
    """The address of an array's first element. The caller keeps the array alive."""
    address: int = array.__array_interface__["data"][0]  # array.ctypes makes two objects to say the same
    return address


def table_bytes(size_bytes: int) -> NDArray[np.uint8]:
    """Zeroed memory on a cache line; pages that nobody touches cost nothing."""
    if size_bytes < LARGE_FROM_BYTES:
        return aligned_bytes(max(1, size_bytes))
    return _on_large_pages(size_bytes, PRIVATE)


def reserved_bytes(size_bytes: int) -> NDArray[np.uint8]:
    """Zeroed memory on a page that is not even promised before it is touched: an arena may be as large as a quota."""
    if size_bytes < LARGE_FROM_BYTES:
        return _mapped(max(1, size_bytes), PRIVATE | MAP_NORESERVE)[:size_bytes]
    return _on_large_pages(size_bytes, PRIVATE | MAP_NORESERVE)


def _on_large_pages(size_bytes: int, flags: int) -> NDArray[np.uint8]:
    whole = _mapped(size_bytes + LARGE_PAGE_BYTES, flags, advice=getattr(mmap, "MADV_HUGEPAGE", None))
    start = -whole.ctypes.data % LARGE_PAGE_BYTES
    return whole[start : start + size_bytes]


def _mapped(size_bytes: int, flags: int, advice: int | None = None) -> NDArray[np.uint8]:
    memory = mmap.mmap(-1, size_bytes, flags=flags)
    if advice is not None:
        with suppress(OSError):  # a kernel without them: small pages do
            memory.madvise(advice)
    return np.frombuffer(memory, np.uint8)
