"""When is each task of a schedule done, in virtual time?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from emulator.network.messages import exclusive, shared
from emulator.network.messages.passage import Links
from emulator.network.schedule.columns import Kind
from emulator.network.schedule.parts import ScheduleError
from emulator.network.schedule.schedule import Schedule
from emulator.network.topology.topology import Topology

Int64s = NDArray[np.int64]


class Sharing(StrEnum):
    """What messages do that are ready for one link."""

    EXCLUSIVE = "exclusive"
    """They take it one at a time, in the order of the list, each for alpha_ns and its bits at the full rate."""
    FAIR = "fair"
    """They share its rate: max-min fairness (Bertsekas, Gallager 1992, section 6.5.2). alpha_ns delays a message."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Times of the tasks, from 0 on."""

    start_ns: Int64s
    """[tasks]: its resources are its own, or it begins to pass."""
    finish_ns: Int64s
    """[tasks]: the last bit has arrived."""

    @property
    def elapsed_ns(self) -> int:
        return int(self.finish_ns.max(initial=0))


def simulate(schedule: Schedule, sharing: Sharing = Sharing.EXCLUSIVE) -> Run:
    """The same schedule is the same run, to the nanosecond. Raises ScheduleError where a message is too large for it.

    A message without anybody else on its links takes, under both kinds of sharing, the alpha and latency of all links
    of its route, and its bits on the slowest of them; a collective those of the slowest way through its tree. So
    switches forward what they are still receiving. A compute unit takes its tasks in the order of the list.
    """
    size, nodes = schedule.task_bytes, len(schedule.topology.nodes)
    links = links_of(schedule.topology, int(size.max(initial=0)))
    start_ns, finish_ns = (np.zeros(len(schedule), np.int64) for _ in range(2))
    run = exclusive.run if sharing is Sharing.EXCLUSIVE else shared.run
    run(schedule.columns, size, links, nodes, schedule.ranks, start_ns, finish_ns)
    return Run(start_ns, finish_ns)


def events(schedule: Schedule) -> int:
    """Of a run: a task's start and its end, and each link that a message takes."""
    moves = schedule.columns.kind != Kind.COMPUTE
    return 2 * len(schedule) + int(schedule.columns.route.lengths[moves].sum())


def links_of(topology: Topology, largest: int) -> Links:
    """``largest``: bytes of a message. Raises ScheduleError where it takes too long to be counted."""
    source, destination, alpha_ns, latency_ns, rate_bps = topology.link_numbers
    divisor = np.gcd(8_000_000_000, rate_bps)
    numerator = 8_000_000_000 // divisor
    if len(numerator) and largest * int(numerator.max()) >= 1 << 62:
        slow = rate_bps[np.argmax(numerator)]
        raise ScheduleError(f"a message of {largest} bytes at {slow} bit/s takes too long to be counted")
    return Links(source, destination, alpha_ns, latency_ns, numerator, rate_bps // divisor)
