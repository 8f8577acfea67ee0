"""The core of a live controller (``hostagent.controller.core``) in virtual time, with the sessions of one job's ranks.

Its aggregator is all switches of the job's tree, which have the job or none, as behind the live driver of a tree. Ranks
answer what live sessions answer. Messages take no time: a switch that starts again has the job at once. A rank that is
stopped reads its messages when it goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from hostagent.controller.core.core import Controller
from hostagent.controller.core.effects import Disconnect, Install, Save, Send
from hostagent.controller.core.model import SECOND_NS, Capacity, Settings
from hostagent.controller.core.ports import PortOffer
from hostagent.controller.drivers.job import JobConfig
from hostagent.protocol.services import session_pb2 as pb

GROUP = "simulated"
FIRST_SECOND = 1
"""Of the controller's clock, where epochs begin."""
ROWS = 64


class Controlled(Protocol):
    """The job's switches and ranks."""

    def install(self, config: JobConfig) -> None:
        """In all switches, in place of what they have of the job."""

    def freeze(self, rank: int) -> int:
        """Its lowest unfinished chunk."""

    def resume(self, rank: int, epoch: int, base: int) -> None:
        """Under a new epoch."""

    def fail(self, rank: int, cause: str) -> None:
        """The job has ended for it."""


@dataclass(slots=True)
class Session:
    """What a rank's process knows."""

    rank: int
    host: str
    join: pb.Join
    connection: int | None = None
    job: int = 0
    lease: pb.Lease | None = None
    is_frozen: bool = False
    is_alive: bool = True
    is_running: bool = True
    is_over: bool = False
    """The job, for it."""
    unread: list[pb.ServerMessage] = field(default_factory=list)

    @property
    def token(self) -> int:
        """Of the process."""
        return self.rank + 1


class SimulatedController:
    """A controller that is up from the beginning, and has the job installed."""

    def __init__(self, job: Controlled, hosts: Sequence[str], lanes: int, window: int) -> None:
        self._job = job
        # a quarter of the slots is what the first job gets
        self._capacity = Capacity(4 * window, lanes, ROWS)
        self._settings = Settings("controller", window)
        self._offers = tuple(PortOffer(rank + 1, "udp", "", "", True) for rank in range(len(hosts)))
        self._connections: dict[int, Session] = {}
        self._numbers = count(1)
        self._saved: Mapping[str, Any] | None = None
        self._lost: set[str] = set()
        """Switches that are away."""
        self._is_state_lost = True
        self._core: Controller | None = None
        self._now_ns = 0
        joins = (pb.Join(group=GROUP, rank=rank, size=len(hosts)) for rank in range(len(hosts)))
        self.sessions = [Session(rank, host, join) for rank, (host, join) in enumerate(zip(hosts, joins, strict=True))]
        self.start(0)
        for session in self.sessions:
            self._send(session, pb.ClientMessage(request=1, join=session.join))
        self._perform()
        self.play(0)  # the first heartbeats

    # --- what happens ---

    def start(self, now_ns: int) -> None:
        """The controller's process begins, with what the one before has saved."""
        self._now_ns = now_ns
        wall_s = FIRST_SECOND + now_ns // SECOND_NS
        self._core = Controller(self._settings, self._offers, now_ns=now_ns, wall_s=wall_s, saved=self._saved)
        if not self._lost:
            self._core.aggregator_ready(self._capacity, self._is_state_lost, now_ns)
            self._is_state_lost = False
        for session in self.sessions:
            self._connect(session)
        self._perform()

    def kill(self) -> None:
        """The controller's process is gone; the job goes on."""
        self._core = None
        self._connections.clear()
        for session in self.sessions:
            session.connection = None

    def switch_lost(self, name: str, now_ns: int) -> None:
        """A switch was killed."""
        self._now_ns = now_ns
        self._lost.add(name)
        self._is_state_lost = True
        if self._core is not None:
            self._core.aggregator_lost(f"switch {name} was killed", now_ns)
            self._perform()

    def switch_ready(self, name: str, now_ns: int) -> None:
        """A switch has started again, and knows no job."""
        self._now_ns = now_ns
        self._lost.discard(name)
        if self._core is not None and not self._lost:
            self._is_state_lost = False
            self._core.aggregator_ready(self._capacity, True, now_ns)
            self._perform()

    def rank_killed(self, rank: int, now_ns: int) -> None:
        """Its connection breaks."""
        self._now_ns = now_ns
        session = self.sessions[rank]
        session.is_alive = False
        connection, session.connection = session.connection, None
        if self._core is not None and connection is not None:
            del self._connections[connection]
            self._core.disconnected(connection, now_ns)
            self._perform()

    def set_running(self, rank: int, is_running: bool, now_ns: int) -> None:
        """A rank is stopped, and sends no heartbeats; or it goes on, and reads what has come."""
        self._now_ns = now_ns
        session = self.sessions[rank]
        session.is_running = is_running
        if is_running:
            unread, session.unread = session.unread, []
            for message in unread:
                self._receive(session, message)
            self._connect(session)
            self._perform()

    # --- time ---

    def next_time_ns(self) -> int | None:
        """When to call `play` at the latest."""
        return self._core.next_timer_ns() if self._core is not None else None

    def play(self, now_ns: int) -> None:
        """Time has passed. Heartbeats of ranks that run come when the controller looks for them."""
        self._now_ns = now_ns
        if self._core is None:
            return
        for session in self.sessions:
            if session.is_alive and session.is_running:
                self._core.heartbeat(session.token, now_ns)
        self._core.timer(now_ns)
        self._perform()

    # --- messages ---

    def _connect(self, session: Session) -> None:
        if self._core is None or session.connection is not None or not (session.is_alive and session.is_running):
            return
        session.connection = next(self._numbers)
        self._connections[session.connection] = session
        hello = pb.Hello(
            process=session.token, host=session.host, pid=session.rank, transports=["udp"], port=session.token
        )
        if session.lease is not None and not session.is_over:
            hello.jobs.add(join=session.join, job=session.job, lease=session.lease, frozen=session.is_frozen)
        self._send(session, pb.ClientMessage(hello=hello))

    def _send(self, session: Session, message: pb.ClientMessage) -> None:
        """What the core answers is left for `_perform`."""
        if self._core is not None and session.connection is not None:
            self._core.client_message(session.connection, message, self._now_ns)

    def _perform(self) -> None:
        while self._core is not None and (effects := self._core.take_effects()):
            for effect in effects:
                match effect:
                    case Send(connection, message):
                        self._deliver(connection, message)
                    case Disconnect(connection):
                        if session := self._connections.pop(connection, None):
                            session.connection = None
                            self._connect(session)
                    case Save(snapshot):
                        self._saved = snapshot
                    case Install(config):
                        self._job.install(config)
                        self._core.installed(config.job, config.epoch, self._now_ns)

    def _deliver(self, connection: int, message: pb.ServerMessage) -> None:
        session = self._connections.get(connection)
        if session is None:
            return
        if session.is_running:
            self._receive(session, message)
        else:
            session.unread.append(message)

    def _receive(self, session: Session, message: pb.ServerMessage) -> None:
        match message.WhichOneof("body"):
            case "joined":
                session.job = message.joined.job
                request = pb.LeaseRequest(job=session.job, timeout_ns=SECOND_NS)
                self._send(session, pb.ClientMessage(request=2, lease=request))
            case "lease":
                session.lease = message.lease
            case "freeze":
                session.is_frozen = True
                lowest, stop = self._job.freeze(session.rank), message.freeze
                answer = pb.Frozen(job=stop.job, round=stop.round, lowest_unfinished=lowest)
                self._send(session, pb.ClientMessage(frozen=answer))
            case "resume":
                self._resume(session, message.resume)
            case "failed" if not session.is_over:
                session.is_over = True
                self._job.fail(session.rank, message.failed.cause)

    def _resume(self, session: Session, order: pb.Resume) -> None:
        assert session.lease is not None, "a rank without lease has nothing to resume"
        session.is_frozen = False
        if session.lease.epoch != order.epoch:
            session.lease.epoch, session.lease.base = order.epoch, order.base
            self._job.resume(session.rank, order.epoch, order.base)
        self._send(session, pb.ClientMessage(resumed=pb.Resumed(job=order.job, round=order.round)))
