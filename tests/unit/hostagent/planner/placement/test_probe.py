"""Probes: the tournament, what is found of a cloud with jitter, and predicted beside simulated gains."""

from itertools import combinations

import numpy as np
import pytest

from hostagent.planner.placement.cloud import make_cloud
from hostagent.planner.placement.costs import PlacementError
from hostagent.planner.placement.evaluate import evaluate
from hostagent.planner.placement.model import ALGORITHMS
from hostagent.planner.placement.probe import costs_of, probe_cloud, tournament


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
def test_every_pair_once_and_nobody_twice_in_a_round(ranks: int) -> None:
    rounds = tournament(ranks)
    assert len(rounds) == ranks - 1 + ranks % 2
    assert sorted(pair for pairs in rounds for pair in pairs) == list(combinations(range(ranks), 2))
    for pairs in rounds:
        assert len({rank for pair in pairs for rank in pair}) == 2 * len(pairs)


def ranking(values: np.ndarray) -> np.ndarray:
    """Ranks of values, of equal ones the mean."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[where]


def test_a_probe_with_jitter_finds_the_order_of_pairs() -> None:
    cloud = make_cloud((2, 2, 4), 5, noisy=0.25)
    true, found = (each.latency_ns[np.triu_indices(16, 1)] for each in (cloud.costs(), probe_cloud(cloud, jitter=0.2)))
    levels = np.unique(true)
    nearest = levels[np.argmin(abs(found[:, None] - levels), axis=1)]
    assert np.corrcoef(ranking(nearest), ranking(true))[0, 1] > 0.95
    assert np.corrcoef(ranking(found), ranking(true))[0, 1] > 0.9
    assert (found >= true).all()
    assert (found < 1.3 * true).all()


def test_the_time_of_a_byte() -> None:
    """Two VMs alone: nothing is shared."""
    cloud = make_cloud((1, 2, 1), 1, rate_bps=1_000_000_000)
    found = probe_cloud(cloud, jitter=0.0, large_bytes=1 << 20)
    assert found.byte_ns[0, 1] == pytest.approx(8.0, rel=1e-3)
    assert found.latency_ns[0, 1] == pytest.approx(30_000, rel=1e-3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_predicted_and_simulated_gains_agree(algorithm: str) -> None:
    cloud = make_cloud((4, 2, 2), 1)
    found = evaluate(cloud, probe_cloud(cloud), algorithm, 1_024)
    assert found.measured > 1.3
    assert found.predicted == pytest.approx(found.measured, rel=0.1)


def test_a_missing_probe_is_named() -> None:
    small_ns = np.array([[np.nan, 9.0, np.nan], [np.nan] * 3, [np.nan, 7.0, np.nan]])
    with pytest.raises(PlacementError, match=r"latency_ns\[0\]\[2\]: no probe between a and c"):
        costs_of("abc", small_ns, None, 0)


def test_no_such_cloud() -> None:
    with pytest.raises(PlacementError, match="a cloud of 4x4"):
        make_cloud((4, 4), 1)
    with pytest.raises(PlacementError, match="a share of 2 noisy machines"):
        make_cloud((2, 2, 2), 1, noisy=2)
