"""Links between hosts and switches, and hosts that send, wait and repeat, all in the machine's cycles."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

from pspin_model.flare.sparse_tree import Assembly
from pspin_model.flare.sparse_wire import EMPTY_BYTES, IP_UDP_BYTES, decode, encode_request, requested


@dataclass(slots=True)
class Parcel:
    """A packet on its way."""

    at: int
    """The cycle at which it is where it is."""
    reduction: int
    block: int
    child: int
    """Upwards: who sent it. Downwards: for which child it is, EVERYONE for all."""
    data: bytes


EVERYONE = -1
MOST_DOUBLINGS = 5
"""Of the time a host waits before it sends a block again. [ours]"""


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


@dataclass(slots=True)
class Sender:
    """One reduction on one host: what it sends, and what it has of the result."""

    reduction: int
    child: int
    """Its number at its switch."""
    packets: list[list[bytes]]
    """By block."""
    order: list[int]
    """Blocks as it sends them."""
    ready: list[list[int]]
    """When each of a block's packets may leave."""
    dtype: Any = None
    """Of a sparse reduction: results are fragments of it, and what is late is asked for."""
    packet_bytes: int = 0
    sent_at: list[float] = field(init=False)
    done_at: list[int] = field(init=False)
    results: list[Any] = field(init=False)
    """By block: the packet's bytes, of a sparse reduction all fragments; None while it is not whole."""
    missing: int = field(init=False)
    repeated: int = 0
    """Packets sent again."""
    requests: int = 0
    _tries: list[int] = field(init=False)
    _parts: dict[int, Assembly] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.missing = len(self.packets)
        self.sent_at = [math.inf] * self.missing
        self.done_at = [-1] * self.missing
        self._tries = [0] * self.missing
        self.results = [None] * self.missing

    def first_copies(self) -> list[Parcel]:
        """All that it sends of itself."""
        return [
            Parcel(at, self.reduction, block, self.child, packet)
            for block in self.order
            for at, packet in zip(self.ready[block], self.packets[block], strict=True)
        ]

    def repeats(self, now: int, timeout: int) -> list[Parcel]:
        """What it sends of blocks that have waited for their result, each time twice as long: all of a dense block, a
        request for a sparse one."""
        late = [
            block
            for block in self.order
            if self.done_at[block] < 0 and self.sent_at[block] <= now - (timeout << self._tries[block])
        ]
        for block in late:
            self._tries[block] = min(self._tries[block] + 1, MOST_DOUBLINGS)
        if self.dtype is not None:
            self.requests += len(late)
            return [self._parcel(now, block, self._request(block)) for block in late]
        found = [self._parcel(now, block, data) for block in late for data in self.packets[block]]
        self.repeated += len(found)
        return found

    def _parcel(self, at: int, block: int, data: bytes) -> Parcel:
        return Parcel(at, self.reduction, block, self.child, data)

    def _request(self, block: int) -> bytes:
        held = self._parts[block].parts if block in self._parts else ()
        most = self.packet_bytes - EMPTY_BYTES
        return bytes(IP_UDP_BYTES) + encode_request(block, self.reduction % 256, self.child, held, most)

    def receive(self, parcel: Parcel) -> list[Parcel]:
        """A result, a fragment of one, or a request; returns what that asks for."""
        if self.dtype is not None:
            missing = requested(parcel.data[IP_UDP_BYTES:], len(self.packets[parcel.block]))
            if missing is not None:
                self._tries[parcel.block] = 0
                self.repeated += len(missing)
                packets = self.packets[parcel.block]
                return [self._parcel(parcel.at, parcel.block, packets[number]) for number in missing]
        self._take(parcel)
        return []

    def _take(self, parcel: Parcel) -> None:
        block = parcel.block
        if self.done_at[block] >= 0:
            return
        if self.dtype is None:
            self.results[block] = parcel.data
        else:
            _, fragment = decode(parcel.data[IP_UDP_BYTES:], self.dtype)
            self._tries[block] = 0
            whole = self._parts.setdefault(block, Assembly()).take(fragment)
            if not whole:
                return
            del self._parts[block]
            self.results[block] = whole
        self.done_at[block] = parcel.at
        self.missing -= 1
