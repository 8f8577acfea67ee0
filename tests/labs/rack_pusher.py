"""Served operations on a rack server, frame by frame: workers that send what the test says, when it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hostagent.protocol.frames import Addresses, Frame, build_frame, parse_frame
from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, log2_ceiling
from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.served import Action, Announcement, Hyperparameters, ServedOptimizer
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.protocol.wire import Header, Kind
from hostagent.rackserver.frames.validate import ANNOUNCE, MAX, SERVED
from tests.labs.rack_aggregator import RackAggregator, terms_of

Array = np.ndarray[Any, Any]
SGD = Hyperparameters(ServedOptimizer.SGD, lr=1.0)
SHIFT = 20
"""Gradients here are multiples of 2^-20 below 2^9: whole numbers in their lanes."""


class Pusher:
    """Workers of one service, each behind its own port. Every operation has the next chunks."""

    def __init__(self, workers: int = 1, *, lanes: int = 64, window: int = 32, cores: int = 1) -> None:
        self.workers, self.lanes = workers, lanes
        self.job = ReferenceJob(
            1, window, tuple(ReferenceChild(n, 0x020000000001 + n, 0x0A000001 + n) for n in range(workers))
        )
        self.aggregator = RackAggregator(lanes, cores=cores, ports=workers)
        service = ServiceTerms("test", workers=workers, quota_bytes=1 << 26)
        self.aggregator.server.install(terms_of(7, self.job, lanes, service))
        self.service = self.aggregator.server.service("test")
        self.chunk, self.operation = 0, 0
        self.sent = 0

    def frame(self, worker: int, chunk: int, operator: int, words: Array) -> tuple[int, bytes]:
        """One contribution: (port, frame). ``words``: its lanes, zeros behind them."""
        lanes = np.zeros(self.lanes, np.uint32)
        lanes[: words.size] = words
        child = self.job.children[worker]
        header = Header(Kind.CONTRIBUTION, 7, worker, 1, chunk, self.operation, operator, lanes=self.lanes)
        addresses = Addresses(child.mac, self.job.switch_mac, child.ip, self.job.switch_ip)
        return worker, build_frame(Frame(addresses, header, lanes))

    def send(self, frames: Sequence[tuple[int, bytes]]) -> dict[tuple[int, int], Array]:
        """A batch; results by (worker, chunk), without lanes where they have none. Nothing comes twice."""
        self.sent += len(frames)
        results: dict[tuple[int, int], Array] = {}
        for worker, data in self.aggregator.receive_all(list(frames)):
            answer = parse_frame(data)
            assert answer.header.kind == Kind.RESULT, answer.header
            assert (worker, answer.header.chunk) not in results
            results[worker, answer.header.chunk] = answer.lanes if not answer.header.flags else answer.lanes[:0]
        return results

    def send_all(self, chunk: int, operator: int, words: Array) -> Array:
        """Of all workers alike; worker 0's result."""
        return self.send([self.frame(worker, chunk, operator, words) for worker in range(self.workers)])[0, chunk]

    def begin(self, announcement: Announcement) -> int:
        """Announce an operation of all workers; number of the chunk behind the announcement."""
        self.operation += 1
        answer = self.send_all(self.chunk, ANNOUNCE, announcement.words())
        assert answer[0] == 0, f"refused with status {answer[0]}"
        self.chunk += 1
        return self.chunk

    def chunks_of(self, elements: int) -> int:
        return -(-elements // self.lanes)

    def push(self, key: int, gradient: Array, step: int, terms: Hyperparameters = SGD) -> Array:
        """A whole push-pull of the same gradient on all workers, up to a chunk; the new weights."""
        first = self.begin_push(key, gradient.size, step, terms=terms)
        return self.send_all(first, SERVED, self.words(gradient)).view(np.float32)[: gradient.size]

    def write(self, key: int, weights: Array, **more: Any) -> None:
        """The key's weights, from worker 0 to the server and all."""
        first = self.begin(Announcement(Action.WRITE, key, weights.size, **more))
        for index in range(self.chunks_of(weights.size)):
            words = weights[index * self.lanes : (index + 1) * self.lanes].view(np.uint32)
            self.send([self.frame(worker, first + index, SERVED, words) for worker in range(self.workers)][:1])
            silent = np.zeros(0, np.uint32)
            for worker in range(1, self.workers):
                self.send([self.frame(worker, first + index, SERVED, silent)])
        self.chunk = first + self.chunks_of(weights.size)

    def read(self, key: int, elements: int, step: int = 0) -> Array:
        """The key's weights, as worker 0 gets them."""
        first = self.begin(Announcement(Action.PULL, key, elements, step=step))
        empty = np.zeros(0, np.uint32)
        parts = [self.send_all(first + index, SERVED, empty) for index in range(self.chunks_of(elements))]
        self.chunk = first + len(parts)
        return np.concatenate(parts).view(np.float32)[:elements]

    def begin_push(
        self,
        key: int,
        elements: int,
        step: int,
        exponents: Sequence[int] | None = None,
        terms: Hyperparameters = SGD,
    ) -> int:
        """Announce a push-pull of up to as many chunks as a frame has lanes; number of its first data chunk."""
        first = self.begin(Announcement(Action.PUSH_PULL, key, elements, step=step, terms=terms))
        declared = [self.exponent] * self.chunks_of(elements) if exponents is None else exponents
        self.send_all(first, MAX, np.array(declared, np.int64).astype(np.uint32))
        self.chunk = first + 1 + self.chunks_of(elements)
        return first + 1

    @property
    def exponent(self) -> int:
        """The exponent with which lanes are gradients times 2^SHIFT."""
        return 30 - log2_ceiling(self.workers) - SHIFT

    def words(self, gradient: Array) -> Array:
        """A chunk of gradients as lanes."""
        return (gradient * 2.0**SHIFT).astype(np.int64).astype(np.uint32)


NOT_FINITE = EXPONENT_NOT_FINITE
