"""A process' session with its controller: joining groups, leasing slots, surviving restarts, and leaving.

One `SessionClient` per process serves all its process groups. Its single background thread ("netsum-session") owns the
gRPC stream, answers the controller and runs the callbacks; it needs the GIL, so nothing urgent may depend on it: that
the compiled transport loop's heartbeats report instead that this process lives (`pack_heartbeat`, `Lease.heartbeat`).

The life of a group on a rank: `join` (at construction) -> `lease` (at the first operation; returns when all have
joined) -> any number of freeze/resume rounds -> `leave` or `fail`. Training doesn't need the controller between those:
a controller that dies and comes back within `reconnect_timeout_s` is not noticed by any operation.

Every request is kept until it is answered and sent again on each new stream; the controller answers a repeat alike.
"""

from __future__ import annotations

import itertools
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol
from zlib import crc32

from emulator.ports.cable.shared_folder import shared_folder
from hostagent.protocol.services import session_pb2 as pb
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.transport.errors import Cause
from hostagent.transport.session.link import SessionLink
from hostagent.transport.session.records import (
    CAUSES,
    JobRecord,
    announce,
    join_message,
    lease_from,
    proceed_message,
    refusal,
    units_of,
)
from hostagent.transport.session.terms import (
    HEARTBEAT,
    HEARTBEAT_INTERVAL_NS,
    HEARTBEAT_MAGIC,
    ControllerLost,
    JobFailed,
    Lease,
    Membership,
    Mismatch,
    MissingRanks,
    SessionError,
    SessionRefused,
    Terms,
    pack_heartbeat,
)

__all__ = [
    "HEARTBEAT",
    "HEARTBEAT_INTERVAL_NS",
    "HEARTBEAT_MAGIC",
    "ControllerLost",
    "JobFailed",
    "Lease",
    "Membership",
    "Mismatch",
    "MissingRanks",
    "SessionCallbacks",
    "SessionClient",
    "SessionError",
    "SessionRefused",
    "host_identity",
    "pack_heartbeat",
]

ANSWER_MARGIN_S = 5.0
"""How much longer than the controller's own time-out a request waits for the controller to say so."""

RESUMED_TERMS = ("epoch", "base", "window", "shorter_path_slots")
"""What a resumption changes of a lease."""


class SessionCallbacks(Protocol):
    """What the controller asks of a rank, called on the session thread, one at a time. They should return at once."""

    def on_freeze(self, job: int) -> int:
        """Stop sending for the job; returns its lowest unfinished chunk (64 bits). May come again while frozen."""

    def on_resume(self, job: int, lease: Lease) -> None:
        """Send again from chunk `lease.base` (never above what on_freeze returned), under the lease's new terms."""

    def on_failed(self, job: int, failure: JobFailed) -> None:
        """The job has ended; everything in flight or submitted later raises `failure`. Comes once per job."""

    def on_peer_left(self, job: int, rank: int, next_chunk: int) -> None:
        """A rank left in order: chunks from `next_chunk` on can never complete. An error only for operations that
        need them. Comes once per rank."""

    def on_collect(self, job: int) -> Mapping[str, int]:
        """This rank's counters, as it would `report` them at the end; empty: there are none."""

    def on_describe(self, job: int, operation: int) -> str:
        """An operation, send or receive in words, by its hash, for the error of a mismatch; empty: it is not known."""

    def on_proceed(self, job: int, units: list[tuple[int, tuple[Terms, ...]]]) -> None:
        """Another rank wants these operations to go on; what this rank has not submitted of them it is to miss."""


@dataclass(slots=True)
class _Pending:
    """A request without an answer yet."""

    message: pb.ClientMessage
    attach: Callable[[Lease], None] | None = None
    member: Membership | None = None
    """Of a request to join: everything but the job's number."""
    answer: pb.ServerMessage | None = None
    error: SessionError | None = None
    done: threading.Event = field(default_factory=threading.Event)


class SessionClient:
    """The rank's end of `netsum.session.v1`. All methods may be called from any thread; those that wait (join, lease,
    leave) not from a callback."""

    def __init__(
        self,
        controller_address: str,
        callbacks: SessionCallbacks,
        *,
        transports: tuple[str, ...] = ("shm", "udp", "tcp"),
        host: str | None = None,
        reconnect_timeout_s: float = 30.0,
        port: int = 0,
        share: int = 1,
        priority: int = 0,
    ):
        """Starts connecting to HOST:PORT and returns at once.

        `transports`: port kinds this process can attach to, the best first. `host`: identity of this machine (default:
        host_identity()); shm ports are given only where it equals the controller's. `reconnect_timeout_s`: how long
        the controller may be away before every job here fails. `port`: the number of the one to have; 0: any. `share`,
        `priority`: of all groups here for slots.
        """
        self._controller = controller_address
        self._host_name, _, listening = controller_address.rpartition(":")
        if not self._host_name or not listening.isdecimal():
            raise SessionError(f"controller address {controller_address!r}: expected HOST:PORT")
        self._callbacks = callbacks
        self._share, self._priority = share, priority
        self._token = secrets.randbits(64) | 1
        self._hello = pb.Hello(
            process=self._token, host=host or host_identity(), pid=os.getpid(), transports=transports, port=port
        )
        self._requests = itertools.count(1)
        self._lock = threading.Lock()
        self._pending: dict[int, _Pending] = {}
        self._jobs: dict[int, JobRecord] = {}
        self._heartbeat_port = 0
        self._gone: str | None = None
        self._link = SessionLink(controller_address, self, reconnect_timeout_s)
        self._link.start()

    # --- what a rank calls ---

    def join(
        self, group: str, rank: int, size: int, *, timeout_s: float = 30.0, service: ServiceTerms | None = None
    ) -> Membership:
        """Announces this rank as a member; does not wait for the others.

        `group` must be the same text on all members and differ from any other group alive at this controller (for
        instance the group's name plus a random word that rank 0 put into the store). `service`: whose weights the group
        works on, at a rack server.
        Raises SessionRefused where another process holds the rank or gave another size, ControllerLost at the time-out.
        """
        member = Membership(0, group, rank, size, service, self._share, self._priority)
        message = pb.ClientMessage(join=join_message(member))
        answer = self._request(_Pending(message, member=member), timeout_s, f"joining group {group!r}")
        return self._jobs[answer.joined.job].membership

    def lease(
        self, membership: Membership, timeout_s: float = 300.0, *, attach: Callable[[Lease], None] | None = None
    ) -> Lease:
        """The job's lease; blocks until all members have joined. Every rank must ask; a repeat gives the same answer.

        `attach` runs on the session thread when the lease arrives, before any callback about the job: a
        freeze that comes before the caller of `lease` wakes up finds the transport ready for it.
        Raises MissingRanks at the time-out, SessionRefused where slots or ports are exhausted, JobFailed,
        ControllerLost.
        """
        request = pb.LeaseRequest(job=membership.job, timeout_ns=int(timeout_s * 1e9))
        pending = _Pending(pb.ClientMessage(lease=request), attach)
        self._request(pending, timeout_s + ANSWER_MARGIN_S, f"leasing slots for group {membership.group!r}")
        lease = self._jobs[membership.job].lease
        assert lease is not None, "the answer to a lease request is a lease or an error"
        return lease

    def fail(self, job: int, text: str, cause: Cause = Cause.LOST, *, mismatch: Mismatch | None = None) -> None:
        """Reports to the controller that the job has failed; returns at once. Every rank, this one too, gets on_failed.

        With `mismatch` the controller asks both ranks to describe their operations and makes the cause of the answers.
        """
        record = self._jobs.get(job)
        if record is not None and record.failure is None:
            record.failure = record.failure_message(text, cause, mismatch)
            self._link.send(record.failure)

    def proceed(self, job: int, units: Sequence[tuple[int, Sequence[Terms]]]) -> None:
        """Asks the ranks that have not called these operations to take part without data; returns at once."""
        record = self._jobs.get(job)
        if record is not None and record.failure is None:
            self._link.send(pb.ClientMessage(proceed=proceed_message(job, units)))

    def report(self, job: int, statistics: Mapping[str, int]) -> None:
        """Hands in this rank's counters for the controller's Report; later values replace earlier ones. Returns at
        once."""
        record = self._jobs.get(job)
        if record is not None:
            record.statistics = record.statistics_message(statistics)
            self._link.send(record.statistics)

    def leave(self, job: int, next_chunk: int, *, timeout_s: float = 10.0) -> bool:
        """Leaves in order, having contributed to every chunk below `next_chunk`, and lingers until all members have
        left or no longer need this one's contributions (the controller bounds it to 5 s).

        While it blocks the transport must keep answering: callbacks still come. True: released; False: the controller
        could not be reached in time. Never raises for a job that has failed or is unknown.
        """
        if job not in self._jobs:
            return True
        message = pb.ClientMessage(leave=pb.Leave(job=job, next_chunk=next_chunk))
        try:
            self._request(_Pending(message), timeout_s, "leaving")
        except SessionError:
            return False
        finally:
            self._jobs.pop(job, None)
        return True

    def close(self, *, timeout_s: float = 2.0) -> None:
        """Ends the session in order. Jobs that were not left fail on the other ranks, naming this one. Idempotent."""
        self._gone = self._gone or "the session is closed"
        self._link.send(pb.ClientMessage(goodbye=pb.Goodbye()))
        self._link.stop(timeout_s)
        self._give_up(self._gone)

    def _request(self, pending: _Pending, timeout_s: float, doing: str) -> pb.ServerMessage:
        """Sends and waits for the answer, over as many streams as it takes."""
        if self._link.on_own_thread:
            raise RuntimeError(f"{doing}: a session callback must not wait for the controller")
        number = pending.message.request = next(self._requests)
        with self._lock:
            if self._gone is not None:
                raise ControllerLost(f"{doing}: {self._gone}")
            self._pending[number] = pending
        self._link.send(pending.message)
        try:
            if not pending.done.wait(timeout_s):
                where = f"the controller at {self._controller}"
                raise ControllerLost(f"{doing}: no answer from {where} within {timeout_s:g} s")
        finally:
            with self._lock:
                self._pending.pop(number, None)
        if pending.error is not None:
            raise pending.error
        assert pending.answer is not None, "done means an answer or an error"
        return pending.answer

    # --- what the link calls, on the session thread ---

    def opening(self) -> list[pb.ClientMessage]:
        """Everything that the controller must hear on a new stream."""
        records = list(self._jobs.values())
        hello = pb.Hello()
        hello.CopyFrom(self._hello)
        hello.jobs.extend(announce(record) for record in records if not record.over)
        reports = [message for record in records for message in (record.failure, record.statistics) if message]
        with self._lock:
            waiting = [pending.message for pending in self._pending.values()]
        return [pb.ClientMessage(hello=hello), *reports, *waiting]

    def lost(self, why: str) -> None:
        """The controller has been away for too long: every job here ends."""
        self._gone = why
        for record in list(self._jobs.values()):
            self._fail(record, JobFailed(why))
        self._give_up(why)

    def _give_up(self, why: str) -> None:
        with self._lock:
            pending, self._pending = list(self._pending.values()), {}
        for request in pending:
            request.error = request.error or ControllerLost(why)
            request.done.set()

    def received(self, message: pb.ServerMessage) -> None:
        """A message from the controller."""
        match message.WhichOneof("body"):
            case "welcome":
                self._heartbeat_port = message.welcome.heartbeat_port
            case "joined" | "lease" | "refused" | "left":
                self._answered(message)
            case "freeze":
                self._freeze(message.freeze)
            case "resume":
                self._resume(message.resume)
            case "failed":
                record = self._jobs.get(message.failed.job)
                if record is not None:
                    self._fail(record, JobFailed(message.failed.cause, CAUSES[message.failed.ending]))
            case "describe":
                self._describe(message.describe)
            case "peer_left":
                self._peer_left(message.peer_left)
            case "collect":
                if counters := self._callbacks.on_collect(message.collect.job):
                    self.report(message.collect.job, counters)
            case "proceed":
                self._callbacks.on_proceed(message.proceed.job, units_of(message.proceed))

    def _answered(self, message: pb.ServerMessage) -> None:
        with self._lock:
            pending = self._pending.get(message.request)
        if pending is None:
            return
        match message.WhichOneof("body"):
            case "joined":
                assert pending.member is not None, "it asked to join"
                member = replace(pending.member, job=message.joined.job)
                self._jobs.setdefault(member.job, JobRecord(member))
            case "lease":
                pending.error = self._leased(message.lease, pending.attach)
            case "refused":
                pending.error = refusal(message.refused)
        pending.answer = message
        pending.done.set()

    def _leased(self, message: pb.Lease, attach: Callable[[Lease], None] | None) -> SessionError | None:
        """Keeps a lease, and lets the transport attach to it; what went wrong, for the caller of `lease`."""
        record = self._jobs.get(message.job)
        if record is None:
            return SessionError(f"job {message.job} was left before its lease came")
        if record.lease is None:
            heartbeat = (_ip_of(self._host_name), self._heartbeat_port)
            record.announced_lease, record.lease = message, lease_from(message, heartbeat, self._token)
        try:
            if attach is not None:
                attach(record.lease)
        except Exception as error:
            failure = SessionError(f"the lease of job {message.job} arrived, but this rank cannot use it: {error}")
            failure.__cause__ = error
            return failure
        return None

    def _freeze(self, message: pb.Freeze) -> None:
        record = self._jobs.get(message.job)
        if record is None or record.cause is not None:
            return
        lowest = 0  # of a rank without a lease: it has contributed nothing, so nothing is finished anywhere
        if record.lease is not None:
            record.frozen = True
            try:
                lowest = self._callbacks.on_freeze(message.job)
            except Exception as error:
                self.fail(message.job, f"it could not stop for a restart of the aggregator: {error!r}")
                return
        answer = pb.Frozen(job=message.job, round=message.round, lowest_unfinished=lowest)
        self._link.send(pb.ClientMessage(frozen=answer))

    def _resume(self, message: pb.Resume) -> None:
        record = self._jobs.get(message.job)
        if record is None or record.cause is not None:
            return
        if record.lease is not None and record.lease.epoch != message.epoch:
            changes = {name: getattr(message, name) for name in RESUMED_TERMS}
            record.lease = replace(record.lease, **changes)
            assert record.announced_lease is not None, "it has a lease"
            record.announced_lease.MergeFrom(pb.Lease(**changes, first_slot=message.first_slot))
            try:
                self._callbacks.on_resume(message.job, record.lease)
            except Exception as error:
                self.fail(message.job, f"it could not resume after a restart of the aggregator: {error!r}")
                return
        record.frozen = False
        self._link.send(pb.ClientMessage(resumed=pb.Resumed(job=message.job, round=message.round)))

    def _fail(self, record: JobRecord, failure: JobFailed) -> None:
        """Ends a job here, once."""
        if record.cause is None:
            record.cause = str(failure)
            self._callbacks.on_failed(record.membership.job, failure)

    def _describe(self, message: pb.Describe) -> None:
        text = self._callbacks.on_describe(message.job, message.operation)
        answer = pb.Described(job=message.job, operation=message.operation, text=text)
        self._link.send(pb.ClientMessage(described=answer))

    def _peer_left(self, message: pb.PeerLeft) -> None:
        record = self._jobs.get(message.job)
        if record is not None and message.rank not in record.peers_left:
            record.peers_left.add(message.rank)
            self._callbacks.on_peer_left(message.job, message.rank, message.next_chunk)


def host_identity() -> str:
    """Name of this machine, this boot of it and its folder of shared memory (containers on one machine have their own):
    equal where two processes can share memory by name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = str(int(time.time() - time.monotonic()))
    with suppress(OSError):
        folder = shared_folder().stat()
        boot += f" {folder.st_dev} {folder.st_ino}"
    return f"{socket.gethostname()}/{crc32(boot.encode()):08x}"


def _ip_of(host: str) -> str:
    """Numeric, since the transport loop that sends heartbeats can't resolve names; IPv6 only if there is no IPv4."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):
            return str(socket.getaddrinfo(host.strip("[]"), None, family, socket.SOCK_DGRAM)[0][4][0])
    return host
