"""How many ranks a job may have, and the limits of its windows."""

from __future__ import annotations

MOST_CHILDREN = 64
"""Most children of a job at one aggregator: the number of bits in a set's bitmap."""

MOST_RANKS = MOST_CHILDREN
"""Most ranks of a job, but for trees of P4 switches."""

FRAMES_IN_FLIGHT = 512
"""Frames in flight of all ranks together, 2 MiB at 4 KiB a frame; with twice as many, the caches do not hold them."""

MOST_BY_CABLES = 64
"""Largest window of shared-memory cables: two ranks take a fifth longer with 128 slots than with 64, which their L2
caches hold, and four ranks a seventh; with 32, four take a quarter longer (more sleeps and wakes)."""

MOST_BY_SOCKETS = 256
"""Default of the maximum number of slots of a job where no port is shared memory."""

LARGEST_SHARE = 16
"""Largest share, of slots and of a queue that marks: a window grows by the square of the share a round trip."""

LARGEST_PRIORITY = 100
"""Largest priority of a job for slots, and with a minus the least."""


def default_max_window(ranks: int) -> int:
    """Maximum number of slots of a job over shared-memory cables: a power of two from 16 to 64."""
    share = FRAMES_IN_FLIGHT // ranks
    return max(16, min(MOST_BY_CABLES, 1 << share.bit_length() >> 1))
