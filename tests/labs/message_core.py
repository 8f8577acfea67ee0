"""Message cores in virtual time, joined by an aggregator that forwards over links that lose, repeat, reorder, corrupt.

A ``Schedule`` is everything a run depends on. ``run`` plays it and returns what is wrong with it: what arrived is
compared with MPI's rules, written out in plain Python in ``matching_problem``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from emulator.ports.spec import Impairments
from hostagent.protocol.frames import Addresses
from hostagent.protocol.messages import (
    ANY_SOURCE,
    FRAMES,
    REASONS,
    REQUEST,
    REQUEST_FIELDS,
    WHOLE_TAG,
    Message,
    MessageMemory,
    MessageSettings,
    message_fail,
    message_freeze,
    message_needs_left,
    message_next_timer,
    message_peer_left,
    message_poll_transmit,
    message_receive,
    message_request_of,
    message_resume,
    message_submit,
    message_take_completion,
)
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob
from hostagent.protocol.wire import LANE_BYTES, LANES_AT
from hostagent.protocol.worker import TRANSMIT
from tests.labs.compiled_cores import adopt_core_loops
from tests.labs.links import NEVER_NS, Links

JOB = 7
TICK_NS = 1_000_000
Array = np.ndarray[Any, Any]


class MessageCore:
    """A core with its own frame pool; frames go in and out as bytes."""

    def __init__(self, settings: MessageSettings) -> None:
        adopt_core_loops()
        self._stride = (LANES_AT + settings.payload_bytes + 63) // 64 * 64
        self._pool = np.zeros(FRAMES * self._stride, np.uint8)
        self.posted = np.zeros(FRAMES, np.uint64)
        self.memory = MessageMemory(settings, self._pool.ctypes.data, self._stride, self.posted.ctypes.data)
        self.record = self.memory.record
        self._out = np.zeros(FRAMES, TRANSMIT)
        self._numbers = 0

    def _submit(self, **values: int) -> int:
        request = np.zeros(1, REQUEST)
        request[0] = tuple(values.get(name, 0) for name in REQUEST_FIELDS)
        return int(message_submit(self.memory.address, request.ctypes.data))

    def send(self, peer: int, data: Array, tag: int = 0, *, agreement: int = 0, call: int = 0) -> int:
        """Number of a send, or what ``message_submit`` returns instead. ``data`` is of bytes and must live on."""
        self._numbers += 1
        return self._submit(
            number=self._numbers,
            peer=peer,
            tag=tag,
            address=data.ctypes.data,
            length=data.size,
            agreement=agreement,
            call=call,
        )

    def receive_message(
        self,
        peer: int,
        data: Array,
        tag: int = 0,
        *,
        tag_mask: int = WHOLE_TAG,
        agreement: int = 0,
        call: int = 0,
        source: Array | None = None,
    ) -> int:
        """Likewise of a receive; ``source``: one int64 that becomes the sender's rank."""
        self._numbers += 1
        return self._submit(
            number=self._numbers,
            receives=1,
            peer=peer,
            tag=tag,
            tag_mask=tag_mask,
            address=data.ctypes.data,
            length=data.size,
            agreement=agreement,
            call=call,
            source_address=0 if source is None else source.ctypes.data,
        )

    def post(self, message: Message, number: int) -> int:
        """A message as the process group makes it; its number, or what ``message_submit`` returns instead."""
        request = np.zeros(1, REQUEST)
        request[0] = message_request_of(message, number)
        return int(message_submit(self.memory.address, request.ctypes.data))

    def receive(self, frame: bytes, now_ns: int) -> str:
        """Take a frame; returns "" when it was used, else the reason why not."""
        data = np.frombuffer(frame, np.uint8)
        reason = message_receive(self.memory.address, data.ctypes.data, len(frame), now_ns)
        return REASONS[reason - 1] if reason else ""

    def transmit(self, now_ns: int, *, consumed: int = 2**62) -> list[bytes]:
        """Frames to send now, copied."""
        frames = []
        while count := message_poll_transmit(
            self.memory.address, self._out.ctypes.data, len(self._out), consumed, now_ns
        ):
            for order in self._out[:count]:
                start = int(order["frame"]) * self._stride
                frames.append(self._pool[start : start + int(order["length"])].tobytes())
        return frames

    def next_timer(self) -> int:
        return int(message_next_timer(self.memory.address))

    def completions(self) -> list[tuple[int, int]]:
        """Transfers that ended since the last call: (number, 0 or a failure code)."""
        found = []
        while (pair := message_take_completion(self.memory.address))[0] >= 0:
            found.append((int(pair[0]), int(pair[1])))
        return found

    def freeze(self) -> None:
        message_freeze(self.memory.address)

    def resume(self, epoch: int, now_ns: int) -> None:
        message_resume(self.memory.address, epoch, now_ns)

    def fail(self, code: int) -> None:
        message_fail(self.memory.address, code)

    def peer_left(self, peer: int, now_ns: int) -> None:
        message_peer_left(self.memory.address, peer, now_ns)

    def needs_left(self, now_ns: int) -> tuple[int, int]:
        """(rank that left and is needed or -1, when to ask again)."""
        peer, when_ns = message_needs_left(self.memory.address, now_ns)
        return int(peer), int(when_ns)

    @property
    def failure(self) -> int:
        return int(self.record["failure"][0])

    def statistics(self) -> dict[str, int]:
        return self.memory.statistics()


@dataclass(frozen=True, slots=True)
class Schedule:
    """A run: the job, the network, and the messages drawn from the seed."""

    seed: int = 0
    workers: int = 2
    lanes: int = 16
    messages: int = 4
    """From each rank."""
    largest_fragments: int = 4
    tags: int = 2
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    restarts: int = 0
    delay_ticks: int = 1
    spread: float = 0.3
    """Probability that a rank submits something at a step; 1: everything at once."""
    budget: int = 16


EXACT, ANY_TAG, ANY_RANK, ANY_BOTH = range(4)
"""What the receives of a rank leave open."""


@dataclass(slots=True)
class Sent:
    """A message: who sends it, and what."""

    source: int
    destination: int
    tag: int
    data: Array
    number: int = -1


@dataclass(slots=True)
class Wanted:
    """A receive: what it wants, and what it got."""

    rank: int
    source: int
    tag: int
    tag_mask: int
    data: Array
    from_rank: Array
    number: int = -1

    def fits(self, sent: Sent) -> bool:
        return self.source in (ANY_SOURCE, sent.source) and (sent.tag ^ self.tag) & self.tag_mask == 0


@dataclass(slots=True)
class Traffic:
    """All messages of a run, by source in the order of sending, and all receives, by rank in the order of posting."""

    sent: list[list[Sent]]
    wanted: list[list[Wanted]]


def draw_traffic(schedule: Schedule) -> Traffic:
    """Messages, and for each a receive. What a receive leaves open is the same for all of a rank, and so are the
    lengths of messages that it could take instead, so that every order of events can end."""
    rng, n = random.Random(schedule.seed), schedule.workers
    modes = [rng.randrange(4) for _ in range(n)]
    sizes: dict[tuple[int, ...], int] = {}
    sent: list[list[Sent]] = [[] for _ in range(n)]
    wanted: list[list[Wanted]] = [[] for _ in range(n)]
    largest = schedule.largest_fragments * (LANE_BYTES * schedule.lanes - 4)
    for source in range(n):
        for index in range(schedule.messages):
            destination, tag = rng.randrange(n), rng.randrange(schedule.tags)
            mode = modes[destination]
            key = {
                EXACT: (destination, source, tag),
                ANY_TAG: (destination, source),
                ANY_RANK: (destination, -1, tag),
                ANY_BOTH: (destination,),
            }[mode]
            size = sizes.setdefault(key, rng.choice((0, 8, 12, 36, 37, rng.randint(8, max(8, largest)))))
            data: Array = np.frombuffer(rng.randbytes(size), np.uint8).copy()
            if size >= 8:
                data[:8] = np.frombuffer(((source << 32) + index).to_bytes(8, "big"), np.uint8)
            sent[source].append(Sent(source, destination, tag, data))
            wanted[destination].append(
                Wanted(
                    destination,
                    source if mode in (EXACT, ANY_TAG) else ANY_SOURCE,
                    tag if mode in (EXACT, ANY_RANK) else 0,
                    WHOLE_TAG if mode in (EXACT, ANY_RANK) else 0,
                    np.zeros(size, np.uint8),
                    np.full(1, -9, np.int64),
                )
            )
    for each in wanted:
        rng.shuffle(each)
    return Traffic(sent, wanted)


def matching_problem(traffic: Traffic) -> str:
    """MPI 4.1, section 3.5: every message is received once, whole, by a receive that fits it, and none overtakes."""
    taken: dict[tuple[int, int], Wanted] = {}
    for receives in traffic.wanted:
        found: list[tuple[Wanted, Sent]] = []
        for receive in receives:
            source = int(receive.from_rank[0])
            if not 0 <= source < len(traffic.sent) or receive.source not in (ANY_SOURCE, source):
                return f"a receive on rank {receive.rank} from {receive.source} says that its source is {source}"
            fitting = [
                (index, sent)
                for index, sent in enumerate(traffic.sent[source])
                if sent.destination == receive.rank
                and receive.fits(sent)
                and (source, index) not in taken
                and np.array_equal(sent.data, receive.data)
            ]
            if not fitting:
                return f"rank {receive.rank} got from {source} what that rank did not send so: {receive.data[:16]}"
            index, sent = fitting[0]
            taken[source, index] = receive
            found.append((receive, sent))
        problem = overtaking(found, traffic)
        if problem:
            return problem
    return ""


def overtaking(found: list[tuple[Wanted, Sent]], traffic: Traffic) -> str:
    """A receive took a message though an earlier one of its source fitted it that only a later receive took."""
    place = {id(sent): index for sents in traffic.sent for index, sent in enumerate(sents)}
    for later, (_, early) in enumerate(found):
        for receive, late in found[:later]:
            if late.source == early.source and place[id(late)] > place[id(early)] and receive.fits(early):
                return f"message {place[id(late)]} of rank {late.source} overtook {place[id(early)]}"
    return ""


Forward = Callable[[int, bytes], list[tuple[int, bytes]]]


@dataclass(slots=True)
class Lab:
    """All parts of one run."""

    schedule: Schedule
    network: Links
    """To a rank, or to the aggregator (-1 - sender)."""
    rng: random.Random
    forward: Forward
    cores: list[MessageCore]
    now_ns: int = 0
    ended: list[dict[int, int]] = field(default_factory=list)
    """Of each rank: status by number."""
    lent: list[dict[int, Array]] = field(default_factory=list)
    """Of each rank: the memory of sends that have not ended, by number."""

    def pump(self, rank: int) -> None:
        """Send what a core wants to, note what it has finished."""
        for frame in self.cores[rank].transmit(self.now_ns):
            self.network.send(-1 - rank, frame, self.now_ns)
        for number, status in self.cores[rank].completions():
            self.ended[rank][number] = status
            if number in self.lent[rank]:
                self.lent[rank].pop(number)[:] = 0xEE  # the caller may do with it what he wants

    def step(self) -> bool:
        """On to the next arrival or timer; False when there is none."""
        timers = [core.next_timer() for core in self.cores]
        arrival = self.network.next_ns()
        next_ns = min(arrival, *timers)
        if next_ns >= NEVER_NS:
            return False
        self.now_ns = max(self.now_ns, next_ns)
        if arrival <= self.now_ns:
            to, frame = self.network.receive(self.now_ns)
            if to >= 0:
                self.cores[to].receive(frame, self.now_ns)
                self.pump(to)
            else:
                for port, answer in self.forward(-1 - to, frame):
                    self.network.send(port, answer, self.now_ns)
        for rank, timer_ns in enumerate(timers):
            if timer_ns <= self.now_ns:
                self.pump(rank)
        return True


def impairments_of(schedule: Schedule) -> Impairments:
    """Of each direction of each rank's cable."""
    return Impairments(
        delay_ns=schedule.delay_ticks * TICK_NS,
        loss=schedule.loss,
        duplicate=schedule.duplicate,
        reorder=schedule.reorder,
        reorder_by_ns=10 * TICK_NS,
        corrupt=schedule.corrupt,
        seed=schedule.seed,
    )


def make_job(schedule: Schedule) -> ReferenceJob:
    """The job as an aggregator's tables know it, under epoch 1."""
    checksum = schedule.corrupt > 0
    children = tuple(
        ReferenceChild(rank, 0x020000000001 + rank, 0x0A000001 + rank, not checksum, checksum)
        for rank in range(schedule.workers)
    )
    return ReferenceJob(1, 8, children)


def make_cores(schedule: Schedule, job: ReferenceJob) -> list[MessageCore]:
    return [
        MessageCore(
            MessageSettings(
                JOB,
                rank,
                schedule.workers,
                1,
                LANE_BYTES * schedule.lanes,
                Addresses(child.mac, job.switch_mac, child.ip, job.switch_ip),
                schedule.corrupt > 0,
                schedule.budget,
                2 * TICK_NS,
            )
        )
        for rank, child in enumerate(job.children)
    ]


class ReferenceForwarder:
    """The reference aggregator, and how to start it again under another epoch."""

    def __init__(self, schedule: Schedule, job: ReferenceJob) -> None:
        self._job = job
        self.aggregator = ReferenceAggregator(schedule.lanes, {JOB: job})

    def receive(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        return self.aggregator.receive(port, frame)

    def restart(self) -> None:
        self.aggregator.restart()

    def install(self, epoch: int) -> None:
        self.aggregator.jobs[JOB] = replace(self._job, epoch=epoch)


Forwarder = Any
"""``receive``, ``restart`` and ``install`` as of ReferenceForwarder."""


@dataclass(slots=True)
class Controller:
    """Restarts the aggregator at random moments and brings the ranks into a new epoch, one step at a time."""

    lab: Lab
    forwarder: Forwarder
    left: int
    plan: list[tuple[str, int]] = field(default_factory=list)
    epoch: int = 1

    def act(self) -> None:
        lab, rng = self.lab, self.lab.rng
        if self.left and not self.plan and rng.random() < 0.03:
            self.left -= 1
            self.forwarder.restart()
            ranks = range(len(lab.cores))
            self.plan = [("freeze", rank) for rank in rng.sample(ranks, len(ranks))] + [("install", 0)]
            self.plan += [("resume", rank) for rank in rng.sample(ranks, len(ranks))]
        if not self.plan or rng.random() < 0.7:
            return
        what, rank = self.plan.pop(0)
        if what == "freeze":
            lab.cores[rank].freeze()
        elif what == "install":
            self.epoch += 1
            self.forwarder.install(self.epoch)
        else:
            lab.cores[rank].resume(self.epoch, lab.now_ns)
            lab.pump(rank)


@dataclass(slots=True)
class Submitter:
    """Submits the traffic bit by bit: each rank's sends in order, its receives in order."""

    lab: Lab
    traffic: Traffic
    sends: list[int]
    receives: list[int]

    def act(self) -> None:
        for rank, core in enumerate(self.lab.cores):
            while self.lab.rng.random() < self.lab.schedule.spread and self.submit_one(rank, core):
                pass

    def submit_one(self, rank: int, core: MessageCore) -> bool:
        sends, receives = self.traffic.sent[rank][self.sends[rank] :], self.traffic.wanted[rank][self.receives[rank] :]
        if not sends and not receives:
            return False
        if sends and (not receives or self.lab.rng.random() < 0.5):
            sent = sends[0]
            memory = sent.data.copy()
            sent.number = core.send(sent.destination, memory, sent.tag)
            self.lab.lent[rank][sent.number] = memory
            self.sends[rank] += 1
        else:
            want = receives[0]
            want.number = core.receive_message(
                want.source, want.data, want.tag, tag_mask=want.tag_mask, source=want.from_rank
            )
            self.receives[rank] += 1
        self.lab.pump(rank)
        return True

    @property
    def left(self) -> bool:
        sends = any(count < len(sents) for count, sents in zip(self.sends, self.traffic.sent, strict=True))
        return sends or any(
            count < len(wanted) for count, wanted in zip(self.receives, self.traffic.wanted, strict=True)
        )


def make_lab(schedule: Schedule, forwarder: type[Any] = ReferenceForwarder) -> tuple[Lab, Any]:
    job = make_job(schedule)
    made = forwarder(schedule, job)
    lab = Lab(
        schedule,
        Links(impairments_of(schedule)),
        random.Random(schedule.seed),
        made.receive,
        make_cores(schedule, job),
        ended=[{} for _ in range(schedule.workers)],
        lent=[{} for _ in range(schedule.workers)],
    )
    return lab, made


def run(schedule: Schedule, *, largest_steps: int = 200_000, forwarder: type[Any] = ReferenceForwarder) -> str:
    """Play a schedule to its end; returns what is wrong, or an empty string."""
    lab, made = make_lab(schedule, forwarder)
    n, traffic = schedule.workers, draw_traffic(schedule)
    controller = Controller(lab, made, schedule.restarts)
    submitter = Submitter(lab, traffic, [0] * n, [0] * n)
    expected = 2 * n * schedule.messages
    for _ in range(largest_steps):
        submitter.act()
        if sum(map(len, lab.ended)) == expected and not controller.plan:
            break
        if not lab.step() and not controller.plan and not submitter.left:
            break
        controller.act()
    for rank, core in enumerate(lab.cores):
        if core.failure:
            return f"rank {rank} failed with code {core.failure}"
        sends = [("send", each.number) for each in traffic.sent[rank]]
        receives = [("receive", each.number) for each in traffic.wanted[rank]]
        open_numbers = [each for each in (*sends, *receives) if each[1] not in lab.ended[rank]]
        if open_numbers:
            return f"rank {rank} hangs at {lab.now_ns} ns: {open_numbers[:5]}, {core.statistics()}"
    return matching_problem(traffic)


def shrink(schedule: Schedule, *, forwarder: type[Any] = ReferenceForwarder) -> Schedule:
    """Make every number of a failing schedule as small as it goes while it still fails."""
    least = {"workers": 1, "lanes": 16, "messages": 1, "largest_fragments": 1, "tags": 1, "delay_ticks": 1, "budget": 4}
    changed = True
    while changed:
        changed = False
        for item in fields(Schedule):
            value = getattr(schedule, item.name)
            floor = least.get(item.name, 0)
            if item.name in ("seed", "spread") or value <= floor:
                continue
            for smaller in (floor, value // 2 if isinstance(value, int) else value / 2):
                candidate = replace(schedule, **{item.name: max(smaller, floor)})
                if candidate != schedule and run(candidate, largest_steps=50_000, forwarder=forwarder):
                    schedule, changed = candidate, True
                    break
    return schedule


def explain(schedule: Schedule, *, forwarder: type[Any] = ReferenceForwarder) -> str:
    """What a test prints for a schedule that fails."""
    smallest = shrink(schedule, forwarder=forwarder)
    wrong = run(smallest, forwarder=forwarder)
    return f"{schedule}: {run(schedule, forwarder=forwarder)}\nsmallest found: {smallest}: {wrong}"
