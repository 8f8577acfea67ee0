"""Which core owns what."""

from __future__ import annotations

from hostagent.rackserver.records import BLOCK_BYTES


def block_log2_of(lanes: int, window: int) -> int:
    """Chunks of a block, as a power of two: the most that fit in both 32 KB and half a window; at least one chunk."""
    fits = max(1, min(BLOCK_BYTES // (4 * lanes), window // 2))
    return fits.bit_length() - 1
