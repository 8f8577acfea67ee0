"""Several threads give the bits that one gives, and end when they are told to."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.ports.batch import FrameBatch
from hostagent.protocol.frames import Addresses, Frame, build_frame, parse_frame
from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.wire import Header, Kind, Operator
from hostagent.rackserver.thread_pool import (
    ALONE,
    LATE_NS,
    SHORTEST_NS,
    TOGETHER,
    TRIAL,
    TRY_ALONE,
    TRY_TOGETHER,
    ThreadPool,
    note_batch,
)
from tests.labs.rack_aggregator import RackAggregator, terms_of

LANES, WORKERS, WINDOW = 64, 3, 32
JOB = ReferenceJob(1, WINDOW, tuple(ReferenceChild(n, 0x020000000001 + n, 0x0A000001 + n) for n in range(WORKERS)))


def contributions(chunks: int) -> list[tuple[int, bytes]]:
    rng = np.random.default_rng(1)
    frames = []
    for chunk in range(chunks):
        for number, child in enumerate(JOB.children):
            header = Header(Kind.CONTRIBUTION, 7, number, 1, chunk, 5, Operator.SUM, lanes=LANES)
            addresses = Addresses(child.mac, JOB.switch_mac, child.ip, JOB.switch_ip)
            lanes = rng.integers(0, 2**32, LANES, np.uint32)
            frames.append((number, build_frame(Frame(addresses, header, lanes))))
    return frames


def test_threads_answer_what_one_core_answers_in_whatever_order() -> None:
    frames = contributions(WINDOW)
    alone, together = (RackAggregator(LANES, cores=cores, ports=WORKERS) for cores in (1, 2))
    for aggregator in (alone, together):
        aggregator.server.install(terms_of(7, JOB, LANES))
    with ThreadPool(together.server):
        answers = sorted(together.receive_all(frames))
        again = sorted(together.receive_all(frames))
    assert answers == sorted(alone.receive_all(frames))
    assert again == answers
    assert len(answers) == WORKERS * WINDOW
    assert {parse_frame(data).header.kind for _, data in answers} == {Kind.RESULT}
    counted = [record["frames"] for record in together.server.statistics()["cores"]]  # type: ignore[attr-defined]
    assert sum(counted) == 2 * len(frames)
    assert min(counted) > 0
    summed = [record["lane_bytes"] for record in together.server.statistics()["cores"]]  # type: ignore[attr-defined]
    assert sum(summed) == 4 * LANES * len(frames)  # repeats are not summed


def test_a_server_goes_on_alone_after_its_threads_have_ended() -> None:
    aggregator = RackAggregator(LANES, cores=2, ports=WORKERS)
    aggregator.server.install(terms_of(7, JOB, LANES))
    ThreadPool(aggregator.server, pin=True).stop()
    assert len(aggregator.receive_all(contributions(8))) == 8 * WORKERS
    assert aggregator.server.process(FrameBatch(1), 0) is None


def test_a_part_whose_thread_does_not_run_is_done_by_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThreadPool, "_follow", lambda self, core: None)
    frames = contributions(WINDOW)
    aggregator = RackAggregator(LANES, cores=3, ports=WORKERS)
    aggregator.server.install(terms_of(7, JOB, LANES))
    with ThreadPool(aggregator.server):
        for _ in range(3):
            assert len(aggregator.receive_all(frames)) == WORKERS * WINDOW


class Trials:
    """A thread pool's record without threads, and the times that its batches are said to take."""

    def __init__(self) -> None:
        aggregator = RackAggregator(LANES, ports=1)
        self._thread_pool = ThreadPool(aggregator.server)
        self.now_ns = 1_000_000_000

    @property
    def way(self) -> int:
        return int(self._thread_pool.record["way"][0])

    def batches(self, count: int, worked_ns: int, waited_ns: int = 0) -> int:
        for _ in range(count):
            self.now_ns += worked_ns + waited_ns
            note_batch(self._thread_pool.address, 256, worked_ns, waited_ns, self.now_ns)
        return self.way


@pytest.mark.parametrize(("together_ns", "choice"), [(20_000, TOGETHER), (40_000, ALONE)])
def test_what_takes_less_time_is_gone_on_with_and_tried_again_later(together_ns: int, choice: int) -> None:
    trials = Trials()
    for holds_ns in (SHORTEST_NS, 2 * SHORTEST_NS):
        assert trials.way == TRY_TOGETHER
        assert trials.batches(TRIAL, together_ns) == TRY_ALONE
        assert trials.batches(TRIAL, 30_000) == choice
        assert trials.batches(1, holds_ns // 2) == choice
        assert trials.batches(1, holds_ns // 2) == TRY_TOGETHER


def test_delayed_batches_suspend_the_thread_pool_longer_each_time() -> None:
    trials = Trials()
    trials.batches(TRIAL, 20_000)
    assert trials.batches(TRIAL, 30_000) == TOGETHER
    assert trials.batches(5, 20_000, waited_ns=LATE_NS) == TOGETHER
    assert trials.batches(1, 20_000, waited_ns=LATE_NS + 1) == ALONE
    assert trials.batches(1, SHORTEST_NS) == TRY_TOGETHER
    assert trials.batches(1, 20_000, waited_ns=LATE_NS + 1) == ALONE
    assert trials.batches(1, SHORTEST_NS) == ALONE
    assert trials.batches(1, SHORTEST_NS) == TRY_TOGETHER


def test_batches_alone_and_together_give_the_same_answers() -> None:
    frames = contributions(WINDOW)
    aggregator = RackAggregator(LANES, cores=2, ports=WORKERS)
    aggregator.server.install(terms_of(7, JOB, LANES))
    with ThreadPool(aggregator.server) as thread_pool:
        first = sorted(aggregator.receive_all(frames))
        for way in (ALONE, TRY_ALONE, TOGETHER, TRY_TOGETHER):
            thread_pool.record["way"] = way
            assert sorted(aggregator.receive_all(frames)) == first
