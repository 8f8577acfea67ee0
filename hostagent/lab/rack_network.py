"""Racks of workers and servers on links with rates, in virtual time.

    worker --b--> ToR --B_P--> server        each arrow is two links, one each way
                   |
                  B_x
                   |
                 core, which is never full

A link's frames go one after another, each as long as its bits take; whatever else a link does to them is its
impairments'. Frames find their way by their destination address. Servers of two racks speak over the uplinks alone.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from emulator.network.link import Link
from emulator.ports.spec import Impairments
from hostagent.protocol.wire import ETHERNET_BYTES, HEADER_AT, LANES_AT, OFFSET, Kind
from hostagent.rackserver.hierarchy.routes import RACK_IP, RACK_MAC

WORKER_IP = 0x0A50_0000
WORKER_MAC = 0x026E_7700_0000
"""10.80.RACK.WORKER."""
MOST_WORKERS = 256

SOURCE_AT, DESTINATION_AT = ETHERNET_BYTES + 12, ETHERNET_BYTES + 16

LINK_FRAMES = 1 << 14
"""Room for the frames of a whole step, so that nothing is lost that the caller does not want lost."""

Receive: TypeAlias = Callable[[list[bytes], int], list[bytes]]
"""(frames that arrive at once, now_ns) -> frames that leave, found their way by their destination."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Bits per second, each way."""

    worker_bps: int
    """b, of a worker's link."""
    server_bps: int
    """B_P, of a rack's server towards its workers."""
    uplink_bps: int
    """B_x, of a rack's link to all others."""


@dataclass(slots=True)
class Crossing:
    """Bytes of lanes that have left a rack by its uplink."""

    contribution_bytes: int = 0
    result_bytes: int = 0


def worker_ip(rack: int, worker: int) -> int:
    return WORKER_IP | rack << 8 | worker


def worker_mac(rack: int, worker: int) -> int:
    return WORKER_MAC | rack << 8 | worker


def server_ip(rack: int) -> int:
    return RACK_IP | rack


def server_mac(rack: int) -> int:
    return RACK_MAC | rack


class RackNetwork:
    """``connect`` every worker and server, ``send`` to begin with, then ``run``."""

    def __init__(self, racks: int, workers: int, rates: Rates, uplink: Impairments | None = None) -> None:
        """``uplink``: what else the uplinks do to frames, with independent draws each."""
        if racks > MOST_WORKERS or workers > MOST_WORKERS:
            raise ValueError(f"{racks} racks of {workers} workers: use at most {MOST_WORKERS} of each")
        self.now_ns = 0
        self.crossed = [Crossing() for _ in range(racks)]
        self._links: list[Link] = []
        self._ends: list[Callable[[bytes], None]] = []
        self._events: list[tuple[int, int]] = []
        self._expected: dict[int, int] = {}
        """Time of the one event of each link that counts."""
        self._receivers: dict[int, Receive] = {}
        self._arrived: dict[int, list[bytes]] = {}
        self._order = itertools.count()
        self._timers: list[tuple[int, int, Callable[[int], list[bytes]]]] = []
        across = uplink if uplink is not None else Impairments()
        self._up, self._down = {}, {}
        self._in, self._out = {}, {}
        for rack in range(racks):
            for worker in range(workers):
                ip = worker_ip(rack, worker)
                self._up[ip] = self._link(rates.worker_bps, Impairments(), self._router(rack))
                self._down[ip] = self._link(rates.worker_bps, Impairments(), self._arrive)
            self._in[rack] = self._link(rates.server_bps, Impairments(), self._arrive)
            self._out[rack] = self._link(rates.server_bps, Impairments(), self._router(rack))
        self._uplink_out = [self._link(rates.uplink_bps, across, self._across) for _ in range(racks)]
        self._uplink_in = [self._link(rates.uplink_bps, Impairments(), self._router(rack)) for rack in range(racks)]

    def connect(self, ip: int, receive: Receive) -> None:
        """Whom frames for this address are for."""
        self._receivers[ip] = receive

    def send(self, frame: bytes) -> None:
        """A frame leaves its source now."""
        source, destination = _ip(frame, SOURCE_AT), _ip(frame, DESTINATION_AT)
        if source & 0xFFFF_0000 == WORKER_IP:
            self._put(self._up[source], frame)
        elif destination & 0xFFFF_0000 == RACK_IP:
            self._put_out(source & 0xFFFF, frame)
        else:
            self._put(self._out[source & 0xFFFF], frame)

    def at(self, time_ns: int, act: Callable[[int], list[bytes]]) -> None:
        """Call ``act(now_ns)`` then, and send what it returns."""
        heapq.heappush(self._timers, (time_ns, next(self._order), act))

    def run(self, done: Callable[[], bool], limit_ns: int = 1 << 62) -> int:
        """Advance until done, or until nothing is to come or the limit is passed; returns the time it is then."""
        while not done():
            due_ns = min((queue[0][0] for queue in (self._events, self._timers) if queue), default=None)
            if due_ns is None or due_ns > limit_ns:
                break
            self.now_ns = max(self.now_ns, due_ns)
            while self._timers and self._timers[0][0] <= self.now_ns:
                for frame in heapq.heappop(self._timers)[2](self.now_ns):
                    self.send(frame)
            while self._events and self._events[0][0] <= self.now_ns:
                self._deliver(*heapq.heappop(self._events))
            self._hand_over()
        return self.now_ns

    # --- Links --------------------------------------------------------------------------------------------------------

    def _link(self, rate_bps: int, impairments: Impairments, end: Callable[[bytes], None]) -> int:
        number = len(self._links)
        made = replace(impairments, rate_bps=rate_bps, queue_frames=LINK_FRAMES)
        self._links.append(Link(made, stream=number))
        self._ends.append(end)
        return number

    def _put(self, link: int, frame: bytes) -> None:
        self._links[link].send(self.now_ns, frame)
        self._expect(link)

    def _put_out(self, rack: int, frame: bytes) -> None:
        crossed = self.crossed[rack]
        if frame[HEADER_AT + OFFSET["kind"]] == Kind.CONTRIBUTION:
            crossed.contribution_bytes += len(frame) - LANES_AT
        else:
            crossed.result_bytes += len(frame) - LANES_AT
        self._put(self._uplink_out[rack], frame)

    def _expect(self, link: int) -> None:
        due_ns = self._links[link].next_timer_ns()
        if due_ns is not None and due_ns < self._expected.get(link, due_ns + 1):
            self._expected[link] = due_ns
            heapq.heappush(self._events, (due_ns, link))

    def _deliver(self, due_ns: int, link: int) -> None:
        if self._expected.get(link) != due_ns:
            return
        del self._expected[link]
        for frame in self._links[link].receive(self.now_ns):
            self._ends[link](frame)
        self._expect(link)

    # --- Ways ---------------------------------------------------------------------------------------------------------

    def _router(self, rack: int) -> Callable[[bytes], None]:
        """The rack's switch."""

        def route(frame: bytes) -> None:
            source, destination = _ip(frame, SOURCE_AT), _ip(frame, DESTINATION_AT)
            if destination & 0xFFFF_0000 == WORKER_IP and (destination >> 8) & 0xFF == rack:
                self._put(self._down[destination], frame)
            elif destination == server_ip(rack) and source & 0xFFFF_0000 == RACK_IP:
                self._arrive(frame)
            elif destination == server_ip(rack):
                self._put(self._in[rack], frame)
            else:
                self._put_out(rack, frame)

        return route

    def _across(self, frame: bytes) -> None:
        destination = _ip(frame, DESTINATION_AT)
        is_worker = destination & 0xFFFF_0000 == WORKER_IP
        self._put(self._uplink_in[(destination >> 8) & 0xFF if is_worker else destination & 0xFFFF], frame)

    def _arrive(self, frame: bytes) -> None:
        self._arrived.setdefault(_ip(frame, DESTINATION_AT), []).append(frame)

    def _hand_over(self) -> None:
        """Frames that arrived at one node at one time are one batch."""
        arrived, self._arrived = self._arrived, {}
        for ip, frames in arrived.items():
            for frame in self._receivers[ip](frames, self.now_ns):
                self.send(frame)


def source_of(frame: bytes) -> int:
    """Source address of a frame."""
    return _ip(frame, SOURCE_AT)


def _ip(frame: bytes, at: int) -> int:
    return int.from_bytes(frame[at : at + 4], "big")
