"""Ranks of one process with real transport loops, over in-memory cables to the reference aggregator in plain Python.

What is left out is processes, the controller and the compiled switch: each has its own tests.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.host import HostPort
from emulator.ports.spec import parse_port
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob
from hostagent.transport.engine import Engine
from hostagent.transport.errors import Cause
from hostagent.transport.job import JobChannel
from hostagent.transport.session.terms import JobFailed, Lease, Membership, Mismatch
from hostagent.transport.warm import ensure_warm

LANES = 64
SWITCH_MAC, SWITCH_IP = 0x020000FFFFFF, 0x0A0000FE


@dataclass
class Network:
    """The aggregator's side: one cable per rank, and the thread that serves them."""

    size: int
    window: int = 8
    largest_window: int = 8
    loses: Callable[[int, bytes], bool] = lambda port, frame: False
    """Whether a frame from a port is lost on its way in."""
    aggregator: ReferenceAggregator = field(default_factory=lambda: ReferenceAggregator(LANES))
    epoch: int = 7
    base: int = 0

    def __post_init__(self) -> None:
        self.table = TxPortTable()
        specs = [parse_port(f"{rank + 1}=memory:rank-{rank}") for rank in range(self.size)]
        self.ports = [MemoryPort(spec, self.table) for spec in specs]
        self.channels: list[JobChannel] = []
        self.sessions = [Session(self, rank) for rank in range(self.size)]
        self.transports = [FakeTransport(self, rank) for rank in range(self.size)]
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.install_job()
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def install_job(self) -> None:
        """Program the job's tables."""
        children = tuple(
            ReferenceChild(rank + 1, 0x020000000001 + rank, 0x0A000001 + rank) for rank in range(self.size)
        )
        self.aggregator.jobs[5] = ReferenceJob(self.epoch, self.window, children, self.base)

    def lease(self, rank: int) -> Lease:
        """What the controller would lease to a rank."""
        return Lease(
            job=5,
            child=rank,
            children=self.size,
            epoch=self.epoch,
            base=self.base,
            window=self.window,
            largest_window=self.largest_window,
            lanes=LANES,
            port="",
            port_number=rank + 1,
            host_mac=0x020000000001 + rank,
            host_ip=0x0A000001 + rank,
            switch_mac=SWITCH_MAC,
            switch_ip=SWITCH_IP,
            zero_checksum_allowed=True,
            short_no_data=True,
            heartbeat=("127.0.0.1", 9),
            token=1,
        )

    def _serve(self) -> None:
        batch = FrameBatch(256)
        while not self.stopped.wait(0.0005):
            for port in self.ports:
                batch.clear()
                port.receive_into(batch)
                with self.lock:
                    for number, frame in batch.frames():
                        if not self.loses(number, frame):
                            for target, answer in self.aggregator.receive(number, frame):
                                self.table.append(target, answer)
                port.release()
            for port in self.ports:
                port.flush(0)

    def restart(self) -> None:
        """What the controller does when the switch comes back empty."""
        with self.lock:
            self.aggregator.restart()
        lowest = [channel.on_freeze() for channel in self.channels]
        with self.lock:
            self.epoch, self.base = self.epoch + 1, min(lowest)
            self.install_job()
        for rank, channel in enumerate(self.channels):
            channel.on_resume(self.lease(rank))


@dataclass
class Session:
    """Stands in for SessionClient, for one rank."""

    network: Network
    rank: int
    reports: dict[str, int] = field(default_factory=dict)
    released: threading.Event = field(default_factory=threading.Event)
    """Whether the controller lets the rank go; set but for tests of lingering."""

    def __post_init__(self) -> None:
        self.released.set()

    def lease(self, membership: Membership, timeout_s: float, *, attach: Callable[[Lease], None]) -> Lease:
        with self.network.lock:  # as with the controller, no restart comes between the lease and its use
            lease = self.network.lease(self.rank)
            attach(lease)
        return lease

    def fail(self, job: int, text: str, cause: Cause = Cause.LOST, *, mismatch: Mismatch | None = None) -> None:
        def fail_all() -> None:
            channels, reason = self.network.channels, text
            if mismatch is not None:
                first = channels[mismatch.first_child].describe(mismatch.first_hash)
                second = channels[mismatch.second_child].describe(mismatch.second_hash)
                reason = f"rank {mismatch.first_child} does {first}, rank {mismatch.second_child} does {second}"
            for channel in channels:
                channel.on_failed(JobFailed(reason, cause))

        threading.Thread(target=fail_all).start()

    def report(self, job: int, statistics: dict[str, int]) -> None:
        self.reports = dict(statistics)

    def leave(self, job: int, next_chunk: int) -> bool:
        self.left_at = next_chunk
        return self.released.wait(10.0)


class FakeTransport:
    """Stands in for process.Transport, for one rank."""

    def __init__(self, network: Network, rank: int) -> None:
        self.session, self.share = network.sessions[rank], 1
        self._port: HostPort = network.ports[rank].host
        self.engine: Engine | None = None
        self.forgotten: list[JobChannel] = []

    def engine_for(self, lease: Lease) -> Engine:
        if self.engine is None:
            self.engine = Engine(self._port, None, lease.token)
            self.engine.start()
        return self.engine

    @property
    def wake_words(self) -> tuple[int, int, int]:
        return self._port.address, self._port.bell.address, self._port.bell.writing_end

    @property
    def loop_runs(self) -> bool:
        return self.engine is not None and self.engine.running

    def wake(self) -> None:
        if self.engine is not None:
            self.engine.wake()

    def release_pool(self, pool: Any) -> None:
        pass

    def forget(self, channel: JobChannel) -> None:
        self.forgotten.append(channel)


@contextmanager
def running(made: Network) -> Iterator[Network]:
    """The network while its aggregator runs; then channels are closed and loops stopped."""
    made.thread.start()
    try:
        yield made
    finally:
        for session, channel in zip(made.sessions, made.channels, strict=True):
            session.released.set()
            channel.close()
        made.stopped.set()
        made.thread.join()
        for transport in made.transports:
            if transport.engine is not None:
                transport.engine.stop()


@contextmanager
def network(size: int, timeout_s: float = 20.0, **options: Any):
    """A running Network; ``channels`` are the ranks' ends of one job."""
    ensure_warm(say=False)  # as a process does before it joins; it would count against the first operation's time-out
    made = Network(size, **options)
    made.channels = [
        JobChannel(made.transports[rank], Membership(5, "test", rank, size), timeout_s)  # type: ignore[arg-type]
        for rank in range(size)
    ]
    with running(made):
        yield made


def changed(lease: Lease, **fields: Any) -> Lease:
    """A lease with other fields."""
    return replace(lease, **fields)
