"""The controller's core under random restarts, kills, broken streams and lost state files, in virtual time.

Whatever happens: an epoch is used once and is on disk before it is used, no rank is asked to skip what it hasn't
finished (the laboratory asserts those at every step), and when things calm down every living rank either runs under the
epoch that the aggregator knows, or has been told why its job ended.
"""

from __future__ import annotations

import pytest

from hostagent.controller.core.model import SECOND_NS
from tests.labs.controller import Laboratory, Rank
from tests.labs.extent import tries

SEEDS = range(tries(40, 120))
CALM_NS = 100 * SECOND_NS
"""Longer than every bound of the controller together."""


def disturb(lab: Laboratory, ranks: list[Rank], gentle: bool) -> None:
    """One random thing happens, then some time passes, perhaps none: the next may come at any step of a restart."""
    choices = ["progress", "progress", "switch", "switch", "stream", "controller"]
    if not gentle:
        choices += ["kill", "leave", "stop", "lost file"]
    match lab.random.choice(choices):
        case "progress":
            for rank in ranks:
                place = rank.places["world"]
                if place.lease is not None and not place.frozen:
                    place.progress += lab.random.randrange(20)
        case "switch":
            (lab.break_aggregator if lab.aggregator_up else lab.mend_aggregator)()
        case "stream":
            lab.disconnect(lab.random.choice(ranks))
        case "controller":
            (lab.kill_controller if lab.up else lab.start_controller)()
        case "kill":
            lab.random.choice(ranks).kill()
        case "stop":
            lab.random.choice(ranks).stop()
        case "leave":
            rank = lab.random.choice(ranks)
            if rank.places["world"].lease is not None and rank.connection is not None:
                rank.leave("world")
        case "lost file":
            if not lab.up:
                lab.lose_state_file()
    lab.run(lab.random.choice((0, SECOND_NS // 200, SECOND_NS // 50, SECOND_NS, 4 * SECOND_NS)))


def calm(lab: Laboratory) -> None:
    """Everything that can come back does."""
    if not lab.aggregator_up:
        lab.mend_aggregator()
    if not lab.up:
        lab.start_controller()
    lab.run(CALM_NS)


def check(lab: Laboratory, ranks: list[Rank], seed: int) -> None:
    """Each living rank that is in its job runs, or knows why not."""
    story = f"seed {seed}:\n" + "\n".join(lab.logs)
    living = [rank for rank in ranks if rank.alive and rank.answering and not rank.places["world"].left]
    failed = [rank.places["world"].cause is not None for rank in living]
    assert all(failed) or not any(failed), story
    for rank in living:
        place = rank.places["world"]
        if place.cause is None and place.lease is not None:
            assert not place.frozen, story
            assert lab.aggregator[place.job].epoch == place.lease.epoch, story
            assert lab.aggregator[place.job].base == place.lease.base, story


@pytest.mark.parametrize("seed", SEEDS)
def test_restarts_of_switch_and_controller_never_end_a_job(seed: int) -> None:
    lab = Laboratory(seed)
    ranks = lab.group(1 + seed % 4)
    lab.until(lambda: all(rank.places["world"].lease is not None for rank in ranks))
    for _ in range(25):
        disturb(lab, ranks, gentle=True)
    calm(lab)
    assert [rank.places["world"].cause for rank in ranks] == [None] * len(ranks), f"seed {seed}:\n" + "\n".join(
        lab.logs
    )
    check(lab, ranks, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_every_living_rank_runs_or_knows_why_not(seed: int) -> None:
    lab = Laboratory(seed)
    ranks = lab.group(2 + seed % 3)
    lab.run(lab.random.randrange(SECOND_NS // 10))
    for _ in range(15):
        disturb(lab, ranks, gentle=False)
    calm(lab)
    check(lab, ranks, seed)
    assert len(set(lab.epochs)) == len(lab.epochs)
