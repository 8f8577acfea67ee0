"""A hostile tenant next to a well-behaved one: ``python -m tests.soaks.rack_fuzz --seconds 60 --seed 1``.

The hostile tenant's two workers are in the server's tables, so their frames pass the slot rule: announcements and data
with random contents, in any order, of operations that were never described, too long, too short and damaged. After each
epoch of it the other tenant's sums and weights must be what they were, the hostile one's memory within its quota, and
whatever was answered whole frames to workers of that job.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass

import numpy as np
import pytest

from emulator.ports.batch import TxPortTable
from hostagent.protocol.frames import Addresses, Frame, build_frame, parse_frame
from hostagent.protocol.served import Action, Announcement, Hyperparameters, ServedOptimizer, read_answer
from hostagent.protocol.services.aggregator import AggregatorRefused, ChildTerms, JobTerms, ServiceTerms
from hostagent.protocol.wire import FLAG_NO_DATA, Header, Kind, Operator
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.hierarchy.embedded_aggregator import Inside
from hostagent.rackserver.tenants.tenants import Registry

LANES, WINDOW_LOG2 = 64, 3
SERVER_MAC, SERVER_IP = 0x02AA, 0x0A00_00AA
RED, BLUE, SUMS = 1, 2, 3
"""Jobs: the hostile tenant's, the other tenant's, and one without a service."""
CHILDREN = {RED: 2, BLUE: 1, SUMS: 2}
QUOTA_BYTES = 1 << 20
BLUE_ELEMENTS = 3 * LANES + 5
EPOCH_ROUNDS = 40
INTERESTING = (0, 1, 2, 3, 5, 63, 64, 65, 255, 1 << 15, 1 << 16, 1 << 31, (1 << 32) - 1)


@dataclass(slots=True)
class Job:
    """One job's children, and how far it is."""

    number: int
    epoch: int = 0
    chunk: int = 0

    @property
    def children(self) -> tuple[ChildTerms, ...]:
        first = 10 * self.number
        return tuple(
            ChildTerms(n, n, first + n, 0x0200_0000 + first + n, 0x0A00_0000 + first + n)
            for n in range(CHILDREN[self.number])
        )

    def frame(self, child: int, operator: int, operation: int, lanes: np.ndarray | None, **more: int) -> bytes:
        member = self.children[child]
        header = Header(
            Kind.CONTRIBUTION,
            self.number,
            child,
            self.epoch,
            more.get("chunk", self.chunk) % (1 << 32),
            operation,
            operator=operator,
            flags=FLAG_NO_DATA if lanes is None else 0,
        )
        ends = Addresses(member.mac, SERVER_MAC, member.ip, SERVER_IP)
        return build_frame(Frame(ends, header, np.empty(0, np.uint32) if lanes is None else lanes))


class Fuzz:
    """One server, fuzzed from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.registry = Registry()
        self.inside = Inside(self._make)
        self.jobs = {number: Job(number) for number in CHILDREN}
        self.hashes = [self.random.getrandbits(32) for _ in range(8)]
        self.frames = 0
        for job in self.jobs.values():
            self.renew(job)
            for child in job.children:
                self.inside.provide(child.port)
        self.blue_words = np.frombuffer(self.random.randbytes(4 * BLUE_ELEMENTS), np.uint32)
        self.write_blue()

    def _make(self, table: TxPortTable) -> RackServer:
        self.server = RackServer(LANES, slots=64, cores=2, ports=table, registry=self.registry)
        return self.server

    def renew(self, job: Job) -> None:
        """A new epoch, as a controller does after a failure."""
        job.epoch += 1
        names = {RED: "red", BLUE: "blue"}
        service = None
        if job.number in names:
            service = ServiceTerms(names[job.number], b"", CHILDREN[job.number], 1, QUOTA_BYTES)
        place = (job.number, job.epoch, job.chunk, WINDOW_LOG2, 16 * (job.number - 1), LANES, job.children)
        self.server.install(JobTerms(*place, SERVER_MAC, SERVER_IP, True, service))

    def send(self, *frames: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        self.frames += len(frames)
        return self.inside.process(frames, 0)[0]

    # --- The hostile tenant -------------------------------------------------------------------------------------------

    def number(self) -> int:
        return self.random.choice(INTERESTING) if self.random.random() < 0.6 else self.random.getrandbits(32)

    def announcement(self) -> np.ndarray:
        """One that could be, with some lanes changed."""
        chance = self.random
        terms = Hyperparameters(
            chance.choice(list(ServedOptimizer)), chance.randrange(32), chance.choice((0, 1, 2)), lr=0.1, beta1=0.9
        )
        made = Announcement(
            chance.choice(list(Action)),
            chance.randrange(4),
            chance.choice((1, LANES, 5 * LANES + 1, QUOTA_BYTES)),
            buffer=chance.randrange(3),
            step=chance.randrange(4),
            keys=chance.randrange(1, 4),
            terms=terms,
        )
        lanes = np.zeros(LANES, np.uint32)
        lanes[:32] = made.words()
        for _ in range(chance.choice((0, 0, 1, 3))):
            lanes[chance.randrange(32)] = self.number()
        return lanes

    def hostile_round(self) -> None:
        """Both workers' contributions to the next chunk, and random frames around them."""
        job, chance = self.jobs[RED], self.random
        operator = chance.choice((Operator.ANNOUNCE, Operator.SERVED, Operator.SERVED, Operator.MAX, Operator.SUM, 9))
        operation = chance.choice(self.hashes)
        lanes = self.announcement() if operator == Operator.ANNOUNCE else self.data(operator)
        frames = []
        for child in range(CHILDREN[RED]):
            own = lanes
            if chance.random() < 0.1:
                own = self.data(operator)
            if chance.random() < 0.05:
                operation = chance.getrandbits(32)
            no_data = chance.random() < 0.1 and operator in (Operator.SUM, Operator.SERVED)
            whole = job.frame(child, operator, operation, None if no_data else own)
            port = job.children[child].port
            if chance.random() < 0.2:
                frames.append((port, self.damaged(whole)))
            if chance.random() < 0.1:
                frames.append((port, job.frame(child, operator, operation, own[: chance.randrange(LANES)])))
            if chance.random() < 0.1:
                frames.append((port, job.frame(child, operator, operation, own, chunk=job.chunk + self.number())))
            frames.append((port, whole))
        if chance.random() < 0.2:
            frames.append((chance.choice((10, 11, 20, 30)), chance.randbytes(chance.randrange(400))))
        chance.shuffle(frames)
        for port, answer in self.send(*frames):
            answered = parse_frame(answer)
            assert answered.header.job == RED, f"an answer of job {answered.header.job}"
            assert port == job.children[answered.header.child].port, (
                f"child {answered.header.child} answered by port {port}"
            )
        job.chunk += 1

    def data(self, operator: int) -> np.ndarray:
        values = np.frombuffer(self.random.randbytes(4 * LANES), np.uint32).copy()
        if operator == Operator.MAX:
            values = (values % 300).astype(np.int32).view(np.uint32)  # exponents that could be, mostly
            values[self.random.randrange(LANES)] = self.number()
        return values

    def damaged(self, frame: bytes) -> bytes:
        changed = bytearray(frame)
        for _ in range(self.random.randrange(1, 4)):
            changed[self.random.randrange(len(changed))] = self.random.randrange(256)
        cut = self.random.choice((len(changed), self.random.randrange(len(changed) + 1)))
        return bytes(changed[:cut]) + self.random.randbytes(self.random.choice((0, 0, 4, 300)))

    # --- What must hold -----------------------------------------------------------------------------------------------

    def served(self, announcement: Announcement, data: list[np.ndarray | None]) -> list[np.ndarray]:
        """An operation of the other tenant's only worker: the lanes of the answers to its data."""
        job = self.jobs[BLUE]
        operation = self.random.getrandbits(32)
        lanes = np.zeros(LANES, np.uint32)
        lanes[:32] = announcement.words()
        answers = []
        for operator, content in ((Operator.ANNOUNCE, lanes), *((Operator.SERVED, one) for one in data)):
            ((_, answer),) = self.send((job.children[0].port, job.frame(0, operator, operation, content)))
            answered = parse_frame(answer)
            assert answered.header.kind == Kind.RESULT
            answers.append(answered.lanes)
            job.chunk += 1
        status = read_answer(answers[0][:32]).status
        assert status == 0, f"the other tenant is refused: status {status}"
        return answers[1:]

    def _rows(self) -> list[np.ndarray]:
        padded = np.zeros(-(-BLUE_ELEMENTS // LANES) * LANES, np.uint32)
        padded[:BLUE_ELEMENTS] = self.blue_words
        return list(padded.reshape(-1, LANES))

    def write_blue(self) -> None:
        self.served(Announcement(Action.WRITE, 0, BLUE_ELEMENTS), list(self._rows()))

    def check(self) -> None:
        """See the module's text."""
        rows = self.served(Announcement(Action.PULL, 0, BLUE_ELEMENTS), [None] * len(self._rows()))
        got = np.concatenate(rows)[:BLUE_ELEMENTS]
        assert np.array_equal(got, self.blue_words), "the other tenant's weights have changed"
        job = self.jobs[SUMS]
        both = [self.data(Operator.SUM) for _ in range(2)]
        operation = self.random.getrandbits(32)
        answers = self.send(
            *((child.port, job.frame(n, Operator.SUM, operation, both[n])) for n, child in enumerate(job.children))
        )
        job.chunk += 1
        assert len(answers) == 2
        assert all(np.array_equal(parse_frame(frame).lanes, both[0] + both[1]) for _, frame in answers), "a wrong sum"
        used = self.server.service("red").used_bytes
        assert used <= QUOTA_BYTES, f"tenant 'red' uses {used} bytes"

    def hostile_terms(self) -> None:
        """Installing what can't be changes nothing."""
        chance = self.random
        wrong = ServiceTerms(chance.choice(("red", "blue", "")), b"guess", chance.choice((0, 1, 9)), -1, -5)
        job = self.jobs[RED]
        place = (9, 1, 0, WINDOW_LOG2, 56, LANES, job.children)
        with pytest.raises(AggregatorRefused, match="tenant"):
            self.server.install(JobTerms(*place, SERVER_MAC, SERVER_IP, True, wrong))

    def epoch(self) -> None:
        """Some rounds, then the checks."""
        for _ in range(EPOCH_ROUNDS):
            self.hostile_round()
        self.hostile_terms()
        self.check()
        self.renew(self.jobs[RED])


def main() -> None:
    """Until the time is over; a failure's message has the seed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--seed", type=int, default=0)
    arguments = options.parse_args()
    end = time.monotonic() + arguments.seconds
    seed, frames = arguments.seed, 0
    while time.monotonic() < end:
        print(f"seed {seed}", end="\r", flush=True)  # the last one seen, should the process die
        fuzz = Fuzz(seed)
        for _ in range(20):
            fuzz.epoch()
        frames += fuzz.frames
        seed += 1
    print(f"{frames:,} frames from seeds {arguments.seed} to {seed - 1}: nothing of another tenant has changed")


if __name__ == "__main__":
    main()
