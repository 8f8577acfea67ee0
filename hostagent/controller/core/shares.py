"""How many slots each job has where several need more than there are: in proportion to shares, higher priorities first.

What is shared are the slots of the aggregator or, where it has an overflow server, those of the switch in front
(PROTOCOL.md, sections 10.3 and 12.7). What a job has of them changes with its epochs alone: every installation may
bring other slots, and where a job has too few or too many, a round begins for that. Other leases are for a job's life:
those at an overflow server, and those of jobs on a rack server's weights, which no round carries over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hostagent.controller.core.lifecycle import HAS_LEASE, JobState
from hostagent.controller.core.model import Job, Presence, World
from hostagent.controller.core.slots import SMALLEST_WINDOW, Run, SlotAllocator


@dataclass(frozen=True, slots=True)
class Claim:
    """What a job would like to have."""

    most: int
    """Slots; a power of two."""
    share: int = 1
    priority: int = 0


def divide(total: int, least: int, claims: Sequence[Claim]) -> list[int]:
    """Slots of each claim: powers of two from ``least`` to its most, or 0 where not even ``least`` is left for it.

    Everybody gets ``least`` first. Then, from the highest priority to the lowest, whoever has the fewest slots for its
    share gets twice as many, until that is more than there is: so nobody is given what another one of its priority
    needs more. What remains is for the next priority. Among equals the larger share is first, then the earlier claim.
    """
    counts = []
    for claim in claims:
        counts.append(min(least, claim.most) if least <= total else 0)
        total -= counts[-1]
    for priority in sorted({claim.priority for claim in claims}, reverse=True):
        while True:
            growing = [
                index
                for index, claim in enumerate(claims)
                if claim.priority == priority and counts[index] < claim.most and (counts[index] or not least)
            ]
            if not growing:
                break
            poorest = min(growing, key=lambda index: (counts[index] / claims[index].share, -claims[index].share))
            more = max(1, counts[poorest])
            if more > total:
                break
            counts[poorest] += more
            total -= more
    return counts


def lease(world: World, job: Job) -> Run | None:
    """A window for a job that has none, at least SMALLEST_WINDOW slots; None: there are no free ones."""
    if _is_for_life(world, job):
        return world.slots.lease_for_life()
    target = _targets(world)[job.job]
    run = world.slots.lease_at_most(min(target, world.slots.least_lease) if _is_rebuilding(world) else target)
    if run.count >= world.slots.least_lease and world.slots.total >= SMALLEST_WINDOW:
        return run
    world.slots.give_back(run)
    return None


def largest_window(world: World, job: Job) -> int:
    """The most slots that the window of a job may ever have that has just leased its first ones."""
    return job.window if _is_for_life(world, job) else world.slots.largest_lease


def may_lend(world: World) -> bool:
    """Whether some job has more than its share, and can give it away; or is about to."""
    targets = _targets(world)
    return any(
        job.old_run is not None
        or (had.count > targets[job.job] and all(m.presence is Presence.JOINED for m in job.members.values()))
        for job, had in _sharing(world)
    )


def grant(world: World, job: Job) -> None:
    """Before an installation: choose the job's slots under the new epoch. Those that it loses stay leased until the
    aggregator has it under that epoch: frames of the old one may write to them until then."""
    if world.capacity is None or job.old_run is not None or not _takes_part(world, job):
        return
    if _is_rebuilding(world) and _run(world, job) is not None:
        return
    slots, had, target = _shared(world), _run(world, job), _targets(world)[job.job]
    if had is None:
        _set_run(world, job, slots.lease_at_most(target))
    elif had.count > target:
        _set_run(world, job, Run(had.first, target))
        job.old_run = had
    elif had.count < slots.largest_instead_of(had, target):
        slots.give_back(had)
        _move(world, job, had, slots.lease_at_most(target))
    elif (place := _moves(world).get(had)) is not None and slots.reserve(place.first, place.count):
        _move(world, job, had, place)


def _move(world: World, job: Job, had: Run, run: Run) -> None:
    """To a run that is leased already."""
    _set_run(world, job, run)
    if had.count and not run.contains(had):
        _shared(world).reserve(had.first, had.count)
        job.old_run = had


def settle(world: World, job: Job) -> None:
    """After the installation: what the job no longer has goes back."""
    run = _run(world, job)
    if job.old_run is not None and run is not None:
        _shared(world).give_back(job.old_run)
        _shared(world).reserve(run.first, run.count)
        job.old_run = None


def give_back(world: World, job: Job) -> None:
    """All that an ended job had."""
    if job.window:
        world.slots.release(job.first_slot)
    for run in (job.switch_run, job.old_run):
        if run is not None:
            _shared(world).give_back(run)


def reserve(world: World, job: Job) -> None:
    """Lease again what a job had before the controller's restart; the old run first, which may contain the new one."""
    if job.old_run is not None:
        _shared(world).reserve(job.old_run.first, job.old_run.count)
    world.slots.reserve(job.first_slot, job.window)
    if job.switch_run is not None:
        world.switch_slots.reserve(job.switch_run.first, job.switch_run.count)


def is_to_change(world: World, job: Job) -> bool:
    """Whether a running job should have other slots: fewer than its share while more are free, more than it while
    another job has fewer, or others where it is in the way of such a job. Only with all of its ranks at hand, since a
    rank that has left cannot begin a new epoch."""
    had = _run(world, job)
    if had is None or job.state is not JobState.RUNNING or not world.ready or not _is_whole(world, job):
        return False
    if not _takes_part(world, job) or _is_rebuilding(world):
        return False
    targets = _targets(world)
    if had.count < targets[job.job] and _shared(world).largest_instead_of(had, targets[job.job]) > had.count:
        return True
    if had.count > targets[job.job] and any(_count(world, each) < targets[each.job] for each in _claiming(world)):
        return True
    return had in _moves(world)


def _moves(world: World) -> dict[Run, Run]:
    """From where to where jobs are to move for one that has fewer slots than it should: those that are free are not
    side by side."""
    targets = _targets(world)
    movable = {job.job: run for job, run in _sharing(world) if job.state in HAS_LEASE and _is_whole(world, job)}
    if any(job.old_run for job in world.jobs.values()) or any(run.count > targets[job] for job, run in movable.items()):
        return {}  # first let those have less that have too much
    for job in sorted(_claiming(world), key=lambda job: -job.priority):
        run, target = _run(world, job) or Run(0, 0), targets[job.job]
        if run.count < target and _shared(world).largest_instead_of(run, target) < target:
            moves = _shared(world).moves_for(run, target, set(movable.values()))
            if moves:
                return moves
    return {}


# --- whose, and of what ---


def _overflows(world: World) -> bool:
    return world.capacity is not None and world.capacity.switch_slots is not None


def _shared(world: World) -> SlotAllocator:
    return world.switch_slots if _overflows(world) else world.slots


def _is_rebuilding(world: World) -> bool:
    return world.now_ns < world.rebuilding_until_ns


def _is_for_life(world: World, job: Job) -> bool:
    """Whether its window is."""
    return _overflows(world) or job.service is not None


def _takes_part(world: World, job: Job) -> bool:
    return _overflows(world) or job.service is None


def _run(world: World, job: Job) -> Run | None:
    if _overflows(world):
        return job.switch_run
    return Run(job.first_slot, job.window) if job.window else None


def _count(world: World, job: Job) -> int:
    run = _run(world, job)
    return run.count if run is not None else 0


def _set_run(world: World, job: Job, run: Run) -> None:
    if _overflows(world):
        job.switch_run = run
    else:
        job.first_slot, job.window = run.first, run.count


def _sharing(world: World) -> Iterator[tuple[Job, Run]]:
    """Jobs that have shared slots."""
    for job in world.jobs.values():
        run = _run(world, job)
        if run is not None and job.has_slots and _takes_part(world, job):
            yield job, run


def _claiming(world: World) -> list[Job]:
    """Jobs that share the slots, or wait for some; first those that have them."""
    leased = (job for job in world.jobs.values() if job.has_slots and _takes_part(world, job))
    waiting = sorted((job for job in world.jobs.values() if job.awaits_slots), key=lambda job: -job.priority)
    return [*sorted(leased, key=lambda job: job.job), *(() if _overflows(world) else waiting)]


def _targets(world: World) -> dict[int, int]:
    """Slots that each job should have, by its number."""
    jobs = _claiming(world)
    fixed = 0 if _overflows(world) else sum(job.window for job in world.jobs.values() if job.has_slots and job.service)
    claims = [Claim(_most(world, job), job.share, job.priority) for job in jobs]
    least = 0 if _overflows(world) else world.slots.least_lease
    counts = divide(_shared(world).total - fixed, least, claims)
    return {job.job: count for job, count in zip(jobs, counts, strict=True)}


def _most(world: World, job: Job) -> int:
    if _overflows(world):
        return job.window
    if job.service is not None:
        return SMALLEST_WINDOW
    return job.largest_window or world.slots.largest_lease


def _is_whole(world: World, job: Job) -> bool:
    processes = (world.processes.get(member.process) for member in job.members.values())
    are_there = all(process is not None and process.connection is not None for process in processes)
    return are_there and all(member.presence is Presence.JOINED for member in job.members.values())
