"""The words of a session: what a rank is leased, what can go wrong, and what its heartbeats look like."""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass

from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.protocol.window import LARGEST_PRIORITY, LARGEST_SHARE
from hostagent.transport.errors import Cause

HEARTBEAT = struct.Struct("!8sQQ")
"""One UDP datagram to `Lease.heartbeat`: HEARTBEAT_MAGIC, the lease's token, a counter that grows. Big-endian."""

HEARTBEAT_MAGIC = b"netsumhb"

HEARTBEAT_INTERVAL_NS = 1_000_000_000
LONGEST_SILENCE_NS = 5 * HEARTBEAT_INTERVAL_NS
"""Time without a heartbeat after which the controller takes a rank for dead."""


_UNIQUE_TAIL = re.compile(r"(?<=.)(\.\d+)?\.[0-9a-f]{32}$")


def label_of(group: str) -> str:
    """A group's name without the number and random word that make it unique: nobody wants to read those."""
    return _UNIQUE_TAIL.sub("", group)


class SessionError(Exception):
    """The controller refused something, cannot be reached, or a job has failed. The text is for the user."""

    cause = Cause.LOST
    """The reason as data."""


class SessionRefused(SessionError):
    """The controller refused: a contradictory join, no slots or ports left."""

    cause = Cause.REFUSED


class MissingRanks(SessionError):
    """Not every member joined within the time-out; `ranks` lists who did not."""

    cause = Cause.TIMEOUT

    def __init__(self, message: str, ranks: tuple[int, ...] = ()):
        super().__init__(message)
        self.ranks = ranks


class JobFailed(SessionError):
    """The job has ended; text and cause are the same on every rank."""

    def __init__(self, message: str, cause: Cause = Cause.LOST):
        super().__init__(message, cause)
        self.cause = cause

    def __str__(self) -> str:
        return str(self.args[0])


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
    service: ServiceTerms | None = None
    """The service at a rack server that holds the group's weights; None: the group only sums."""
    share: int = 1
    priority: int = 0
    """For slots; see SHARE_VARIABLE."""


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
    """W: slots leased, a power of two; replaced by each `on_resume`."""
    largest_window: int
    """Upper limit of the window in later epochs; sizes the memory for chunks and the groups of exponents."""
    lanes: int
    port: str
    """How to attach, in the `--port` notation of the host's end: "shm:NAME" or "udp:LOCAL,REMOTE" (LOCAL's port may be
    0). The same for every lease of this process."""
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
    message_checksum: bool = True
    """Messages and acknowledgements carry a UDP checksum, and those without are dropped. The same on every rank."""
    forwards_messages: bool = True
    """The aggregator passes messages on to other ranks; where not, none may be sent."""
    aggregator: str = ""
    """Its name, for error messages."""
    shorter_path_slots: int = 0
    """Of the window's slots the first ones, whose results come by a shorter path than those of the others; 0: all come
    by one. Replaced by each `on_resume`."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What an `error` frame reports: two children contributed different operations to one chunk."""

    first_hash: int
    first_child: int
    second_hash: int
    second_child: int


def pack_heartbeat(token: int, counter: int) -> bytes:
    """The datagram that the transport loop sends every HEARTBEAT_INTERVAL_NS; 24 bytes."""
    return HEARTBEAT.pack(HEARTBEAT_MAGIC, token, counter)


PORTS_VARIABLE = "NETSUM_PORTS"
"""``1,2,3``: ports' numbers by rank, where it matters which rank has which, as where they are of several racks."""


def requested_port() -> int:
    """This rank's (torchrun's RANK) of NETSUM_PORTS; 0 where there is none. Raises SessionError."""
    ports, rank = os.environ.get(PORTS_VARIABLE, ""), os.environ.get("RANK", "0")
    if not ports:
        return 0
    numbers = ports.split(",")
    if not all(number.isdecimal() and int(number) for number in numbers):
        raise SessionError(f"{PORTS_VARIABLE}={ports!r}: expected the port number of each rank, as in 1,2,3")
    if not rank.isdecimal() or int(rank) >= len(numbers):
        raise SessionError(f"{PORTS_VARIABLE}={ports!r} has {len(numbers)} ports, but none for rank {rank}")
    return int(numbers[int(rank)])


SHARE_VARIABLE = "NETSUM_SHARE"
"""Share that this process' jobs have of the aggregator's slots, in proportion to those of other jobs, and of a queue
that marks, as a multiple of a TCP flow's; the same on every rank."""
PRIORITY_VARIABLE = "NETSUM_PRIORITY"
"""Priority of this process' jobs for slots, larger first; the same on every rank."""


def requested_share() -> int:
    """NETSUM_SHARE; 1 where there is none. Raises SessionError."""
    text = os.environ.get(SHARE_VARIABLE) or "1"
    if not text.isdecimal() or not 1 <= int(text) <= LARGEST_SHARE:
        raise SessionError(f"{SHARE_VARIABLE}={text!r}: expected a whole number from 1 to {LARGEST_SHARE}")
    return int(text)


def requested_priority() -> int:
    """NETSUM_PRIORITY; 0 where there is none. Raises SessionError."""
    text = os.environ.get(PRIORITY_VARIABLE) or "0"
    if not text.removeprefix("-").isdecimal() or abs(int(text)) > LARGEST_PRIORITY:
        wanted = f"a whole number from -{LARGEST_PRIORITY} to {LARGEST_PRIORITY}"
        raise SessionError(f"{PRIORITY_VARIABLE}={text!r}: expected {wanted}")
    return int(text)


@dataclass(frozen=True, slots=True)
class Terms:
    """What all ranks must have alike of an operation that may be missed: a sum."""

    collective: str
    dtype: str
    element_bytes: int
    elements: int
    average: bool
    exact: bool
