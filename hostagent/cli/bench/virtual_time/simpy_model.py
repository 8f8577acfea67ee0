"""A SimPy model of an aggregation tree: processes for links, callbacks for arrivals; frames are numbers of chunks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy

from emulator.network.topology.parts import Link
from emulator.network.topology.topology import Topology
from hostagent.lab.aggregation_tree import AggregationTree
from hostagent.protocol.wire import full_frame_bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run of the model."""

    elapsed_ns: int
    hops: int
    wall_s: float


class Model:
    """Hosts with a fixed window, switches that count contributions."""

    def __init__(self, topology: Topology, tree: AggregationTree, chunks: int, lanes: int, window: int) -> None:
        self.environment = simpy.Environment()
        self.tree, self.chunks, self.window = tree, chunks, window
        self.frame_bits = 8 * full_frame_bytes(lanes)
        self.hosts = frozenset(tree.hosts)
        self.below: dict[str, list[Link]] = {}
        for link in tree.up.values():
            self.below.setdefault(link.destination, []).append(link.reverse)
        self.came: dict[str, Counter[int]] = {name: Counter() for name in tree.switches}
        self.queues = {link: simpy.Store(self.environment) for link in tree.links}
        self.hops = 0
        self.left = len(tree.hosts) * chunks
        self.done = self.environment.event()
        for link in tree.links:
            self.environment.process(self.carry(link))

    def carry(self, link: Link) -> Generator[Any, Any, None]:
        """One link: frame after frame at its rate, each received the latency later."""
        environment, queue = self.environment, self.queues[link]
        length_ns = -(-self.frame_bits * 10**9 // link.rate_bps)
        receive = self.result if link.destination in self.hosts else self.contribution
        if link.destination not in self.hosts and link.reverse not in self.below[link.destination]:
            receive = self.result
        while True:
            chunk = yield queue.get()
            yield environment.timeout(length_ns)
            environment.timeout(link.latency_ns, (link.destination, chunk)).callbacks.append(receive)

    def contribution(self, event: simpy.Event) -> None:
        """At a switch, from below."""
        name, chunk = place_of(event)
        self.hops += 1
        came = self.came[name]
        came[chunk] += 1
        if came[chunk] < len(self.below[name]):
            return
        del came[chunk]
        if name == self.tree.root:
            self.send_down(name, chunk)
        else:
            self.queues[self.tree.up[name]].put(chunk)

    def result(self, event: simpy.Event) -> None:
        """At a switch from above, or at a host."""
        name, chunk = place_of(event)
        self.hops += 1
        if name not in self.hosts:
            self.send_down(name, chunk)
            return
        self.left -= 1
        if chunk + self.window < self.chunks:
            self.queues[self.tree.up[name]].put(chunk + self.window)
        if self.left == 0:
            self.done.succeed()

    def send_down(self, name: str, chunk: int) -> None:
        """To everyone below a switch."""
        for link in self.below[name]:
            self.queues[link].put(chunk)

    def run(self) -> Outcome:
        """All chunks, from all hosts to all hosts."""
        began_s = time.perf_counter()
        for name in self.tree.hosts:
            for chunk in range(min(self.window, self.chunks)):
                self.queues[self.tree.up[name]].put(chunk)
        self.environment.run(self.done)
        return Outcome(int(self.environment.now), self.hops, time.perf_counter() - began_s)


def place_of(event: simpy.Event) -> tuple[str, int]:
    """Where a frame has arrived, and its chunk."""
    name, chunk = event.value  # type: ignore[misc]  # SimPy declares Any | None
    return name, chunk


def play(topology: Topology, tree: AggregationTree, chunks: int, lanes: int, window: int) -> Outcome:
    """So many chunks of every host."""
    return Model(topology, tree, chunks, lanes, window).run()
