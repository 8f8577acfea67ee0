"""Egress queues (traffic manager): their rules, the interpreter's implementation, the control plane's settings.

bmv2's queueing (include/bm/bm_sim/queueing.h, QueueingLogicPriRL; targets/simple_switch/simple_switch.cpp): each port
has one queue for each priority, the larger priority goes first; each queue has a depth in packets and a rate in packets
a second. The departure time of a packet is fixed when it is enqueued: now, or one interval of the rate after the packet
before it, whichever is later. A packet is dropped when its queue is full (tail drop).

Time is virtual: a packet leaves at exactly that time, whenever the switch is called, so that depths and times do not
depend on how packets come in batches. The packets of one time leave by priority, then in the order in which they came.
``emulator.v1model.llvm.egress_queues`` is the compiled counterpart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from emulator.p4 import ir
from emulator.ports.batch import MAX_PORTS
from emulator.v1model.metadata import PREFIX, Drop
from emulator.v1model.queue_layout import HELD_FRAME_BYTES, HELD_PACKETS, MAX_PRIORITIES, QUEUE

T = TypeVar("T")

DEFAULT_DEPTH = 64
"""Packets, as in simple_switch."""
NANOSECONDS_PER_SECOND = 1_000_000_000
NEVER_NS = -(1 << 62)


@dataclass(slots=True)
class QueueSettings:
    """What the control plane has set; outlives programs, as in bmv2."""

    priorities: int = 1
    """Egress queues of each port."""
    depth: NDArray[np.int64] = field(
        default_factory=lambda: np.full((MAX_PORTS, MAX_PRIORITIES), DEFAULT_DEPTH, np.int64)
    )
    interval_ns: NDArray[np.int64] = field(default_factory=lambda: np.zeros((MAX_PORTS, MAX_PRIORITIES), np.int64))

    def write(self, queues: NDArray[Any]) -> None:
        """Write to QUEUE records; departure times of packets already enqueued do not change."""
        queues["depth"] = self.depth.ravel()
        queues["interval_ns"] = self.interval_ns.ravel()


def empty_queues() -> NDArray[Any]:
    """QUEUE[ports * priorities], all empty."""
    queues = np.zeros(MAX_PORTS * MAX_PRIORITIES, QUEUE)
    queues["last_ns"] = NEVER_NS
    return queues


def interval_of(packets_per_s: int) -> int:
    """Nanoseconds between two packets; 0: no limit."""
    return NANOSECONDS_PER_SECOND // packets_per_s if packets_per_s else 0


def qid_of(program: ir.Program) -> ir.Variable | None:
    """The field for the number of a packet's queue: our v1model.p4 has none, those of some programs do, and bmv2's JSON
    may (simple_switch.md, "queueing_metadata header")."""
    names = (f"{PREFIX}qid", "queueing_metadata.qid")
    return next((v for v in program.variables if v.name in names and isinstance(v.type, ir.Bits)), None)


@dataclass(frozen=True, slots=True, order=True)
class Waiting(Generic[T]):
    """A packet in a queue, ordered by departure."""

    leaves_ns: int
    rank: int
    number: int
    packet: T = field(compare=False)
    queue: int = field(compare=False)
    entered_ns: int = field(compare=False)
    enq_qdepth: int = field(compare=False)

    @property
    def priority(self) -> int:
        return self.queue % MAX_PRIORITIES


@dataclass(slots=True)
class EgressQueues(Generic[T]):
    """The interpreter's queues."""

    settings: QueueSettings
    queues: NDArray[Any] = field(default_factory=empty_queues)
    waiting: list[Waiting[T]] = field(default_factory=list)
    _number: int = 0

    def enter(self, packet: T, port: int, priority: int, frame_bytes: int, now_ns: int) -> Drop | None:
        """Enqueue a packet; the reason if it was dropped, else None."""
        if port >= MAX_PORTS:
            return Drop.NO_SUCH_PORT
        if priority >= self.settings.priorities:
            return Drop.PRIORITY
        if frame_bytes > HELD_FRAME_BYTES:
            return Drop.TOO_LONG
        number = port * MAX_PRIORITIES + priority
        queue = self.queues[number]
        size = int(queue["size"])
        if size >= queue["depth"]:
            return Drop.EGRESS_QUEUE_FULL
        if len(self.waiting) >= HELD_PACKETS:
            return Drop.QUEUES_FULL
        queue["last_ns"] = leaves_ns = max(now_ns, int(queue["last_ns"]) + int(queue["interval_ns"]))
        queue["size"] = size + 1
        heappush(
            self.waiting, Waiting(leaves_ns, MAX_PRIORITIES - priority, self._number, packet, number, now_ns, size)
        )
        self._number += 1
        return None

    def leave(self, until_ns: int) -> tuple[Waiting[T], int] | None:
        """Dequeue the first packet that departs until then; with the depth of its queue afterwards."""
        if not self.waiting or self.waiting[0].leaves_ns > until_ns:
            return None
        first = heappop(self.waiting)
        self.queues[first.queue]["size"] -= 1
        return first, int(self.queues[first.queue]["size"])

    @property
    def next_ns(self) -> int | None:
        return self.waiting[0].leaves_ns if self.waiting else None
