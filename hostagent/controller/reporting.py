"""Turns what the core knows and what the aggregator counted into answers for people."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hostagent.controller.core.model import Job, World
from hostagent.controller.drivers.driver import AggregatorCounters
from hostagent.protocol.services import session_pb2 as pb


def status(world: World, aggregator: str) -> pb.StatusReply:
    """Jobs, ports and slots as they are now."""
    reply = pb.StatusReply(
        aggregator=aggregator,
        aggregator_ready=world.ready,
        aggregator_problem=world.problem or world.silence,
        slots=world.slots.total,
        slots_free=world.slots.free,
        lanes=world.capacity.lanes if world.capacity is not None else 0,
        forwards_messages=world.capacity is not None and world.capacity.forwards_messages,
    )
    if world.capacity is not None and world.capacity.switch_slots is not None:
        reply.switch_slots, reply.switch_slots_free = world.switch_slots.total, world.switch_slots.free
    # a vacant one holds nothing, and is there only for ranks that may come
    reply.jobs.extend(_job_status(world, job) for job in world.jobs.values() if not job.is_vacant)
    for number, offer in sorted(world.ports.offers.items()):
        owner = world.processes.get(world.ports.owner.get(number, 0))
        reply.ports.append(pb.PortStatus(number=number, spec=offer.spec, pid=owner.pid if owner is not None else 0))
    return reply


def _job_status(world: World, job: Job) -> pb.JobStatus:
    message = pb.JobStatus(
        job=job.job,
        group=job.label,
        size=job.size,
        state=job.state.value,
        cause=job.cause,
        epoch=job.epoch,
        base=job.base,
        window=job.window,
        first_slot=max(0, job.first_slot),
        restarts=job.restarts,
        share=job.share,
        priority=job.priority,
        switch_slots=job.switch_run.count if job.switch_run is not None else None,
    )
    for rank, member in sorted(job.members.items()):
        process, port = world.processes.get(member.process), world.ports.of(member.process)
        report = pb.MemberStatus(rank=rank, state=member.presence.value, port_number=port.number if port else 0)
        if process is not None:
            report.pid, report.host = process.pid, process.host
            if process.connection is None and member.takes_part:
                report.state = "away"
        message.members.append(report)
    return message


def report(world: World, counters: AggregatorCounters, now_ns: int) -> pb.ReportReply:
    """The aggregator's counters by job, and the ranks' counters.

    A row belongs to the latest job that had it; it counts on from what earlier jobs left there.
    """
    reply = pb.ReportReply(drops=_counters(counters.drops))
    for name, statistics in counters.statistics:
        text = json.dumps(statistics) if statistics is not None else ""
        reply.aggregators.append(pb.AggregatorReport(name=name, statistics=text))
    rows: set[int] = set()
    for job in [*world.jobs.values(), *reversed(world.ended)]:
        report = pb.JobReport(job=job.job, group=job.label, size=job.size)
        report.lanes = world.capacity.lanes if world.capacity is not None else 0
        if job.row not in rows:
            report.verdicts.extend(_counters(counters.verdicts.get(job.row, {})))
            report.verdict_bytes.extend(_counters(counters.verdict_bytes.get(job.row, {})))
        rows.add(job.row)
        for rank, member in sorted(job.members.items()):
            age_ns = max(1, now_ns - member.statistics_ns) if member.statistics_ns else 0
            report.members.append(pb.MemberReport(rank=rank, counters=_counters(member.statistics), age_ns=age_ns))
        reply.jobs.append(report)
    return reply


def _counters(values: Mapping[str, int]) -> list[pb.Counter]:
    return [pb.Counter(name=name, value=value) for name, value in values.items()]
