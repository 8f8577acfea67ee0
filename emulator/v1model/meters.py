"""Meters: two-rate three-colour token buckets, as bmv2 counts (behavioral-model, bm_sim/meters.cpp).

A bucket holds ``floor(t * rate)`` tokens more at time t than at the origin of time, capped at its burst; t is in whole
microseconds, the product in double precision. The peak bucket is tested first: too few tokens is red and takes nothing;
else they are taken and the committed bucket is tested: too few is yellow, else they are taken too and it is green. An
unconfigured meter is green. Each cell counts packets and bytes by colour (P4Runtime, "MeterCounterData").

The two tellings of the arithmetic are `Meter` and ``emulator.v1model.llvm.meters``; they agree on every token.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

NANOSECONDS_PER_MICROSECOND = 1000


class Colour(IntEnum):
    """V1MODEL_METER_COLOR_*."""

    GREEN = 0
    YELLOW = 1
    RED = 2


# A meter's cell, in bytes. A cell of zeros is unconfigured.
METER_CONFIGURED = 0
"""u64, 0 or 1."""
METER_LAST_US = 8
"""u64: tokens have been added up to this time."""
METER_PEAK = 16
METER_COMMITTED = 40
BUCKET_RATE = 0
"""f64, tokens a microsecond."""
BUCKET_BURST = 8
BUCKET_TOKENS = 16
METER_COUNTS = 64
"""Offset of the packets and bytes of each colour, u64."""
COUNT_BYTES = 16
METER_BYTES = METER_COUNTS + COUNT_BYTES * len(Colour)

MOST_TOKENS = 2**64 - 1
"""Where a bucket's count since the origin of time stays; at a terabyte a microsecond that is after half a year."""


@dataclass(slots=True)
class Bucket:
    per_us: float
    burst: int
    tokens: int

    def fill(self, last_us: int, now_us: int) -> None:
        """Tokens of the time from ``last_us`` to ``now_us``."""
        self.tokens = min(self.tokens + self._until(now_us) - self._until(last_us), self.burst)

    def _until(self, time_us: int) -> int:
        return min(int(time_us * self.per_us), MOST_TOKENS)

    def take(self, amount: int) -> bool:
        """Nothing is taken when there are too few."""
        if self.tokens < amount:
            return False
        self.tokens -= amount
        return True


class Meter:
    """One meter's cell for the interpreter. ``peak`` and ``committed`` are both None when unconfigured."""

    __slots__ = ("committed", "counts", "last_us", "peak")

    def __init__(self) -> None:
        self.peak: Bucket | None = None
        self.committed: Bucket | None = None
        self.last_us = 0
        self.counts = [[0, 0] for _ in Colour]
        """Packets and bytes of each colour."""

    def configure(self, committed: tuple[float, int], peak: tuple[float, int]) -> None:
        """(tokens a microsecond, burst) of each bucket; both are full now."""
        self.committed = Bucket(*committed, tokens=committed[1])
        self.peak = Bucket(*peak, tokens=peak[1])
        self.last_us = 0

    def clear(self) -> None:
        self.peak = self.committed = None

    def execute(self, amount: int, length_bytes: int, now_ns: int) -> Colour:
        """The colour of a packet that needs ``amount`` tokens. Time that runs backwards adds none."""
        colour = self._colour(amount, now_ns)
        self.counts[colour][0] += 1
        self.counts[colour][1] += length_bytes
        return colour

    def _colour(self, amount: int, now_ns: int) -> Colour:
        if self.peak is None or self.committed is None:
            return Colour.GREEN
        now_us = now_ns // NANOSECONDS_PER_MICROSECOND
        if now_us > self.last_us:
            for bucket in (self.peak, self.committed):
                bucket.fill(self.last_us, now_us)
            self.last_us = now_us
        if not self.peak.take(amount):
            return Colour.RED
        return Colour.GREEN if self.committed.take(amount) else Colour.YELLOW
