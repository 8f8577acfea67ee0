"""What jobs have of a switch with an overflow server (PROTOCOL.md, section 12.7): an even share of its slots.

A job can begin with none, as the server has its whole window. What it has changes with its epochs alone: every
installation may bring other slots, and where a job has too few or too many, a round begins for that.
"""

from __future__ import annotations

from collections.abc import Iterator

from hostagent.controller.core.lifecycle import JobState
from hostagent.controller.core.model import Job, Presence, World
from hostagent.controller.core.slots import Run


def grant(world: World, job: Job) -> None:
    """Before an installation: choose the job's slots under the new epoch. Those that it loses stay leased until the
    switch has it under that epoch: frames of the old one may write to them until then."""
    slots = world.switch_slots
    if world.capacity is None or world.capacity.switch_slots is None or job.old_switch_run is not None:
        return
    had, fair = job.switch_run, _fair(world, job)
    if had is None:
        job.switch_run = slots.lease_at_most(fair)
    elif had.count > fair:
        job.switch_run, job.old_switch_run = Run(had.first, fair), had
    elif had.count < slots.largest_instead_of(had, fair):
        slots.give_back(had)
        job.switch_run = slots.lease_at_most(fair)
        if had.count and not job.switch_run.contains(had):
            slots.reserve(had.first, had.count)
            job.old_switch_run = had


def settle(world: World, job: Job) -> None:
    """After the installation: what the job no longer has goes back."""
    if job.old_switch_run is not None and job.switch_run is not None:
        world.switch_slots.give_back(job.old_switch_run)
        world.switch_slots.reserve(job.switch_run.first, job.switch_run.count)
        job.old_switch_run = None


def give_back(world: World, job: Job) -> None:
    """All that an ended job had."""
    for run in (job.switch_run, job.old_switch_run):
        if run is not None:
            world.switch_slots.give_back(run)


def reserve(world: World, job: Job) -> None:
    """Lease again what a job had before the controller's restart; the old run first, which may contain the new one."""
    for run in (job.old_switch_run, job.switch_run):
        if run is not None:
            world.switch_slots.reserve(run.first, run.count)


def is_to_change(world: World, job: Job) -> bool:
    """Whether a running job should have other slots: fewer than its share while more are free, or more than it while
    another job has fewer. Only with all of its ranks at hand, since a rank that has left cannot begin a new epoch."""
    had = job.switch_run
    if had is None or job.state is not JobState.RUNNING or not world.ready or not _is_whole(world, job):
        return False
    fair = _fair(world, job)
    if had.count < fair:
        return world.switch_slots.largest_instead_of(had, fair) > had.count
    return had.count > fair and any(
        other.switch_run is not None and other.switch_run.count < _fair(world, other) for other in _sharing(world)
    )


def _fair(world: World, job: Job) -> int:
    """A job's share: a power of two, at most its window."""
    share = world.switch_slots.total // max(1, sum(1 for _ in _sharing(world)))
    return min(job.window, max(1, 1 << share.bit_length() >> 1))


def _sharing(world: World) -> Iterator[Job]:
    return (job for job in world.jobs.values() if job.window and job.state is not JobState.FAILED)


def _is_whole(world: World, job: Job) -> bool:
    processes = (world.processes.get(member.process) for member in job.members.values())
    are_there = all(process is not None and process.connection is not None for process in processes)
    return are_there and all(member.presence is Presence.JOINED for member in job.members.values())
