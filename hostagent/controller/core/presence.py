"""Which processes are alive: streams, heartbeats, and the messages to a process that reconnects.

A process is dead when its stream has been broken for 2 s and its heartbeats have stopped too, when its heartbeats alone
have been missing for 5 s, or when it said goodbye. A stream that breaks while heartbeats arrive is a fault of the
controller or of the connection, not of the rank. The stream of a machine that was lost never breaks: the controller
ends it.
"""

from __future__ import annotations

from hostagent.controller.core import departure, failure, membership, messages, restart
from hostagent.controller.core.effects import Disconnect
from hostagent.controller.core.lifecycle import HAS_LEASE, JobState
from hostagent.controller.core.model import SECOND_NS, Job, Member, Presence, Process, World
from hostagent.controller.core.slots import Run
from hostagent.controller.persistence import save
from hostagent.protocol.services import session_pb2 as pb
from hostagent.transport.session.terms import label_of


def attach(world: World, connection: int, hello: pb.Hello) -> None:
    """A process opens its stream, for the first time or again, and says what it knows."""
    known = world.processes.get(hello.process)
    if known is None:
        known = Process(hello.process, hello.host, hello.pid, tuple(hello.transports), connection, hello.port)
        world.processes[hello.process] = known
    elif known.connection is not None and known.connection != connection:
        world.effects.append(Disconnect(known.connection))
    known.connection, known.detached_ns = connection, None
    for announcement in hello.jobs:
        _announced(world, known, announcement)
    for job, member in world.jobs_of(known.token):
        _tell_again(world, job, member)


def _announced(world: World, process: Process, announcement: pb.Announcement) -> None:
    """Merges a rank's view of a job with the controller's."""
    found = departure.find(world, process.token, announcement.job) or _adopt(world, process, announcement)
    leased = announcement.HasField("lease")
    unknown_lease = found is not None and leased and found[0].state is JobState.GATHERING
    if found is not None and unknown_lease and not _rebuild(world, process, found[0], announcement.lease):
        failure.fail_job(world, found[0], _ended(world, announcement).cause)
        return
    if found is None:
        world.send(process.token, pb.ServerMessage(failed=_ended(world, announcement)))
        return
    stale = announcement.frozen or announcement.lease.epoch != found[0].epoch
    if leased and stale and found[0].state is JobState.RUNNING:
        restart.start_round(world, found[0])


def _ended(world: World, announcement: pb.Announcement) -> pb.Failed:
    """What a rank hears of a job that is over for it."""
    known = [*world.ended, *world.jobs.values()]
    job = next((j for j in known if (j.job, j.group) == (announcement.job, announcement.join.group) and j.cause), None)
    if job is not None:
        return pb.Failed(job=job.job, cause=job.cause, ending=job.ending)
    group = label_of(announcement.join.group)
    cause = f"the controller no longer knows group {group!r}: it lost its state, or ended the job"
    return pb.Failed(job=announcement.job, cause=cause)


def _adopt(world: World, process: Process, announcement: pb.Announcement) -> tuple[Job, Member] | None:
    """Takes in a rank that the state file didn't have, and its job; only just after a start."""
    join = announcement.join
    job = world.jobs.get(announcement.job)
    young = world.now_ns - world.started_ns < world.settings.limits.detached_at_most_ns
    if not young or (job is not None and (job.group != join.group or join.rank in job.members)):
        return None
    if announcement.HasField("lease") and not world.ports.reserve(process.token, announcement.lease.port_number):
        return None
    if job is None:
        job = world.jobs[announcement.job] = Job(announcement.job, join.group, join.size)
        job.service = membership.service_of(join)
        job.share, job.priority = membership.share_of(join), join.priority
        world.log(f"{job} is unknown here and rebuilt from what its ranks say")
    job.members[join.rank] = Member(join.rank, process.token, str(process))
    world.rebuilding_until_ns = world.started_ns + world.settings.limits.detached_at_most_ns
    world.next_epoch = max(world.next_epoch, announcement.lease.epoch % 0xFFFF_FFFF + 1)
    save(world)
    return job, job.members[join.rank]


def _rebuild(world: World, process: Process, job: Job, lease: pb.Lease) -> bool:
    """A job that only its ranks remember gets its slots back, and a new epoch: the aggregator may know it or not."""
    reserved = world.ports.reserve(process.token, lease.port_number) and _take_lease(world, job, lease)
    if reserved:
        restart.start_round(world, job)
    return reserved


def _take_lease(world: World, job: Job, lease: pb.Lease) -> bool:
    if world.capacity is None:
        world.slots.total = max(world.slots.total, lease.first_slot + lease.window)
    run = Run(lease.first_slot, lease.window)
    if not world.slots.reserve(run.first, run.count):  # somebody who had been told later has them: others will do
        run = world.slots.lease_at_most(lease.window)
    if run.count < world.slots.least_lease:
        world.slots.give_back(run)
        return False
    job.state = JobState.RUNNING
    job.row, job.first_slot, job.window = lease.row, run.first, run.count
    job.largest_window = lease.largest_window or lease.window
    job.epoch, job.base = lease.epoch, lease.base
    return True


def _tell_again(world: World, job: Job, member: Member) -> None:
    """Repeats to a process that comes back whatever it may have missed."""
    departure.tell_who_left(world, job, member)
    if job.state is JobState.FAILED:
        world.send(member.process, messages.failed(job))
    elif job.state is JobState.FREEZING and member.rank not in job.round.frozen:
        world.send(member.process, messages.freeze(job))
    elif job.state is JobState.RESUMING and member.rank not in job.round.resumed:
        world.send(member.process, messages.resume(job))
    if job.investigation is not None:
        failure.ask(world, job, member.process)


def detach(world: World, connection: int, goodbye: bool) -> None:
    """A stream ended. Without goodbye the process may come back within a grace time."""
    process = next((p for p in world.processes.values() if p.connection == connection), None)
    if process is None:
        return
    process.connection, process.detached_ns = None, world.now_ns
    process.grace_ns = world.settings.limits.detached_ns
    if goodbye:
        died(world, process.token, "ended its session without leaving the group")


def heartbeat(world: World, token: int) -> None:
    """A datagram from a process' transport loop."""
    process = world.processes.get(token)
    if process is not None:
        process.heard_ns = world.now_ns


def died(world: World, token: int, how: str) -> None:
    """Ends every job that still counted on a process, and takes its port back. One that was only lingering has done its
    part."""
    process = world.processes[token]
    process.detached_ns = process.heard_ns = None  # nothing more to find out about it
    for job, member in world.jobs_of(token):
        if member.presence is Presence.JOINED:
            member.presence = Presence.DEAD
            failure.fail_job(world, job, f"rank {member.rank} of group {job.label!r} ({member.name}) {how}")
            world.send(token, messages.failed(job))  # should it only have been stopped
        elif member.presence is Presence.LEAVING:
            member.presence = Presence.LEFT
        if job.job in world.jobs:
            departure.settle(world, job)
            restart.check(world, job)
    _end_stream(world, process)
    departure.forget_process(world, token)


def _end_stream(world: World, process: Process) -> None:
    """Of a silent process. Not where its port is shared memory: that is taken as long as the process exists, and the
    stream tells how long that is."""
    port = world.ports.of(process.token)
    if process.connection is not None and (port is None or port.kind != "shm"):
        world.effects.append(Disconnect(process.connection))
        process.connection = None


def check_processes(world: World) -> None:
    """Finds who has died since."""
    for process in list(world.processes.values()):
        deadline_ns = deadline_of(world, process)
        overdue = deadline_ns is not None and world.now_ns >= deadline_ns
        if overdue and process.token in world.processes:  # the end of a job forgets processes that are away
            died(world, process.token, _how(world, process))


def deadline_of(world: World, process: Process) -> int | None:
    """When a process counts as dead unless a heartbeat comes; None: not while its stream is open."""
    limits = world.settings.limits
    if process.detached_ns is not None:
        heard_ns = max(process.detached_ns, process.heard_ns or 0)
        return min(heard_ns + process.grace_ns, process.detached_ns + limits.detached_at_most_ns)
    if process.heard_ns is None or not world.is_active(process.token):
        return None
    return process.heard_ns + limits.silence_ns


def _how(world: World, process: Process) -> str:
    if process.detached_ns is not None:
        return "has died: its connection to the controller broke and it did not come back"
    seconds = world.settings.limits.silence_ns // SECOND_NS
    return f"has not been heard of for {seconds} s: it is stopped, or its machine cannot be reached"


def forgive(world: World, late_ns: int) -> None:
    """The controller itself stood still: silence in that time proves nothing."""
    for process in world.processes.values():
        if process.heard_ns is not None:
            process.heard_ns += late_ns
        if process.detached_ns is not None:
            process.detached_ns += late_ns


def start_again(world: World) -> None:
    """After `restore`: restarts that the old controller did not finish are repeated."""
    for job in list(world.jobs.values()):
        for member in job.members.values():
            member.leaving_ns = world.now_ns
        if job.state in HAS_LEASE and job.state is not JobState.RUNNING:
            restart.start_round(world, job)
        elif job.state is JobState.INSTALLING:
            membership.install(world, job)
        departure.settle(world, job)
