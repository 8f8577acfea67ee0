"""The interface of an aggregator in this repository: jobs are installed and removed; batches of frames in, frames out.

`Aggregator` is the one interface that the PsPIN switch (`pspin_model.aggregator`) and the rack server
(`hostagent.rackserver.core`) offer; the gRPC service of `aggregator.proto` carries the same calls. The terms are
checked once, in `JobTerms`, so that a core may rely on what its docstring says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from emulator.ports.spec import MAX_PORTS
from hostagent.protocol.counters import Drop, Verdict

if TYPE_CHECKING:  # a controller lives without numpy
    from emulator.ports.batch import FrameBatch, TxPortTable

MOST_CHILDREN = 64
"""Bits in a set's bitmap."""

LANES = (64, 256, 336, 512, 1024, 2048)
"""Lanes of a full frame: those that p4src/allreduce.p4 can be built for, so that a job fits every aggregator.

336 is for an MTU of 1,500 bytes: with IPv4 and UDP around the frame 351 would fit. 336 are whole cache lines of 64
bytes, which are whole vectors on all CPUs; so is a third of them, the run of a limb (PROTOCOL.md, section 8.4)."""

WAYS = ("ring", "sharded", "tree")
"""How racks exchange sums. Chunk c is completed at rack c mod r: partial sums reach it from rack to rack along a ring,
or directly from each rack (sharded). In a tree the first rack completes all chunks, and the others are its leaves."""

MOST_RACKS = 64

VERDICTS = tuple(verdict.name.lower() for verdict in Verdict)
"""Names of the verdicts on a job's frames, in the order of `Verdict`."""

DROPS = tuple(reason.name.lower() for reason in Drop)
"""Names of the reasons why a frame is dropped before it reaches a set, in the order of `Drop`."""


def peer_port(rack: int) -> int:
    """The port of a server that leads to another rack's server: the last MOST_RACKS ports, which children do not
    use."""
    return MAX_PORTS - MOST_RACKS + rack


class RefusalCode(Enum):
    """The cause of a refusal, by who has to act."""

    INVALID = "invalid"
    """The terms contradict themselves or what the aggregator is (lanes, slots, ports)."""
    EXHAUSTED = "exhausted"
    """No room now: slots, jobs, memory. The host may take another aggregator."""
    FORBIDDEN = "forbidden"
    """A wrong nonce, or more workers than the service has."""
    UNKNOWN = "unknown"
    """There is no such job, service or key."""
    STALE = "stale"
    """Addressed to another incarnation, or to a state that no longer exists."""


class AggregatorRefused(Exception):
    """The aggregator refuses the call; nothing has changed. The text states why and what to do."""

    def __init__(self, reason: str, code: RefusalCode = RefusalCode.INVALID) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


@dataclass(frozen=True, slots=True)
class ChildTerms:
    """One contributor: a worker, or a leaf aggregator."""

    child: int
    """Its number in frames, 16 bits."""
    bit: int
    """Its place in a set's bitmap, 0..63, unique in the job."""
    port: int
    mac: int
    ip: int
    """A frame of this child must arrive by this port from these addresses."""
    zero_checksum_allowed: bool = True
    """A UDP checksum of 0 is accepted, and answers to the child carry 0; otherwise both must be computed."""
    stands_for: int = 0
    """Bits that a contribution of it sets: below the root of a tree those of all workers of its leaf, each of which is
    a child with the leaf's port and addresses (PROTOCOL.md, section 12). 0: its own."""

    @property
    def mask(self) -> int:
        """The bits that a contribution of it sets."""
        return self.stands_for or 1 << self.bit


@dataclass(frozen=True, slots=True)
class ParentTerms:
    """The aggregator above a leaf of a tree (PROTOCOL.md, section 12)."""

    port: int
    mac: int
    ip: int
    """A frame of the parent must arrive by this port from these addresses."""
    own_mac: int
    own_ip: int
    """The leaf's addresses towards it."""
    zero_checksum_allowed: bool
    workers: tuple[int, ...]
    """Those that are not below the leaf: their numbers in frames, which are also their places in bitmaps."""

    @property
    def elsewhere(self) -> int:
        """The bits of these workers, of which the leaf does not know whether they have contributed."""
        return sum(1 << worker for worker in self.workers)

    def children(self) -> list[ChildTerms]:
        """These workers as children that are reached through the parent."""
        ends = self.port, self.mac, self.ip, self.zero_checksum_allowed
        return [ChildTerms(worker, worker, *ends) for worker in self.workers]


@dataclass(frozen=True, slots=True)
class ServiceTerms:
    """The terms of a tenant with a rack server; see `aggregator.proto`."""

    name: str
    nonce: bytes = b""
    workers: int = 0
    """Maximum number of workers of its jobs, over all racks; a child may represent several. 0: as declared before, or
    for a new service the number of children of its first job."""
    weight: int = 1
    quota_bytes: int = 0
    """0: none."""
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RackPart:
    """A rack of a job that is spread over several."""

    rack: int
    children: int
    """The bits of the rack's children, disjoint from other racks'. The lowest is the rack's number in frames between
    racks."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How the racks of a job combine their partial sums."""

    way: str
    """One of WAYS."""
    racks: tuple[RackPart, ...]
    """All racks of the job, in the same order on every rack."""

    @property
    def everyone(self) -> int:
        """The bits of all children of all racks."""
        return sum(part.children for part in self.racks)


@dataclass(frozen=True, slots=True)
class JobTerms:
    """Everything an aggregator must know of one job under one epoch.

    Raises AggregatorRefused where the terms are invalid.
    """

    job: int
    epoch: int
    """1..2^32 - 1. Sets of another epoch are empty."""
    base: int
    """Where the epoch starts: an empty set takes base <= c < base + 2 * window only, modulo 2^32."""
    window_log2: int
    first_slot: int
    lanes: int
    children: tuple[ChildTerms, ...]
    aggregator_mac: int
    aggregator_ip: int
    """Where answers come from."""
    no_data_short: bool = True
    service: ServiceTerms | None = None
    """None: the job only sums."""
    spread: Spread | None = None
    """None: all children are here."""
    parent: ParentTerms | None = None
    """None: the sum is the result."""

    def __post_init__(self) -> None:
        wrong = self._problem()
        if wrong:
            raise AggregatorRefused(f"job {self.job}: {wrong}")

    @property
    def window(self) -> int:
        """Slots from `first_slot` on; chunk c has slot first_slot + c mod window, set (c div window) mod 2."""
        return 1 << self.window_log2

    @property
    def full(self) -> int:
        """The bitmap of a complete set."""
        return sum(1 << child.bit for child in self.children)

    @property
    def copies(self) -> int:
        """The bits of those to whom an answer for all is sent: one child of each leaf."""
        first = {child.mask: child.bit for child in sorted(self.children, key=lambda child: -child.bit)}
        return sum(1 << bit for bit in first.values())

    @property
    def workers(self) -> int:
        """Number of children over all racks; a child may represent several workers."""
        return len(self.children) if self.spread is None else self.spread.everyone.bit_count()

    def _problem(self) -> str:
        """What is wrong with the terms by themselves, or ""."""
        limits = {"job": 16, "epoch": 32, "base": 32, "first_slot": 32, "aggregator_mac": 48, "aggregator_ip": 32}
        for name, width_bits in limits.items():
            if not 0 <= getattr(self, name) < 1 << width_bits:
                return f"{name} {getattr(self, name)} doesn't fit in {width_bits} bits"
        if not self.epoch:
            return "epoch 0 is reserved"
        if not 0 <= self.window_log2 <= 16:
            return f"a window of 2^{self.window_log2} slots; use 2^0 to 2^16"
        if self.lanes not in LANES:
            return f"{self.lanes} lanes per frame; use one of {', '.join(map(str, LANES))}"
        if not 1 <= len(self.children) <= MOST_CHILDREN:
            return f"{len(self.children)} children; use 1 to {MOST_CHILDREN}"
        return self._problem_of_children() or self._problem_of_parent() or self._problem_of_racks()

    def _problem_of_children(self) -> str:
        for what in ("child", "bit"):
            if len({getattr(child, what) for child in self.children}) != len(self.children):
                return f"two children have the same {what} number"
        for child in self.children:
            if not 0 <= child.bit < MOST_CHILDREN or not 0 <= child.child < 1 << 16:
                return f"child {child.child}, bit {child.bit}: use 16 bits, and a bit from 0 to {MOST_CHILDREN - 1}"
            if not 0 <= child.port < MAX_PORTS or not 0 <= child.mac < 1 << 48 or not 0 <= child.ip < 1 << 32:
                return f"child {child.child}: port {child.port}, MAC {child.mac:#x} or IP {child.ip:#x} can't be"
        return self._problem_of_leaves()

    def _problem_of_leaves(self) -> str:
        """A leaf's children stand for each other, and are reached by one cable."""
        for child in self.children:
            leaf = [other for other in self.children if child.mask >> other.bit & 1]
            cables = {(other.mask, other.port, other.mac, other.ip, other.zero_checksum_allowed) for other in leaf}
            if child not in leaf or len(cables) != 1 or child.mask != sum(1 << other.bit for other in leaf):
                return f"child {child.child} stands for the bits {child.mask:#x}, which are not those of one leaf"
        return ""

    def _problem_of_parent(self) -> str:
        if self.parent is None:
            return ""
        workers = self.parent.workers
        if not workers:
            return "all workers are below this leaf, and what leads to its parent is known by those that are not"
        if len(set(workers)) < len(workers) or not all(0 <= each < MOST_CHILDREN for each in workers):
            return f"workers {workers} behind the parent: use different numbers from 0 to {MOST_CHILDREN - 1}"
        if self.parent.elsewhere & self.full or any(child.child in workers for child in self.children):
            return f"workers {workers} behind the parent: a child here has one of these numbers or bits"
        if not 0 <= self.parent.port < MAX_PORTS or any(child.port == self.parent.port for child in self.children):
            return f"the parent's port {self.parent.port} can't be, or is a child's"
        if self.service is not None or self.spread is not None:
            return "a leaf has neither a service nor other racks"
        return ""

    def _problem_of_racks(self) -> str:
        if self.spread is None:
            return ""
        racks, seen = self.spread.racks, 0
        if self.spread.way not in WAYS or len(racks) < 2 or len({part.rack for part in racks}) != len(racks):
            return f"spread over {len(racks)} racks by {self.spread.way!r}: use 2 or more, by {', '.join(WAYS)}"
        for part in racks:
            if not 0 < part.children < 1 << MOST_CHILDREN or part.children & seen:
                return f"rack {part.rack}: bits {part.children:#x} are none, or another rack's"
            seen |= part.children
        if all(part.children != self.full for part in racks):
            return f"no rack has the bits {self.full:#x} that the children here have"
        return ""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What an aggregator can hold."""

    slots: int
    """Slots, of two sets each, for all jobs together; numbered from 0."""
    lanes: int
    """Lanes of a full frame."""
    jobs: int
    """Maximum number of jobs at a time."""
    forwards_messages: bool = False
    """Frames of `wire.FORWARDED_KINDS` go on to the child that they name. False: they are dropped, and ranks that would
    send one get an error that this aggregator does not forward them."""
    serves_parents: bool = False
    """A job may have a parent (`JobTerms.parent`). False: the aggregator is the root of a tree, or the only one; jobs
    with a parent are refused before they reach the core."""


@dataclass(frozen=True, slots=True)
class JobCounters:
    """Verdicts on a job's frames since it was first installed, over its epochs. Zeros may be omitted.

    Names are those of VERDICTS: `accepted` or `accepted_no_data` for a first copy, and in addition `completed` for the
    last one, as in the P4 program. Bytes are those of whole frames, without FCS.
    """

    frames: Mapping[str, int] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)
    children: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """Frames by child number and verdict."""


@runtime_checkable
class Aggregator(Protocol):
    """A core: no socket, thread or clock. The caller serializes all calls.

    Answers go to the rings of `ports`, by the child's port; a port without a ring drops them.
    """

    @property
    def kind(self) -> str:
        """Name in messages: "pspin", "server"."""

    @property
    def capacity(self) -> Capacity:
        """Constant."""

    @property
    def ports(self) -> TxPortTable:
        """The table passed to the constructor."""

    def install(self, terms: JobTerms) -> None:
        """Install a job, or replace its terms. A new epoch clears its sets; counters continue. Raises AggregatorRefused
        and then has changed nothing. Its slots must not overlap with another job's."""

    def remove(self, job: int) -> None:
        """Remove a job and its counters; an unknown job is not an error."""

    def installed(self) -> Mapping[int, int]:
        """Job -> epoch of the installed jobs."""

    def counters(self, job: int) -> JobCounters:
        """Raises AggregatorRefused(UNKNOWN)."""

    def drops(self) -> Mapping[str, int]:
        """Frames that reached no set and no other child, by the names of DROPS."""

    def statistics(self) -> dict[str, object]:
        """Statistics for reports, as JSON values: cycles, cores, memory. An optional "summary" is a list of lines that
        `netsum run` prints at its end."""

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        """Process all frames of the batch, which may be empty, in order; returns the time of the next call at the
        latest if no frame arrives, or None. Frames are borrowed until the call returns, and not written to."""


@runtime_checkable
class CompiledAggregator(Aggregator, Protocol):
    """A core with `process` as machine code as well, which the live loop calls without the GIL."""

    @property
    def program_address(self) -> int:
        """Address of ``int64 process(void *context, uint64 *address, uint32 *length, uint32 *port, int64 count, int64
        now)``, which returns what `process` does, or -1 for None."""

    @property
    def context_address(self) -> int:
        """First argument of the machine code."""

    @property
    def allowances_address(self) -> int:
        """Address of an int32 for each port number: the most frames that the loop takes from the port in a turn."""
