"""The random numbers of a switch: splitmix64, so that a seed gives the same run on both engines and everywhere.

Numbers in a range are the high half of a 128-bit product: no loop, and a bias below 2**-32 for ranges up to 32 bits.
(Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 12 with the mixing
constants of its variant 13.)
"""

from __future__ import annotations

STEP = 0x9E3779B97F4A7C15
MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31
MASK = (1 << 64) - 1


class Generator:
    """The interpreter's; ``emulator.v1model.llvm.random_numbers`` is its twin."""

    __slots__ = ("state",)

    def __init__(self, seed: int = 0) -> None:
        self.state = seed & MASK

    def next(self) -> int:
        """Any 64 bits."""
        self.state = (self.state + STEP) & MASK
        value = self.state
        for shift, factor in MIX:
            value = (value ^ value >> shift) * factor & MASK
        return value ^ value >> LAST_SHIFT

    def between(self, low: int, high: int) -> int:
        """A number from ``low`` to ``high``, both included, ``low <= high``, both below 2**64."""
        count = (high - low + 1) & MASK
        value = self.next()
        return low + (value * count >> 64) if count else value
