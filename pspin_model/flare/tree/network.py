"""Packets between hosts and switches, and the links that carry them, all in the machine's cycles."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

EVERYONE = ""
"""Downwards: for all hosts below."""


@dataclass(slots=True)
class Parcel:
    """A packet on its way."""

    at: int
    """The cycle at which it is where it is."""
    reduction: int
    block: int
    data: bytes
    child: int = 0
    """Upwards: number of who sent it among its parent's children. Of a request from above: the number of children."""
    to: str = EVERYONE
    """Downwards: the host that it is for, or the switch whose hosts all get it."""
    request: bool = False
    """For what was lost: of a child by its switch, then ``to`` says of whom, or by a child."""


@dataclass(slots=True)
class Link:
    """One direction of a cable: packets one after the other at its rate, there whole after its latency."""

    gbps: float
    latency_cycles: int
    loss: float
    repeat: float
    random: random.Random
    free: float = 0.0
    """Until then it is busy."""
    carried: int = 0
    carried_bytes: int = 0
    lost: int = 0

    def carry(self, ready: int, size: int) -> list[int]:
        """When a packet arrives that may leave from ``ready`` on: once, twice, or, if it is lost, not at all. Packets
        are offered in order of time."""
        self.free = max(self.free, float(ready)) + size * 8 / self.gbps
        self.carried += 1
        self.carried_bytes += size
        if self.loss and self.random.random() < self.loss:
            self.lost += 1
            return []
        there = math.ceil(self.free) + self.latency_cycles
        again = self.repeat and self.random.random() < self.repeat
        return [there, there] if again else [there]
