"""Carrying jobs over the loss of the aggregator's state: freeze, collect, install, resume.

Each attempt is a round with its own number; whatever goes wrong on the way starts a further round, and every
installation takes a further epoch. Nothing that a rank sent under an older epoch can reach a set again, so rounds may
overlap in the network without harm. A rank that is away is asked when it comes back, or is detected as dead and fails
the job.
"""

from __future__ import annotations

from hostagent.controller.core import departure, failure, membership, messages, shares
from hostagent.controller.core.lifecycle import AWAITS_INSTALLATION, HAS_LEASE, JobEvent, JobState
from hostagent.controller.core.model import SECOND_NS, Capacity, Job, Limits, Presence, Round, World
from hostagent.controller.persistence import save
from hostagent.protocol.services import session_pb2 as pb


def aggregator_lost(world: World, why: str) -> None:
    """The aggregator is not reachable; its data path may still work, so ranks are not stopped."""
    if world.ready:
        world.lost_ns = world.now_ns
        world.log(f"aggregator lost: {why}")
    world.ready = False
    world.problem = why


def aggregator_ready(world: World, capacity: Capacity, state_lost: bool) -> None:
    """The aggregator is reachable again; `state_lost`: it has lost every job."""
    problem = membership.learn_capacity(world, capacity)
    world.ready, world.problem = True, ""
    world.log(
        f"aggregator ready{', without state' if state_lost else ''}: {capacity.slots} slots, {capacity.lanes} lanes"
    )
    for job in list(world.jobs.values()):
        if problem and job.state in HAS_LEASE:
            failure.fail_job(world, job, problem)
        elif job.state in AWAITS_INSTALLATION and not (state_lost and job.state in HAS_LEASE):
            membership.install(world, job)
        elif state_lost and job.state in HAS_LEASE:
            start_round(world, job)
        else:
            membership.progress(world, job)


def start_round(world: World, job: Job, *, is_restart: bool = True) -> None:
    """Stops every rank that takes part and asks how far it is. A service's job ends: its ranks begin a new one."""
    if job.service is not None:
        text = (
            f"the rack server, or what was known of it, was lost while service {job.service.name!r} was in a step: "
            "join again, and repeat from the last whole step that it has"
        )
        failure.fail_job(world, job, text)
        return
    job.advance(JobEvent.RESTART)
    job.restarts += is_restart
    deadline_ns = world.now_ns + world.settings.limits.answer_ns
    job.round = Round(number=job.round.number + 1, deadline_ns=deadline_ns)
    save(world)
    world.send_all(job.participants, messages.freeze(job))
    check(world, job)


def frozen(world: World, process: int, message: pb.Frozen) -> None:
    """A rank is frozen."""
    found = departure.find(world, process, message.job)
    if found is None or found[0].state is not JobState.FREEZING or message.round != found[0].round.number:
        return
    found[0].round.frozen[found[1].rank] = message.lowest_unfinished
    check(world, found[0])


def resumed(world: World, process: int, message: pb.Resumed) -> None:
    """A rank has resumed under the new epoch."""
    found = departure.find(world, process, message.job)
    if found is None or found[0].state is not JobState.RESUMING or message.round != found[0].round.number:
        return
    found[0].round.resumed.add(found[1].rank)
    check(world, found[0])


def check(world: World, job: Job) -> None:
    """Moves a round on when everyone who takes part has answered; also called when someone stops taking part."""
    ranks = {member.rank for member in job.participants}
    if job.state is JobState.FREEZING and not job.missing_ranks and ranks and ranks <= job.round.frozen.keys():
        _collected(world, job, min(job.round.frozen[rank] for rank in ranks))
    elif job.state is JobState.RESUMING and ranks <= job.round.resumed:
        job.advance(JobEvent.ALL_RESUMED)
        save(world)
        world.log(f"{job} continues under epoch {job.epoch} from chunk {job.base}")
        membership.progress(world, job)
        departure.settle(world, job)


def _collected(world: World, job: Job, base: int) -> None:
    gone = [m for m in job.members.values() if m.presence is Presence.LEFT and m.next_chunk > base]
    if gone:
        text = f"rank {gone[0].rank} had left when the aggregator lost its state, and chunk {base} needs it again"
        failure.fail_job(world, job, text)
        return
    # a controller that was told of the job by other ranks knows of no port of one that its lease had not reached
    if problem := membership.assign_ports(world, job):
        failure.fail_job(world, job, f"restart of {job}: {problem}")
        return
    job.base = base
    job.advance(JobEvent.ALL_FROZEN)
    membership.install(world, job)


def installed(world: World, number: int, epoch: int) -> None:
    """The aggregator knows a job under an epoch; outdated events are ignored."""
    job = world.jobs.get(number)
    if job is None or job.epoch != epoch or job.state not in AWAITS_INSTALLATION:
        return
    job.advance(JobEvent.INSTALLED)
    job.install_deadline_ns = 0
    shares.settle(world, job)
    job.round.deadline_ns = world.now_ns + world.settings.limits.answer_ns
    save(world)
    if job.state is JobState.RESUMING:
        world.send_all(job.participants, messages.resume(job))
        check(world, job)
    else:
        _supersede(world, job)
        membership.progress(world, job)


def _supersede(world: World, job: Job) -> None:
    """A service has one job at a time: ranks of an older one learn that theirs is over."""
    name = job.service.name if job.service is not None else None
    for other in list(world.jobs.values()):
        is_older = other is not job and other.state in HAS_LEASE
        if is_older and other.service is not None and other.service.name == name:
            failure.fail_job(world, other, f"service {name!r} has begun another job, {job}", pb.Failed.REFUSED)


def install_failed(world: World, number: int, epoch: int, why: str) -> None:
    """The aggregator refused a job. Where it is only unreachable, `aggregator_ready` follows."""
    job = world.jobs.get(number)
    if job is not None and job.epoch == epoch and job.state in AWAITS_INSTALLATION and world.ready:
        failure.fail_job(world, job, f"the aggregator refused {job}: {why}", pb.Failed.REFUSED)


def overdue(world: World, job: Job) -> None:
    """Fails a job with a restart that a rank or the aggregator holds up beyond its bound."""
    limits = world.settings.limits
    if job.state in (JobState.FREEZING, JobState.RESUMING) and world.now_ns >= job.round.deadline_ns:
        answered = job.round.frozen.keys() if job.state is JobState.FREEZING else job.round.resumed
        silent = [m for m in job.participants if m.rank not in answered]
        names = ", ".join(
            [f"rank {m.rank} ({m.name})" for m in silent] + [f"rank {rank}" for rank in job.missing_ranks]
        )
        seconds = limits.answer_ns // SECOND_NS
        failure.fail_job(world, job, f"restart of {job}: {names} did not answer within {seconds} s")
    elif job.install_deadline_ns and world.now_ns >= job.install_deadline_ns and job.state in AWAITS_INSTALLATION:
        failure.fail_job(world, job, f"the aggregator did not take {job} in time")
    elif not world.ready and job.state in HAS_LEASE and world.now_ns >= world.lost_ns + _patience_ns(limits, job):
        seconds = _patience_ns(limits, job) // SECOND_NS
        what = "aggregator" if job.service is None else "rack server"
        failure.fail_job(world, job, f"the {what} has been away for {seconds} s: {world.problem}")


def _patience_ns(limits: Limits, job: Job) -> int:
    return limits.aggregator_ns if job.service is None else limits.server_ns
