"""Jobs that come, go and die while a switch with an overflow server, and the controller, restart.

The laboratory asserts at every installation that no slot of the switch is two jobs'.
"""

from __future__ import annotations

import pytest

from hostagent.controller.core.model import SECOND_NS, Capacity
from hostagent.controller.core.switch_slots import is_to_change
from tests.labs.controller import Laboratory, Rank

CAPACITY = Capacity(slots=512, lanes=64, rows=64, switch_slots=16)
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
        jobs[name] = lab.group(2, name)
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
def test_slots_are_one_jobs_at_a_time_and_all_come_back(seed: int) -> None:
    lab = Laboratory(seed, ports=64, capacity=CAPACITY, max_window=32)
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
    living = [job for job in world.jobs.values() if job.window and not job.cause]
    for job in living:
        assert lab.aggregator[job.job].switch_slots == job.switch_run, story
        assert job.old_switch_run is None, story
    assert not any(is_to_change(world, job) for job in living), story
    for rank in lab.ranks:
        for name, place in rank.places.items():
            if rank.alive and place.lease is not None and place.cause is None and not place.left:
                rank.leave(name)
    lab.run(CALM_NS)
    for rank in lab.ranks:
        rank.kill()
    lab.run(CALM_NS)
    assert (world.switch_slots.free, lab.core.world.slots.free) == (16, 512), story
