"""How members leave a job, and how a job ends when its last member has left."""

from __future__ import annotations

from hostagent.controller.core import shares
from hostagent.controller.core.effects import Log, Remove
from hostagent.controller.core.lifecycle import HAS_LEASE, JobState
from hostagent.controller.core.model import Job, Member, Presence, World
from hostagent.controller.persistence import save
from hostagent.protocol.services import session_pb2 as pb

ENDED_KEPT = 64
"""Ended jobs that reports still contain."""


def find(world: World, process: int, number: int) -> tuple[Job, Member] | None:
    """The job and this process' place in it."""
    job = world.jobs.get(number)
    members = job.members.values() if job is not None else ()
    return next(((job, m) for m in members if job is not None and m.process == process), None)


def leave(world: World, process: int, request: int, message: pb.Leave) -> None:
    """A rank has all its results, and lingers until no other rank needs a retransmission from it."""
    found = find(world, process, message.job)
    if found is None or found[1].presence in (Presence.LEFT, Presence.DEAD):
        world.send(process, _left(message.job, request))
        return
    job, member = found
    member.leave_request = request
    if member.presence is Presence.JOINED:
        member.presence = Presence.LEAVING
        member.next_chunk = message.next_chunk
        member.leaving_ns = world.now_ns
        others = (other for other in job.members.values() if other.takes_part and other is not member)
        world.send_all(others, _peer_left(job, member))
        if job.state is JobState.GATHERING:
            release(world, job, member)
        save(world)
    settle(world, job)


def tell_who_left(world: World, job: Job, member: Member) -> None:
    """To one that was not there, or may have missed it."""
    for other in job.members.values():
        if other is not member and other.presence in (Presence.LEAVING, Presence.LEFT):
            world.send(member.process, _peer_left(job, other))


def _peer_left(job: Job, member: Member) -> pb.ServerMessage:
    return pb.ServerMessage(peer_left=pb.PeerLeft(job=job.job, rank=member.rank, next_chunk=member.next_chunk))


def settle(world: World, job: Job) -> None:
    """Releases ranks that need not linger, and ends a job without members."""
    everyone_leaves = all(member.presence is not Presence.JOINED for member in job.members.values())
    for member in job.members.values():
        if member.presence is Presence.LEAVING:
            waited = world.now_ns - member.leaving_ns >= world.settings.limits.linger_ns
            needed = job.state in HAS_LEASE and job.state is not JobState.RUNNING
            if everyone_leaves or job.state is JobState.FAILED or (waited and not needed):
                release(world, job, member)
    if job.is_vacant:
        vacated_ns = max(member.leaving_ns for member in job.members.values())
        if world.now_ns - vacated_ns < world.settings.limits.vacant_ns:
            return
    if all(member.presence in (Presence.LEFT, Presence.DEAD) for member in job.members.values()):
        _end(world, job)


def release(world: World, job: Job, member: Member) -> None:
    """The member may forget the job."""
    member.presence = Presence.LEFT
    world.send(member.process, _left(job.job, member.leave_request))


def _left(job: int, request: int) -> pb.ServerMessage:
    return pb.ServerMessage(request=request, left=pb.Left(job=job))


def _end(world: World, job: Job) -> None:
    """Everything the job had goes back."""
    del world.jobs[job.job]
    if job.has_slots:
        free_slots(world, job)
    world.ended = [*world.ended, job][-ENDED_KEPT:]
    for member in job.members.values():
        forget_process(world, member.process)
    world.effects.append(Log(f"{job} has ended"))
    save(world)


def free_slots(world: World, job: Job) -> None:
    """The job is over; the aggregator forgets it before it hears of any other that gets the slots."""
    shares.give_back(world, job)
    world.effects.append(Remove(job.job))


def forget_process(world: World, token: int) -> None:
    """A process without stream gives its port back, unless a job may need its contributions again. Of one that has left
    a job before all ranks came there are none, but the others may come yet: it stays known, without a port."""
    process = world.processes.get(token)
    if process is None or process.connection is not None:
        return
    jobs = [
        (job, member) for job, member in world.jobs_of(token) if job.state is not JobState.FAILED or member.takes_part
    ]
    if all(job.state is JobState.GATHERING and not member.takes_part for job, member in jobs):
        world.ports.release(token)
        if not jobs:
            del world.processes[token]
        save(world)
