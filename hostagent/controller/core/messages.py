"""Makes the messages to ranks, each in one call."""

from __future__ import annotations

from hostagent.controller.core.model import Job, World
from hostagent.controller.core.ports import SWITCH_IP, SWITCH_MAC
from hostagent.protocol.services import session_pb2 as pb

Reason = pb.Refused.Reason


def refused(
    request: int, reason: Reason, text: str, missing: tuple[int, ...] = (), ending: pb.Failed.Ending = pb.Failed.LOST
) -> pb.ServerMessage:
    """The answer to a request that can't be granted."""
    why = pb.Refused(reason=reason, text=text, missing_ranks=missing, ending=ending)
    return pb.ServerMessage(request=request, refused=why)


def failed(job: Job) -> pb.ServerMessage:
    """The job's cause, for a rank."""
    return pb.ServerMessage(failed=pb.Failed(job=job.job, cause=job.cause, ending=job.ending))


def freeze(job: Job) -> pb.ServerMessage:
    """Asks a rank to stop and say how far it is."""
    return pb.ServerMessage(freeze=pb.Freeze(job=job.job, round=job.round.number))


def resume(job: Job) -> pb.ServerMessage:
    """Announces the new epoch to a rank."""
    message = pb.Resume(job=job.job, round=job.round.number, epoch=job.epoch, base=job.base)
    message.window, message.first_slot = job.window, job.first_slot
    message.shorter_path_slots = _shorter_path_slots(job)
    return pb.ServerMessage(resume=message)


def lease(world: World, job: Job, rank: int, request: int) -> pb.ServerMessage:
    """The lease of one member of an installed job."""
    assert world.capacity is not None, "a job is installed only on an aggregator with a known capacity"
    port = world.ports.of(job.members[rank].process)
    assert port is not None, "a job is installed only when all members have ports"
    message = pb.Lease(
        job=job.job,
        child=rank,
        children=job.size,
        epoch=job.epoch,
        base=job.base,
        window=job.window,
        largest_window=job.largest_window,
        lanes=world.capacity.lanes,
        port=port.host_end,
        host_mac=port.host_mac,
        host_ip=port.host_ip,
        switch_mac=SWITCH_MAC,
        switch_ip=SWITCH_IP,
        zero_checksum_allowed=port.zero_checksum_allowed,
        short_no_data=world.settings.short_no_data,
        port_number=port.number,
        first_slot=job.first_slot,
        row=job.row,
        message_checksum=world.capacity.message_checksum or _has_port_that_damages(world, job),
        forwards_messages=world.capacity.forwards_messages,
        aggregator=world.capacity.aggregator,
        shorter_path_slots=_shorter_path_slots(job),
    )
    return pb.ServerMessage(request=request, lease=message)


def _shorter_path_slots(job: Job) -> int:
    """Those at the switch, where an overflow server has others of the window's; 0: all are in one place."""
    count = job.switch_run.count if job.switch_run is not None else 0
    return count if count < job.window else 0


def _has_port_that_damages(world: World, job: Job) -> bool:
    """One is enough for messages: nobody between two ranks verifies or computes their checksums."""
    ports = (world.ports.of(member.process) for member in job.members.values())
    return any(port is None or not port.zero_checksum_allowed for port in ports)
