"""Streams of contributions and messages that no well-behaved worker would send in this order, drawn from a seed.

Repeats, old and future chunks, other epochs, other operations, damaged and cut frames, strangers: what an aggregator
answers to them is compared with the rules in plain Python (`hostagent.protocol.reference`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hostagent.protocol.frames import Addresses, Frame, build_frame, parse_frame
from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.wire import (
    ECN_CAPABLE,
    ECN_MARKED,
    FLAG_NO_DATA,
    FLAG_SHORT_RESULT,
    FORWARDED_KINDS,
    Header,
    Kind,
    Operator,
)

LANES = 64
SLOTS = 64
PORTS = 5
AGGREGATOR_MAC, AGGREGATOR_IP = 0x020000FFFFFF, 0x0A0000FE
DESTINATION_BITS = 6 * 8


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a schedule; child k is at port k."""

    number: int
    children: int
    window_log2: int
    first_slot: int
    checksums: bool
    short_allowed: bool

    @property
    def window(self) -> int:
        return 1 << self.window_log2

    def mac(self, child: int) -> int:
        return 0x020000000000 + self.number * 256 + child

    def ip(self, child: int) -> int:
        return 0x0A000000 + self.number * 256 + child

    def reference(self, epoch: int, base: int) -> ReferenceJob:
        children = tuple(
            ReferenceChild(child, self.mac(child), self.ip(child), not self.checksums, self.checksums)
            for child in range(self.children)
        )
        return ReferenceJob(epoch, self.window, children, base, self.short_allowed, AGGREGATOR_MAC, AGGREGATOR_IP)


def draw_jobs(rng: random.Random) -> list[Job]:
    """One or two jobs."""
    jobs, slot = [], 0
    for number in range(1, rng.choice((2, 3))):
        window_log2 = rng.choice((0, 1, 2, 3))
        jobs.append(Job(number, rng.randint(1, PORTS), window_log2, slot, rng.random() < 0.5, rng.random() < 0.5))
        slot += 1 << window_log2
    return jobs


class Traffic:
    """Draws frames around where each job is; remembers its epoch, base and progress."""

    def __init__(self, rng: random.Random, jobs: list[Job], lanes: int = LANES) -> None:
        self.rng, self.jobs, self.lanes = rng, jobs, lanes
        self.epochs = {job.number: 10 * job.number for job in jobs}
        self.bases = {job.number: rng.choice((0, 5, 2**32 - 3)) for job in jobs}
        self.heads = dict(self.bases)

    def place(self, job: Job) -> tuple[int, int]:
        """The job's epoch and base now."""
        return self.epochs[job.number], self.bases[job.number]

    def begin_epoch(self, job: Job) -> None:
        """The job's next epoch begins at its head."""
        self.epochs[job.number] += 1
        self.bases[job.number] = self.heads[job.number]

    def frame(self) -> tuple[int, bytes]:
        """A port and what arrives there."""
        rng, job = self.rng, self.rng.choice(self.jobs)
        if rng.random() < 0.2:
            return self._message(job)
        head = self.heads[job.number]
        if rng.random() < 0.15:
            self.heads[job.number] = head = (head + 1) % 2**32
        chunk = (head + rng.choice((0, 0, 0, 0, 1, -1, job.window, 2 * job.window, -2 * job.window, 99))) % 2**32
        child = rng.randrange(job.children)
        epoch = self.epochs[job.number] + (rng.choice((-1, 1)) if rng.random() < 0.05 else 0)
        operator = Operator.MAX if chunk % 3 == 2 else Operator.SUM
        operation = chunk // 4 + (rng.random() < 0.01)
        no_data = operator == Operator.SUM and rng.random() < 0.25
        flags = (FLAG_NO_DATA if no_data else 0) | (FLAG_SHORT_RESULT if (chunk + child) % 3 == 0 else 0)
        header = Header(Kind.CONTRIBUTION, job.number, child, epoch, chunk, operation, operator=operator, flags=flags)
        lanes = np.frombuffer(rng.randbytes(4 * self.lanes), np.uint32)
        if no_data:
            lanes = lanes[:0] if job.short_allowed else np.zeros(self.lanes, np.uint32)
        header = replace(header, lanes=len(lanes))
        addresses = Addresses(job.mac(child), AGGREGATOR_MAC, job.ip(child), AGGREGATOR_IP)
        ecn = ECN_MARKED if rng.random() < 0.15 else ECN_CAPABLE
        frame = build_frame(Frame(addresses, header, lanes, job.checksums or rng.random() < 0.3, ecn=ecn))
        return self._damaged(child, frame)

    def _message(self, job: Job) -> tuple[int, bytes]:
        """Of any length up to a little more than a full frame's, mostly for a child that exists."""
        rng, child = self.rng, self.rng.randrange(job.children)
        peer = rng.randrange(job.children) if rng.random() < 0.95 else rng.choice((job.children, 63, 64, 2**16 - 1))
        epoch = self.epochs[job.number] + (rng.choice((-1, 1)) if rng.random() < 0.05 else 0)
        numbers = rng.randrange(2**32), rng.randrange(2**32)
        header = Header(rng.choice(FORWARDED_KINDS), job.number, child, epoch, *numbers, peer=peer)
        size = rng.choice((0, 1, 3, 4 * self.lanes - 1, 4 * self.lanes, rng.randrange(4 * self.lanes + 3)))
        addresses = Addresses(job.mac(child), AGGREGATOR_MAC, job.ip(child), AGGREGATOR_IP)
        frame = Frame(addresses, header, checksum=rng.random() < 0.7, payload=rng.randbytes(size))
        return self._damaged(child, build_frame(frame))

    def _damaged(self, port: int, frame: bytes) -> tuple[int, bytes]:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.03:
            at = rng.randrange(DESTINATION_BITS, len(frame) * 8)  # a P4 switch answers from the address it was sent to
            frame = frame[: at // 8] + bytes([frame[at // 8] ^ 1 << at % 8]) + frame[at // 8 + 1 :]
        elif kind < 0.05:
            frame = frame[: rng.randrange(len(frame))]
        elif kind < 0.06:
            frame += rng.randbytes(rng.randint(1, 20))
        elif kind < 0.08:
            port = (port + 1) % PORTS
        elif kind < 0.09:
            frame = rng.randbytes(rng.randrange(1, 400))
        return port, frame


def essence(port: int, data: bytes) -> tuple[int, bytes]:
    """What must agree of what comes out: all of it, but for the lanes that `waiting` and `error` say nothing in."""
    frame = parse_frame(data, at_destination=False, passing=frozenset(Kind))
    meant = {Kind.WAITING: 2, Kind.ERROR: 4}.get(Kind(frame.header.kind))
    if meant is None:
        return port, data
    return port, repr((frame.addresses, frame.header, frame.ecn, frame.lanes[:meant].tolist())).encode()


def shortest(play: Callable[[int], str], longest: int) -> str:
    """A failing schedule cut to as few steps as fail: the minimal counter-example of its seed."""
    for steps in range(1, longest + 1):
        if problem := play(steps):
            return f"{steps} steps: {problem}"
    return "does not fail again"
