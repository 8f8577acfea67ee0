"""What is explored: a job on a star or a tree of switches, and the bounds of the faults that may happen to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product

from hostagent.controller.drivers.groups.tree import split_job
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.tree import TreeSwitch

JOB, ROW = 7, 0
SWITCH_MAC, SWITCH_IP = 0x026E73FFFFFE, 0x0A4EFFFE
PROGRAM = "allreduce.p4"
UP, FIRST_DOWN, PORTS = 5, 6, 10
"""Ports of switches: 1 .. 4 lead to workers, UP from a leaf to the root, FIRST_DOWN + i from the root to its leaf i."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many faults of each kind one run may have."""

    losses: int = 0
    duplicates: int = 0
    restarts: int = 0
    early: int = 0
    """Retransmissions, and time-outs, while frames are still in flight. Those after silence are not bounded."""

    def all(self) -> list[tuple[int, int, int, int]]:
        """Everything that may be left of them, in the order of their numbers."""
        losses, duplicates, restarts, early = (
            range(most + 1) for most in (self.losses, self.duplicates, self.restarts, self.early)
        )
        return list(product(losses, duplicates, restarts, early))


@dataclass(frozen=True)
class Scenario:
    """One exploration."""

    workers: int
    leaves: tuple[int, ...] = ()
    """Workers below each leaf of a two-level tree; empty: a star, one switch."""
    window: int = 2
    """Slots."""
    operations: tuple[int, ...] = (3,)
    """Chunks of each operation; every second one is a MAX, the others are SUMs, of 32-bit integers."""
    base: int = 0
    """First chunk of the job; may be above 2^32."""
    bounds: Bounds = Bounds()
    program: str = PROGRAM
    lanes: int = 64
    worker: str = ""
    """A fault put into the workers for the tests of the explorer, by its name in `machines.WORKER_FAULTS`."""

    @property
    def chunks(self) -> int:
        return sum(self.operations)

    @cached_property
    def switches(self) -> tuple[TreeSwitch, ...]:
        """The root first."""
        if not self.leaves:
            return (TreeSwitch(frozenset(range(1, self.workers + 1))),)
        made, first = [TreeSwitch(frozenset())], 1
        for place, below in enumerate(self.leaves):
            made.append(TreeSwitch(frozenset(range(first, first + below)), 0, UP, FIRST_DOWN + place))
            first += below
        return tuple(made)

    @cached_property
    def cables(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Where a frame arrives that leaves a machine by a port: (machine, port) -> (machine, port). Machines are the
        workers, whose port is 0, and then the switches."""
        ends: dict[tuple[int, int], tuple[int, int]] = {}
        for index, switch in enumerate(self.switches):
            at = self.workers + index
            for port in switch.ports:
                ends[port - 1, 0] = at, port
            if switch.parent is not None:
                ends[at, switch.up_port] = self.workers + switch.parent, switch.down_port
        return ends | {there: here for here, there in ends.items()}

    @cached_property
    def symmetries(self) -> list[tuple[int, ...]]:
        """Ways to renumber the workers, and the leaves with them, that leave the cables as they are, and the names of
        leaves, each of which is its first worker's number to its parent: the new number of each machine. The first one
        changes nothing."""
        below = [frozenset(port - 1 for port in switch.ports) for switch in self.switches]
        found = []
        for ranks in permutations(range(self.workers)):
            moved = [frozenset(ranks[rank] for rank in each) for each in below]
            keeps_names = all(
                ranks[min(before)] == min(after)
                for before, after, switch in zip(below, moved, self.switches, strict=True)
                if switch.parent is not None
            )
            if keeps_names and all(each in below for each in moved):
                found.append((*ranks, *(self.workers + below.index(each) for each in moved)))
        return found

    def entries(self, switch: int, epoch: int, base: int) -> JobConfig:
        """What the controller installs on a switch."""
        children = tuple(
            Child(rank, rank + 1, worker_mac(rank), worker_ip(rank), False) for rank in range(self.workers)
        )
        place = (JOB, ROW, epoch, base % 2**32, self.window, 0, True, SWITCH_MAC, SWITCH_IP)
        return split_job(JobConfig(*place, children), self.switches)[switch]

    def machine_name(self, machine: int) -> str:
        if machine < self.workers:
            return f"worker {machine}"
        switch = machine - self.workers
        if not self.leaves:
            return "switch"
        return f"leaf {switch}" if switch else "root"

    def __str__(self) -> str:
        shape = f"tree of {len(self.leaves)} leaves" if self.leaves else "star"
        operations = "+".join(map(str, self.operations))
        b = self.bounds
        return (
            f"{shape}, {self.workers} workers, {self.window} slots, {operations} chunks, at most {b.losses} lost, "
            f"{b.duplicates} duplicated, {b.restarts} restarts, {b.early} early time-outs"
        )


def worker_mac(rank: int) -> int:
    return 0x020000000001 + rank


def worker_ip(rank: int) -> int:
    return 0x0A000001 + rank
