"""What loss costs in time and in frames, in virtual time: a representative part of ``netsum bench loss``."""

from __future__ import annotations

import pytest

from hostagent.cli.bench.virtual_time.loss import (
    SIZE_BYTES,
    TURN_BYTES,
    Path,
    bound,
    job_on,
    late_round_trips,
    play,
    round_trip_ns,
    slots_make,
)

pytestmark = pytest.mark.timeout(400)  # the first one compiles the loop

SLOW, FAST, LONG = Path(50, 0, 1000), Path(1_000, 0, 128), Path(1_000, 5, 1024)


def mean_ns(ranks: int, path: Path) -> float:
    """A call without loss; the first one learns the path."""
    calls = play(ranks, path, 0.0, 1, calls=3)
    assert sum(call.lost + call.dropped for call in calls) == 0
    return sum(call.elapsed_ns for call in calls[1:]) / 2


@pytest.mark.parametrize("path", [SLOW, FAST, LONG], ids=str)
def test_nothing_is_repeated_without_loss(path: Path) -> None:
    assert sum(call.retransmissions for call in play(4, path, 0.0, 1, calls=3)) == 0


@pytest.mark.parametrize("rate_mbit", [10, 50, 1_000])
def test_a_link_is_filled(rate_mbit: int) -> None:
    """2,056 frames of 1,090 bytes: what the link alone takes."""
    link_ns = 2056 * 1090 * 8e3 / rate_mbit
    assert mean_ns(4, Path(rate_mbit, 0, 1000)) < 1.02 * link_ns


@pytest.mark.parametrize("loss", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("path", [SLOW, FAST], ids=str)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_no_call_stalls_on_links_that_lose_frames(ranks: int, path: Path, loss: float) -> None:
    """With 5 % loss a call in fifty or so waits for a frame that is lost again and again: one of eight may."""
    free_ns = mean_ns(ranks, path)
    slowest_ns = sorted(call.elapsed_ns for seed in (1, 2) for call in play(ranks, path, loss, seed))
    assert slowest_ns[-1 if loss < 0.05 else -2] < bound(loss) * free_ns
    assert slowest_ns[-1] < 3 * free_ns


def test_slots_that_lose_frames_do_not_hold_up_others() -> None:
    """Where a round trip is as long as nine windows of frames take, a loss costs a round trip of the 130 in a slot. All
    slots of 128 lose about as much (``late_round_trips``); with half the run-ahead a call takes 1.26 times as long."""
    size_bytes = 16 << 20
    free = play(4, LONG, 0.0, 1, calls=2, size_bytes=size_bytes)
    for call, alone in zip(play(4, LONG, 0.01, 1, calls=2, size_bytes=size_bytes), free, strict=True):
        assert call.elapsed_ns < 1.25 * alone.elapsed_ns


def test_what_the_slots_make_of_a_call() -> None:
    """Chains of 16 chunks, of which no more are late than there are; nothing where links are busy meanwhile."""
    late = [late_round_trips(8, loss, 16) for loss in (0.0, 0.001, 0.01, 0.05)]
    assert late == sorted(set(late))
    assert late[0] == 0
    assert slots_make(8, LONG, 0.01, 1e9, 16 * TURN_BYTES) == 1 + late[2] * round_trip_ns(LONG) / 1e9
    assert slots_make(8, FAST, 0.05, 1e9, SIZE_BYTES) == 1


@pytest.mark.parametrize("loss", [0.01, 0.05])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_the_rank_that_lost_a_frame_repeats_it(ranks: int, loss: float) -> None:
    """And where the repeat is lost, that is found as soon."""
    calls = play(ranks, SLOW, loss, 1)
    assert sum(call.retransmissions for call in calls) < 1.3 * sum(call.lost + call.dropped for call in calls)


def test_a_full_queue_is_not_filled_again_and_again() -> None:
    """16 frames of queue for 128 slots: some are dropped while the first call finds that out."""
    calls = play(4, Path(1_000, 0, 16), 0.0, 1)
    link_ns = 2056 * 1090 * 8
    assert all(call.elapsed_ns < 1.2 * link_ns for call in calls[1:])
    assert all(call.retransmissions < 0.05 * 4 * 2056 for call in calls[1:])


def test_a_path_that_becomes_long_while_frames_are_lost_is_learnt() -> None:
    """The shortest round trip so far says nothing any more: a window made of it is too small."""
    job = job_on(2, Path(1_000, 0, 1024), 0.01, 1)
    job.allreduce(SIZE_BYTES // 4)
    for link in job.tree.links:
        job.network.change_link(link.name, latency_ns=5_000_000)
    job.allreduce(SIZE_BYTES // 4)
    assert job.allreduce(SIZE_BYTES // 4).elapsed_ns < 2 * 18 * 10_000_000


def test_the_same_seed_is_the_same_run() -> None:
    assert play(2, FAST, 0.05, 3, calls=2) == play(2, FAST, 0.05, 3, calls=2)
    assert play(2, FAST, 0.05, 3, calls=2) != play(2, FAST, 0.05, 4, calls=2)
