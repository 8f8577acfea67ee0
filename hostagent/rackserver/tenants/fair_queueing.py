"""Fair shares of the cores: how many frames the live loop takes from each port in its next turn.

Deficit round robin over tenants, with a turn as the round. Work is counted, not timed: 1 for a frame, `SERVED_WORK` for
one with data of a served operation, also if it is a duplicate, foreign or damaged. Each tenant that sent frames in the
last turn gets work in proportion to its weight; the difference to the work that it actually caused, which is known only
afterwards, is its deficit or credit in the next turn. An idle tenant delays no other, and a tenant alone gets all. A
port is served at least one frame per turn, so a ratio of weights beyond `MOST_FRAMES` has no more effect.

Jobs of one tenant share its queue, and so do tenants with a common port, as frames are taken port by port.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.native.memory import load_i16, load_u8, load_u32, record_at, store_i32
from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.loop.turns import PER_PORT as MOST_FRAMES
from emulator.ports.spec import MAX_PORTS
from hostagent.protocol.wire import LANES_AT
from hostagent.protocol.worker.header import OPERATOR_AT
from hostagent.rackserver.frames.validate import SERVED
from hostagent.rackserver.records import MAX_JOBS, integers

SERVED_WORK = 2
"""With four workers an Adam step of a chunk takes about as long as adding their four contributions to it."""
SCALE = 1 << 16
"""Fixed-point scale of work, so that small shares are not rounded to 0."""
NO_GROUP = -1

GROUP = np.dtype(integers("weight", "ports", "frames", "work", "taken", "budget", "credit"), align=True)
"""weight   share against other groups
ports    number of its ports
frames   of this turn so far, and their ``work``
taken    frames that it was allowed in the last turn; 0: it was not held back
budget   work that it was allowed in the last turn
credit   work that it may do beyond its share, or less if negative
"""
FAIR_QUEUES = np.dtype(integers("groups", "count", "group_of_port", "ports", "port_count", "allowances"), align=True)
"""groups         GROUP records, ``count`` of them
group_of_port  int16 for each port number, or NO_GROUP
ports          int16, the numbers of all groups' ports, ``port_count`` of them
allowances     int32 for each port number: frames of the next turn
"""
GROUP_BYTES = GROUP.itemsize
group_at, fair_queues_at = record_at(GROUP), record_at(FAIR_QUEUES)


@njit
def set_allowances(address: int) -> None:
    """After a turn's batch: set how many frames are taken from each port in the next turn."""
    fair_queues = fair_queues_at(address)
    busy, unit = 0, 1 << 62
    for number in range(fair_queues.count):
        group = group_at(fair_queues.groups + number * GROUP_BYTES)
        if group.frames > 0:
            busy += 1
            # the largest round in which no busy group needs more than MOST_FRAMES of a port
            unit = min(unit, MOST_FRAMES * group.ports * group.work // group.frames // group.weight + 1)
    for number in range(fair_queues.count):
        group = group_at(fair_queues.groups + number * GROUP_BYTES)
        if group.frames == 0 or busy < 2:
            group.taken, group.credit = 0, 0
        else:
            allow(group, unit * group.weight)
        group.frames, group.work = 0, 0
    for place in range(fair_queues.port_count):
        port = load_i16(fair_queues.ports, place)
        group = group_at(fair_queues.groups + load_i16(fair_queues.group_of_port, port) * GROUP_BYTES)
        store_i32(fair_queues.allowances, port, group.taken // group.ports if group.taken > 0 else MOST_FRAMES)


@njit(forceinline=True)
def is_served(frame: int, length: int) -> Any:
    """Whether a frame is counted as `SERVED_WORK`; to be asked while it is in cache."""
    return length >= LANES_AT and load_u8(frame + OPERATOR_AT, 0) == SERVED


@njit(forceinline=True)
def count_frame(
    address: int, ports: int, index: int, end: int, frame: int, length: int, first: int, served: int
) -> tuple[int, int]:
    """One of the frames up to ``end`` of a turn. ``first``: where its port's frames, which are side by side, begin;
    ``served``: how many before it are `is_served`. Returns both for the next frame."""
    served += is_served(frame, length)
    port = load_u32(ports + 4 * index)
    if index + 1 < end and load_u32(ports + 4 * (index + 1)) == port:
        return first, served
    count_frames(address, port, index + 1 - first, served)
    return index + 1, 0


@njit
def count_frames(address: int, port: int, frames: int, served: int) -> None:
    """Frames that have come by a port, whoever sent them, and how many of them were `is_served`."""
    fair_queues = fair_queues_at(address)
    mine = load_i16(fair_queues.group_of_port, port)
    if mine >= 0:
        group = group_at(fair_queues.groups + mine * GROUP_BYTES)
        group.frames += frames
        group.work += (frames + served * (SERVED_WORK - 1)) * SCALE


@njit
def allow(group: Any, quantum: int) -> None:
    """One busy group's next turn."""
    if group.taken > 0:
        group.credit += group.budget - group.work
        if group.frames < group.taken:  # a port ran empty: what was not wanted is not saved
            group.credit = min(group.credit, 0)
        group.credit = min(max(group.credit, -quantum), quantum)
    group.budget = quantum
    wanted = (quantum + group.credit) * group.frames // group.work // group.ports
    group.taken = group.ports * min(max(wanted, 1), MOST_FRAMES)


class FairQueues:
    """The records of one server."""

    def __init__(self) -> None:
        self._groups: Any = aligned_bytes(MAX_JOBS * GROUP.itemsize).view(GROUP)
        self._group_of_port = np.full(MAX_PORTS, NO_GROUP, np.int16)
        self._ports = np.zeros(MAX_PORTS, np.int16)
        self.allowances = np.full(MAX_PORTS, MOST_FRAMES, np.int32)
        """Frames of each port in the next turn."""
        self._record: Any = aligned_bytes(FAIR_QUEUES.itemsize).view(FAIR_QUEUES)
        self._record["groups"], self._record["group_of_port"] = map(address_of, (self._groups, self._group_of_port))
        self._record["ports"] = address_of(self._ports)
        self._record["allowances"] = address_of(self.allowances)
        self.address = address_of(self._record)

    def arrange(self, tenants: Iterable[tuple[int, set[int]]]) -> int:
        """Replace the tenants by these: (weight, port numbers) of each. Returns the number of groups. Between two
        batches."""
        groups: list[tuple[int, set[int]]] = []
        for weight, ports in tenants:
            joined = [group for group in groups if group[1] & ports]
            groups = [group for group in groups if group not in joined]
            whole = set(ports).union(*(group[1] for group in joined))
            groups.append((max([weight, *(group[0] for group in joined)]), whole))
        self._group_of_port[:] = NO_GROUP
        self.allowances[:] = MOST_FRAMES
        self._groups[:] = 0
        for number, (weight, ports) in enumerate(groups):
            self._groups[number]["weight"], self._groups[number]["ports"] = weight, len(ports)
            for port in ports:
                self._group_of_port[port] = number
        shared = np.flatnonzero(self._group_of_port != NO_GROUP)
        self._ports[: len(shared)] = shared
        self._record["count"], self._record["port_count"] = len(groups), len(shared)
        return len(groups)
