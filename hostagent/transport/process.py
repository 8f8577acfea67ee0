"""What all process groups of a process share: one session with the controller, one port, one transport thread.

Made with the first group that has more than one rank, ended with the last, or when the interpreter exits: groups that
nobody destroyed leave their jobs in order then.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress

from emulator.ports.cable.stale_shm import clean_stale
from emulator.ports.errors import PortError
from emulator.ports.host import FramePool, host_consumed, host_posted
from emulator.ports.opening import open_host_port
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.transport.engine import Engine
from hostagent.transport.errors import Cause, TransportError
from hostagent.transport.job import JobChannel
from hostagent.transport.session.reach import Unreachable, check_reachable
from hostagent.transport.session.session import SessionClient
from hostagent.transport.session.terms import (
    JobFailed,
    Lease,
    SessionError,
    Terms,
    requested_port,
    requested_priority,
    requested_share,
)
from hostagent.transport.warm import ensure_warm

JOIN_TIMEOUT_S = 30.0


class Transport:
    """The shared part; callbacks of the session go to the job they are about."""

    def __init__(self, controller_address: str) -> None:
        self.controller_address = controller_address
        self.pid = os.getpid()
        self._lock = threading.RLock()
        self._jobs: dict[int, JobChannel] = {}
        self._engine: Engine | None = None
        self._port = ""
        """The port's text, once there is an engine."""
        self._pools: list[tuple[FramePool, int]] = []
        self.share = requested_share()
        """Of queues that mark."""
        self.session = SessionClient(
            controller_address, self, port=requested_port(), share=self.share, priority=requested_priority()
        )

    def join(
        self, name: str, rank: int, size: int, timeout_s: float, service: ServiceTerms | None = None
    ) -> JobChannel:
        """Become a member of a job; does not wait for the others."""
        timeout_join_s = min(timeout_s, JOIN_TIMEOUT_S)
        membership = self.session.join(name, rank, size, timeout_s=timeout_join_s, service=service)
        channel = JobChannel(self, membership, timeout_s)
        with self._lock:
            self._jobs[membership.job] = channel
        return channel

    # --- for JobChannel ---

    def engine_for(self, lease: Lease) -> Engine:
        """The transport thread, started with the first lease; all leases of a process name the same port."""
        with self._lock:
            if self._engine is None:
                clean_stale()  # of ranks that were killed, which this one may have come to replace
                port = open_host_port(lease.port)
                self._engine = Engine(port, lease.heartbeat, lease.token)
                self._port = lease.port
                self._engine.start()
            elif lease.port != self._port:
                raise PortError(
                    f"port {self._port} was taken from this process while it was silent; destroy all process groups "
                    "before you make new ones"
                )
            return self._engine

    @property
    def wake_words(self) -> tuple[int, int, int]:
        """What the compiled functions wake the loop with: port, bell, descriptor."""
        assert self._engine is not None
        port = self._engine.port
        return port.address, port.bell.address, port.bell.writing_end

    @property
    def loop_runs(self) -> bool:
        return self._engine is not None and self._engine.running

    def end_lending(self) -> None:
        """No caller takes turns any more."""
        if self._engine is not None:
            self._engine.end_lending()

    def wake(self) -> None:
        if self._engine is not None:
            self._engine.wake()

    def release_pool(self, pool: FramePool) -> None:
        """Give a detached job's frames back once the switch has read what was posted of them."""
        with self._lock:
            assert self._engine is not None
            port = self._engine.port
            self._pools.append((pool, int(host_posted(port.address))))
            consumed = int(host_consumed(port.address))
            for waiting in [entry for entry in self._pools if entry[1] <= consumed]:
                port.release_pool(waiting[0])
                self._pools.remove(waiting)

    def forget(self, channel: JobChannel) -> None:
        """A job has been left; the last one ends the transport."""
        with self._lock:
            self._jobs.pop(channel.membership.job, None)
        _end_if_unused(self)

    @property
    def unused(self) -> bool:
        return not self._jobs

    def close(self) -> None:
        """End thread, port and session. All jobs must have been closed."""
        self.session.close()
        if self._engine is not None:
            self._engine.stop()

    def fail_jobs(self, what: str) -> None:
        """End all jobs on every rank: this one has done ``what``."""
        for channel in list(self._jobs.values()):
            channel.fail(TransportError(f"rank {channel.membership.rank} {what}", Cause.LOST))

    def close_jobs(self) -> None:
        """Leave all jobs in order, at the same time, for each may linger; those that are being left, too."""
        leaving = [threading.Thread(target=channel.close) for channel in list(self._jobs.values())]
        for thread in leaving:
            thread.start()
        for thread in leaving:
            thread.join()

    # --- SessionCallbacks ---

    def on_freeze(self, job: int) -> int:
        channel = self._jobs.get(job)
        return channel.on_freeze() if channel is not None else 0

    def on_resume(self, job: int, lease: Lease) -> None:
        channel = self._jobs.get(job)
        if channel is not None:
            channel.on_resume(lease)

    def on_failed(self, job: int, failure: JobFailed) -> None:
        channel = self._jobs.get(job)
        if channel is not None:
            channel.on_failed(failure)

    def on_collect(self, job: int) -> dict[str, int]:
        channel = self._jobs.get(job)
        return channel.statistics() if channel is not None else {}

    def on_describe(self, job: int, operation: int) -> str:
        channel = self._jobs.get(job)
        return channel.describe(operation) if channel is not None else ""

    def on_proceed(self, job: int, units: list[tuple[int, tuple[Terms, ...]]]) -> None:
        channel = self._jobs.get(job)
        if channel is not None:
            channel.on_proceed(units)

    def on_peer_left(self, job: int, rank: int, next_chunk: int) -> None:
        channel = self._jobs.get(job)
        if channel is not None:
            channel.on_peer_left(rank, next_chunk)


_guard = threading.RLock()
_transports: dict[str, Transport] = {}


def open_job(
    controller_address: str, name: str, rank: int, size: int, timeout_s: float, service: ServiceTerms | None = None
) -> JobChannel:
    """This rank's end of the job of that name. Raises TransportError where the controller is not there or refuses."""
    with _guard:
        try:
            if controller_address not in _transports:
                check_reachable(controller_address)
            ensure_warm()
            transport = _transports.get(controller_address) or Transport(controller_address)
            _transports[controller_address] = transport
            return transport.join(name, rank, size, timeout_s, service)
        except Unreachable as error:
            raise TransportError(str(error), Cause.LOST) from error
        except SessionError as error:
            with suppress(KeyError):
                _end_if_unused(_transports[controller_address])
            raise TransportError(str(error), error.cause) from error


def _end_if_unused(transport: Transport) -> None:
    with _guard:
        if not transport.unused or _transports.get(transport.controller_address) is not transport:
            return
        del _transports[transport.controller_address]
        transport.close()  # before the next one asks for a port


def _close_all() -> None:
    """At exit: the transport thread must be gone before the memory is. A rank that failed says why at once."""
    error = getattr(sys, "last_value", None)
    for transport in list(_transports.values()):
        if transport.pid == os.getpid():
            if error is not None:
                transport.fail_jobs(f"raised {type(error).__name__}: {error}")
            transport.close_jobs()


def _start_afresh() -> None:
    """In a forked child: the parent's threads are not here, and one of them may have held the lock. The port is still
    the parent's, whatever the child does with the groups that it inherits."""
    global _guard
    _guard = threading.RLock()
    for transport in _transports.values():
        transport.end_lending()
    _transports.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_start_afresh)
