"""What a session remembers of each of its jobs, and how that is put into messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hostagent.protocol.services import session_pb2 as pb
from hostagent.transport.errors import Cause
from hostagent.transport.session.terms import (
    JobFailed,
    Lease,
    Membership,
    Mismatch,
    MissingRanks,
    SessionError,
    SessionRefused,
    Terms,
)

ENDINGS = {
    Cause.LOST: pb.Failed.LOST,
    Cause.REFUSED: pb.Failed.REFUSED,
    Cause.MISMATCH: pb.Failed.MISMATCH,
    Cause.TIMEOUT: pb.Failed.TIMEOUT,
}
"""A cause in the controller's words; what only this process knows of (`Cause.LOCAL`) is a loss to others."""
CAUSES = {ending: cause for cause, ending in ENDINGS.items()}


@dataclass(slots=True)
class JobRecord:
    """One job on this rank, from joining to leaving."""

    membership: Membership
    lease: Lease | None = None
    announced_lease: pb.Lease | None = None
    """The lease in the controller's words, for a controller that has lost its memory."""
    frozen: bool = False
    cause: str | None = None
    """Why the job has ended."""
    failure: pb.ClientMessage | None = None
    """What this rank reported to the controller about the end; repeated until the controller confirms."""
    statistics: pb.ClientMessage | None = None
    peers_left: set[int] = field(default_factory=set)

    @property
    def over(self) -> bool:
        """The controller has confirmed the end."""
        return self.cause is not None

    def failure_message(self, text: str, cause: Cause, mismatch: Mismatch | None) -> pb.ClientMessage:
        """Reports the job's end to the controller."""
        fail = pb.Fail(job=self.membership.job, cause=text, ending=ENDINGS.get(cause, pb.Failed.LOST))
        if mismatch is not None:
            fail.mismatch.first_hash, fail.mismatch.first_child = mismatch.first_hash, mismatch.first_child
            fail.mismatch.second_hash, fail.mismatch.second_child = mismatch.second_hash, mismatch.second_child
        return pb.ClientMessage(fail=fail)

    def statistics_message(self, statistics: Mapping[str, int]) -> pb.ClientMessage:
        """Reports this rank's counters to the controller."""
        counters = [pb.Counter(name=name, value=value) for name, value in statistics.items()]
        return pb.ClientMessage(statistics=pb.Statistics(job=self.membership.job, counters=counters))


def join_message(member: Membership) -> pb.Join:
    """Enters a rank into a group."""
    join = pb.Join(group=member.group, rank=member.rank, size=member.size, share=member.share, priority=member.priority)
    service = member.service
    if service is not None:
        join.service.name, join.service.nonce = service.name, service.nonce
        join.service.weight, join.service.quota_bytes = service.weight, service.quota_bytes
        join.service.workers = service.workers
    return join


def announce(record: JobRecord) -> pb.Announcement:
    """What a controller that may have forgotten everything must hear of a job."""
    member = record.membership
    announcement = pb.Announcement(join=join_message(member), job=member.job, frozen=record.frozen)
    if record.announced_lease is not None:
        announcement.lease.CopyFrom(record.announced_lease)
    return announcement


def lease_from(message: pb.Lease, heartbeat: tuple[str, int], token: int) -> Lease:
    """The controller's lease in the transport's terms."""
    return Lease(
        job=message.job,
        child=message.child,
        children=message.children,
        epoch=message.epoch,
        base=message.base,
        window=message.window,
        largest_window=message.largest_window,
        lanes=message.lanes,
        port=message.port,
        port_number=message.port_number,
        host_mac=message.host_mac,
        host_ip=message.host_ip,
        switch_mac=message.switch_mac,
        switch_ip=message.switch_ip,
        zero_checksum_allowed=message.zero_checksum_allowed,
        short_no_data=message.short_no_data,
        heartbeat=heartbeat,
        token=token,
        message_checksum=message.message_checksum,
        forwards_messages=message.forwards_messages,
        aggregator=message.aggregator,
        shorter_path_slots=message.shorter_path_slots,
    )


def refusal(message: pb.Refused) -> SessionError:
    """A refusal as the exception that the caller gets."""
    match message.reason:
        case pb.Refused.MISSING_RANKS:
            return MissingRanks(message.text, tuple(message.missing_ranks))
        case pb.Refused.JOB_FAILED:
            return JobFailed(message.text, CAUSES[message.ending])
        case pb.Refused.UNAVAILABLE:
            return SessionError(message.text)
        case _:
            return SessionRefused(message.text)


def proceed_message(job: int, units: Sequence[tuple[int, Sequence[Terms]]]) -> pb.Proceed:
    """The request that late ranks miss these operations."""
    made = [
        pb.Unit(
            number=number, sums=[pb.Sum(**{name: getattr(each, name) for name in Terms.__slots__}) for each in unit]
        )
        for number, unit in units
    ]
    return pb.Proceed(job=job, units=made)


def units_of(message: pb.Proceed) -> list[tuple[int, tuple[Terms, ...]]]:
    """The operations of such a request."""
    return [
        (unit.number, tuple(Terms(*(getattr(each, name) for name in Terms.__slots__)) for each in unit.sums))
        for unit in message.units
    ]
