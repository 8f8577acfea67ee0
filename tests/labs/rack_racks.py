"""Several rack servers where tests expect one aggregator, joined by impaired links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emulator.ports.batch import TxPortTable
from emulator.ports.spec import Impairments
from hostagent.protocol.reference import ReferenceJob
from hostagent.protocol.services.aggregator import ChildTerms, JobTerms, RackPart, ServiceTerms, Spread
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.hierarchy.embedded_aggregator import Inside
from hostagent.rackserver.hierarchy.routes import Peer, Place
from hostagent.rackserver.services.checkpoint import Snapshot, put
from hostagent.rackserver.services.service_memory import ServiceMemory
from tests.labs.links import Links

PEER_PORT = 100
SLOTS = 64
MEMORY_BYTES = 1 << 28
JITTER_NS = 100
"""Between frames of different racks, so that their order is random."""
HELD_BACK_NS = 1_000_000
"""A reordered frame arrives in the next call of `Racks.receive_all`."""


class Racks:
    """Servers, each with its share of the children; ports are the children's, whichever rack they are of."""

    def __init__(
        self, lanes: int, way: str, racks: int, *, cores: int = 1, rough: float = 0.0, seed: int = 0, slots: int = SLOTS
    ) -> None:
        """``rough``: probability that a frame between racks is lost, and likewise duplicated, reordered, corrupted."""
        self.lanes, self.way = lanes, way
        self._seed, self._now_ns = seed, 0
        self._links = Links(self._impairments(rough))
        self._racks, self._cores, self._slots = racks, cores, slots
        self._insides = [self._start(rack) for rack in range(racks)]
        self._rack_of: dict[int, int] = {}

    def _impairments(self, rough: float) -> Impairments:
        return Impairments(
            loss=rough,
            duplicate=rough,
            reorder=rough,
            corrupt=rough,
            jitter_ns=JITTER_NS,
            reorder_by_ns=HELD_BACK_NS,
            seed=self._seed,
        )

    def _start(self, rack: int, checkpoint: Snapshot | None = None) -> Inside:
        place = Place(rack, tuple(Peer(other, PEER_PORT + other) for other in range(self._racks) if other != rack))

        def restore(name: str, service: ServiceMemory) -> None:
            if checkpoint is not None:
                put(checkpoint, service, Path("memory"))

        def make(table: TxPortTable) -> RackServer:
            return RackServer(
                self.lanes, slots=self._slots, cores=self._cores, ports=table, place=place, restore=restore
            )

        inside = Inside(make)
        for other in place.peers:
            inside.provide(other.port)
        return inside

    @property
    def servers(self) -> list[RackServer]:
        """By rack."""
        return [inside.core for inside in self._insides]  # type: ignore[misc]

    def restart(self, rack: int, checkpoint: Snapshot | None = None) -> None:
        """The server is gone, and another is in its place. Before the next job."""
        self._insides[rack] = self._start(rack, checkpoint)

    def terms(self, number: int, job: ReferenceJob, service: ServiceTerms | None = None) -> list[JobTerms]:
        """By rack; children are dealt in runs."""
        racks, count = len(self.servers), len(job.children)
        shares = [range(rack * count // racks, (rack + 1) * count // racks) for rack in range(racks)]
        parts = tuple(RackPart(rack, sum(1 << bit for bit in share)) for rack, share in enumerate(shares))
        made = []
        for rack, share in enumerate(shares):
            children = []
            for bit in share:
                child = job.children[bit]
                self._rack_of[child.port] = rack
                self._insides[rack].provide(child.port)
                children.append(ChildTerms(bit, bit, child.port, child.mac, child.ip, child.zero_checksum_allowed))
            place = (number, job.epoch, job.base, job.window.bit_length() - 1, 0, self.lanes, tuple(children))
            spread = Spread(self.way, parts)
            made.append(JobTerms(*place, job.switch_mac, job.switch_ip, job.short_allowed, service, spread))
        return made

    def install(self, number: int, job: ReferenceJob, service: str | None = None) -> None:
        """A new job, of a service or one that only sums."""
        about = ServiceTerms(service, workers=64, quota_bytes=MEMORY_BYTES) if service is not None else None
        for server, terms in zip(self.servers, self.terms(number, job, about), strict=True):
            for other in server.installed():
                server.remove(other)
            server.install(terms)

    def receive(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """One frame in; the answers of all racks as (port, frame), when what goes between racks has settled."""
        return self.receive_all([(port, frame)])

    def receive_all(self, frames: Sequence[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """The same for several, a batch for each rack."""
        answers: list[tuple[int, bytes]] = []
        for rack in range(len(self.servers)):
            self._into(rack, [(port, frame) for (port, frame) in frames if self._rack_of[port] == rack], answers)
        self._now_ns += HELD_BACK_NS
        while (due_ns := self._links.next_ns()) <= self._now_ns + JITTER_NS:
            self._now_ns = max(self._now_ns, due_ns)
            to, frame = self._links.receive(self._now_ns)
            rack, sender = divmod(to, self._racks)
            self._into(rack, [(PEER_PORT + sender, frame)], answers)
        return answers

    def _into(self, rack: int, frames: list[tuple[int, bytes]], answers: list[tuple[int, bytes]]) -> None:
        for port, frame in self._insides[rack].process(frames, 0)[0] if frames else ():
            if port >= PEER_PORT:
                self._links.send((port - PEER_PORT) * self._racks + rack, frame, self._now_ns)
            else:
                answers.append((port, frame))
