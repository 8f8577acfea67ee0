"""One step of data-parallel training over racks of workers, in virtual time: flat, round a ring of racks, or sharded.

Every aggregator is a real one: rack servers, with `RackTier` between racks. Workers send all their chunks at once and
repeat what stays unanswered; what they get is compared with the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from emulator.ports.spec import Impairments
from hostagent.lab.rack_network import (
    RackNetwork,
    Rates,
    server_ip,
    server_mac,
    source_of,
    worker_ip,
    worker_mac,
)
from hostagent.protocol.frames import Addresses, Frame, build_frame, no_lanes, parse_frame
from hostagent.protocol.services.aggregator import ChildTerms, JobTerms, RackPart, Spread
from hostagent.protocol.wire import FLAG_NO_DATA, LANE_BYTES, Header, Kind, Operator, full_frame_bytes
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.hierarchy.embedded_aggregator import Inside
from hostagent.rackserver.hierarchy.routes import Peer, Place

JOB, EPOCH, OPERATION = 1, 1, 0x5EED
PEER_PORT = 100
"""Port number of the first other rack; workers have ports from 1."""
FLAT = "flat"
SCHEMES = (FLAT, "ring", "sharded")

Lanes = np.ndarray[Any, np.dtype[np.uint32]]


@dataclass(frozen=True, slots=True)
class Step:
    """What is played."""

    scheme: str
    racks: int
    workers: int
    """Workers of each rack."""
    chunks: int
    rates: Rates
    lanes: int = 256
    uplink: Impairments | None = None
    repeat_ns: int = 0
    """Workers repeat what is unanswered this often; 0: never."""
    silent: frozenset[int] = frozenset()
    """Workers, counted through all racks, that have nothing to add."""

    @property
    def frame_bits(self) -> int:
        """Bits of each worker's frames of the step: what the model's M is on the wire."""
        return 8 * self.chunks * full_frame_bytes(self.lanes)

    @property
    def data_bytes(self) -> int:
        """M."""
        return self.chunks * self.lanes * LANE_BYTES

    @property
    def window_log2(self) -> int:
        return max(0, (self.chunks - 1).bit_length() - 1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it."""

    time_ns: int
    complete: bool
    """Every worker has every sum, and it is right."""
    contribution_bytes: tuple[int, ...]
    """Bytes of lanes out of each rack: gradients, or partial sums."""
    result_bytes: tuple[int, ...]
    """Bytes of lanes out of each rack."""

    @property
    def crossed_bytes(self) -> tuple[int, ...]:
        pairs = zip(self.contribution_bytes, self.result_bytes, strict=True)
        return tuple(one + other for one, other in pairs)


class _Worker:
    """All chunks at once, then repeats."""

    def __init__(self, step: Step, rack: int, worker: int, seed: int) -> None:
        self.step, self.rack, self.worker = step, rack, worker
        self.number = rack * step.workers + worker
        random = np.random.default_rng((seed, self.number))
        self.data: Lanes = np.frombuffer(random.bytes(step.data_bytes), np.uint32).reshape(step.chunks, -1).copy()
        if self.number in step.silent:
            self.data[:] = 0
        self._rows: list[Lanes] = list(self.data)
        self.results: dict[int, Lanes] = {}

    def contributions(self, now_ns: int) -> list[bytes]:
        """A frame for each chunk that is unanswered."""
        return [self._frame(chunk) for chunk in range(self.step.chunks) if chunk not in self.results]

    def _frame(self, chunk: int) -> bytes:
        flat = self.step.scheme == FLAT
        to = chunk % self.step.racks if flat else self.rack
        silent = self.number in self.step.silent
        header = Header(
            Kind.CONTRIBUTION,
            JOB,
            self.number,
            EPOCH,
            chunk // self.step.racks if flat else chunk,
            OPERATION,
            operator=Operator.SUM,
            flags=FLAG_NO_DATA if silent else 0,
        )
        ends = Addresses(
            worker_mac(self.rack, self.worker), server_mac(to), worker_ip(self.rack, self.worker), server_ip(to)
        )
        return build_frame(Frame(ends, header, no_lanes() if silent else self._rows[chunk]))

    def receive(self, frames: list[bytes], _now_ns: int) -> list[bytes]:
        for data in frames:
            frame = parse_frame(data)
            if frame.header.kind == Kind.RESULT:
                server = frame.addresses.source_ip - server_ip(0)
                flat = self.step.scheme == FLAT
                chunk = frame.header.chunk * self.step.racks + server if flat else frame.header.chunk
                self.results.setdefault(chunk, frame.lanes)
        return []


def play(step: Step, *, seed: int = 0, limit_ns: int = 1 << 62) -> Outcome:
    """Run the step to its end."""
    network = RackNetwork(step.racks, step.workers, step.rates, step.uplink)
    for rack in range(step.racks):
        network.connect(server_ip(rack), _server(step, rack))
    workers = [_Worker(step, rack, worker, seed) for rack in range(step.racks) for worker in range(step.workers)]
    unfinished = set(range(len(workers)))

    def done() -> bool:
        for number in [n for n in unfinished if len(workers[n].results) == step.chunks]:
            unfinished.discard(number)
        return not unfinished

    for worker in workers:
        network.connect(worker_ip(worker.rack, worker.worker), worker.receive)
        for frame in worker.contributions(0):
            network.send(frame)
        if step.repeat_ns:
            network.at(step.repeat_ns, _repeats(network, worker))
    time_ns = network.run(done, limit_ns)
    total: Lanes = np.stack([worker.data for worker in workers]).sum(axis=0, dtype=np.uint32)
    right = all(np.array_equal(lanes, total[chunk]) for worker in workers for chunk, lanes in worker.results.items())
    return Outcome(
        time_ns,
        done() and right,
        tuple(crossed.contribution_bytes for crossed in network.crossed),
        tuple(crossed.result_bytes for crossed in network.crossed),
    )


def _repeats(network: RackNetwork, worker: _Worker) -> Callable[[int], list[bytes]]:
    def act(now_ns: int) -> list[bytes]:
        frames = worker.contributions(now_ns)
        if frames:
            network.at(now_ns + worker.step.repeat_ns, act)
        return frames

    return act


def _server(step: Step, rack: int) -> Callable[[list[bytes], int], list[bytes]]:
    """The server of one rack, as a node of the network."""
    terms = _terms(step, rack)
    place = None
    if terms.spread is not None:
        place = Place(rack, tuple(Peer(r, PEER_PORT + r, True) for r in range(step.racks) if r != rack))
    inside = Inside(lambda table: RackServer(step.lanes, slots=terms.window, ports=table, place=place))
    inside.core.install(terms)
    ports = {child.ip: child.port for child in terms.children}
    if place is not None:
        ports |= {server_ip(peer.rack): peer.port for peer in place.peers}
    for port in ports.values():
        inside.provide(port)

    def receive(frames: list[bytes], now_ns: int) -> list[bytes]:
        arrived = [(ports[source_of(frame)], frame) for frame in frames]
        return [frame for _, frame in inside.process(arrived, now_ns)[0]]

    return receive


def _terms(step: Step, rack: int) -> JobTerms:
    flat = step.scheme == FLAT
    children = tuple(
        ChildTerms(number, number, 1 + number, worker_mac(r, worker), worker_ip(r, worker))
        for r in (range(step.racks) if flat else [rack])
        for worker in range(step.workers)
        for number in [r * step.workers + worker]
    )
    ours = (1 << step.workers) - 1
    parts = tuple(RackPart(r, ours << r * step.workers) for r in range(step.racks))
    return JobTerms(
        JOB,
        EPOCH,
        0,
        step.window_log2,
        0,
        step.lanes,
        children,
        server_mac(rack),
        server_ip(rack),
        spread=None if flat else Spread(step.scheme, parts),
    )
