"""A topology as a network in virtual time: switches with compiled programs, hosts, links with queues and loss."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emulator.native.pages import address_of
from emulator.network.faults.parts import SLOW_PERIOD_NS
from emulator.network.frames.arena import Arena
from emulator.network.frames.events import make_sources, set_time
from emulator.network.frames.loop import CROWDED, FINISHED, PAUSED, look_again, run, wake
from emulator.network.frames.records import (
    BATCH_FRAMES,
    ENTRY,
    FIRST_ENTRIES,
    LINK,
    MOST_ORDERS,
    NETWORK,
    NEVER_NS,
    NODE,
    ORDER,
)
from emulator.network.topology.parts import Link, NodeKind, TopologyError
from emulator.network.topology.topology import Topology
from emulator.ports.batch import FRAME_HEADROOM_BYTES, MAX_PORTS, FrameBatch
from emulator.ports.impairments import MASK_63, PROBABILITY_ONE, ImpairmentState, splitmix
from emulator.ports.pcap.writer import CaptureWriter
from emulator.ports.spec import Impairments
from emulator.switch.core import Switch

ETHERNET_BYTES = 14
EVENTS_AT_A_TIME = 1 << 20
"""Between two calls of ``progress``: some hundreds of milliseconds."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Host:
    """Addresses of a host's state and of its compiled functions (see ``loop``)."""

    state: int
    receive: int
    transmit: int
    next_timer: int
    finished: int


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """What a link has carried."""

    frames: int
    """That left its queue or will, lost ones included."""
    bytes: int
    lost: int
    dropped: int
    """At a full queue."""
    dropped_bytes: int
    most_waiting_bytes: int
    duplicated: int = 0
    """By impairments, as the following."""
    reordered: int = 0
    corrupted: int = 0


class Network:
    """``add_switch`` and ``add_host``, then ``submitted`` and ``run``. Nodes that are not added take no part: what
    comes to them is counted in ``stray``. Processing takes no time; ``alpha_ns`` of links, which is of whole messages,
    is not used."""

    def __init__(
        self,
        topology: Topology,
        *,
        frame_bytes: int,
        encapsulation_bytes: int = 0,
        losses: Mapping[str, float] | None = None,
        seed: int = 1,
    ) -> None:
        """``frame_bytes``: the longest frame of all; ``encapsulation_bytes``: what links carry of each besides, such as
        headers of a tunnel; ``losses``: the probability that a frame is lost, by link. Raises TopologyError where
        frames do not fit, or there is no such link."""
        self.topology, self.frame_bytes = topology, frame_bytes
        self.encapsulation_bytes = encapsulation_bytes
        self._index = {node.name: place for place, node in enumerate(topology.nodes)}
        self._ports = _ports_of(topology)
        self.links: tuple[Link, ...] = tuple(sorted(topology.links, key=self._place))
        """In the order in which events of one time come."""
        self._link_index = {link.name: place for place, link in enumerate(self.links)}
        self._check_frames()
        self.arena = Arena()
        """Also for the memory of hosts."""
        self._links = np.zeros(len(self.links), LINK)
        self._nodes = np.zeros(len(topology.nodes), NODE)
        self._sources, leaves = make_sources(len(self.links) + len(topology.nodes))
        self._batch = FrameBatch(BATCH_FRAMES)
        self._orders, self._taken = np.zeros(MOST_ORDERS, ORDER), np.zeros(BATCH_FRAMES, np.int64)
        self._entries: list[Array] = []
        self._rings: dict[int, tuple[Any, list[Array]]] = {}
        """Of links from switches: the TX_RING, and its memory."""
        self._stages: dict[int, ImpairmentState] = {}
        """Of impaired links."""
        self._kept: list[object] = []
        self._record = np.zeros(1, NETWORK)
        self.wall_ns = 0
        """Of the event loop's own, so far."""
        self._fill(leaves, seed)
        for name, loss in (losses or {}).items():
            self.change_link(name, loss=loss)

    def _place(self, link: Link) -> tuple[int, int]:
        return self._index[link.destination], self._ports[link.destination][link.name]

    def _check_frames(self) -> None:
        packet_bytes = self.frame_bytes + self.encapsulation_bytes - ETHERNET_BYTES
        for link_class in self.topology.classes.values():
            if packet_bytes > link_class.mtu_bytes:
                raise TopologyError(
                    f"links of class {link_class.name} carry packets of {link_class.mtu_bytes} bytes (mtu_bytes); "
                    f"these have {packet_bytes}: use fewer lanes, or links with a larger MTU"
                )

    def _fill(self, leaves: int, seed: int) -> None:
        for place, (link, record) in enumerate(zip(self.links, self._links, strict=True)):
            entries = self.arena.take(FIRST_ENTRIES * ENTRY.itemsize).view(ENTRY)
            self._entries.append(entries)
            values = {
                "source": self._index[link.source],
                "destination": self._index[link.destination],
                "port": self._ports[link.destination][link.name],
                "rate_bps": link.rate_bps,
                "latency_ns": link.latency_ns,
                "queue_bytes": link.queue_bytes,
                "seed": splitmix(splitmix(seed & MASK_63) ^ place),
                "entries": address_of(entries),
                "mask": FIRST_ENTRIES - 1,
            }
            for name, value in values.items():
                record[name] = value
        values = {
            "links": address_of(self._links),
            "link_count": len(self.links),
            "nodes": address_of(self._nodes),
            "sources": address_of(self._sources),
            "leaves": leaves,
            "batch": self._batch.record_address,
            "encapsulation_bytes": self.encapsulation_bytes,
            "orders": address_of(self._orders),
            "taken": address_of(self._taken),
        }
        for name, value in values.items():
            self._record[name] = value

    def add_switch(self, name: str, switch: Switch) -> None:
        """A switch with a compiled program; the topology's port numbers are the program's. Whoever controls it may go
        on doing so between two calls of ``run``. A program that sends more than 16 frames by one port at once finds its
        ring full, which the switch counts in ``drops``."""
        if switch.program_address == 0 or switch.has_queues:
            raise ValueError(f"{name}: a compiled program without egress queues is needed")
        node = self._nodes[self._index[self._checked(name, NodeKind.SWITCH)]]
        out = np.array([self._link_index[link.name] for link in self.topology.out_links(name)], np.int64)
        for place in out:
            number = self._ports[name][self.links[place].name]
            if number >= MAX_PORTS:
                raise TopologyError(f"{name} has more ports than a program can name ({MAX_PORTS - 1})")
            self._add_ring(int(place), switch.ports.rings[number : number + 1], switch.ports.ring_address(number))
        node["program"], node["context"] = switch.program_address, switch.context_address
        node["out"], node["out_count"] = address_of(out), len(out)
        self._kept += [switch, out]

    def add_host(self, name: str, host: Host) -> None:
        """A host with one link into the network."""
        links = self.topology.out_links(self._checked(name, NodeKind.HOST))
        if len(links) != 1:
            raise TopologyError(f"{name} has {len(links)} links; a simulated host has one")
        node = self._nodes[self._index[name]]
        node["is_host"], node["link"], node["runs_ns"] = 1, self._link_index[links[0].name], SLOW_PERIOD_NS
        for field in Host.__dataclass_fields__:
            node[field] = getattr(host, field)

    def _checked(self, name: str, kind: NodeKind) -> str:
        if self.topology.node(name).kind is not kind:
            raise TopologyError(f"{name} is a {self.topology.node(name).kind}, not a {kind}")
        return name

    def change_link(self, name: str, *, latency_ns: int | None = None, loss: float | None = None) -> None:
        """For the frames that are put on it from now on."""
        link = self._links[self._link_index[self.topology.link(name).name]]
        if latency_ns is not None:
            link["latency_ns"] = latency_ns
        if loss is not None:
            link["loss"] = round(loss * PROBABILITY_ONE)

    def impair(self, name: str, impairments: Impairments) -> None:
        """From now on, frames that have come to a link's end go through the impairments of a live port, from which they
        come out at once, later, twice, damaged or not at all. Of the seed and the queue those given first count."""
        place = self._link_index[self.topology.link(name).name]
        if place in self._stages:
            self._stages[place].configure(impairments)
        else:
            stage = ImpairmentState(impairments, stream=place, frame_bytes=self.frame_bytes)
            self._stages[place] = stage
            self._links[place]["stage"] = stage.address

    def capture(self, writer: CaptureWriter, links: Sequence[str]) -> None:
        """From now on, write the frames that are put on these links, each an interface of the file: also those that the
        link will lose, and not those that find its queue full. Raises TopologyError."""
        self._kept.append(writer)
        self._record["capture"] = writer.address
        for name in links:
            self._links[self._link_index[self.topology.link(name).name]]["interface"] = writer.interface(name) + 1

    def stop(self, name: str) -> None:
        """A switch forgets its program, a host is no more: frames that come to it are stray."""
        index = self._index[self.topology.node(name).name]
        self._nodes[index]["program"] = self._nodes[index]["is_host"] = 0
        timer = len(self.links) + index
        set_time(address_of(self._sources), int(self._record["leaves"][0]), timer, NEVER_NS)

    def start_again(self, name: str, switch: Switch) -> None:
        """A switch that was added has loaded a program again."""
        node = self._nodes[self._index[name]]
        node["program"], node["context"] = switch.program_address, switch.context_address

    def slow(self, name: str, share: float) -> None:
        """A host runs for this share of every `SLOW_PERIOD_NS`, the first part of it; 1: always."""
        index = self._index[self._checked(name, NodeKind.HOST)]
        self._nodes[index]["runs_ns"] = round(share * SLOW_PERIOD_NS)
        for link in self.topology.in_links(name):
            look_again(address_of(self._record), self._link_index[link.name])
        self.wake(name)

    def wake(self, name: str) -> None:
        """Ask a host, unless it is no more, what it wants to send, as something but a frame has changed its state."""
        if self._nodes[self._index[name]]["is_host"]:
            wake(address_of(self._record), self._index[name])
            self._make_room()

    def submitted(self, name: str, operations: int = 1) -> None:
        """A host has been given operations to finish: it is asked what it wants to send."""
        self._record["unfinished"] += operations
        self.wake(name)

    def run(self, limit_ns: int = NEVER_NS, progress: Callable[[int], None] | None = None) -> bool:
        """Until all hosts have finished. False: nothing happens any more, or it is ``limit_ns`` now. ``progress`` is
        called with the hops so far, every EVENTS_AT_A_TIME events."""
        while True:
            before_ns = time.perf_counter_ns()
            why = run(address_of(self._record), limit_ns, EVENTS_AT_A_TIME)
            self.wall_ns += time.perf_counter_ns() - before_ns
            if why == CROWDED:
                self._make_room()
            elif why == PAUSED:
                if progress:
                    progress(self.hops)
            else:
                return bool(why == FINISHED)

    @property
    def now_ns(self) -> int:
        """Virtual time."""
        return int(self._record["now_ns"][0])

    @property
    def hops(self) -> int:
        """Frames that have come to the far end of a link."""
        return int(self._record["hops"][0])

    @property
    def events(self) -> int:
        """Arrivals and timers."""
        return int(self._record["events"][0])

    @property
    def stray(self) -> int:
        """Frames that came to a node that takes no part."""
        return int(self._record["stray"][0])

    def counts(self) -> dict[str, LinkCounts]:
        """By link, in the topology's order."""
        counted = ("frames", "bytes", "lost", "dropped", "dropped_bytes", "most_waiting_bytes")
        found = {}
        for link in self.topology.links:
            place = self._link_index[link.name]
            values = {name: int(self._links[place][name]) for name in counted}
            if stage := self._stages.get(place):
                more = stage.statistics()
                values["lost"] += more["lost"]
                values["dropped"] += more["dropped_full"]
                values |= {name: more[name] for name in ("duplicated", "reordered", "corrupted")}
            found[link.name] = LinkCounts(**values)
        return found

    def _add_ring(self, place: int, ring: Any, address: int) -> None:
        stride = -(-self.frame_bytes // 64) * 64
        self._links[place]["ring"] = address
        ring["stride_bytes"], ring["tail"], ring["limit"] = stride, 0, FIRST_ENTRIES
        self._rings[place] = ring, []
        self._set_cells(place, FIRST_ENTRIES)

    def _set_cells(self, place: int, count: int) -> None:
        """New memory for a ring."""
        ring, _ = self._rings[place]
        cells = self.arena.take(count * int(ring["stride_bytes"][0]) + FRAME_HEADROOM_BYTES)
        lengths = self.arena.take(4 * count).view(np.uint32)
        ring["cells"], ring["lengths"] = address_of(cells) + FRAME_HEADROOM_BYTES, address_of(lengths)
        ring["mask"] = count - 1
        self._rings[place] = ring, [cells, lengths]

    def _make_room(self) -> None:
        """Double the rings of links that have no room for what the next event may put there; their frames move."""
        if not self._record["crowded"][0]:
            return
        self._record["crowded"] = 0
        needed = np.where(self._links["ring"] != 0, BATCH_FRAMES, MOST_ORDERS)
        crowded = self._links["tail"] - self._links["head"] + needed > self._links["mask"] + 1
        for place in map(int, np.flatnonzero(crowded)):
            link, before = self._links[place], self._entries[place]
            count = 2 * len(before)
            numbers = np.arange(link["head"], link["tail"])
            entries = self.arena.take(count * ENTRY.itemsize).view(ENTRY)
            entries[numbers % count] = before[numbers % len(before)]
            if place in self._rings:
                self._move_cells(place, numbers, count, entries)
            self._entries[place] = entries
            link["entries"], link["mask"] = address_of(entries), count - 1

    def _move_cells(self, place: int, numbers: Array, count: int, entries: Array) -> None:
        ring, (cells, lengths) = self._rings[place]
        stride, before = int(ring["stride_bytes"][0]), len(lengths)
        self._set_cells(place, count)
        ring["limit"] = int(self._links[place]["head"]) + count
        _, (new_cells, new_lengths) = self._rings[place]
        for number in numbers:
            here = FRAME_HEADROOM_BYTES + number % before * stride
            there = FRAME_HEADROOM_BYTES + number % count * stride
            new_cells[there : there + stride] = cells[here : here + stride]
            entries[number % count]["address"] = address_of(new_cells) + there
        new_lengths[numbers % count] = lengths[numbers % before]


def _ports_of(topology: Topology) -> dict[str, dict[str, int]]:
    """Number of the port at which a link leaves or enters, by node and link."""
    return {
        node.name: {link.name: number for number, links in enumerate(topology.ports(node.name), 1) for link in links}
        for node in topology.nodes
    }
