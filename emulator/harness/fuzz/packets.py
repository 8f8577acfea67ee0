"""Endless packets for a program: those of its test as they are, damaged, cut and lengthened, and pure noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import FrameBatch
from emulator.ports.spec import MAX_PORTS

GUARD_BYTES = 64
"""Noise behind each frame: who reads beyond its end gets other bytes each time."""
LONGER_BYTES = 64
"""Damage adds up to this many bytes."""
KINDS = 10
NOISE = KINDS - 1
"""Ways to make a packet: as it is (two), damaged (five), cut, lengthened, and noise."""
EDGES = np.array([0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF], np.uint8)


class PacketSource:
    """``batch`` holds the frames that `refill` made last, and stays the same object.

    ``seeds`` are (port, frame); the same ``number`` and ``size`` give the same packets.
    """

    def __init__(self, seeds: Sequence[tuple[int, bytes]], number: int, size: int) -> None:
        self._random = np.random.default_rng(number)
        frames = [frame for _, frame in seeds] or [b""]
        self._ports = np.array(sorted({port for port, _ in seeds} or {0}), np.uint32)
        longest = max(len(f) for f in frames)
        self.longest_bytes = longest + LONGER_BYTES
        self._stride = -(-(self.longest_bytes + GUARD_BYTES) // 64) * 64
        self._seeds = np.zeros((len(frames), longest), np.uint8)
        for row, frame in zip(self._seeds, frames, strict=True):
            row[: len(frame)] = np.frombuffer(frame, np.uint8)
        self._seed_lengths = np.array([len(f) for f in frames], np.uint32)
        self._memory = aligned_bytes(size * self._stride).reshape(size, self._stride)
        self.batch = FrameBatch(size)
        self.batch.address[:] = address_of(self._memory) + np.arange(size, dtype=np.uint64) * np.uint64(self._stride)
        self.batch.count = size
        self._before: NDArray[np.uint8] = self._memory.copy()

    def refill(self) -> FrameBatch:
        """New frames in the batch."""
        random, size, memory = self._random, self.batch.capacity, self._memory
        memory[:] = np.frombuffer(random.bytes(memory.size), np.uint8).reshape(memory.shape)
        kind, chosen = random.integers(0, KINDS, size), random.integers(0, len(self._seeds), size)
        lengths = self._seed_lengths[chosen].astype(np.int64)
        from_seed = np.arange(memory.shape[1]) < np.where(kind == NOISE, 0, lengths)[:, None]
        seeds = self._seeds[chosen]
        np.copyto(memory[:, : seeds.shape[1]], seeds, where=from_seed[:, : seeds.shape[1]])
        self._damage(kind, lengths)
        self.batch.length_bytes[:] = self._lengths(kind, lengths)
        odd = random.integers(0, 8, size) == 0
        self.batch.port[:] = np.where(odd, random.integers(0, MAX_PORTS, size), random.choice(self._ports, size))
        self._before[:] = memory
        return self.batch

    def untouched(self) -> bool:
        """Are the frames as `refill` left them? Nobody may write into frames that came in."""
        return bool(np.array_equal(self._before, self._memory))

    def _damage(self, kind: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """Other bytes inside the frames of kinds 2 to 6; kinds 0 and 1 stay as they are."""
        random, rows = self._random, np.arange(len(kind))
        for step in range(3):
            at = (random.random(len(kind)) * np.maximum(lengths, 1)).astype(np.int64)
            old = self._memory[rows, at]
            noise = random.integers(0, 256, len(kind)).astype(np.uint8)
            new = np.where((kind > 1 + step) & (kind <= 4), noise, old)
            if step == 0:
                flipped = old ^ (np.uint8(1) << (noise & 7))
                new = np.where(kind == 5, flipped, np.where(kind == 6, EDGES[noise % len(EDGES)], new))
            self._memory[rows, at] = new

    def _lengths(self, kind: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Kind 7 is cut, kind 8 lengthened; noise is of any length."""
        part = self._random.random(len(kind))
        cut = (part * (lengths + 1)).astype(np.int64)
        longer = lengths + 1 + (part * LONGER_BYTES).astype(np.int64)
        noise = (part * (self.longest_bytes + 1)).astype(np.int64)
        return np.select([kind == 7, kind == 8, kind == NOISE], [cut, longer, noise], lengths)
