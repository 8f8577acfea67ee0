"""Worker cores around a tree of aggregators in virtual time: ``tests.labs.protocol`` with more than one of them.

Every cable, between switches as well as to workers, loses, repeats, delays, reorders and corrupts as the schedule says.
What the aggregators know of the job is what the controller would install.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.port import port_refresh
from emulator.ports.spec import parse_port
from emulator.v1model.compiled import CompiledProgram, load
from hostagent.controller.core.ports import SWITCH_IP, SWITCH_MAC
from hostagent.controller.core.slots import Run
from hostagent.controller.drivers.aggregator import terms_of
from hostagent.controller.drivers.groups.overflow import SWITCH, split_overflow
from hostagent.controller.drivers.groups.tree import split_job
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.counters import Verdict
from hostagent.protocol.reference import (
    ReferenceAggregator,
    ReferenceChild,
    ReferenceJob,
    ReferenceParent,
    ReferenceServer,
)
from hostagent.protocol.services.aggregator import Aggregator, ServiceTerms
from hostagent.protocol.tree import TreeSwitch, regular_tree
from tests.labs.p4_aggregator import P4Aggregator
from tests.labs.protocol import JOB, Controller, Lab, Schedule, make_lab
from tests.labs.worker_core import WorkerCore

P4_LANES, P4_SLOTS = 64, 16
PORTS = 512
CORE_TURN_NS = 10_000

MakeCore = Callable[[int, TxPortTable], Aggregator]


class Box(Protocol):
    """One aggregator of the tree."""

    def receive(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """A frame in, its answers out."""

    def restart(self) -> None:
        """Forget everything."""

    def install(self, entries: JobConfig) -> None:
        """Make a job known."""


def as_reference(entries: JobConfig) -> ReferenceJob:
    """What the plain rules have to know of a job."""
    children = tuple(
        ReferenceChild(
            child.port,
            child.host_mac,
            child.host_ip,
            child.zero_checksum_allowed,
            not child.zero_checksum_allowed,
            child.numbers,
            child.bit_mask,
        )
        for child in entries.children
    )
    beyond = entries.overflow
    server = None if beyond is None else ReferenceServer(beyond.slots, beyond.port, beyond.mac, beyond.ip)
    place = (entries.epoch, entries.window, children, entries.base, entries.short_allowed)
    return ReferenceJob(*place, entries.switch_mac, entries.switch_ip, ReferenceParent.of(entries.parent), server)


class Plain(ReferenceAggregator):
    """The rules in plain Python."""

    def install(self, entries: JobConfig) -> None:
        self.jobs[entries.job] = as_reference(entries)


@cache
def program() -> CompiledProgram:
    return load("allreduce.p4", {"LANES": str(P4_LANES), "SLOTS": str(P4_SLOTS)})


class CoreBox:
    """A core of ours, by the terms that the controller's driver gives it."""

    def __init__(self, make: MakeCore, lanes: int, table: TxPortTable | None = None) -> None:
        self._make, self._lanes = make, lanes
        self._now_ns = 0
        self.restart(table)

    def restart(self, table: TxPortTable | None = None) -> None:
        self._table, self._ports = table or TxPortTable(), dict[int, MemoryPort]()
        self.core = self._make(self._lanes, self._table)

    def install(self, entries: JobConfig) -> None:
        above = [entries.parent.port] if entries.parent is not None else []
        for port in [*above, *(child.port for child in entries.children)]:
            if port not in self._ports:
                self._ports[port] = MemoryPort(parse_port(f"{port}=memory:lab"), self._table)
        self.core.install(terms_of(entries, self._lanes))

    def receive(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        batch = FrameBatch(1)
        batch.append(frame, port)
        for memory_port in self._ports.values():
            port_refresh(memory_port.address)
        self._now_ns += CORE_TURN_NS
        due_ns = self.core.process(batch, self._now_ns)
        while due_ns is not None:
            self._now_ns = due_ns
            due_ns = self.core.process(FrameBatch(1), due_ns)
        answers = []
        for number, memory_port in self._ports.items():
            memory_port.flush()
            answers += [(number, answer) for answer in memory_port.received()]
        return answers


def below(make: MakeCore) -> Callable[[int, int], Box]:
    """Switches that follow the rules in plain Python below a core of ours."""
    return lambda lanes, index: plain(lanes, index) if index else CoreBox(make, lanes)


def above(make: MakeCore) -> Callable[[int, int], Box]:
    """A root that follows the rules in plain Python above cores of ours."""
    return lambda lanes, index: CoreBox(make, lanes) if index else plain(lanes, index)


def plain(lanes: int, index: int = 0) -> Box:
    return Plain(lanes)


def compiled(lanes: int, index: int = 0) -> Box:
    assert lanes == P4_LANES
    return P4Aggregator(program(), PORTS)


class Boxes:
    """The aggregators of a tree and which of their ports are joined: cable ``rank`` is worker ``rank``'s, cable
    ``workers + i`` leads from switch i to its parent."""

    def __init__(
        self,
        fan_out: tuple[int, ...],
        job: ReferenceJob,
        make: Callable[[int, int], Box],
        lanes: int,
        service: ServiceTerms | None = None,
    ) -> None:
        """``make`` is given the lanes and the switch's index."""
        self.job, self._service = job, service
        self.workers = len(job.children)
        zero = all(child.zero_checksum_allowed for child in job.children)
        self.switches = regular_tree(fan_out, zero_checksum_allowed=zero)
        self.ports = [child.port for child in job.children]
        self.boxes = [make(lanes, index) for index in range(len(self.switches))]
        self.ends = _ends(self.switches, self.ports)
        self._cables = {place: end for end, place in self.ends.items()}
        self.install_all(job.epoch, job.base)

    def parts(self, epoch: int, base: int) -> dict[int, JobConfig]:
        """What each switch has to know."""
        return split_job(self.entries(epoch, base), self.switches)

    def entries(self, epoch: int, base: int) -> JobConfig:
        """What all together have to know."""
        job = self.job
        children = tuple(
            Child(rank, child.port, child.mac, child.ip, child.zero_checksum_allowed)
            for rank, child in enumerate(job.children)
        )
        place = (JOB, 0, epoch, base, job.window, 0, job.short_allowed, job.switch_mac, job.switch_ip)
        return JobConfig(*place, children, self._service)

    def install_all(self, epoch: int, base: int) -> None:
        for index, part in self.parts(epoch, base).items():
            self.boxes[index].install(part)

    def receive(self, end: int, frame: bytes) -> list[tuple[int, bytes]]:
        """A frame that arrives at a switch's end of a cable; what leaves, with the other ends that it is on its way
        to."""
        index, port = self.ends[end]
        return [(-1 - self._cables[index, out], answer) for out, answer in self.boxes[index].receive(port, frame)]

    def verdicts(self) -> list[Counter[Verdict]]:
        """What each switch has counted (of plain ones)."""
        found = []
        for box in self.boxes:
            assert isinstance(box, Plain)
            found.append(Counter({verdict: count for (_, verdict), count in box.verdicts.items()}))
        return found


def _ends(switches: tuple[TreeSwitch, ...], ports: list[int]) -> dict[int, tuple[int, int]]:
    """(switch, port) by end of a cable: the lower end of a cable is its number, the upper one -1 - its number."""
    ends = {}
    for rank, port in enumerate(ports):
        ends[-1 - rank] = next(index for index, switch in enumerate(switches) if port in switch.ports), port
    for index, switch in enumerate(switches):
        if switch.parent is not None:
            ends[len(ports) + index] = index, switch.up_port
            ends[-1 - len(ports) - index] = switch.parent, switch.down_port
    return ends


@dataclass(slots=True)
class TreeLab(Lab):
    """The lab of ``tests.labs.protocol`` with switches in between."""

    boxes: Any = None
    sent_frames: Counter[int] = field(default_factory=Counter)
    """By the end of a cable that they are on their way to."""
    sent_bytes: Counter[int] = field(default_factory=Counter)

    def deliver(self, to: int, frame: bytes) -> None:
        if 0 <= to < self.boxes.workers:
            self.cores[to].receive(frame, self.now_ns)
            self.pump(to)
            return
        for end, answer in self.boxes.receive(to, frame):
            self.send(end, answer)

    def send(self, to: int, frame: bytes) -> None:
        self.sent_frames[to] += 1
        self.sent_bytes[to] += len(frame)
        self.network.send(to, frame, self.now_ns)


class OverflowBoxes(Boxes):
    """A switch and its overflow server, as the leaf and the root of a tree. How many slots the job has at the switch is
    drawn for every epoch."""

    def parts(self, epoch: int, base: int) -> dict[int, JobConfig]:
        rng, job = random.Random(f"{self.job.base} {epoch}"), self.entries(epoch, base)
        counts = [0, *(1 << log2 for log2 in range(job.window.bit_length()))]
        return split_overflow(replace(job, switch_slots=Run(rng.choice((0, 4)), rng.choice(counts))))

    def tell(self, core: WorkerCore, epoch: int) -> None:
        """A rank learns how many slots are at the switch."""
        beyond = self.parts(epoch, 0)[SWITCH].overflow
        core.memory.record["shorter_path_slots"] = beyond.slots if beyond is not None else 0


class TreeController(Controller):
    """Restarts some of the switches, and brings all into the new epoch one after another."""

    fewest_lost = 1

    def lose_state(self) -> list[tuple[str, int]]:
        boxes, rng = self.lab.boxes, self.lab.rng  # type: ignore[attr-defined]
        known = range(len(boxes.switches))
        for index in rng.sample(known, rng.randint(self.fewest_lost, len(known))):
            boxes.boxes[index].restart()
        return [("install", index) for index in rng.sample(known, len(known))]

    def install(self, index: int, *, is_first: bool) -> None:
        if is_first:
            self.epoch += 1
            self.base = min(self.lowest)
        boxes = self.lab.boxes  # type: ignore[attr-defined]
        part = boxes.parts(self.epoch, self.base % 2**32).get(index)
        if part is not None:
            boxes.boxes[index].install(part)


class OverflowController(TreeController):
    """An epoch may also begin where nothing is lost, for other slots."""

    fewest_lost = 0

    def resume(self, rank: int) -> None:
        self.lab.boxes.tell(self.lab.cores[rank], self.epoch)  # type: ignore[attr-defined]
        TreeController.resume(self, rank)


def make_tree_lab(
    schedule: Schedule,
    fan_out: tuple[int, ...],
    make: Callable[[int, int], Box] = plain,
    join: type[Boxes] = Boxes,
) -> TreeLab:
    """A job whose workers have ports of a regular tree; which ones, and in which order, the seed decides."""
    star = make_lab(schedule, switch=(SWITCH_MAC, SWITCH_IP))
    switches = regular_tree(fan_out)
    ports = sorted(port for switch in switches for port in switch.ports)
    if schedule.seed % 3:
        ports = star.rng.sample(ports, len(ports))
    children = tuple(replace(child, port=port) for child, port in zip(star.job.children, ports, strict=False))
    job = replace(star.job, children=children)
    boxes = join(fan_out, job, make, schedule.lanes)
    lab = TreeLab(schedule, star.network, star.rng, star.aggregator, job, star.cores, finished=star.finished)
    lab.boxes = boxes
    if isinstance(boxes, OverflowBoxes):
        for core in lab.cores:
            boxes.tell(core, job.epoch)
    return lab
