"""Failure of a job: the cause is determined once, kept, and sent to every rank."""

from __future__ import annotations

from hostagent.controller.core import departure, messages
from hostagent.controller.core.lifecycle import JobEvent, JobState
from hostagent.controller.core.messages import Reason
from hostagent.controller.core.model import Investigation, Job, World
from hostagent.controller.persistence import save
from hostagent.protocol.services import session_pb2 as pb


def fail_job(world: World, job: Job, cause: str, ending: pb.Failed.Ending = pb.Failed.LOST) -> None:
    """Ends the job; the first cause stays, and what its ranks can do about it."""
    if job.state is JobState.FAILED:
        return
    had_slots = job.has_slots
    job.advance(JobEvent.FAIL)
    if had_slots and not job.has_slots:
        departure.free_slots(world, job)
    job.cause, job.ending = cause, ending
    job.investigation = None
    world.log(f"job {job.job} has failed: {cause}")
    refuse_waiters(world, job)
    world.send_all((m for m in job.members.values() if m.takes_part), messages.failed(job))
    save(world)
    departure.settle(world, job)


def refuse_waiters(world: World, job: Job) -> None:
    """Answers the members that wait for a failed job's lease."""
    reason = Reason.EXHAUSTED if job.exhausted else Reason.JOB_FAILED
    for rank, waiter in job.waiters.items():
        world.send(job.members[rank].process, messages.refused(waiter.request, reason, job.cause, ending=job.ending))
    job.waiters.clear()


def lease_timed_out(world: World, job: Job, rank: int) -> None:
    """A rank's time-out for its lease has passed."""
    waiter = job.waiters.pop(rank)
    reason, missing = Reason.UNAVAILABLE, job.missing_ranks
    if missing:
        reason = Reason.MISSING_RANKS
        text = f"{_ranks(missing)} of group {job.label!r} did not join in time (of {job.size} ranks)"
    elif not world.ready:
        text = f"the aggregator of group {job.label!r} cannot be reached: {world.problem}"
    else:
        text = f"{job} is still {job.state.value}"
    world.send(job.members[rank].process, messages.refused(waiter.request, reason, text, missing))


def report(world: World, process: int, message: pb.Fail) -> None:
    """A rank has learnt that the job can't go on. A mismatch is looked into first."""
    found = departure.find(world, process, message.job)
    if found is None or found[0].state is JobState.FAILED or found[0].investigation is not None:
        return
    job, member = found
    if not message.HasField("mismatch"):
        report = f"rank {member.rank} of group {job.label!r} ({member.name}) reports: {message.cause}"
        why = job.delivery_problem or world.silence
        fail_job(world, job, f"{why}. So {report}" if why else report, message.ending)
        return
    asked = message.mismatch
    keys = [(asked.first_child, asked.first_hash), (asked.second_child, asked.second_hash)]
    job.investigation = Investigation(world.now_ns + world.settings.limits.describe_ns, dict.fromkeys(keys))
    ask(world, job)


def ask(world: World, job: Job, only_process: int | None = None) -> None:
    """Queries the operations of the ranks that differ; repeated after a reconnection."""
    assert job.investigation is not None, "there is something to ask"
    for (rank, operation), text in job.investigation.descriptions.items():
        member = job.members.get(rank)
        if text is None and member is not None and only_process in (None, member.process):
            describe = pb.Describe(job=job.job, operation=operation)
            world.send(member.process, pb.ServerMessage(describe=describe))


def described(world: World, process: int, message: pb.Described) -> None:
    """An answer; the second one ends the job."""
    found = departure.find(world, process, message.job)
    if found is None or found[0].investigation is None:
        return
    job, member = found
    descriptions = found[0].investigation.descriptions
    if (member.rank, message.operation) in descriptions:
        descriptions[member.rank, message.operation] = message.text
    if None not in descriptions.values():
        conclude(world, job)


def conclude(world: World, job: Job) -> None:
    """Ends a job over a mismatch with what is known of the two operations."""
    assert job.investigation is not None, "there is something to conclude"
    descriptions = job.investigation.descriptions
    halves = [
        f"rank {rank} called {text or f'an unknown operation ({hash_:08x})'}"
        for (rank, hash_), text in descriptions.items()
    ]
    text = f"the ranks of group {job.label!r} disagree about an operation: {', but '.join(halves)}"
    fail_job(world, job, text, pb.Failed.MISMATCH)


def _ranks(ranks: tuple[int, ...]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks))
