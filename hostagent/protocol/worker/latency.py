"""A histogram of the time from a chunk's first frame to its result: four buckets to each doubling, so that a percentile
is known to a quarter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.native.arithmetic import leading_zeros
from emulator.native.jit import njit
from emulator.native.memory import load_i64, store_i64
from hostagent.protocol.counters import LATENCY, latency_buckets

BUCKETS = 160
"""The last begins at 962 s."""


@njit
def count_latency(buckets: int, latency_ns: int) -> None:
    """Add a chunk. ``buckets``: address of BUCKETS int64."""
    value = max(latency_ns, 4)
    octave = 63 - leading_zeros(value)
    index = min(4 * octave + ((value >> (octave - 2)) & 3), BUCKETS - 1)
    store_i64(buckets, index, load_i64(buckets, index) + 1)


def latency_counters(buckets: Any) -> dict[str, int]:
    """The counters of a histogram (BUCKETS int64), empty buckets left out."""
    return {f"{LATENCY}{floor_ns(index)}": int(count) for index, count in enumerate(buckets) if count}


def floor_ns(bucket: int) -> int:
    """The least latency that a bucket counts."""
    octave, quarter = divmod(bucket, 4)
    return ((4 + quarter) << octave) >> 2


def percentiles_ns(counters: Mapping[str, int], shares: tuple[float, ...]) -> list[int]:
    """Latencies below which these shares (0 to 1) of all chunks are, from a rank's counters, or the sum of several
    ranks'; zeros where there is no chunk. Linear within a bucket."""
    found = latency_buckets(counters)
    total = sum(count for _, count in found)
    return [_at(found, share * total) for share in shares]


def _at(buckets: list[tuple[int, int]], rank: float) -> int:
    below = 0
    for floor, count in buckets:
        if below + count >= rank:
            width = max(1, 1 << max(0, floor.bit_length() - 3))
            return floor + int(width * max(0.0, rank - below) / count)
        below += count
    return 0
