"""Joining a group and leasing its slots: how a job begins."""

from __future__ import annotations

from hostagent.controller.core import departure, failure, messages, shares
from hostagent.controller.core.effects import Install
from hostagent.controller.core.lifecycle import JobEvent, JobState
from hostagent.controller.core.messages import Reason
from hostagent.controller.core.model import Capacity, Job, Member, Presence, Waiter, World
from hostagent.controller.core.ports import SWITCH_IP, SWITCH_MAC, NoPort
from hostagent.controller.core.slots import SMALLEST_WINDOW
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.controller.persistence import save
from hostagent.protocol.services import session_pb2 as pb
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.transport.session.terms import label_of


def join(world: World, process: int, request: int, message: pb.Join) -> None:
    """Enters a rank into its group's job, making the job if it is the first; a repeat is answered alike."""
    problem = _problem_with(world, message)
    job = _open_job(world, message.group, message.rank)
    if not problem and job is not None and job.size != message.size:
        problem = f"rank {message.rank} says the group has {message.size} ranks, others said {job.size}"
    terms = share_of(message), message.priority
    if not problem and job is not None and (job.share, job.priority) != terms:
        others = f"share {job.share} and priority {job.priority}"
        problem = f"rank {message.rank} has share {terms[0]} and priority {terms[1]}, others have {others}"
    service = service_of(message)
    if not problem and job is not None and job.service != service:
        problem = f"rank {message.rank} names another service, nonce, weight, quota or number of workers than others"
    held = job.members.get(message.rank) if job is not None else None
    if not problem and held is not None and held.process != process:
        problem = f"rank {message.rank} is already taken by {held.name}"
    if problem:
        text = f"group {label_of(message.group)!r}: {problem}"
        world.send(process, messages.refused(request, Reason.INVALID, text))
        return
    if job is None:
        job = _new_job(world, message.group, message.size)
        job.service = service
        job.share, job.priority = terms
    if held is None:
        job.members[message.rank] = Member(message.rank, process, str(world.processes[process]))
        save(world)
    world.send(process, pb.ServerMessage(request=request, joined=pb.Joined(job=job.job)))
    progress(world, job)


def _problem_with(world: World, message: pb.Join) -> str:
    most = world.settings.most_ranks
    if not 1 <= message.size <= most:
        return f"{message.size} ranks, where the network serves 1 to {most}"
    if message.rank >= message.size:
        return f"rank {message.rank} of {message.size}"
    return ""


def share_of(message: pb.Join) -> int:
    """The job's share of slots."""
    return message.share or 1


def service_of(message: pb.Join) -> ServiceTerms | None:
    """The terms of the job's service."""
    if not message.HasField("service"):
        return None
    service = message.service
    return ServiceTerms(service.name, service.nonce, service.workers, service.weight or 1, service.quota_bytes)


def _open_job(world: World, group: str, rank: int) -> Job | None:
    """The job that a join to this group means: one that has failed is over, and a rank that comes back is a new job."""
    jobs = [job for job in world.jobs.values() if job.group == group]
    vacant = (job for job in jobs if job.is_vacant and rank not in job.members)
    return next((job for job in jobs if _takes(job, rank)), None) or next(vacant, None)


def _takes(job: Job, rank: int) -> bool:
    presences = {member.presence for member in job.members.values()}
    if job.state is JobState.GATHERING and rank not in job.members:  # others may have left by then, but not all
        return Presence.JOINED in presences and Presence.DEAD not in presences
    return job.state is not JobState.FAILED and presences <= {Presence.JOINED}


def _new_job(world: World, group: str, size: int) -> Job:
    number = world.next_job
    while number in world.jobs or number == 0:
        number = (number + 1) % 0x1_0000
    world.next_job = (number + 1) % 0x1_0000
    world.jobs[number] = Job(number, group, size)
    return world.jobs[number]


def request_lease(world: World, process: int, request: int, message: pb.LeaseRequest) -> None:
    """Answers with the lease when there is one; the time-out names who is missing."""
    found = departure.find(world, process, message.job)
    if found is None:
        text = f"job {message.job} is not known here, or this process is not in it"
        world.send(process, messages.refused(request, Reason.INVALID, text))
        return
    job, member = found
    job.waiters[member.rank] = Waiter(request, world.now_ns + message.timeout_ns)
    if job.state is JobState.FAILED:
        failure.refuse_waiters(world, job)
    else:
        progress(world, job)


def progress(world: World, job: Job) -> None:
    """Takes a job as far as it can go now; harmless at any time."""
    if job.awaits_slots and world.ready:
        _allocate(world, job)
    if job.state is JobState.RUNNING:
        for rank, waiter in job.waiters.items():
            world.send(job.members[rank].process, messages.lease(world, job, rank, waiter.request))
            departure.tell_who_left(world, job, job.members[rank])  # the others may have while it gathered
        job.waiters.clear()


def _allocate(world: World, job: Job) -> None:
    """Slots, a row and ports for a complete job, or an error that says which of them ran out."""
    assert world.capacity is not None, "ready implies a known capacity"
    row = _free_row(world, job.job, world.capacity.rows)
    if row is None:
        if _is_leaving(world):
            return
        _exhausted(world, job, f"all {world.capacity.rows} jobs that the aggregator can hold at a time are taken")
        return
    if problem := assign_ports(world, job):
        if any(world.processes[owner].connection is None for owner in world.ports.owner.values()):
            return  # one that is away will be back or forgotten soon; the timer looks again
        _exhausted(world, job, problem)
        return
    run = shares.lease(world, job)
    if run is None:
        if _is_leaving(world) or shares.may_lend(world):
            return
        advice = "close process groups and optimizers that are done with, or start with a smaller --max-window"
        if world.slots.total < SMALLEST_WINDOW:
            advice = "start with more --slots, or with --overflow"
        slots = f"fewer than {SMALLEST_WINDOW} of the aggregator's {world.slots.total} slots are free"
        _exhausted(world, job, f"{slots}: {advice}")
        return
    job.row, job.first_slot, job.window = row, run.first, run.count
    job.largest_window = shares.largest_window(world, job)
    job.advance(JobEvent.COMPLETE)
    for member in job.members.values():
        if not world.is_active(member.process):
            world.processes[member.process].heard_ns = None
    install(world, job)


def assign_ports(world: World, job: Job) -> str:
    """A port for every rank that has none; why one cannot have any, or ""."""
    for rank in range(job.size):
        process = world.processes[job.members[rank].process]
        try:
            world.ports.assign(process.token, _kinds(world, process.host, process.transports), process.port)
        except NoPort as error:
            local = any(offer.kind == "shm" for offer in world.ports.offers.values())
            hint = f" (shm ports are for processes on {world.settings.host} alone)" if local else ""
            elsewhere = process.host != world.settings.host
            return f"rank {rank} ({job.members[rank].name}): {error}{hint if elsewhere else ''}"
    return ""


def _is_leaving(world: World) -> bool:
    """A job that somebody has left lingers; it may give its slots back soon. The timer looks again."""
    leased = (job for job in world.jobs.values() if job.has_slots)
    return any(member.presence is Presence.LEAVING for job in leased for member in job.members.values())


def pass_on(world: World, process: int, message: pb.Proceed) -> None:
    """A rank asks the others not to be waited for. They know which of the operations they have called."""
    found = departure.find(world, process, message.job)
    if found is not None and found[0].state is not JobState.FAILED:
        others = (member for member in found[0].members.values() if member.takes_part and member is not found[1])
        world.send_all(others, pb.ServerMessage(proceed=message))


def progress_waiting(world: World) -> None:
    """After jobs have ended: those that wait for slots may have them now."""
    for job in list(world.jobs.values()):
        if job.state is JobState.GATHERING and job.waiters:
            progress(world, job)


def _free_row(world: World, job: int, rows: int) -> int | None:
    """Row of counters, in turn like job numbers: counters are never cleared, so a row is used again late."""
    taken = {other.row for other in world.jobs.values()}
    return next((row % rows for row in range(job - 1, job - 1 + rows) if row % rows not in taken), None)


def _exhausted(world: World, job: Job, why: str) -> None:
    job.exhausted = True
    taken = ", ".join(f"{other.label!r} has {other.window}" for other in world.jobs.values() if other.has_slots)
    text = f"no room for {job} on the aggregator: {why}" + (f" ({taken})" if taken else "")
    failure.fail_job(world, job, text, pb.Failed.REFUSED)


def _kinds(world: World, host: str, transports: tuple[str, ...]) -> tuple[str, ...]:
    """Port kinds in order of preference; memory can't be shared with another machine."""
    return tuple(kind for kind in transports if kind != "shm" or host == world.settings.host)


def install(world: World, job: Job) -> None:
    """Installs the job under a new epoch, now or when the aggregator is ready."""
    if not world.ready:
        return
    shares.grant(world, job)
    job.epoch = world.take_epoch()
    job.install_deadline_ns = world.now_ns + world.settings.limits.aggregator_ns
    save(world)
    world.effects.append(Install(config_of(world, job)))


def config_of(world: World, job: Job) -> JobConfig:
    """The job in the aggregator's terms."""
    children = []
    for rank in range(job.size):
        port = world.ports.of(job.members[rank].process)
        assert port is not None, "a leased job's members have ports until the job has gone"
        children.append(Child(rank, port.number, port.host_mac, port.host_ip, port.zero_checksum_allowed))
    return JobConfig(
        job=job.job,
        row=job.row,
        epoch=job.epoch,
        base=job.base & 0xFFFF_FFFF,
        window=job.window,
        first_slot=job.first_slot,
        short_allowed=world.settings.short_no_data,
        switch_mac=SWITCH_MAC,
        switch_ip=SWITCH_IP,
        children=tuple(children),
        service=job.service,
        switch_slots=job.switch_run,
    )


def learn_capacity(world: World, capacity: Capacity) -> str:
    """Takes over what the aggregator can hold; returns what is wrong with it, or ""."""
    if world.capacity is not None and world.capacity.lanes != capacity.lanes and world.jobs:
        return f"the aggregator now has {capacity.lanes} lanes per frame instead of {world.capacity.lanes}"
    world.capacity = capacity
    world.slots.total, world.switch_slots.total = capacity.slots, capacity.switch_slots or 0
    return ""
