"""What outlives the controller's process: a snapshot of the core as JSON-able data, and the way back.

Saved before each effect that depends on it: above all, an epoch is on disk before it is installed on the aggregator.
Ranks repeat the rest when they reconnect. Jobs survive without the file: ranks send their leases, and epochs begin at
the wall clock's second, which grows faster than epochs are used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hostagent.controller.core import shares
from hostagent.controller.core.effects import Save
from hostagent.controller.core.lifecycle import JobState
from hostagent.controller.core.model import Capacity, Job, Member, Presence, Process, Settings, World
from hostagent.controller.core.ports import PortBook, PortOffer
from hostagent.controller.core.slots import Run, SlotAllocator
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.protocol.services.session_pb2 import Failed

FORMAT = 1
_MEMBER = ("rank", "process", "name", "next_chunk")
_JOB = ("job", "group", "size", "row", "first_slot", "window", "epoch", "base", "restarts", "cause", "exhausted")
_TERMS = ("share", "priority", "largest_window")
"""Absent in what earlier versions saved."""

_RUNS = ("switch_run", "old_run")
_SERVICE = ("name", "workers", "weight", "quota_bytes")


class StateFileError(Exception):
    """The state file can't be read; the message names it and says what to do."""


def save(world: World) -> None:
    """Asks for a snapshot of the world as it is now."""
    world.effects.append(Save(snapshot(world)))


def snapshot(world: World) -> dict[str, Any]:
    """Everything that ranks can't be relied on to say again."""
    return {
        "format": FORMAT,
        "next_epoch": world.next_epoch,
        "next_job": world.next_job,
        "capacity": asdict(world.capacity) if world.capacity is not None else None,
        "ports": {str(number): process for number, process in world.ports.owner.items()},
        "processes": [_process(process) for process in world.processes.values()],
        "jobs": [_job(job) for job in world.jobs.values()],
    }


def _process(process: Process) -> dict[str, Any]:
    facts = {name: getattr(process, name) for name in ("token", "host", "pid", "port")}
    return {**facts, "transports": list(process.transports)}


def _job(job: Job) -> dict[str, Any]:
    members = [
        {**{name: getattr(member, name) for name in _MEMBER}, "presence": member.presence.value}
        for member in job.members.values()
    ]
    values = {name: getattr(job, name) for name in (*_JOB, *_TERMS)}
    return {
        **values,
        "state": job.state.value,
        "ending": job.ending,
        "round": job.round.number,
        "members": members,
        "service": _service(job.service),
        **{name: None if (run := getattr(job, name)) is None else asdict(run) for name in _RUNS},
    }


def _service(terms: ServiceTerms | None) -> dict[str, Any] | None:
    if terms is None:
        return None
    return {**{name: getattr(terms, name) for name in _SERVICE}, "nonce": terms.nonce.hex()}


def new_world(settings: Settings, ports: tuple[PortOffer, ...], now_ns: int, wall_s: int) -> World:
    """The state of a new controller."""
    return World(
        settings=settings,
        ports=PortBook({offer.number: offer for offer in ports}),
        slots=SlotAllocator(0, settings.max_window),
        switch_slots=SlotAllocator(0),
        now_ns=now_ns,
        next_epoch=max(1, wall_s & 0xFFFF_FFFF),
        next_job=1 + wall_s % 0xFFFF,
        started_ns=now_ns,
        lost_ns=now_ns,
    )


def restore(world: World, saved: Mapping[str, Any]) -> None:
    """Puts a snapshot into a new world. Every process is away until it comes back; see `presence`."""
    world.next_epoch = max(world.next_epoch, saved["next_epoch"])
    world.next_job = saved["next_job"]
    if saved["capacity"] is not None:
        world.capacity = Capacity(**saved["capacity"])
        world.slots.total, world.switch_slots.total = world.capacity.slots, world.capacity.switch_slots or 0
    for values in saved["processes"]:
        world.processes[values["token"]] = Process(
            token=values["token"],
            host=values["host"],
            pid=values["pid"],
            transports=tuple(values["transports"]),
            connection=None,
            port=values.get("port", 0),
            detached_ns=world.now_ns,
            grace_ns=world.settings.limits.recovery_ns,
        )
    for values in saved["jobs"]:
        job = _restored_job(values)
        world.jobs[job.job] = job
        if job.has_slots:
            if world.capacity is None:  # killed before it had heard of the aggregator, but of the job from its ranks
                world.slots.total = max(world.slots.total, job.first_slot + job.window)
            shares.reserve(world, job)
    for number, process in saved["ports"].items():
        world.ports.reserve(process, int(number))


def _restored_job(values: Mapping[str, Any]) -> Job:
    job = Job(**{name: values[name] for name in _JOB}, state=JobState(values["state"]))
    job.round.number, job.ending = values["round"], values.get("ending", Failed.LOST)
    if service := values.get("service"):
        job.service = ServiceTerms(nonce=bytes.fromhex(service["nonce"]), **{name: service[name] for name in _SERVICE})
    for name in _TERMS:
        setattr(job, name, values.get(name, getattr(job, name)))
    job.largest_window = job.largest_window or job.window
    for name in _RUNS:
        if run := values.get(name):
            setattr(job, name, Run(**run))
    for member in values["members"]:
        kept = {name: member[name] for name in _MEMBER}
        job.members[member["rank"]] = Member(**kept, presence=Presence(member["presence"]))
    return job


def write_state(path: Path, snapshot_: Mapping[str, Any]) -> None:
    """Replaces the file in one step, so that a controller killed at any moment leaves the old or the new one."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)  # nonces are in it
    draft.write_text(json.dumps(snapshot_, indent=1) + "\n")
    os.replace(draft, path)


def read_state(path: Path) -> dict[str, Any] | None:
    """The latest snapshot; None where there is no file. Raises StateFileError."""
    try:
        saved = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StateFileError(f"state file {path} can't be read: {error}; remove it to start afresh") from error
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise StateFileError(f"state file {path} is not of format {FORMAT}; remove it to start afresh")
    return saved
