"""How many ranks a job may have, and the default of --max-window."""

from __future__ import annotations

MOST_RANKS = 64
"""Most ranks of a job: the number of bits in a set's bitmap."""

FRAMES_IN_FLIGHT = 512
"""Frames in flight of all ranks together, 2 MiB at 4 KiB a frame: with half of it four ranks took a third longer for
an allreduce of 64 MiB (more sleeps and wakes), with twice as much a third longer as well (more than the caches hold).
"""

OF_A_RANK = 32
"""Slots for each rank: two ranks take a fifth longer with 128 slots than with 64, which their L2 caches hold."""

MOST_BY_SOCKETS = 256
"""Default of the maximum number of slots of a job where no port is shared memory."""


def default_max_window(ranks: int) -> int:
    """Maximum number of slots of a job over shared-memory cables: a power of two from 16 to 128, the frames that such a
    cable holds. With more, answers are dropped and retransmitted."""
    share = min(FRAMES_IN_FLIGHT // ranks, OF_A_RANK * ranks)
    return max(16, min(128, 1 << share.bit_length() >> 1))
