"""The controller without I/O: (what happens, when) -> effects.

The shell calls one method for each thing that happens, with the time, then performs `take_effects()` in order, and
calls `timer` when `next_timer_ns` comes. Messages that make no sense in the state they meet are old news from before a
reconnection or a restart: they are ignored, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hostagent.controller.core import departure, failure, membership, presence, restart, shares
from hostagent.controller.core.effects import Disconnect, Effect
from hostagent.controller.core.lifecycle import JobState
from hostagent.controller.core.model import Capacity, Job, Member, Presence, Process, Settings
from hostagent.controller.core.ports import PortOffer
from hostagent.controller.drivers.job import JobConfig
from hostagent.controller.persistence import new_world, restore
from hostagent.protocol.services import session_pb2 as pb

IDLE_NS = 1_000_000_000
"""Timers are looked at this often at least: enough for every bound here, and nothing on an idle machine."""


class Controller:
    """One aggregator's jobs. `now_ns` is the shell's monotonic clock; it never runs backwards."""

    def __init__(
        self,
        settings: Settings,
        ports: tuple[PortOffer, ...],
        *,
        now_ns: int,
        wall_s: int,
        saved: Mapping[str, Any] | None = None,
    ):
        """`wall_s`: seconds since 1970, where epochs start if `saved`, the latest snapshot, is missing."""
        self.world = new_world(settings, ports, now_ns, wall_s)
        self._due_ns = now_ns + IDLE_NS
        if saved is not None:
            restore(self.world, saved)
            presence.start_again(self.world)

    def take_effects(self) -> list[Effect]:
        """What is to be done since the last call."""
        effects, self.world.effects = self.world.effects, []
        return effects

    # --- ranks ---

    def client_message(self, connection: int, message: pb.ClientMessage, now_ns: int) -> None:
        """A message on a stream; the first one must be Hello."""
        self._at(now_ns)
        if message.WhichOneof("body") == "hello":
            presence.attach(self.world, connection, message.hello)
            return
        process = self._process_on(connection)
        if process is None:
            self.world.effects.append(Disconnect(connection))
            return
        self._dispatch(process, message)

    def _dispatch(self, process: Process, message: pb.ClientMessage) -> None:
        world, token, request = self.world, process.token, message.request
        match message.WhichOneof("body"):
            case "join":
                membership.join(world, token, request, message.join)
            case "lease":
                membership.request_lease(world, token, request, message.lease)
            case "frozen":
                restart.frozen(world, token, message.frozen)
            case "resumed":
                restart.resumed(world, token, message.resumed)
            case "fail":
                failure.report(world, token, message.fail)
            case "described":
                failure.described(world, token, message.described)
            case "leave":
                departure.leave(world, token, request, message.leave)
                membership.progress_waiting(world)
            case "proceed":
                membership.pass_on(world, token, message.proceed)
            case "statistics":
                self._statistics(token, message.statistics)
            case "goodbye":
                assert process.connection is not None, "found by its connection"
                world.effects.append(Disconnect(process.connection))
                presence.detach(world, process.connection, goodbye=True)

    def _process_on(self, connection: int) -> Process | None:
        return next((p for p in self.world.processes.values() if p.connection == connection), None)

    def _statistics(self, token: int, message: pb.Statistics) -> None:
        found = departure.find(self.world, token, message.job)
        if found is not None:
            found[1].statistics = {counter.name: counter.value for counter in message.counters}
            found[1].statistics_ns = self.world.now_ns

    def collect(self, now_ns: int) -> None:
        """Ask all ranks that can answer for their counters; see `uncollected`."""
        self._at(now_ns)
        for job, member in self._connected():
            self.world.send(member.process, pb.ServerMessage(collect=pb.Collect(job=job.job)))

    def uncollected(self, since_ns: int) -> int:
        """Number of connected ranks whose counters were reported before ``since_ns``."""
        return sum(member.statistics_ns < since_ns for _, member in self._connected())

    def _connected(self) -> Iterator[tuple[Job, Member]]:
        for job in self.world.jobs.values():
            for member in job.members.values():
                process = self.world.processes.get(member.process)
                if member.takes_part and process is not None and process.connection is not None:
                    yield job, member

    def disconnected(self, connection: int, now_ns: int) -> None:
        """A stream has broken."""
        self._at(now_ns)
        presence.detach(self.world, connection, goodbye=False)

    def heartbeat(self, token: int, now_ns: int) -> None:
        """A heartbeat datagram has come; unknown tokens are ignored."""
        self._at(now_ns)
        presence.heartbeat(self.world, token)

    # --- the aggregator ---

    def aggregator_ready(self, capacity: Capacity, state_lost: bool, now_ns: int) -> None:
        """The aggregator is reachable; `state_lost`: it has lost the jobs installed before."""
        self._at(now_ns)
        restart.aggregator_ready(self.world, capacity, state_lost)

    def aggregator_lost(self, why: str, now_ns: int) -> None:
        """The aggregator is not reachable."""
        self._at(now_ns)
        restart.aggregator_lost(self.world, why)

    def installed(self, job: int, epoch: int, now_ns: int) -> None:
        """The answer to Install."""
        self._at(now_ns)
        restart.installed(self.world, job, epoch)

    def install_failed(self, job: int, epoch: int, why: str, now_ns: int) -> None:
        """The other answer to Install."""
        self._at(now_ns)
        restart.install_failed(self.world, job, epoch, why)

    def delivery_problem(self, job: int, why: str) -> None:
        """What keeps a job's frames from arriving; "": nothing any more."""
        if job in self.world.jobs:
            self.world.jobs[job].delivery_problem = why

    def aggregators_silent(self, which: str) -> None:
        """Aggregators that do not answer, for the causes of jobs that fail meanwhile; "": all answer."""
        self.world.silence = which

    def expected_entries(self) -> list[JobConfig]:
        """What the aggregator should know if it has forgotten nothing: for a driver that has just connected."""
        states = (JobState.RUNNING, JobState.RESUMING)
        return [membership.config_of(self.world, job) for job in self.world.jobs.values() if job.state in states]

    # --- time ---

    def next_timer_ns(self) -> int:
        """When to call `timer` at the latest."""
        deadlines = [self.world.now_ns + IDLE_NS]
        for process in self.world.processes.values():
            deadline_ns = presence.deadline_of(self.world, process)
            if deadline_ns is not None:
                deadlines.append(deadline_ns)
        for job in self.world.jobs.values():
            deadlines += [waiter.deadline_ns for waiter in job.waiters.values()]
            linger_ns = self.world.settings.limits.linger_ns
            lingering = (member for member in job.members.values() if member.presence is Presence.LEAVING)
            deadlines += [at for m in lingering if (at := m.leaving_ns + linger_ns) > self.world.now_ns]
            if job.investigation is not None:
                deadlines.append(job.investigation.deadline_ns)
        self._due_ns = max(self.world.now_ns, min(deadlines))
        return self._due_ns

    def timer(self, now_ns: int) -> None:
        """Time has passed."""
        late_ns = now_ns - self._due_ns
        self._at(now_ns)
        if late_ns >= self.world.settings.limits.own_stall_ns:
            presence.forgive(self.world, late_ns)
        presence.check_processes(self.world)
        for job in list(self.world.jobs.values()):
            if job.job in self.world.jobs:
                self._check_job(job.job)

    def _check_job(self, number: int) -> None:
        world, job = self.world, self.world.jobs[number]
        for rank in [rank for rank, waiter in job.waiters.items() if world.now_ns >= waiter.deadline_ns]:
            failure.lease_timed_out(world, job, rank)
        membership.progress(world, job)
        if job.investigation is not None and world.now_ns >= job.investigation.deadline_ns:
            failure.conclude(world, job)
        restart.overdue(world, job)
        if shares.is_to_change(world, job):
            restart.start_round(world, job, is_restart=False)
        lingers = any(member.presence is Presence.LEAVING for member in job.members.values())
        if number in world.jobs and (lingers or job.is_vacant):
            departure.settle(world, job)

    def _at(self, now_ns: int) -> None:
        self.world.now_ns = max(self.world.now_ns, now_ns)
