"""A process' session with its controller: joining groups, leasing slots, surviving restarts, and leaving.

One `SessionClient` per process serves all its process groups. Its single background thread ("netsum-session") owns the
gRPC stream, answers the controller and runs the callbacks; it needs the GIL, so nothing urgent may depend on it: that
this process lives is told by the compiled transport loop's heartbeats instead (`pack_heartbeat`, `Lease.heartbeat`).

The life of a group on a rank: `join` (at construction) -> `lease` (at the first operation; returns when all members have
joined) -> any number of freeze/resume rounds -> `leave` or `fail`. Training does not need the controller between those:
a controller that dies and comes back within `reconnect_timeout_s` is not noticed by any operation.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

HEARTBEAT = struct.Struct("!8sQQ")
"""One UDP datagram to `Lease.heartbeat`: HEARTBEAT_MAGIC, the lease's token, a counter that grows. Big-endian."""

HEARTBEAT_MAGIC = b"netsumhb"

HEARTBEAT_INTERVAL_NS = 500_000_000
"""Ten times in the 5 s of silence after which the controller takes a rank for dead."""


class SessionError(Exception):
    """The controller refused something, cannot be reached, or a job has failed. The text is for the user."""


class SessionRefused(SessionError):
    """The controller refused: a contradictory join, no slots or ports left."""


class MissingRanks(SessionError):
    """Not every member joined within the time-out; `ranks` lists who did not."""

    def __init__(self, message: str, ranks: tuple[int, ...] = ()):
        super().__init__(message)
        self.ranks = ranks


class JobFailed(SessionError):
    """The job has ended; the text is the cause every rank is told."""


class ControllerLost(SessionError):
    """No controller answered within the time allowed."""


@dataclass(frozen=True, slots=True)
class Membership:
    """This process' place in one group."""

    job: int
    """1..65535; never reused while any member of the earlier job remains."""
    group: str
    rank: int
    size: int


@dataclass(frozen=True, slots=True)
class Lease:
    """What a rank needs to speak the aggregation protocol for one job."""

    job: int
    child: int
    """Equal to the rank within the group, so a missing child's number names the missing rank."""
    children: int
    epoch: int
    """32 bits, never 0; replaced by each `on_resume`."""
    base: int
    """First chunk of the epoch, counted in 64 bits; 0 in a new job."""
    window: int
    """W: slots leased, a power of two."""
    lanes: int
    port: str
    """How to attach, in the `--port` notation of the host's end: "shm:NAME" or "udp:LOCAL,REMOTE" (LOCAL may be HOST:0).
    The same for every lease of this process."""
    port_number: int
    """The switch's number of that port; also stable over the process' life."""
    host_mac: int
    """48 bits: the Ethernet source of this child's frames."""
    host_ip: int
    """32 bits: their IPv4 source."""
    switch_mac: int
    switch_ip: int
    zero_checksum_allowed: bool
    """The switch accepts UDP checksum 0 ("not computed") from this child, and sends it so."""
    short_no_data: bool
    """no_data frames may end after the header."""
    heartbeat: tuple[str, int]
    """UDP address for this process' heartbeats. The same for all leases, and after a restart of the controller."""
    token: int
    """64 bits: names the process in its heartbeats. Silence is counted from the first heartbeat that arrives."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What an `error` frame tells: two children contributed different operations to one chunk."""

    first_hash: int
    first_child: int
    second_hash: int
    second_child: int


class SessionCallbacks(Protocol):
    """What the controller asks of a rank, called on the session thread, one at a time. They should return at once."""

    def on_freeze(self, job: int) -> int:
        """Stop sending for the job; returns its lowest unfinished chunk (64 bits). May come again while frozen."""

    def on_resume(self, job: int, epoch: int, base: int) -> None:
        """Send again from chunk `base` (never above what on_freeze returned) under the new epoch."""

    def on_failed(self, job: int, cause: str) -> None:
        """The job has ended; everything in flight or submitted later raises `cause`. Comes once per job."""

    def on_peer_left(self, job: int, rank: int, next_chunk: int) -> None:
        """A rank left in order: chunks from `next_chunk` on can never complete. Raise only for operations that need them."""


class SessionClient:
    """The rank's end of `netsum.session.v1`. All methods may be called from any thread except the session thread."""

    def __init__(
        self,
        controller_address: str,
        callbacks: SessionCallbacks,
        *,
        transports: tuple[str, ...] = ("shm", "udp"),
        host: str | None = None,
        reconnect_timeout_s: float = 30.0,
    ):
        """Starts connecting to HOST:PORT and returns at once.

        `transports`: port kinds this process can attach to. `host`: identity of this machine (default: derived from
        its name and boot); shm ports are given only where it equals the controller's. `reconnect_timeout_s`: how long
        the controller may be away before every job here fails with a ControllerLost cause.
        """
        raise NotImplementedError

    def join(self, group: str, rank: int, size: int, *, timeout_s: float = 30.0) -> Membership:
        """Announces this rank as a member; does not wait for the others.

        `group` must be the same text on all members and differ from any other group alive at this controller (for
        instance the group's name plus a random word that rank 0 put into the store).
        Raises SessionRefused where another process holds the rank or gave another size, ControllerLost at the time-out.
        """
        raise NotImplementedError

    def lease(self, membership: Membership, timeout_s: float = 300.0) -> Lease:
        """The job's lease; blocks until all members have joined. Every rank must ask; a repeat gives the same answer.

        Raises MissingRanks at the time-out, SessionRefused where slots or ports are exhausted, JobFailed, ControllerLost.
        """
        raise NotImplementedError

    def describe(self, job: int, operation_hash: int, text: str | Callable[[], str]) -> None:
        """Remembers what an operation is, for the error of a mismatch. Local and cheap; keeps the latest 4,096 per job."""
        raise NotImplementedError

    def fail(self, job: int, cause: str, *, mismatch: Mismatch | None = None) -> None:
        """Tells the controller that the job has failed; returns at once. Every rank, this one too, gets on_failed.

        With `mismatch` the controller asks both ranks to describe their operations and makes the cause from the answers.
        """
        raise NotImplementedError

    def report(self, job: int, statistics: Mapping[str, int]) -> None:
        """Hands in this rank's counters for the controller's Report; later values replace earlier ones. Returns at once."""
        raise NotImplementedError

    def leave(self, job: int, next_chunk: int, *, timeout_s: float = 10.0) -> bool:
        """Leaves in order, having contributed to every chunk below `next_chunk`, and lingers until all members have left
        or no longer need this one's contributions (the controller bounds it to 5 s).

        While it blocks the transport must keep answering: callbacks still come. True: released; False: the controller
        could not be reached in time. Never raises for a job that has failed or is unknown.
        """
        raise NotImplementedError

    def close(self, *, timeout_s: float = 2.0) -> None:
        """Ends the session in order. Jobs that were not left fail on the other ranks, naming this one. Idempotent."""
        raise NotImplementedError


def pack_heartbeat(token: int, counter: int) -> bytes:
    """The datagram that the transport loop sends every HEARTBEAT_INTERVAL_NS; 24 bytes."""
    return HEARTBEAT.pack(HEARTBEAT_MAGIC, token, counter)
