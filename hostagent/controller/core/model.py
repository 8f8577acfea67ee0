"""What the controller's core knows: processes, jobs and their members. Plain data; the other modules have the rules.

Times are nanoseconds of whatever monotonic clock the shell passes in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from hostagent.controller.core.effects import Effect, Log, Send
from hostagent.controller.core.lifecycle import HAS_LEASE, JobEvent, JobState, next_state
from hostagent.controller.core.ports import PortBook
from hostagent.controller.core.slots import LARGEST_WINDOW, Run, SlotAllocator
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.protocol.services.session_pb2 import Failed, ServerMessage
from hostagent.protocol.window import MOST_RANKS
from hostagent.transport.session.terms import LONGEST_SILENCE_NS, label_of

SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the controller waits for what. All bounded; the sum keeps "a dead rank is named within 10 s"."""

    silence_ns: int = LONGEST_SILENCE_NS
    """Time without a heartbeat after which a rank is dead, once it has sent one."""
    detached_ns: int = 2 * SECOND_NS
    """Time after a broken stream or the last heartbeat, the later of the two: a client that lives reconnects in 1 s."""
    detached_at_most_ns: int = 30 * SECOND_NS
    """Longest time without a stream, though heartbeats go on."""
    recovery_ns: int = 10 * SECOND_NS
    """Replaces detached_ns after a start from a state file: a rank may hold the GIL for 8 s meanwhile."""
    answer_ns: int = 30 * SECOND_NS
    """Time for a rank to freeze or to resume: its session thread needs the GIL."""
    aggregator_ns: int = 60 * SECOND_NS
    """Time for an aggregator that went away to come back."""
    server_ns: int = 5 * SECOND_NS
    """The same for a rack server with a job's weights: that job is over anyway if the server has died."""
    linger_ns: int = 5 * SECOND_NS
    """Time for which a rank that leaves is kept, should the others need its contributions again."""
    vacant_ns: int = 600 * SECOND_NS
    """Time for which a job is kept that all who have joined have left again, for the ranks that are to come yet."""
    describe_ns: int = 3 * SECOND_NS
    """Time for two ranks to describe the operations they disagree about."""
    own_stall_ns: int = 1 * SECOND_NS
    """A timer later than this means that the controller itself stood still: silence in that time proves nothing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator decided."""

    host: str
    """Identity of the controller's machine, which is the aggregator's: shm ports are for processes on it."""
    max_window: int = LARGEST_WINDOW
    short_no_data: bool = True
    most_ranks: int = MOST_RANKS
    """Of a job."""
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the aggregator's program was built for."""

    slots: int
    lanes: int
    rows: int
    """Jobs at a time: rows of counters."""
    forwards_messages: bool = False
    """Messages of one rank for another go through the aggregator."""
    message_checksum: bool = False
    """Messages need UDP checksums whatever the ranks' ports: they may cross a cable between racks."""
    switch_slots: int | None = None
    """Slots at a switch in front of the one that ``slots`` is of, its overflow server; None: there is no switch."""
    aggregator: str = ""
    """Its name, for people."""


class Presence(Enum):
    """A member's place in its job."""

    JOINED = "joined"
    LEAVING = "leaving"
    """Has contributed to all it ever will, and lingers."""
    LEFT = "left"
    DEAD = "dead"


@dataclass(slots=True)
class Process:
    """One process with a session, or with one that just broke."""

    token: int
    host: str
    pid: int
    transports: tuple[str, ...]
    connection: int | None
    port: int = 0
    """The number of the port that it is to have; 0: any."""
    detached_ns: int | None = None
    """Since when there is no stream."""
    grace_ns: int = 0
    """For how long that is forgiven."""
    heard_ns: int | None = None
    """The latest heartbeat; None before the first of the current leases."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@dataclass(slots=True)
class Member:
    """One rank of one job."""

    rank: int
    process: int
    name: str
    """The process for people, also when it has gone."""
    presence: Presence = Presence.JOINED
    next_chunk: int = 0
    leaving_ns: int = 0
    leave_request: int = 0
    statistics: dict[str, int] = field(default_factory=dict)
    statistics_ns: int = 0
    """When they came; 0: never."""

    @property
    def takes_part(self) -> bool:
        """Has to answer in a restart: its contributions may be needed again."""
        return self.presence in (Presence.JOINED, Presence.LEAVING)


@dataclass(slots=True)
class Waiter:
    """A rank that asked for the lease and has no answer yet."""

    request: int
    deadline_ns: int


@dataclass(slots=True)
class Round:
    """One attempt to carry a job over the loss of the aggregator's state."""

    number: int = 0
    frozen: dict[int, int] = field(default_factory=dict)
    """Rank -> lowest unfinished chunk."""
    resumed: set[int] = field(default_factory=set)
    deadline_ns: int = 0


@dataclass(slots=True)
class Investigation:
    """A mismatch; its two operations have been queried. Keys: (rank, operation hash)."""

    deadline_ns: int
    descriptions: dict[tuple[int, int], str | None]


@dataclass(slots=True)
class Job:
    """One process group at one aggregator."""

    job: int
    group: str
    size: int
    state: JobState = JobState.GATHERING
    members: dict[int, Member] = field(default_factory=dict)
    waiters: dict[int, Waiter] = field(default_factory=dict)
    row: int = -1
    first_slot: int = -1
    window: int = 0
    switch_run: Run | None = None
    """With an overflow server: what the job has at the switch since the latest installation. ``first_slot`` is the
    server's then."""
    old_run: Run | None = None
    """What it had before of the slots that jobs share (`shares`); leased until the aggregator has the job under the
    current epoch."""
    largest_window: int = 0
    """The most that ``window`` may ever be; ranks have memory for that many."""
    share: int = 1
    priority: int = 0
    """Larger is first."""
    epoch: int = 0
    base: int = 0
    restarts: int = 0
    cause: str = ""
    ending: Failed.Ending = Failed.LOST
    """For a failed job: what its ranks can do about it."""
    exhausted: bool = False
    round: Round = field(default_factory=Round)
    investigation: Investigation | None = None
    install_deadline_ns: int = 0
    delivery_problem: str = ""
    """Why its frames are lost, where the aggregator's driver knows; added to the failures that its ranks report."""
    service: ServiceTerms | None = None
    """The service of a job that works on a rack server's weights. Such a job isn't resumed after a restart: its step
    has been undone."""

    def __str__(self) -> str:
        return f"job {self.job} ({self.label!r}, {self.size} ranks)"

    @property
    def label(self) -> str:
        """The group for people."""
        return label_of(self.group)

    def advance(self, event: JobEvent) -> None:
        """Moves as the table says."""
        self.state = next_state(self.state, event)

    @property
    def has_slots(self) -> bool:
        """Whether slots are leased for it: a failed job has given them back, but not those of a server that has its
        weights."""
        return self.window > 0 and (self.state is not JobState.FAILED or self.service is not None)

    @property
    def awaits_slots(self) -> bool:
        """Whether nothing else is missing."""
        return self.state is JobState.GATHERING and bool(self.waiters) and not self.missing_ranks

    @property
    def missing_ranks(self) -> tuple[int, ...]:
        """Who has not joined."""
        return tuple(rank for rank in range(self.size) if rank not in self.members)

    @property
    def is_vacant(self) -> bool:
        """Whether all who have joined have left in order, and others are to come yet. Not where a server has the job's
        weights, whose users choose its name: they come back under it."""
        left = all(member.presence is Presence.LEFT for member in self.members.values())
        return left and self.state is JobState.GATHERING and bool(self.missing_ranks) and self.service is None

    @property
    def participants(self) -> list[Member]:
        """Who takes part in a restart."""
        return [member for member in self.members.values() if member.takes_part]


@dataclass(slots=True)
class World:
    """All of it. The modules' functions take a World first, change it and append to `effects`."""

    settings: Settings
    ports: PortBook
    slots: SlotAllocator
    switch_slots: SlotAllocator
    """Those of a switch with an overflow server, which ``slots`` are of then; else there are none."""
    now_ns: int
    next_epoch: int
    next_job: int = 1
    capacity: Capacity | None = None
    ready: bool = False
    """The aggregator is reachable."""
    problem: str = "not connected yet"
    silence: str = ""
    """Which aggregators have not answered for a while, though nothing is broken."""
    lost_ns: int = 0
    """Since when it isn't ready."""
    started_ns: int = 0
    rebuilding_until_ns: int = 0
    """Until then ranks may come with jobs, and their slots, that are unknown here: what is free may be somebody's."""
    processes: dict[int, Process] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    ended: list[Job] = field(default_factory=list)
    """The latest that are over, for the report."""
    effects: list[Effect] = field(default_factory=list)

    def send(self, process: int, message: ServerMessage) -> None:
        """Send to a process that may be disconnected: it is sent the current state when it reconnects."""
        known = self.processes.get(process)
        if known is not None and known.connection is not None:
            self.effects.append(Send(known.connection, message))

    def send_all(self, members: Iterable[Member], message: ServerMessage) -> None:
        """Send to several members of a job."""
        for member in members:
            self.send(member.process, message)

    def log(self, text: str) -> None:
        """A line for the operator."""
        self.effects.append(Log(text))

    def take_epoch(self) -> int:
        """A number no job of this aggregator ever had; never 0. The caller saves before it is used."""
        epoch = self.next_epoch
        self.next_epoch = epoch % 0xFFFF_FFFF + 1
        return epoch

    def is_active(self, process: int) -> bool:
        """Its transport loop has a reason to run, so heartbeats may be expected: a leased job that it has not left."""
        return any(
            (job.state in HAS_LEASE or (job.state is JobState.FAILED and job.window)) and member.takes_part
            for job, member in self.jobs_of(process)
        )

    def jobs_of(self, process: int) -> list[tuple[Job, Member]]:
        """Memberships of a process."""
        return [(job, m) for job in self.jobs.values() for m in job.members.values() if m.process == process]
