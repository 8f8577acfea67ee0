"""Frames are repeated because they were lost, not because a link is slow or a machine was busy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.labs.extent import tries
from tests.labs.paced import FRAME_BITS, LANES, Conditions, PacedLab

SEEDS = (1, 2)


def link_ns(given: Conditions) -> float:
    """What the links alone take: data, and an exponent chunk for each group of LANES."""
    return given.operations * given.chunks * (1 + 1 / LANES) * FRAME_BITS * 1e3 / given.rate_mbit


@pytest.mark.parametrize("rate_mbit", [10, 100, 400])
def test_a_slow_link_is_filled_once(rate_mbit: int) -> None:
    """The window's own queue makes the first round trip hundreds of times as long as the shortest."""
    given = Conditions(rate_mbit=rate_mbit)
    outcome = PacedLab(given).play()
    assert outcome.repeats == 0
    assert outcome.elapsed_ns < 1.02 * link_ns(given)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("stall_ns", [5_000_000, 20_000_000])
def test_machines_that_fall_behind_cause_few_repeats(stall_ns: int, seed: int) -> None:
    """Each machine stands still a fifth of the time. Until it goes on, what it has not answered looks lost: the probes
    of a silence, and what their results overtake, are repeated in vain, a fifth of the frames at most."""
    given = Conditions(rate_mbit=100, stall_ns=stall_ns, stall_every_ns=5 * stall_ns, operations=2, seed=seed)
    outcome = PacedLab(given).play()
    assert outcome.repeats < 0.25, outcome


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lossy_link_is_not_idle_while_machines_fall_behind(seed: int) -> None:
    """A window of twice the path would be all answered long before a machine goes on: 1.65 times the links alone."""
    given = Conditions(rate_mbit=100, stall_ns=2_000_000, stall_every_ns=10_000_000, loss=0.01, seed=seed)
    assert PacedLab(given).play().elapsed_ns < 1.55 * link_ns(given)


@pytest.mark.parametrize("seed", SEEDS[: tries(1, 2)])
def test_duplicates_of_the_network_are_not_taken_for_repeats_in_vain(seed: int) -> None:
    """Estimates that grew with them made this take eighty times as long as loss alone does."""
    lost = PacedLab(Conditions(loss=0.3, seed=seed)).play()
    all_of_it = PacedLab(Conditions(loss=0.3, duplicate=0.3, reorder=0.3, seed=seed)).play()
    assert all_of_it.elapsed_ns < 25 * lost.elapsed_ns, (lost, all_of_it)


def test_a_path_that_becomes_slow_is_learnt() -> None:
    """Every chunk is repeated before its answer comes: no sample tells of it."""
    lab = PacedLab(Conditions(chunks=512))
    lab.play()
    lab.conditions = replace(lab.conditions, delay_ns=60_000_000, operations=4)
    lab.play()
    assert lab.play().repeats < 0.05
