"""What an order of ranks costs: the critical path of the algorithm's own schedule, under costs of pairs; compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.network.messages.simulate import Sharing, simulate
from emulator.network.schedule.generators import bcube, double_binary_tree, halving_doubling, ring
from emulator.network.schedule.parts import ScheduleError
from emulator.network.schedule.schedule import Schedule
from emulator.network.topology.builders import star
from emulator.network.topology.topology import Topology
from hostagent.planner.placement.costs import Costs, Matrix, PlacementError

Array: TypeAlias = NDArray[Any]
Build: TypeAlias = Callable[[Topology, Sequence[str]], Schedule]
ALGORITHMS: Mapping[str, Callable[..., Schedule]] = {
    "ring": ring,
    "hd": halving_doubling,
    "tree": double_binary_tree,
    "bcube": bcube,
}


class Messages(NamedTuple):
    """A schedule as loops read it: [messages], in an order in which each comes after those that it waits for."""

    source: NDArray[np.int64]
    """Rank."""
    destination: NDArray[np.int64]
    size_bytes: Matrix
    after_offsets: NDArray[np.int64]
    """Message m waits for after[after_offsets[m]:after_offsets[m + 1]]."""
    after: NDArray[np.int64]


class Model:
    """The costs of a schedule's orders. ``order`` [ranks]: the host of each rank, as its number in the costs.

    A message starts when those that it waits for have arrived, and not before the bits of all earlier ones of its
    source, and of its destination, can have passed. What pairs share beyond their ends (a rack's uplink) is not in a
    matrix of pairs: with a network in the costs the time that is predicted, though not what the solver minimizes, is
    that of the schedule on it.

    The cost of a ring is the sum of its hops (messages of S/n bytes): each chunk goes twice around, all at a time, so
    while latencies count more than bits the critical path is twice that, but for the two hops that the last one is
    spared. Of other algorithms it is the critical path.
    """

    def __init__(self, schedule: Schedule, costs: Costs, build: Build | None = None) -> None:
        """``schedule``: sends and reductions only. ``costs``: of as many hosts as it has ranks. ``build``: the schedule
        on another topology; without, the network of the costs is left aside.
        """
        self.build, self.network = build, None if build is None else costs.network
        self.name, self.costs, self.ranks = schedule.name, costs, schedule.ranks
        columns = schedule.columns
        self.is_ring = bool(((columns.destination - columns.source) % self.ranks == 1).all())
        self.messages = Messages(
            columns.source.astype(np.int64),
            columns.destination.astype(np.int64),
            schedule.task_bytes.astype(np.float64),
            columns.after.offsets,
            columns.after.values.astype(np.int64),
        )
        self.message_ns = costs.message_ns(self.messages.size_bytes.mean())
        """[hosts, hosts], of a message of the mean size: of a ring all have it."""

    def cost(self, order: Array) -> float:
        """What the solver minimizes, ns."""
        return float(self.message_ns[order, np.roll(order, -1)].sum()) if self.is_ring else self._path_ns(order)

    def elapsed_ns(self, order: Array) -> float:
        """The allreduce, as predicted."""
        if self.build is None or self.network is None:
            return self._path_ns(order)
        places = [self.costs.names[host] for host in order]
        return float(simulate(self.build(self.network, places), Sharing.FAIR).elapsed_ns)

    def _path_ns(self, order: Array) -> float:
        order = np.asarray(order, np.int64)
        return float(critical_path(self.messages, order, self.costs.latency_ns, self.costs.byte_ns, *self.scratch())[0])

    def scratch(self) -> tuple[Matrix, Matrix]:
        """Memory of `critical_path`."""
        return np.empty(len(self.messages.source)), np.empty((2, self.ranks))


def allreduce_model(algorithm: str, costs: Costs, size_bytes: int) -> Model:
    """Of an allreduce of ``size_bytes`` at each rank. Raises PlacementError for an algorithm that there is not, or not
    for so many hosts."""
    if algorithm not in ALGORITHMS:
        raise PlacementError(f"unknown algorithm {algorithm!r}; choose one of {', '.join(ALGORITHMS)}")
    try:
        build = ALGORITHMS[algorithm]
        schedule = build(star(len(costs.names)), size_bytes)
        return Model(schedule, costs, lambda topology, places: build(topology, size_bytes, places))
    except ScheduleError as error:
        raise PlacementError(f"{algorithm}: {error}") from None


@njit(internal=True)
def path_length(hop_ns: Matrix, order: Array) -> Any:
    total = 0.0
    for position in range(len(order)):
        total += hop_ns[order[position - 1], order[position]]
    return total


@njit
def critical_path(
    messages: Messages, order: Array, latency_ns: Matrix, byte_ns: Matrix, finish: Matrix, sent: Matrix
) -> tuple[float, float]:
    """When the last message has arrived, and all messages' times added up; ``finish`` [messages] and ``sent``
    [2, ranks], the time of the bits that each rank has sent and received, are overwritten."""
    sent[:] = 0.0
    last = total = 0.0
    for message in range(len(messages.source)):
        source, destination = messages.source[message], messages.destination[message]
        start = max(sent[0, source], sent[1, destination])
        for each in range(messages.after_offsets[message], messages.after_offsets[message + 1]):
            start = max(start, finish[messages.after[each]])
        pair = order[source], order[destination]
        bits = messages.size_bytes[message] * byte_ns[pair]
        sent[0, source] += bits
        sent[1, destination] += bits
        finish[message] = start + latency_ns[pair] + bits
        last = max(last, finish[message])
        total += latency_ns[pair] + bits
    return last, total
