"""A host of a tree of switches: it sends, waits for results, and asks for what is late."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from pspin_model.flare.sparse.reference_tree import Assembly
from pspin_model.flare.sparse.wire import EMPTY_BYTES, IP_UDP_BYTES, decode, encode_request, requested
from pspin_model.flare.tree.network import Parcel

MOST_DOUBLINGS = 1
"""Most doublings of the time a host waits before it asks for a block again: more are less traffic where cores are the
bottleneck, and long where much is lost. [ours]"""
SAMPLES = 8
"""Results of which the least late one says how late results are at all: the others may have waited for what was lost.
[ours]"""


@dataclass(slots=True)
class Patience:
    """How long a host waits for a result that is due: ``least_cycles`` longer than results take lately; for one that it
    asked for half of them, then all of them, again and again."""

    least_cycles: int
    _late: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))

    def see(self, late_cycles: float) -> None:
        """A result came that long after it was due."""
        self._late.append(late_cycles)

    def cycles(self, asked: int) -> float:
        """Time to the next request for a block, after a number of requests since its last packet came."""
        if asked:
            return self.least_cycles / 2 * (1 << min(asked - 1, MOST_DOUBLINGS))
        return self.least_cycles + min(self._late, default=0.0)


@dataclass(slots=True)
class Sender:
    """One reduction on one host: what it sends, and what it has of the result."""

    reduction: int
    child: int
    """Its number at its switch."""
    address: int
    """Its number among all members of the tree."""
    packets: list[list[bytes]]
    """Packets by block."""
    order: list[int]
    """Blocks as it sends them."""
    ready: list[list[int]]
    """When each of a block's packets may leave."""
    due: list[float]
    """Cycle at which the result of each block can be expected."""
    patience: Patience
    dtype: Any = None
    """Element type of a sparse reduction, whose results are fragments."""
    packet_bytes: int = 0
    done_at: list[int] = field(init=False)
    results: list[Any] = field(init=False)
    """Result of each block: the packet's bytes, of a sparse reduction all fragments; None while it is not whole."""
    missing: int = field(init=False)
    received: int = 0
    """Packets of results, each once."""
    repeated: int = 0
    """Packets sent again."""
    requests: int = 0
    _waits_from: list[float] = field(init=False)
    """Cycle at which each block was sent last, or is due."""
    _tries: list[int] = field(init=False)
    """Requests for each block since anything of it came."""
    _asked: set[int] = field(default_factory=set)
    """Blocks that were ever asked for: how long they take says nothing of others."""
    _parts: dict[int, Assembly] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.missing = len(self.packets)
        self._waits_from = [math.inf] * self.missing
        self.done_at = [-1] * self.missing
        self._tries = [0] * self.missing
        self.results = [None] * self.missing

    def first_copies(self) -> list[Parcel]:
        """All that it sends of itself."""
        return [
            self._parcel(at, block, packet)
            for block in self.order
            for at, packet in zip(self.ready[block], self.packets[block], strict=True)
        ]

    def left(self, block: int, at: float) -> None:
        """A packet of a block has left this host."""
        self._waits_from[block] = max(at, self.due[block])

    def late(self, now: int) -> list[Parcel]:
        """Requests for blocks that have waited too long for their result."""
        patience = [self.patience.cycles(asked) for asked in range(MOST_DOUBLINGS + 2)]
        blocks = [
            block
            for block in self.order
            if self.done_at[block] < 0 and self._waits_from[block] <= now - patience[self._tries[block]]
        ]
        for block in blocks:
            self._tries[block] = min(self._tries[block] + 1, MOST_DOUBLINGS + 1)
        self._asked.update(blocks)
        self.requests += len(blocks)
        return [self._parcel(now, block, self._request(block), request=True) for block in blocks]

    def _parcel(self, at: int, block: int, data: bytes, request: bool = False) -> Parcel:
        return Parcel(at, self.reduction, block, data, child=self.child, request=request)

    def _request(self, block: int) -> bytes:
        held = self._parts[block].parts if block in self._parts else ()
        most = self.packet_bytes - EMPTY_BYTES
        request = encode_request(block, self.reduction % 256, self.child, held, most, self.address)
        return bytes(IP_UDP_BYTES) + request

    def receive(self, parcel: Parcel) -> list[Parcel]:
        """A result, a fragment of one, or a request; returns what that asks for."""
        self._tries[parcel.block] = 0
        if not parcel.request:
            self._take(parcel)
            return []
        packets = self.packets[parcel.block]
        missing = requested(parcel.data[IP_UDP_BYTES:], len(packets)) or []
        self.repeated += len(missing)
        return [self._parcel(parcel.at, parcel.block, packets[number]) for number in missing]

    def _take(self, parcel: Parcel) -> None:
        block = parcel.block
        if self.done_at[block] >= 0:
            return
        if self.dtype is None:
            self.received += 1
            self.results[block] = parcel.data
        else:
            _, fragment = decode(parcel.data[IP_UDP_BYTES:], self.dtype)
            assembly = self._parts.setdefault(block, Assembly())
            self.received += fragment.fragment not in assembly.parts
            whole = assembly.take(fragment)
            if not whole:
                return
            del self._parts[block]
            self.results[block] = whole
        self.done_at[block] = parcel.at
        self.missing -= 1
        if block not in self._asked:
            self.patience.see(max(0.0, parcel.at - self._waits_from[block]))
