"""Jobs that come, go and die while their aggregator, with an overflow server or without, and the controller restart.

The laboratory asserts at every installation that no slot is two jobs'.
"""

from __future__ import annotations

import pytest

from hostagent.controller.core.model import SECOND_NS, Capacity, Job, Presence
from hostagent.controller.core.shares import Claim, divide, is_to_change
from tests.labs.controller import Laboratory, Rank

OVERFLOWING = Capacity(slots=512, lanes=64, rows=64, switch_slots=16)
PLAIN = Capacity(slots=64, lanes=64, rows=64)
CALM_NS = 100 * SECOND_NS
STEPS = 60


def disturb(lab: Laboratory, jobs: dict[str, list[Rank]]) -> None:
    """One random thing happens, then some time passes, perhaps none."""
    what = lab.random.choice(
        ("begin", "begin", "begin", "leave", "kill", "glitch", "glitch", "switch", "stream", "controller", "lost file")
    )
    ranks = jobs[lab.random.choice(list(jobs))] if jobs else []
    if what == "begin" and lab.up and len(jobs) < 8:
        name = f"job {len(lab.ranks)}"
        share, priority = lab.random.choice((1, 1, 2, 5)), lab.random.choice((0, 0, 0, 1, -1))
        jobs[name] = lab.group(2, name, share=share, priority=priority)
    elif what == "leave" and ranks:
        name = next(name for name, members in jobs.items() if members is ranks)
        if all(rank.places[name].lease is not None and rank.connection is not None for rank in ranks):
            for rank in jobs.pop(name):
                rank.leave(name)
    elif what == "kill" and ranks:
        lab.random.choice(ranks).kill()
    elif what == "glitch":
        lab.glitch()
    elif what == "switch":
        (lab.break_aggregator if lab.aggregator_up else lab.mend_aggregator)()
    elif what == "stream" and ranks:
        lab.disconnect(lab.random.choice(ranks))
    elif what == "controller":
        (lab.kill_controller if lab.up else lab.start_controller)()
    elif what == "lost file" and not lab.up:
        lab.lose_state_file()
    lab.run(lab.random.choice((0, SECOND_NS // 200, SECOND_NS // 100, SECOND_NS // 50, SECOND_NS, 2 * SECOND_NS)))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("capacity", [OVERFLOWING, PLAIN], ids=["overflowing", "plain"])
def test_slots_are_one_jobs_at_a_time_and_all_come_back(seed: int, capacity: Capacity) -> None:
    lab = Laboratory(seed, ports=64, capacity=capacity, max_window=32)
    jobs: dict[str, list[Rank]] = {}
    for _ in range(STEPS):
        disturb(lab, jobs)
    if not lab.aggregator_up:
        lab.mend_aggregator()
    if not lab.up:
        lab.start_controller()
    lab.run(CALM_NS)
    story = f"seed {seed}:\n" + "\n".join(lab.logs)
    world = lab.core.world
    living = [job for job in world.jobs.values() if job.has_slots]
    assert {job.job for job in living} == set(lab.aggregator), story
    for job in living:
        installed = lab.aggregator[job.job]
        assert (installed.window, installed.first_slot) == (job.window, job.first_slot), story
        assert installed.switch_slots == job.switch_run, story
        assert job.old_run is None, story
    assert not any(is_to_change(world, job) for job in living), story
    assert not any(job.awaits_slots for job in world.jobs.values()), story
    if all(member.presence is Presence.JOINED for job in living for member in job.members.values()):
        assert counts(living, capacity) == divided(living, capacity), story
    for rank in lab.ranks:
        for name, place in rank.places.items():
            if rank.alive and place.lease is not None and place.cause is None and not place.left:
                rank.leave(name)
    lab.run(CALM_NS)
    for rank in lab.ranks:
        rank.kill()
    lab.run(CALM_NS)
    assert (world.slots.free, world.switch_slots.free) == (capacity.slots, capacity.switch_slots or 0), story


def counts(living: list[Job], capacity: Capacity) -> list[int]:
    """Slots that jobs have of those that they share."""
    if capacity.switch_slots is None:
        return [job.window for job in living]
    return [job.switch_run.count if job.switch_run is not None else 0 for job in living]


def divided(living: list[Job], capacity: Capacity) -> list[int]:
    """Slots that they should have."""
    by_number = sorted(living, key=lambda job: job.job)
    claims = [Claim(job.window if capacity.switch_slots else 32, job.share, job.priority) for job in by_number]
    total, least = (capacity.slots, 8) if capacity.switch_slots is None else (capacity.switch_slots, 0)
    found = dict(zip((job.job for job in by_number), divide(total, least, claims), strict=True))
    return [found[job.job] for job in living]
