"""Jobs and TCP flows that share links, in virtual time: worker cores, p4src/allreduce.p4 in the centre, and before each
host the egress queue of a switch with p4src/bridge.p4, in which results and TCP segments wait. Acknowledgements and
contributions have links of their own."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from emulator.ports.batch import FrameBatch
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.spec import parse_port
from emulator.switch.control import TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import load
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Addresses, ipv4_header
from hostagent.protocol.operation import OperationKind, Span
from hostagent.protocol.worker import CoreSettings
from tests.labs.p4_aggregator import P4Aggregator
from tests.labs.reno import Receiver, Reno
from tests.labs.worker_core import WorkerCore, operation_of

LANES = 64
CHUNKS = 20_000
"""Of a job's sum: more than it gets done."""
SWITCH_MAC, SWITCH_IP = 0x02_0000_FFFFFF, 0x0A0000FE
PAIR = 256
TCP_AT = 34


@dataclass(frozen=True, slots=True)
class SharedLink:
    """What shares the links of how many hosts."""

    hosts: int = 2
    shares: tuple[int, ...] = (1,)
    """Of each job, which has a rank on every host."""
    flows: int = 0
    """Of TCP, to host 0."""
    rate_pps: int = 5_000
    delay_ns: int = 1_000_000
    """To the centre, and back, without the queue."""
    least: int = 10
    certain: int = 1_000
    """Packets in a queue with which it begins to mark, and marks all."""
    depth: int = 100
    window: int = 128
    seed: int = 1


class QueueSwitch:
    """bridge.p4 whose ports 0, 1, ... have queues; frames to them come in at the other ports of their pairs."""

    def __init__(self, conditions: SharedLink) -> None:
        program = load("bridge.p4", {})
        self.switch, self._batch = Switch(), FrameBatch(64)
        numbers = [number + pair for number in range(conditions.hosts) for pair in (0, PAIR)]
        self._ports = {n: MemoryPort(parse_port(f"{n}=memory:lab"), self.switch.ports) for n in numbers}
        self.switch.load(program)
        (table,) = (table for table in program.p4info.tables if table.preamble.name.endswith("queues"))
        (action,) = (each for each in program.p4info.actions if each.preamble.name.endswith("mark_between"))
        entry = TableEntry((), 0, action.preamble.id, (conditions.least, conditions.certain))
        self.switch.set_default_entry(table.preamble.id, entry)
        for number in range(conditions.hosts):
            self.switch.set_queue_rate(conditions.rate_pps, number)
            self.switch.set_queue_depth(conditions.depth, number)

    def process(self, frames: list[tuple[int, bytes]], now_ns: int) -> tuple[list[tuple[int, bytes]], int | None]:
        """Frames to hosts; those that leave now, and when the next one does."""
        self._batch.clear()
        for port in self._ports.values():
            port.receive_into(self._batch)
        for host, frame in frames:
            self._batch.append(frame, host + PAIR)
        next_ns = self.switch.process(self._batch, now_ns)
        left = []
        for number, port in self._ports.items():
            port.flush()
            left += [(number, frame) for frame in port.received()]
        return left, next_ns


class FairnessLab:
    """``run`` and ``frames``: how many results, or segments in order, have come to host 0, by job and then by flow."""

    def __init__(self, conditions: SharedLink) -> None:
        self.conditions, self.now_ns = conditions, 0
        self._rng = random.Random(conditions.seed)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._last_ns: dict[tuple[str, int], int] = {}
        self._queue = QueueSwitch(conditions)
        self._queue_ns = -1
        jobs, hosts = len(conditions.shares), conditions.hosts
        self._centre = P4Aggregator(load("allreduce.p4", {"LANES": str(LANES)}), jobs * hosts)
        self.cores = [self._core(*divmod(number, hosts)) for number in range(jobs * hosts)]
        for job in range(jobs):
            self._centre.install(self._entries(job))
        self._timers = [-1] * len(self.cores)
        self.flows = [(Reno(), Receiver()) for _ in range(conditions.flows)]
        self._kept: list[object] = []
        for number in range(len(self.cores)):
            self._at(self._rng.randrange(20_000_000), partial(self._submit, number))
        for number in range(len(self.flows)):
            self._at(self._rng.randrange(20_000_000), partial(self._send_segments, number))

    def _core(self, job: int, rank: int) -> WorkerCore:
        conditions, number = self.conditions, job * self.conditions.hosts + rank
        addresses = Addresses(0x020000000001 + number, SWITCH_MAC, 0x0A000001 + number, SWITCH_IP)
        return WorkerCore(
            CoreSettings(
                job, rank, conditions.hosts, 1, LANES, conditions.window, addresses, checksum=False,
                share=conditions.shares[job],
            )
        )  # fmt: skip

    def _entries(self, job: int) -> JobConfig:
        hosts, window = self.conditions.hosts, self.conditions.window
        children = tuple(
            Child(rank, job * hosts + rank, 0x020000000001 + job * hosts + rank, 0x0A000001 + job * hosts + rank, True)
            for rank in range(hosts)
        )
        return JobConfig(job, job, 1, 0, window, job * window, True, SWITCH_MAC, SWITCH_IP, children)

    def _at(self, when_ns: int, happen: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (max(when_ns, self.now_ns), self._order, happen))

    def run(self, until_ns: int) -> None:
        """On to a time."""
        while self._events[0][0] <= until_ns:
            self.now_ns, _, happen = heapq.heappop(self._events)
            happen()
        self.now_ns = until_ns

    def frames(self) -> list[int]:
        """See the class."""
        hosts = self.conditions.hosts
        results = [core.statistics()["chunks_stored"] for core in self.cores[::hosts]]
        return results + [receiver.segments for _, receiver in self.flows]

    def rates(self, from_ns: int, until_ns: int) -> list[float]:
        """Frames a second, by job and then by flow."""
        self.run(from_ns)
        before = self.frames()
        self.run(until_ns)
        taken = zip(self.frames(), before, strict=True)
        return [1e9 * (now - then) / (until_ns - from_ns) for now, then in taken]

    def _submit(self, number: int) -> None:
        tensor = np.ones(CHUNKS * LANES, np.int32)
        self._kept.append(tensor)
        ends = Span(tensor.ctypes.data, 0, tensor.size)
        self.cores[number].submit(operation_of(OperationKind.SUM, DType.INT32, tensor.size, ends, ends))
        self._pump(number)

    def _pump(self, number: int) -> None:
        """What a core sends goes to the centre, and what that answers to the queues."""
        for frame in self.cores[number].transmit(self.now_ns):
            self._later(("up", number), partial(self._centre_receives, number, frame))
        timer_ns = self.cores[number].next_timer()
        if timer_ns != self._timers[number] and timer_ns < 2**62:
            self._timers[number] = timer_ns
            self._at(timer_ns, lambda: self._pump(number) if self._timers[number] == timer_ns else None)

    def _later(self, path: tuple[str, int], happen: Callable[[], None]) -> None:
        """After half of the round trip without the queue, and what hosts do in it; in order on each path."""
        delay_ns = self.conditions.delay_ns
        due_ns = self.now_ns + delay_ns // 2 + self._rng.randrange(delay_ns // 10 + 1)
        self._last_ns[path] = due_ns = max(due_ns, self._last_ns.get(path, 0))
        self._at(due_ns, happen)

    def _centre_receives(self, port: int, frame: bytes) -> None:
        self._enqueue([(number, answer) for number, answer in self._centre.receive(port, frame, self.now_ns)])

    def _enqueue(self, frames: list[tuple[int, bytes]]) -> None:
        """Frames for ranks, by their number, and segments (-1 - flow)."""
        hosts = self.conditions.hosts
        tagged = [(number % hosts if number >= 0 else 0, frame + number.to_bytes(2, "big", signed=True))
                  for number, frame in frames]  # fmt: skip
        left, next_ns = self._queue.process(tagged, self.now_ns)
        for _, frame in left:
            number = int.from_bytes(frame[-2:], "big", signed=True)
            self._later(("down", number), partial(self._arrive, number, frame))
        if next_ns is not None and next_ns != self._queue_ns:
            self._queue_ns = next_ns
            self._at(next_ns, lambda: self._enqueue([]))

    def _arrive(self, number: int, frame: bytes) -> None:
        if number >= 0:
            self.cores[number].receive(frame[:-2], self.now_ns)
            self._pump(number)
            return
        flow = -1 - number
        wanted = self.flows[flow][1].receive(int.from_bytes(frame[TCP_AT : TCP_AT + 4], "big"))
        self._later(("acknowledgements", flow), lambda: self._acknowledged(flow, wanted))

    def _acknowledged(self, flow: int, wanted: int) -> None:
        self.flows[flow][0].acknowledge(wanted, self.now_ns)
        self._send_segments(flow)

    def _send_segments(self, flow: int) -> None:
        sender = self.flows[flow][0]
        segments = sender.segments(self.now_ns)
        start = bytes(12) + b"\x08\x00" + ipv4_header(66, 0x0A000101, 0x0A000102)
        frames = [(-1 - flow, start + number.to_bytes(4, "big") + bytes(40)) for number in segments]
        for each in frames:
            self._later(("segments", flow), partial(self._enqueue, [each]))
        timer_ns = sender.timer_ns()
        self._at(timer_ns, lambda: self._check_timer(flow))

    def _check_timer(self, flow: int) -> None:
        sender = self.flows[flow][0]
        if sender.timer_ns() <= self.now_ns:
            sender.expire(self.now_ns)
            self._send_segments(flow)


def jain(rates: list[float]) -> float:
    """Index of fairness: 1 where all have the same, 1 / n where one has everything (Jain, Chiu, Hawe 1984)."""
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))
