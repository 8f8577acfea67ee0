"""Packets between hosts and switches, and the links that carry them, all in the machine's cycles."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

EVERYONE = ""
"""Destination of a packet downwards that is for all hosts below."""


@dataclass(slots=True)
class Parcel:
    """A packet on its way."""

    at: int
    """The cycle of its arrival."""
    reduction: int
    block: int
    data: bytes
    child: int = 0
    """Upwards: the sender's number among its parent's children. Of a request from above: the number of children."""
    to: str = EVERYONE
    """Downwards: the destination host, or a switch for all hosts below it."""
    request: bool = False
    """Request for a lost packet, from a child, or from a switch to the child ``to``."""


@dataclass(slots=True)
class Impairments:
    """Random loss and duplication of packets. The links of `emulator.ports.impairments` have their own, compiled ones:
    their decisions are numbered by frame, for frames in memory and times in ns."""

    loss: float
    duplicate: float
    random: random.Random

    def copies(self) -> int:
        """How often the next packet arrives: 0, 1 or 2 times. Draws nothing for a probability of 0."""
        if self.loss and self.random.random() < self.loss:
            return 0
        return 2 if self.duplicate and self.random.random() < self.duplicate else 1


@dataclass(slots=True)
class Link:
    """One direction of a cable: packets one after the other at its rate, there whole after its latency."""

    gbps: float
    latency_cycles: int
    impairments: Impairments
    free: float = 0.0
    """The cycle from which it is idle."""
    carried: int = 0
    carried_bytes: int = 0
    lost: int = 0

    def carry(self, ready: int, size: int) -> list[int]:
        """Cycles at which copies of a packet arrive that may leave from ``ready`` on: one, two of a duplicated packet,
        none of a lost one. Packets are offered in order of time."""
        self.free = max(self.free, float(ready)) + size * 8 / self.gbps
        self.carried += 1
        self.carried_bytes += size
        copies = self.impairments.copies()
        self.lost += copies == 0
        return [math.ceil(self.free) + self.latency_cycles] * copies
