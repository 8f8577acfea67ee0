"""The rack server where tests expect a reference server: jobs as they are described there, one frame at a time."""

from __future__ import annotations

from emulator.ports.batch import FrameBatch
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.port import port_refresh
from emulator.ports.spec import parse_port
from hostagent.protocol.reference import ReferenceJob
from hostagent.protocol.services.aggregator import ChildTerms, JobTerms, ServiceTerms
from hostagent.rackserver.core import RackServer

MEMORY_BYTES = 1 << 30


def terms_of(number: int, job: ReferenceJob, lanes: int, service: ServiceTerms | None = None) -> JobTerms:
    """A reference's job in an aggregator's terms; bits by child number."""
    children = tuple(
        ChildTerms(bit, bit, child.port, child.mac, child.ip, child.zero_checksum_allowed)
        for bit, child in enumerate(job.children)
    )
    place = (number, job.epoch, job.base, job.window.bit_length() - 1, 0, lanes, children)
    return JobTerms(*place, job.switch_mac, job.switch_ip, job.short_allowed, service)


class RackAggregator:
    """A server with memory ports 0 to ``ports - 1``."""

    def __init__(self, lanes: int, *, cores: int = 1, ports: int = 4, slots: int = 1024) -> None:
        self.server = RackServer(lanes, slots=slots, cores=cores)
        self._ports = [MemoryPort(parse_port(f"{port}=memory:lab"), self.server.ports) for port in range(ports)]
        self._batch = FrameBatch(256)

    def install(self, number: int, job: ReferenceJob, service: str) -> None:
        """A new job of a service; an interrupted step of an earlier one is undone."""
        for other in self.server.installed():
            self.server.remove(other)
        quota = ServiceTerms(service, workers=64, quota_bytes=MEMORY_BYTES)
        self.server.install(terms_of(number, job, self.server.capacity.lanes, quota))

    def receive(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """One frame in, its answers out as (port, frame)."""
        return self.receive_all([(port, frame)])

    def receive_all(self, frames: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """A batch of (port, frame) in, its answers out."""
        self._batch.clear()
        for at, frame in frames:
            self._batch.append(frame, at)
        for port in self._ports:
            port_refresh(port.address)
        self.server.process(self._batch, 0)
        return self.answers()

    def answers(self) -> list[tuple[int, bytes]]:
        """What has been put into the ports."""
        answers = []
        for number, port in enumerate(self._ports):
            port.flush()
            answers += [(number, frame) for frame in port.received()]
        return answers
