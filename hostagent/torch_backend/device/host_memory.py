"""Host memory that a device copies from and to: pinned, which is costly to allocate, and so kept for the next call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from torch import Tensor

KEPT_BYTES = 512 << 20
"""Unused memory that is kept; beyond that the longest unused is let go (to torch's own cache of pinned memory)."""
SMALLEST_BYTES = 4096


class Event(Protocol):
    """As torch.cuda.Event."""

    def query(self) -> bool:
        """Whether it has come."""

    def synchronize(self) -> None:
        """Block until it has come."""


class HostMemory:
    """Buffers by size, a power of two. Calls in flight have as much as they need; ``kept_bytes`` limits the rest."""

    def __init__(self, allocate: Callable[[int], Tensor], kept_bytes: int = KEPT_BYTES) -> None:
        """``allocate``: makes a uint8 tensor of so many bytes."""
        self._allocate = allocate
        self._most_bytes = kept_bytes
        self._lock = threading.Lock()
        self._unused: list[tuple[Tensor, Event]] = []
        """The longest unused first."""

    def take(self, size_bytes: int) -> Tensor:
        """A buffer of at least so many bytes, which the device has finished with."""
        size = max(SMALLEST_BYTES, 1 << (size_bytes - 1).bit_length()) if size_bytes else SMALLEST_BYTES
        with self._lock:
            for place, (buffer, event) in enumerate(self._unused):
                if buffer.numel() == size and event.query():
                    del self._unused[place]
                    return buffer
        return self._allocate(size)

    def give(self, buffer: Tensor, event: Event) -> None:
        """Return a buffer that the device has finished with once the event has come."""
        with self._lock:
            self._unused.append((buffer, event))
            excess = self.kept_bytes - self._most_bytes
            dropped: list[tuple[Tensor, Event]] = []
            while excess > 0:
                dropped.append(self._unused.pop(0))
                excess -= dropped[-1][0].numel()
        for _, last_use in dropped:
            last_use.synchronize()

    @property
    def kept_bytes(self) -> int:
        """Bytes of unused buffers."""
        return sum(buffer.numel() for buffer, _ in self._unused)
