"""Message cores over many seeded schedules, against MPI's rules; a failing one is shrunk and printed."""

from __future__ import annotations

import numpy as np
import pytest

from hostagent.protocol.messages import COLLECTIVE_TAGS
from hostagent.protocol.messages.frames import ACKNOWLEDGEMENT_FRAME_BYTES
from hostagent.protocol.messages.receive import LATER_NS
from hostagent.protocol.messages.records import RETAINED_MESSAGES, eager_messages
from hostagent.protocol.worker import FAILED_MISMATCH
from tests.generators.message_schedules import draw
from tests.labs import message_core
from tests.labs.extent import tries
from tests.labs.message_core import TICK_NS, Lab, Schedule, explain, make_lab, run

BATCHES, BATCH = 20, tries(15, 60)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_schedules(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        schedule = draw(seed)
        if run(schedule):
            pytest.fail(explain(schedule))


def exchange(schedule: Schedule, size: int) -> Lab:
    """Every rank sends ``size`` bytes to every other; checks them; returns the lab at the end."""
    lab, _ = make_lab(schedule)
    rng, n = np.random.default_rng(schedule.seed), schedule.workers
    given = [[rng.integers(0, 256, size, np.uint8) for _ in range(n)] for _ in range(n)]
    got = [[np.zeros(size, np.uint8) for _ in range(n)] for _ in range(n)]
    for rank, core in enumerate(lab.cores):
        for peer in range(n):
            if peer != rank:
                core.receive_message(peer, got[rank][peer])
                core.send(peer, given[rank][peer])
        lab.pump(rank)
    while sum(map(len, lab.ended)) < 2 * n * (n - 1):
        assert lab.step()
    for rank in range(n):
        for peer in range(n):
            assert rank == peer or np.array_equal(got[rank][peer], given[peer][rank])
    return lab


@pytest.mark.parametrize("workers", [2, 4])
def test_nothing_is_repeated_on_a_path_without_loss(workers: int) -> None:
    lab = exchange(Schedule(workers=workers, lanes=64, budget=64), 1 << 18)
    for core in lab.cores:
        statistics = core.statistics()
        assert statistics["retransmissions_sent"] == 0
        assert statistics["duplicate_fragments"] == 0
        assert statistics["acknowledgements_sent"] <= statistics["fragments_sent"]


@pytest.mark.parametrize("late_ticks", [0, 50])
def test_two_roots_of_one_scatter_are_found(late_ticks: int) -> None:
    """Each sends to the other what it will never receive: before the other's call, or after it."""
    lab, _ = make_lab(Schedule(workers=2))
    first, other = lab.cores
    data = [np.zeros(8, np.uint8) for _ in lab.cores]
    other.send(0, data[1], COLLECTIVE_TAGS | 5, call=500)
    lab.pump(1)
    for _ in range(late_ticks):
        lab.step()
    assert first.failure == other.failure == 0
    first.send(1, data[0], COLLECTIVE_TAGS | 5, call=600)
    lab.pump(0)
    while first.failure == 0:
        assert lab.step()
    assert first.failure == FAILED_MISMATCH
    assert [int(first.record[name][0]) for name in ("first_hash", "other_hash", "other_child")] == [600, 500, 1]


def test_a_message_of_a_collective_to_come_waits() -> None:
    lab, _ = make_lab(Schedule(workers=2))
    given, got = np.arange(8, dtype=np.uint8), np.zeros(8, np.uint8)
    lab.cores[1].send(0, given, COLLECTIVE_TAGS | 6)
    lab.pump(1)
    lab.cores[1].receive_message(0, got, COLLECTIVE_TAGS | 5)
    lab.cores[0].send(1, given, COLLECTIVE_TAGS | 5)
    lab.pump(0)
    while not np.array_equal(got, given):
        assert lab.step()
    got[:] = 0
    lab.cores[0].receive_message(1, got, COLLECTIVE_TAGS | 6)
    lab.pump(0)
    while not np.array_equal(got, given):
        assert lab.step()
    assert [core.failure for core in lab.cores] == [0, 0]


def test_many_mebibytes_under_loss_arrive_whole() -> None:
    lab = exchange(Schedule(workers=2, lanes=1024, budget=64, loss=0.05, duplicate=0.05, reorder=0.1), 8 << 20)
    fragments = 2 * (8 << 20) // (4 * 1024)
    repeats = sum(core.statistics()["retransmissions_sent"] for core in lab.cores)
    assert repeats < fragments / 2
    counts = [core.statistics() for core in lab.cores]
    sent, received = (
        sum(
            each[f"bytes_{way}"] - each[besides] - ACKNOWLEDGEMENT_FRAME_BYTES * each[f"acknowledgements_{way}"]
            for each in counts
        )
        for way, besides in (("sent", "retransmitted_bytes"), ("received", "unused_bytes"))
    )
    assert sent == received > 2 * (8 << 20)


def test_a_path_slower_than_the_first_estimate_is_learnt() -> None:
    """A round trip of 400 ms; the first estimate is 20."""
    lab = exchange(Schedule(workers=2, lanes=64, delay_ticks=100), 1 << 16)
    assert sum(core.statistics()["retransmissions_sent"] for core in lab.cores) < 200
    assert lab.now_ns < 60_000 * TICK_NS


def test_messages_beyond_the_buffers_for_envelopes_have_a_fragment_more() -> None:
    lab, _ = make_lab(Schedule(workers=2))
    sender, receiver = lab.cores
    data, got = np.zeros(20, np.uint8), np.zeros(20, np.uint8)
    for _ in range(100):
        sender.send(1, data)
    lab.pump(0)
    while sender.statistics()["fragments_sent"] < 100:
        assert lab.step()
    for _ in range(100):
        receiver.receive_message(0, got)
    lab.pump(1)
    while sender.statistics()["sends_finished"] < 100:
        assert lab.step()
    late = 100 - eager_messages(2)
    assert sender.statistics()["late_fragments_sent"] == receiver.statistics()["late_fragments_received"] == late


def test_an_acknowledgement_goes_with_the_answer_or_after_half_a_millisecond() -> None:
    lab, _ = make_lab(Schedule(workers=2))
    first, other = lab.cores
    data, got = np.zeros(20, np.uint8), np.zeros(20, np.uint8)
    for _ in range(2):
        other.receive_message(0, got)
        first.send(1, data)
        (message,) = first.transmit(lab.now_ns)
        ((_, forwarded),) = lab.forward(0, message)
        other.receive(forwarded, lab.now_ns)
        assert other.transmit(lab.now_ns) == []
        assert other.next_timer() == lab.now_ns + LATER_NS
        if other.statistics()["acknowledgements_sent"] == 0:
            other.send(0, data)
            assert len(other.transmit(lab.now_ns)) == 2
        else:
            lab.now_ns += LATER_NS
            assert len(other.transmit(lab.now_ns)) == 1
    assert other.statistics()["acknowledgements_sent"] == 2


def test_short_sends_end_at_once_while_there_are_buffers() -> None:
    lab, _ = make_lab(Schedule(workers=2))
    sender, receiver = lab.cores
    data, got = np.zeros(20, np.uint8), np.zeros(20, np.uint8)
    for _ in range(RETAINED_MESSAGES + 3):
        sender.send(1, data)
        receiver.receive_message(0, got)
    lab.pump(0)
    assert len(lab.ended[0]) == RETAINED_MESSAGES
    assert sender.statistics()["sends_finished"] == 0
    assert sender.memory.retains
    while sender.statistics()["sends_finished"] < RETAINED_MESSAGES + 3:
        assert lab.step()
    assert len(lab.ended[0]) == RETAINED_MESSAGES + 3
    assert not sender.memory.retains


def test_messages_that_changed_places_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: two messages of one source, to one rank and with one tag, arrive in each other's place."""
    schedule = Schedule(seed=6, messages=8, tags=1, lanes=16)
    assert run(schedule) == ""
    original = message_core.matching_problem

    def exchanged(traffic: message_core.Traffic) -> str:
        first, *_, last = (sent for sent in traffic.sent[0] if sent.destination == 1)
        receives = [each for each in traffic.wanted[1] if int(each.from_rank[0]) == 0]
        one, other = (next(r for r in receives if np.array_equal(r.data, sent.data)) for sent in (first, last))
        one.data[:], other.data[:] = last.data, first.data
        return original(traffic)

    monkeypatch.setattr(message_core, "matching_problem", exchanged)
    assert "overtook" in run(schedule)
