"""Process groups in virtual time: ranks on the real cores, joined by an aggregator over links that lose, repeat,
reorder, delay and corrupt, and that is started again now and then.

    rank's thread --NetsumProcessGroup--> VirtualChannel --> WorkerCore, MessageCore --Links--> aggregator

Ranks are threads of which one runs at a time, until it waits for an operation: the same seed is the same run. Nothing
sleeps; time passes when every rank waits.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

import numpy as np

from emulator.network.faults.parts import Restart, Script
from emulator.network.faults.schedule import Change, LinkFaults, Schedule
from emulator.ports.spec import Impairments
from emulator.v1model.compiled import CompiledProgram, load
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.frames import Addresses
from hostagent.protocol.messages import Message, MessageSettings, is_forwarded
from hostagent.protocol.operation import Operation
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob
from hostagent.protocol.wire import LANE_BYTES
from hostagent.protocol.worker import CoreSettings, frame_job
from hostagent.transport.errors import Cause, TransportError
from hostagent.transport.loop.records import MESSAGE_NUMBERS
from hostagent.transport.missed import MissedOperations, units
from hostagent.transport.session.terms import Terms
from tests.generators.collective_programs import MOST_RANKS
from tests.labs.links import NEVER_NS, Links
from tests.labs.message_core import MessageCore
from tests.labs.p4_aggregator import P4Aggregator
from tests.labs.worker_core import WorkerCore

TICK_NS = 1_000_000
MOST_TIME_NS = 3_600 * 10**9
MOST_STEPS = 3_000_000
P4_LANES, P4_SLOTS = 64, 64
FIRST_JOB = 7


@dataclass(frozen=True, slots=True)
class Faults:
    """The network of a run."""

    seed: int = 0
    aggregator: str = "reference"
    """``reference``: the rules in plain Python; ``p4``: the compiled program."""
    lanes: int = P4_LANES
    window: int = 8
    base: int = 0
    delay_ticks: int = 1
    jitter_ticks: int = 0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    """In one direction, which the seed chooses: checksums of 16 bits do not tell when two bits of a forwarded frame
    change that have opposite values and the same place in their words."""
    restarts: int = 0
    skew_ticks: int = 0
    """The most that a rank takes between two calls."""

    def impairments(self, inbound: bool) -> Impairments:
        """Of one direction of each rank's cable."""
        return Impairments(
            delay_ns=self.delay_ticks * TICK_NS,
            jitter_ns=self.jitter_ticks * TICK_NS,
            loss=self.loss,
            duplicate=self.duplicate,
            reorder=self.reorder,
            reorder_by_ns=10 * TICK_NS,
            corrupt=self.corrupt if inbound == bool(self.seed // 2 % 2) else 0.0,
            seed=self.seed,
        )


def draw_faults(seed: int) -> Faults:
    """A network at random."""
    rng = random.Random(f"faults {seed}")
    return Faults(
        seed=seed,
        aggregator=rng.choice(("reference", "p4")),
        window=rng.choice((1, 2, 4, 8, 16)),
        base=rng.choice((0, 0, 2**32 - 20, 2**40 - 5)),
        delay_ticks=rng.choice((1, 1, 1, 20)),
        jitter_ticks=rng.choice((0, 0, 3)),
        loss=rng.choice((0.0, 0.02, 0.1, 0.3)),
        duplicate=rng.choice((0.0, 0.0, 0.2)),
        reorder=rng.choice((0.0, 0.0, 0.3)),
        corrupt=rng.choice((0.0, 0.0, 0.05)),
        restarts=rng.choice((0, 0, 1, 3)),
        skew_ticks=rng.choice((0, 5, 100)),
    )


class Forwarding(Protocol):
    """An aggregator of the lab."""

    def receive(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """A frame in, its answers out."""

    def restart(self) -> None:
        """Forget everything."""

    def install(self, number: int, job: ReferenceJob) -> None:
        """Make a job known; its number counts from FIRST_JOB."""


class Reference(ReferenceAggregator):
    """The rules in plain Python."""

    def install(self, number: int, job: ReferenceJob) -> None:
        self.jobs[number] = job


@cache
def program() -> CompiledProgram:
    return load("allreduce.p4", {"LANES": str(P4_LANES), "SLOTS": str(P4_SLOTS)})


class Compiled:
    """The compiled P4 program in a switch."""

    def __init__(self) -> None:
        self._switch = P4Aggregator(program(), MOST_RANKS)
        self.receive, self.restart = self._switch.receive, self._switch.restart

    def install(self, number: int, job: ReferenceJob) -> None:
        children = tuple(
            Child(bit, child.port, child.mac, child.ip, child.zero_checksum_allowed)
            for bit, child in enumerate(job.children)
        )
        row = number - FIRST_JOB
        place = (number, row, job.epoch, job.base, job.window, row * job.window, job.short_allowed)
        self._switch.install(JobConfig(*place, job.switch_mac, job.switch_ip, children))


class Stopped(BaseException):
    """Ends the thread of a rank when its program is over for another reason. No Exception: nobody is to catch it."""


class Rank:
    """A rank's thread, and what it waits for."""

    def __init__(self, number: int, body: Callable[[], Any], driver: threading.Semaphore) -> None:
        self.number = number
        self._driver = driver
        self._turn = threading.Semaphore(0)
        self._stopped = False
        self.may_run: Callable[[], bool] = lambda: True
        self.ended = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._body = body
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._turn.acquire()
        try:
            if not self._stopped:
                self.result = self._body()
        except Stopped:
            pass
        except BaseException as error:  # handed to the driver
            self.error = error
        self.ended = True
        self._driver.release()

    def run(self) -> None:
        """By the driver: have it run until it waits or ends."""
        self._turn.release()
        self._driver.acquire()

    def wait(self, condition: Callable[[], bool]) -> None:
        """By the rank."""
        if condition():
            return
        self.may_run = condition
        self._driver.release()
        self._turn.acquire()
        if self._stopped:
            raise Stopped
        self.may_run = lambda: True

    def stop(self) -> None:
        """By the driver: end the thread where it waits."""
        self._stopped = True
        if not self.ended:
            self.run()
        self._thread.join()


@dataclass(slots=True)
class End:
    """One rank's end of one job: its cores, and what has ended."""

    port: int
    worker: WorkerCore
    messages: MessageCore
    done: dict[int, int] = field(default_factory=dict)
    """Status by number."""
    due_ns: int = NEVER_NS


class VirtualChannel:
    """See ``hostagent.transport.channel.Channel``."""

    def __init__(self, lab: VirtualNetwork, end: End) -> None:
        self._lab = lab
        self._end = end
        self._posted = MESSAGE_NUMBERS
        self.missed = MissedOperations()
        self.operations: dict[int, Operation] = {}
        lab.channels.append(self)

    def submit(self, operation: Operation) -> int:
        number = self.missed.adopt(operation)
        return self._enter(operation) if number is None else number

    def _enter(self, operation: Operation) -> int:
        number = self._end.worker.submit(operation)
        self.operations[number] = operation
        self._lab.pump(self._end)
        return number

    def miss(self, asked: Sequence[tuple[int, Sequence[Terms]]]) -> None:
        """As `JobChannel.on_proceed`."""
        for number, unit in asked:
            if number != len(self.operations):
                continue
            for operation, result in self.missed.perform(unit):
                self.missed.entered(self._enter(operation), operation, result)

    def unfinished_units(self) -> list[tuple[int, tuple[Terms, ...]]]:
        """What this rank may ask the others to miss."""
        oldest = next((number for number in self.operations if number not in self._end.done), len(self.operations))
        return units(self.operations, oldest, len(self.operations))

    def overdue(self, bound_s: float) -> list[int]:
        return []

    def proceed(self, bound_s: float) -> None:
        raise AssertionError("bounds are of real time")

    def collect(self, number: int) -> None:
        self.missed.collect(number)

    def post(self, messages: Sequence[Message]) -> list[int]:
        numbers = list(range(self._posted, self._posted + len(messages)))
        self._posted += len(messages)
        for number, message in zip(numbers, messages, strict=True):
            assert self._end.messages.post(message, number) == number
        self._lab.pump(self._end)
        return numbers

    def wait(self, number: int, timeout_s: float) -> bool:
        self._lab.ranks[self._end.port].wait(lambda: self.finished(number))
        return True

    def finished(self, number: int) -> bool:
        return number in self._end.done

    def failure(self, number: int) -> Exception | None:
        status = self._end.done[number]
        return TransportError(f"failed with code {status}", Cause.LOCAL) if status else None

    def expire(self, number: int, timeout_s: float) -> Exception:
        raise AssertionError("time-outs are of real time")

    def fail(self, error: Exception) -> None:
        raise error

    def lanes(self, timeout_s: float) -> int:
        """Lanes of a frame."""
        return self._lab.lanes

    def leave(self) -> None:
        """Nothing to give back."""

    def close(self) -> None:
        """Nothing to give back."""


class VirtualNetwork:
    """Links, an aggregator, and jobs of the ranks at its ports. ``run`` plays the ranks' bodies."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.rng = random.Random(faults.seed)
        self.now_ns = 0
        self.ranks: list[Rank] = []
        self.channels: list[VirtualChannel] = []
        self.impatience = 0.0
        """Probability, at each step, that a random rank lets what it waits for proceed without another one."""
        self._links = Links(faults.impairments(inbound=False), faults.impairments(inbound=True))
        self.lanes = faults.lanes
        self._aggregator: Forwarding = Compiled() if faults.aggregator == "p4" else Reference(faults.lanes)
        self._jobs: dict[int, ReferenceJob] = {}
        self._ends: dict[int, list[End]] = {}
        self._restarts = faults.restarts
        self._schedule = Schedule(Script(()))
        self._link_faults = LinkFaults()
        self.changes = 0
        """Faults of the script that have begun or ended."""
        self._plan: list[Callable[[], None]] = []
        self._alarms = [NEVER_NS] * MOST_RANKS
        """When each rank's pause ends."""
        self.is_over = False
        """Set by a rank whose program has gone wrong: the others may wait for it."""

    def join(self, members: Sequence[int]) -> list[VirtualChannel]:
        """A job of the ranks at these ports; their ends of it, in that order."""
        faults, number = self.faults, FIRST_JOB + len(self._jobs)
        checksum = faults.corrupt > 0
        children = tuple(
            ReferenceChild(port, 0x020000000001 + port, 0x0A000001 + port, not checksum, checksum) for port in members
        )
        job = self._jobs[number] = ReferenceJob(1, faults.window, children, faults.base % 2**32, faults.seed % 2 == 0)
        self._aggregator.install(number, job)
        self._ends[number] = [self._end(number, job, rank) for rank in range(len(children))]
        return [VirtualChannel(self, end) for end in self._ends[number]]

    def _end(self, number: int, job: ReferenceJob, rank: int) -> End:
        faults, child, size = self.faults, job.children[rank], len(job.children)
        addresses = Addresses(child.mac, job.switch_mac, child.ip, job.switch_ip)
        worker = CoreSettings(
            number,
            rank,
            size,
            job.epoch,
            faults.lanes,
            job.window,
            addresses,
            faults.base,
            child.compute_checksum,
            short_no_data=job.short_allowed,
            minimum_rto_ns=2 * TICK_NS,
            operation_ring=64,
        )
        messages = MessageSettings(
            *(number, rank, size, job.epoch, LANE_BYTES * faults.lanes, addresses, child.compute_checksum),
            minimum_rto_ns=2 * TICK_NS,
        )
        return End(child.port, WorkerCore(worker), MessageCore(messages))

    # --- time ---

    def pump(self, end: End) -> None:
        """Send what a rank's cores want to, note what they have finished."""
        for core in (end.worker, end.messages):
            for frame in core.transmit(self.now_ns):
                self._links.send(-1 - end.port, frame, self.now_ns)
            end.done.update(core.completions())
        end.due_ns = min(end.worker.next_timer(), end.messages.next_timer())

    def step(self) -> bool:
        """On to the next arrival, timer or end of a pause; False when there is none."""
        ends = [end for job in self._ends.values() for end in job]
        arrival, alarm_ns = (
            self._links.next_ns(),
            min((ns for ns in self._alarms if ns > self.now_ns), default=NEVER_NS),
        )
        fault_ns = self._schedule.next_time_ns()
        next_ns = min(arrival, alarm_ns, NEVER_NS if fault_ns is None else fault_ns, *(end.due_ns for end in ends))
        if next_ns >= NEVER_NS:
            return False
        self.now_ns = max(self.now_ns, next_ns)
        for change in self._schedule.due(self.now_ns):
            self._play_change(change)
        if arrival <= self.now_ns:
            to, frame = self._links.receive(self.now_ns)
            if to >= 0:
                self._deliver(to, frame)
            else:
                for port, answer in self._aggregator.receive(-1 - to, frame):
                    self._links.send(port, answer, self.now_ns)
        for end in ends:
            if end.due_ns <= self.now_ns:
                self.pump(end)
        return True

    def _deliver(self, port: int, frame: bytes) -> None:
        data = np.frombuffer(frame, np.uint8)
        address, length = data.ctypes.data, len(frame)
        for end in self._ends.get(int(frame_job(address, length)), []):
            if end.port == port:
                core = end.messages if is_forwarded(address, length) else end.worker
                core.receive(frame, self.now_ns)
                self.pump(end)

    def _restart_at_times(self) -> None:
        """Start the aggregator again at random moments, and bring the ranks into new epochs one step at a time."""
        if self._restarts and not self._plan and self.rng.random() < 0.02:
            self._restarts -= 1
            self._restart()
        if self._plan and self.rng.random() < 0.3:
            self._plan.pop(0)()

    def _restart(self) -> None:
        self._aggregator.restart()
        for number in self.rng.sample(list(self._jobs), len(self._jobs)):
            self._plan += self._new_epoch(number)

    def play(self, script: Script) -> None:
        """Faults of a star: host i is the rank at port i. Of restarts, those of the switch."""
        self._schedule = Schedule(script)
        usual = {way: self.faults.impairments(way) for way in (False, True)}
        self._link_faults = LinkFaults(script.seed, lambda name: usual[name.endswith("->s0")])

    def _play_change(self, change: Change) -> None:
        self.changes += 1
        if isinstance(change.fault.kind, Restart):
            if change.begins:
                self._restart()
            return
        for name in self._link_faults.apply(change):
            source, destination = name.split("->")
            to = -1 - int(source[1:]) if destination == "s0" else int(destination[1:])
            self._links.impair(to, self._link_faults.of(name))

    def _new_epoch(self, number: int) -> list[Callable[[], None]]:
        ends, lowest = self._ends[number], []

        def freeze(end: End) -> None:
            lowest.append(end.worker.freeze())
            end.messages.freeze()
            self.pump(end)

        def install() -> None:
            job = self._jobs[number]
            job = self._jobs[number] = replace(job, epoch=job.epoch + 1, base=min(lowest) % 2**32)
            self._aggregator.install(number, job)

        def resume(end: End) -> None:
            epoch = self._jobs[number].epoch
            end.worker.resume(epoch, min(lowest), self.now_ns)
            end.messages.resume(epoch, self.now_ns)
            self.pump(end)

        plan: list[Callable[[], None]] = [lambda end=end: freeze(end) for end in self.rng.sample(ends, len(ends))]  # type: ignore[misc]
        plan.append(install)
        plan += [lambda end=end: resume(end) for end in self.rng.sample(ends, len(ends))]  # type: ignore[misc]
        return plan

    # --- ranks ---

    def pause(self, port: int) -> None:
        """By a rank: take some time, while others run."""
        until_ns = self.now_ns + self.rng.randrange(self.faults.skew_ticks * TICK_NS + 1)
        self._alarms[port] = until_ns
        self.ranks[port].wait(lambda: self.now_ns >= until_ns)

    def run(self, bodies: Sequence[Callable[[], Any]]) -> tuple[list[Any], str]:
        """What each rank's body returned (None where it did not end), and what is wrong with the run, if anything.

        ``bodies[r]`` is the program of the rank at port r."""
        driver = threading.Semaphore(0)
        self.ranks = [Rank(number, body, driver) for number, body in enumerate(bodies)]
        problem = self._play()
        for rank in self.ranks:
            rank.stop()
        results, errors = [rank.result for rank in self.ranks], [rank.error for rank in self.ranks if rank.error]
        self.ranks.clear()  # they hold the network, and much memory with it
        if errors:
            raise errors[0]
        return results, problem

    def _play(self) -> str:
        for _ in range(MOST_STEPS):
            if self.is_over:
                return ""
            ready = [rank for rank in self.ranks if not rank.ended and rank.may_run()]
            if ready:
                self.rng.choice(ready).run()
            elif all(rank.ended for rank in self.ranks):
                return ""
            elif self.now_ns > MOST_TIME_NS or (not self.step() and not self._plan):
                break
            self._restart_at_times()
            if self.impatience and self.rng.random() < self.impatience:
                one, other = self.rng.sample(self.channels, 2)
                other.miss(one.unfinished_units())
        waiting = [rank.number for rank in self.ranks if not rank.ended]
        return f"ranks {waiting} hang at {self.now_ns} ns"
