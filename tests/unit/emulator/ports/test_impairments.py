"""What an impaired link does, in virtual time; and the simulation's Link, which is one."""

from __future__ import annotations

from itertools import pairwise

import pytest

from emulator.network.link import Link
from emulator.ports.batch import CELL_BYTES, FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.impairments import impair_push_batch
from emulator.ports.spec import Impairments, parse_port

END_NS = 1 << 60


def frames(count: int, length: int = 16) -> list[bytes]:
    return [number.to_bytes(4, "big") * (length // 4) for number in range(count)]


def pass_all(impairments: Impairments, sent: list[bytes], *, stream: int = 0) -> list[bytes]:
    link = Link(impairments, stream=stream)
    for number, frame in enumerate(sent):
        link.send(number * 1000, frame)
    return link.receive(END_NS)


def test_a_perfect_link_delivers_at_once_and_in_order() -> None:
    link = Link()
    assert link.next_timer_ns() is None
    for frame in frames(5):
        link.send(70, frame)
    assert link.next_timer_ns() == 70
    assert link.receive(69) == []
    assert link.receive(70) == frames(5)
    assert link.next_timer_ns() is None


def test_delay() -> None:
    link = Link(Impairments(delay_ns=500))
    link.send(100, b"a")
    link.send(300, b"b")
    assert link.next_timer_ns() == 600
    assert link.receive(599) == []
    assert link.receive(600) == [b"a"]
    assert link.next_timer_ns() == 800
    assert link.receive(5000) == [b"b"]


def test_rate_makes_each_frame_wait_for_the_one_before() -> None:
    # 8 Mbit/s: a byte per microsecond
    link = Link(Impairments(rate_bps=8_000_000))
    for _ in range(3):
        link.send(0, bytes(100))
    assert [len(link.receive(at)) for at in (99_999, 100_000, 199_999, 200_000, 300_000)] == [0, 1, 0, 1, 1]
    link.send(1_000_000, bytes(100))
    assert link.next_timer_ns() == 1_100_000


def test_jitter_delays_and_keeps_the_order() -> None:
    link = Link(Impairments(delay_ns=1000, jitter_ns=10_000, seed=3))
    sent = frames(200)
    for number, frame in enumerate(sent):
        link.send(number * 100, frame)
    first = link.next_timer_ns()
    assert first is not None
    assert 1000 <= first <= 11_000
    assert link.receive(END_NS) == sent


def test_loss_duplication_and_corruption_come_at_their_rates() -> None:
    count = 4000
    link = Link(Impairments(loss=0.3, duplicate=0.1, corrupt=0.2, seed=11, queue_frames=8192))
    for frame in frames(count):
        link.send(0, frame)
    statistics = link.statistics()
    # five standard deviations of the binomial distributions
    assert abs(statistics["lost"] - 1200) < 145
    assert abs(statistics["duplicated"] - 280) < 85
    assert abs(statistics["corrupted"] - 616) < 115
    delivered = link.receive(END_NS)
    assert len(delivered) == count - statistics["lost"] + statistics["duplicated"]
    originals = set(frames(count))
    assert sum(frame not in originals for frame in delivered) <= statistics["corrupted"]


def test_corruption_flips_exactly_one_bit_anywhere() -> None:
    sent = [bytes(64)] * 1000
    flipped = [int.from_bytes(frame, "big") for frame in pass_all(Impairments(corrupt=1.0, seed=5), sent)]
    assert len(flipped) == 1000
    assert all(value.bit_count() == 1 for value in flipped)
    assert len(set(flipped)) > 400


def test_reordering_lets_later_frames_overtake() -> None:
    sent = frames(300)
    got = pass_all(Impairments(delay_ns=1000, reorder=0.2, reorder_by_ns=50_000, seed=2), sent)
    assert sorted(got) == sorted(sent)
    assert got != sent
    stragglers = sum(later < earlier for earlier, later in pairwise(got))
    assert stragglers > 10


def test_the_same_seed_repeats_and_another_does_not() -> None:
    sent = frames(500)
    noisy = Impairments(loss=0.2, duplicate=0.2, reorder=0.3, corrupt=0.3, jitter_ns=3000, seed=42)
    assert pass_all(noisy, sent) == pass_all(noisy, sent)
    assert pass_all(noisy, sent) != pass_all(noisy, sent, stream=1)
    other = Impairments(loss=0.2, duplicate=0.2, reorder=0.3, corrupt=0.3, jitter_ns=3000, seed=43)
    assert pass_all(noisy, sent) != pass_all(other, sent)


def test_which_frames_are_lost_does_not_depend_on_other_impairments() -> None:
    sent = frames(500)
    alone = pass_all(Impairments(loss=0.4, seed=9), sent)
    among = pass_all(Impairments(loss=0.4, duplicate=0.5, reorder=0.5, jitter_ns=9000, rate_bps=10**9, seed=9), sent)
    assert set(alone) == set(among)
    assert 0 < len(alone) < 500


def test_a_full_link_drops_and_counts() -> None:
    link = Link(Impairments(delay_ns=10, queue_frames=3))
    for frame in frames(5):
        link.send(0, frame)
    assert link.statistics()["dropped_full"] == 2
    assert link.receive(10) == frames(3)
    link.send(20, b"room again")
    assert link.receive(30) == [b"room again"]


def test_a_frame_longer_than_a_cell_is_dropped_and_counted() -> None:
    link = Link()
    link.send(0, bytes(CELL_BYTES))
    link.send(0, bytes(CELL_BYTES + 1))
    assert link.statistics()["dropped_too_long"] == 1
    assert [len(frame) for frame in link.receive(0)] == [CELL_BYTES]


def test_frames_are_borrowed_from_the_link_until_release() -> None:
    link = Link(Impairments(queue_frames=2))
    link.send(0, b"a")
    link.send(0, b"b")
    batch = FrameBatch(8)
    assert link.receive_into(0, batch) == 2
    link.send(0, b"c")
    assert link.statistics()["dropped_full"] == 1
    assert [frame for _, frame in batch.frames()] == [b"a", b"b"]
    link.release()
    link.send(0, b"d")
    assert link.receive(0) == [b"d"]


def test_batches_pass_whole() -> None:
    link = Link(Impairments(delay_ns=5), port=4)
    batch = FrameBatch(8)
    for frame in frames(6):
        batch.append(frame, 0)
    impair_push_batch(link.address, batch.record_address, 0)
    assert batch.count == 0
    assert link.receive_into(5, batch) == 6
    assert list(batch.frames()) == [(4, frame) for frame in frames(6)]


@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_impairments_around_a_port(direction: str) -> None:
    table = TxPortTable()
    port = MemoryPort(parse_port(f"3=memory:a?delay=1us&direction={direction}"), table)
    batch = FrameBatch(8)
    inward, outward = direction != "out", direction != "in"

    port.send([b"up"])
    port.receive_into(batch, now_ns=100)
    assert batch.count == (0 if inward else 1)
    assert port.next_timer_ns() == (1100 if inward else None)
    if inward:
        port.release()
        assert port.host.consumed == 1
        port.receive_into(batch, now_ns=1100)
    assert list(batch.frames()) == [(3, b"up")]
    port.release()

    table.append(3, b"down")
    port.flush(now_ns=5000)
    assert port.received() == ([] if outward else [b"down"])
    if outward:
        assert port.next_timer_ns() == 6000
        port.flush(now_ns=6000)
        assert port.received() == [b"down"]
    assert set(port.statistics().links) == {"in": {"in"}, "out": {"out"}, "both": {"in", "out"}}[direction]


def test_an_impaired_port_goes_round_many_times() -> None:
    table = TxPortTable()
    port = MemoryPort(parse_port("3=memory:a?delay=1ns&direction=out"), table)
    for turn in range(3000):
        assert table.append(3, turn.to_bytes(4, "big"))
        port.flush(turn * 10)
        port.flush(turn * 10 + 1)
        assert port.received() == [turn.to_bytes(4, "big")]
        port.receive_into(FrameBatch(1))
