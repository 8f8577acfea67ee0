"""What loss costs in time and in frames, in virtual time: a representative part of ``netsum bench loss``."""

from __future__ import annotations

import pytest

from hostagent.cli.bench.loss import Path, bound, play

SLOW, FAST, LONG = Path(50, 0, 1000), Path(1_000, 0, 128), Path(1_000, 5, 1024)


def mean_ns(ranks: int, path: Path) -> float:
    """A call without loss; the first one learns the path."""
    calls = play(ranks, path, 0.0, 1, calls=3)
    assert sum(call.lost for call in calls) == 0
    return sum(call.elapsed_ns for call in calls[1:]) / 2


@pytest.mark.parametrize("path", [SLOW, FAST, LONG], ids=str)
def test_nothing_is_repeated_without_loss(path: Path) -> None:
    assert sum(call.retransmissions for call in play(4, path, 0.0, 1, calls=3)) == 0


@pytest.mark.parametrize("rate_mbit", [10, 50, 1_000])
def test_a_link_is_filled(rate_mbit: int) -> None:
    """2,057 frames of 1,090 bytes: what the link alone takes."""
    link_ns = 2057 * 1090 * 8e3 / rate_mbit
    assert mean_ns(4, Path(rate_mbit, 0, 1000)) < 1.02 * link_ns


@pytest.mark.parametrize("loss", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("path", [SLOW, FAST], ids=str)
@pytest.mark.parametrize("ranks", [2, 4])
def test_no_call_stalls_on_links_that_lose_frames(ranks: int, path: Path, loss: float) -> None:
    free_ns = mean_ns(ranks, path)
    worst_ns = max(call.elapsed_ns for call in play(ranks, path, loss, 1))
    assert worst_ns < bound(loss) * free_ns


@pytest.mark.parametrize("loss", [0.01, 0.05])
def test_two_ranks_repeat_little(loss: float) -> None:
    calls = play(2, SLOW, loss, 1)
    assert sum(call.retransmissions for call in calls) < 3 * sum(call.lost for call in calls)


def test_the_same_seed_is_the_same_run() -> None:
    assert play(2, FAST, 0.05, 3, calls=2) == play(2, FAST, 0.05, 3, calls=2)
    assert play(2, FAST, 0.05, 3, calls=2) != play(2, FAST, 0.05, 4, calls=2)
