"""Worker cores around a reference aggregator, in virtual time, on links with a rate and machines that fall behind.

`tests.labs.protocol` tests that sums are right; this lab measures spurious retransmissions and the time that an
operation takes.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass

import numpy as np

from emulator.ports.spec import Impairments
from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Addresses
from hostagent.protocol.operation import OperationKind, Span
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob
from hostagent.protocol.worker import CoreSettings
from tests.labs.links import NEVER_NS, Links
from tests.labs.worker_core import WorkerCore, operation_of

JOB, LANES = 7, 16
FRAME_BYTES = 1132
"""A frame of 256 lanes over UDP: what a link is busy with, whatever the lab's frames are: they are padded to it."""
FRAME_BITS = 8 * FRAME_BYTES
LENGTH_BYTES = 2
"""At the end of a padded frame: what it was before."""
QUEUE_FRAMES = 1000


@dataclass(frozen=True, slots=True)
class Conditions:
    """A run. Probabilities are per frame; a rate of 0 is unlimited."""

    ranks: int = 4
    window: int = 256
    chunks: int = 1024
    operations: int = 1
    rate_mbit: int = 0
    delay_ns: int = 100_000
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    stall_ns: int = 0
    """How long a process, rank or aggregator, is away each time; 0: never."""
    stall_every_ns: int = 30_000_000
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What it took."""

    elapsed_ns: int
    repeats: float
    """For each chunk of each rank."""


def impairments_of(conditions: Conditions) -> Impairments:
    """Of each direction of each rank's cable."""
    return Impairments(
        rate_bps=conditions.rate_mbit * 1_000_000,
        delay_ns=conditions.delay_ns,
        loss=conditions.loss,
        duplicate=conditions.duplicate,
        reorder=conditions.reorder,
        reorder_by_ns=10 * conditions.delay_ns,
        seed=conditions.seed,
        queue_frames=QUEUE_FRAMES,
    )


class PacedLab:
    """All parts of a run. ``conditions`` may be changed between two plays."""

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self.now_ns = 0
        self._rng = random.Random(conditions.seed)
        children = tuple(
            ReferenceChild(rank, 0x020000000001 + rank, 0x0A000001 + rank, True, False)
            for rank in range(conditions.ranks)
        )
        job = ReferenceJob(1, conditions.window, children, 0)
        self._aggregator = ReferenceAggregator(LANES, {JOB: job})
        self.cores = []
        for rank, child in enumerate(children):
            addresses = Addresses(child.mac, job.switch_mac, child.ip, job.switch_ip)
            settings = CoreSettings(JOB, rank, conditions.ranks, 1, LANES, conditions.window, addresses, checksum=False)
            self.cores.append(WorkerCore(settings))
        self._links = Links(impairments_of(conditions))
        self._asleep: list[tuple[int, int, int, bytes]] = []
        """Frames for receivers that do not run: until when, in which order they came, receiver and frame."""
        self._order = 0
        self._next_stall_ns = [self._draw_stall(0) for _ in range(conditions.ranks + 1)]
        self._finished = [0] * conditions.ranks
        self._repeats = 0

    def play(self) -> Outcome:
        """Float sums of ones, one after another. Raises AssertionError for a wrong sum or a hang."""
        conditions, start_ns = self.conditions, self.now_ns
        self._links.change(impairments_of(conditions))
        for _ in range(conditions.operations):
            expected = max(self._finished) + 1
            tensors = [np.full(conditions.chunks * LANES, 1.0, np.float32) for _ in self.cores]
            span = (0, conditions.chunks * LANES)
            for rank, (core, tensor) in enumerate(zip(self.cores, tensors, strict=True)):
                ends = Span(tensor.ctypes.data, *span)
                core.submit(operation_of(OperationKind.SUM, DType.FLOAT32, tensor.size, ends, ends, False))
                self._pump(rank)
            while min(self._finished) < expected:
                self._step()
            assert all((tensor == conditions.ranks).all() for tensor in tensors)
        repeats, self._repeats = self._repeats, sum(core.statistics()["retransmissions_sent"] for core in self.cores)
        chunks = conditions.ranks * conditions.operations * conditions.chunks
        return Outcome(self.now_ns - start_ns, (self._repeats - repeats) / chunks)

    def _step(self) -> None:
        """On to the next arrival or timer."""
        timers_ns = [self._awake_ns(rank, core.next_timer()) for rank, core in enumerate(self.cores)]
        arrival_ns = self._links.next_ns()
        woken_ns = self._asleep[0][0] if self._asleep else NEVER_NS
        next_ns = min(arrival_ns, woken_ns, *timers_ns)
        assert next_ns < NEVER_NS, "nothing is under way and no timer runs: it hangs"
        self.now_ns = max(self.now_ns, next_ns)
        if woken_ns <= self.now_ns:
            self._arrive(*heapq.heappop(self._asleep)[1:])
        elif arrival_ns <= self.now_ns:
            to, padded = self._links.receive(self.now_ns)
            self._order += 1
            self._arrive(self._order, to, padded[: int.from_bytes(padded[-LENGTH_BYTES:], "big")])
        for rank, timer_ns in enumerate(timers_ns):
            if timer_ns <= self.now_ns:
                self._pump(rank)

    def _arrive(self, order: int, to: int, frame: bytes) -> None:
        awake_ns = self._awake_ns(to if to >= 0 else self.conditions.ranks, self.now_ns)
        if awake_ns > self.now_ns:
            heapq.heappush(self._asleep, (awake_ns, order, to, frame))
        elif to >= 0:
            self.cores[to].receive(frame, self.now_ns)
            self._pump(to)
        else:
            for port, answer in self._aggregator.receive(-1 - to, frame):
                self._send(port, answer)

    def _pump(self, rank: int) -> None:
        for frame in self.cores[rank].transmit(self.now_ns):
            self._send(-1 - rank, frame)
        self._finished[rank] += len(self.cores[rank].completions())

    def _send(self, to: int, frame: bytes) -> None:
        """To a rank, or to the aggregator (-1 - sender)."""
        padding = bytes(FRAME_BYTES - LENGTH_BYTES - len(frame))
        self._links.send(to, frame + padding + len(frame).to_bytes(LENGTH_BYTES, "big"), self.now_ns)

    def _draw_stall(self, from_ns: int) -> int:
        conditions = self.conditions
        return from_ns + int(self._rng.expovariate(1 / conditions.stall_every_ns)) if conditions.stall_ns else NEVER_NS

    def _awake_ns(self, process: int, when_ns: int) -> int:
        """When a process that wants to run at ``when_ns`` does."""
        when_ns = max(when_ns, self.now_ns)
        while self._next_stall_ns[process] <= self.now_ns:
            end_ns = self._next_stall_ns[process] + self.conditions.stall_ns
            if self.now_ns < end_ns:
                return max(when_ns, end_ns)
            self._next_stall_ns[process] = self._draw_stall(end_ns)
        return when_ns
