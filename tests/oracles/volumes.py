"""Bytes at a host's port of one call of an operation, without loss: the formulas of hostagent/torch_backend/README.md.

``size`` ranks, frames of ``lanes`` lanes, a window of ``window`` chunks; each function returns (bytes
up, bytes down) of ``rank``, acknowledgements of messages apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import torch

Volume = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Volumes:
    """The formulas for calls with tensors of ``count`` elements."""

    size: int
    lanes: int
    count: int
    dtype: torch.dtype
    window: int = 128

    @property
    def full(self) -> int:
        """F: length of a full frame, bytes."""
        return 66 + 4 * self.lanes

    short: ClassVar[int] = 66
    """S: length of a frame without lanes, bytes."""

    @property
    def size_bytes(self) -> int:
        """B of one tensor."""
        return self.count * self.dtype.itemsize

    def message_bytes(self, size_bytes: int) -> int:
        """M(B)."""
        return size_bytes + 94 + 70 * ceil(max(0, size_bytes - (4 * self.lanes - 28)) / (4 * self.lanes - 4))

    def summed_chunks(self, elements: int) -> int:
        """C(N): chunks with data, and for floats their exponents."""
        data = ceil(elements / self.lanes)
        windows = 2 if self.lanes <= 336 else 1
        group = min(self.lanes, 256, max(64, windows * self.window))
        return data + ceil(data / group) if self.dtype.is_floating_point else data

    def moved_chunks(self, size_bytes: int) -> int:
        """R(B)."""
        return ceil(size_bytes / (4 * self.lanes))

    def results(self, chunks: int, short: int) -> int:
        """Bytes of the results of so many chunks, of which so many have no lanes."""
        return self.full * (chunks - short) + self.short * short

    def all_reduce(self, rank: int) -> Volume:
        """Every rank the same."""
        volume = self.full * self.summed_chunks(self.count)
        return volume, volume

    def reduce(self, rank: int, root: int) -> Volume:
        """To the root."""
        chunks, short = self.summed_chunks(self.count), 0 if rank == root else ceil(self.count / self.lanes)
        return self.full * chunks, self.results(chunks, short)

    def reduce_scatter(self, rank: int) -> Volume:
        """``count``: elements of the part that a rank receives."""
        whole = self.size * self.count
        first, end = rank * self.count, (rank + 1) * self.count
        short = ceil(whole / self.lanes) - (ceil(end / self.lanes) - first // self.lanes)
        chunks = self.summed_chunks(whole)
        return self.full * chunks, self.results(chunks, short)

    def broadcast(self, rank: int, root: int) -> Volume:
        """From the root."""
        moved = self.moved_chunks(self.size_bytes)
        return (self.full, self.short)[rank != root] * moved, (self.short, self.full)[rank != root] * moved

    def all_gather(self, rank: int) -> Volume:
        """``count``: elements of a rank's own part."""
        whole = self.moved_chunks(self.size * self.size_bytes)
        first, end = rank * self.size_bytes, (rank + 1) * self.size_bytes
        given = ceil(end / (4 * self.lanes)) - first // (4 * self.lanes)
        all_own = max(0, (whole if rank == self.size - 1 else end // (4 * self.lanes)) - ceil(first / (4 * self.lanes)))
        return self.results(whole, whole - given), self.results(whole, all_own)

    def barrier(self, rank: int) -> Volume:
        """Of all ranks."""
        return self.short, self.short

    def send(self, rank: int, source: int, target: int) -> Volume:
        """One message; of ranks that take no part, nothing."""
        one = self.message_bytes(self.size_bytes)
        return one * (rank == source), one * (rank == target)

    def gather(self, rank: int, root: int) -> Volume:
        """To the root."""
        one = self.message_bytes(self.size_bytes)
        return (0, (self.size - 1) * one) if rank == root else (one, 0)

    def scatter(self, rank: int, root: int) -> Volume:
        """From the root."""
        return self.gather(rank, root)[::-1]

    def all_to_all(self, rank: int) -> Volume:
        """``count``: elements for each rank."""
        volume = (self.size - 1) * self.message_bytes(self.size_bytes)
        return volume, volume
