"""A link's rate, latency, queue and loss."""

from __future__ import annotations

import pytest

from emulator.network.topology.parts import LinkClass
from tests.labs.two_hosts import two_hosts

SLOW = LinkClass("slow", 8_000_000, latency_ns=5_000, queue_bytes=2_500, mtu_bytes=2_100)
"""A byte takes 1,000 ns."""


def test_frames_leave_one_after_another_and_arrive_the_latency_later() -> None:
    network, receiver = two_hosts([(0, 100), (0, 60), (50_000, 200), (900_000, 100)], SLOW)
    expected = [(105_000, 100), (165_000, 60), (365_000, 200), (1_005_000, 100)]
    assert receiver.arrivals == expected
    counts = network.counts()["a->b"]
    assert (counts.frames, counts.bytes, counts.most_waiting_bytes) == (4, 460, 260)
    assert network.counts()["b->a"].frames == 0
    assert network.hops == 4


def test_a_full_queue_drops_what_comes() -> None:
    """The first frame leaves at once; two of 1,000 bytes fit into the queue behind it; the short one still fits."""
    network, receiver = two_hosts([(0, 1000), (0, 1000), (1, 1000), (2, 1000), (3, 500), (4, 1)], SLOW)
    assert [length for _, length in receiver.arrivals] == [1000, 1000, 1000, 500]
    counts = network.counts()["a->b"]
    assert (counts.dropped, counts.dropped_bytes, counts.frames) == (2, 1001, 4)


def test_what_has_begun_to_leave_no_longer_waits() -> None:
    """At 1,000,000 ns the second frame begins, so there is room for another one."""
    _, receiver = two_hosts([(0, 1000), (0, 1000), (0, 1000), (1_000_000, 1000), (1_000_001, 1000)], SLOW)
    assert [ns for ns, _ in receiver.arrivals] == [n * 1_000_000 + 5_000 for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("loss", [0.1, 0.9])
def test_lost_frames_take_their_time_and_are_the_seed_s(loss: float) -> None:
    frames = [(0, 10)] * 200
    network, receiver = two_hosts(frames, SLOW, loss=loss, seed=4)
    lost = network.counts()["a->b"].lost
    assert len(receiver.arrivals) == network.hops == 200 - lost
    assert abs(lost - 200 * loss) < 30
    assert all(ns % 10_000 == 5_000 for ns, _ in receiver.arrivals)
    assert two_hosts(frames, SLOW, loss=loss, seed=4)[1].arrivals == receiver.arrivals
    assert two_hosts(frames, SLOW, loss=loss, seed=5)[1].arrivals != receiver.arrivals


def test_rings_grow() -> None:
    """More frames on the way than a ring has entries at first: it grows while they are under way."""
    long = LinkClass("long", 8_000_000_000, latency_ns=10_000_000, mtu_bytes=2_100)
    frames = [(place * 100, 60 + place % 7) for place in range(1000)]
    _, receiver = two_hosts(frames, long)
    assert receiver.arrivals == [(ns + length + 10_000_000, length) for ns, length in frames]
