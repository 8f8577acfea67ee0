"""The controller's core in virtual time: ranks, an aggregator and a network that delivers late, all from one seed.

Ranks are small: they answer what a SessionClient answers. The aggregator remembers epochs and bases, and a restart
wipes it. `Laboratory.run` lets time pass until nothing is left to happen before a given instant.
"""

from __future__ import annotations

import heapq
import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hostagent.controller.core.core import Controller
from hostagent.controller.core.effects import Disconnect, Install, Log, Remove, Save, Send
from hostagent.controller.core.model import SECOND_NS, Capacity, Settings
from hostagent.controller.core.ports import PortOffer, offer_from
from hostagent.controller.core.slots import Run
from hostagent.controller.drivers.job import JobConfig
from hostagent.protocol.services import session_pb2 as pb

CAPACITY = Capacity(slots=512, lanes=64, rows=64)
HEARTBEAT_NS = SECOND_NS // 2
LATE_NS = SECOND_NS // 100


@dataclass
class Place:
    """What one rank knows of one job."""

    join: pb.Join
    job: int = 0
    lease: pb.Lease | None = None
    frozen: bool = False
    progress: int = 0
    """Lowest unfinished chunk; grows while the rank runs."""
    resumed: list[tuple[int, int]] = field(default_factory=list)
    cause: str | None = None
    ending: pb.Failed.Ending = pb.Failed.LOST
    refusals: list[pb.Refused] = field(default_factory=list)
    peers_left: dict[int, int] = field(default_factory=dict)
    left_request: int = 0
    left: bool = False


class Rank:
    """One process with any number of groups."""

    def __init__(self, lab: Laboratory, name: str, host: str = "here") -> None:
        self.host = host
        self.lab, self.name, self.token = lab, name, lab.random.getrandbits(64) | 1
        self.places: dict[str, Place] = {}
        self.connection: int | None = None
        self.pending: dict[int, pb.ClientMessage] = {}
        self.alive = self.beating = True
        self.answering = True
        self.descriptions: dict[int, str] = {}
        self.connect()
        lab.after(HEARTBEAT_NS, self._beat)

    # --- what a test makes it do ---

    def connect(self) -> None:
        if self.alive and (self.beating or self.answering) and self.lab.up and self.connection is None:
            self.connection = next(self.lab.connections)
            self.lab.ranks_by_connection[self.connection] = self
            hello = pb.Hello(process=self.token, host=self.host, pid=self.token % 1000, transports=["shm", "udp"])
            hello.jobs.extend(
                self._announce(p) for p in self.places.values() if p.job and not p.left and p.cause is None
            )
            for message in (pb.ClientMessage(hello=hello), *self.pending.values()):
                self._send(message)

    def join(
        self, group: str, rank: int, size: int, service: pb.Service | None = None, share: int = 0, priority: int = 0
    ) -> Place:
        join = pb.Join(group=group, rank=rank, size=size, service=service, share=share, priority=priority)
        place = self.places[group] = Place(join)
        self._ask(pb.ClientMessage(join=place.join))
        return place

    def lease(self, group: str, timeout_ns: int = 60 * SECOND_NS) -> None:
        """Asks once the join is answered."""
        if not self.places[group].job:
            self.lab.after(LATE_NS, lambda: self.lease(group, timeout_ns))
            return
        self._ask(pb.ClientMessage(lease=pb.LeaseRequest(job=self.places[group].job, timeout_ns=timeout_ns)))

    def leave(self, group: str) -> None:
        place = self.places[group]
        self._ask(pb.ClientMessage(leave=pb.Leave(job=place.job, next_chunk=place.progress)))

    def fail(
        self,
        group: str,
        cause: str = "",
        mismatch: pb.Mismatch | None = None,
        ending: pb.Failed.Ending = pb.Failed.LOST,
    ) -> None:
        fail = pb.Fail(job=self.places[group].job, cause=cause, mismatch=mismatch, ending=ending)
        self._send(pb.ClientMessage(fail=fail))

    def goodbye(self) -> None:
        self._send(pb.ClientMessage(goodbye=pb.Goodbye()))
        self.alive = self.beating = False

    def kill(self) -> None:
        """kill -9: the kernel closes its connections."""
        self.alive = self.beating = False
        self.lab.disconnect(self)

    def stop(self) -> None:
        """SIGSTOP, or a machine that is lost: connections stand, nothing moves."""
        self.beating = self.answering = False

    def go_on(self) -> None:
        """SIGCONT: it finds its connection as it is now."""
        self.beating = self.answering = True
        self.connect()

    # --- how it behaves ---

    def _announce(self, place: Place) -> pb.Announcement:
        return pb.Announcement(join=place.join, job=place.job, lease=place.lease, frozen=place.frozen)

    def _ask(self, message: pb.ClientMessage) -> None:
        message.request = next(self.lab.requests)
        self.pending[message.request] = message
        self._send(message)

    def _send(self, message: pb.ClientMessage) -> None:
        if self.connection is not None:
            self.lab.to_controller(self.connection, message)

    def _beat(self) -> None:
        if self.beating and any(p.lease is not None and not p.left for p in self.places.values()):
            self.lab.heartbeat(self.token)
        if self.alive:
            self.lab.after(HEARTBEAT_NS, self._beat)

    def _place(self, job: int) -> Place | None:
        return next((place for place in self.places.values() if place.job == job), None)

    def receive(self, message: pb.ServerMessage) -> None:
        if not self.alive or not self.answering:
            return
        asked = self.pending.pop(message.request, None)
        body = message.WhichOneof("body")
        if body == "joined":
            assert asked is not None
            self.places[asked.join.group].job = message.joined.job
            return
        received = getattr(message, body or "")
        place = self.places.get(asked.join.group) if asked is not None and asked.HasField("join") else None
        place = place or self._place(asked.lease.job if asked is not None and body == "refused" else received.job)
        if place is not None:
            self._on(body or "", received, place)

    def _on(self, body: str, received: Any, place: Place) -> None:
        match body:
            case "lease":
                place.lease = place.lease or received
            case "refused":
                place.refusals.append(received)
            case "freeze":
                place.frozen = place.lease is not None
                answer = pb.Frozen(job=received.job, round=received.round, lowest_unfinished=place.progress)
                self._send(pb.ClientMessage(frozen=answer))
            case "resume":
                self._resume(received, place)
            case "failed":
                assert place.cause is None or place.cause == received.cause, "a job has one cause"
                place.cause, place.ending = received.cause, received.ending
            case "describe":
                text = self.descriptions.get(received.operation, "")
                self._send(
                    pb.ClientMessage(described=pb.Described(job=received.job, operation=received.operation, text=text))
                )
            case "peer_left":
                place.peers_left[received.rank] = received.next_chunk
            case "left":
                place.left = True

    def _resume(self, received: pb.Resume, place: Place) -> None:
        if place.lease is not None and place.lease.epoch != received.epoch:
            assert received.base <= place.progress, "a rank is never asked to skip what it has not finished"
            assert received.window <= place.lease.largest_window, "a rank has memory for no larger window"
            for name in ("epoch", "base", "window", "first_slot"):
                setattr(place.lease, name, getattr(received, name))
            place.resumed.append((received.epoch, received.base))
        place.frozen = False
        self._send(pb.ClientMessage(resumed=pb.Resumed(job=received.job, round=received.round)))


class Laboratory:
    """One controller, its aggregator and its ranks."""

    def __init__(
        self,
        seed: int = 0,
        ports: int = 8,
        capacity: Capacity = CAPACITY,
        max_window: int = 256,
        port: str = "shm:p{n}",
    ) -> None:
        self.random = random.Random(seed)
        self.now_ns, self.capacity, self.max_window = 0, capacity, max_window
        self.offers: tuple[PortOffer, ...] = tuple(offer_from(f"{n}={port.format(n=n)}") for n in range(1, ports + 1))
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._order, self.connections, self.requests = itertools.count(), itertools.count(1), itertools.count(1)
        self._last_ns: dict[tuple[str, int], int] = {}
        self.ranks: list[Rank] = []
        self.ranks_by_connection: dict[int, Rank] = {}
        self.state: str | None = None
        self.logs: list[str] = []
        self.up = False
        self.incarnation = 0
        self.aggregator: dict[int, JobConfig] = {}
        self.aggregator_up = True
        self.connection_to_aggregator = 0
        self.epochs: list[int] = []
        """Every epoch that was ever announced to a rank, in order."""
        self.start_controller()

    def rank(self, name: str = "", host: str = "here") -> Rank:
        made = Rank(self, name, host)
        self.ranks.append(made)
        return made

    def group(
        self, size: int, name: str = "world", ranks: list[Rank] | None = None, share: int = 0, priority: int = 0
    ) -> list[Rank]:
        """`size` ranks that join and lease; let time pass for the rest."""
        members = ranks or [self.rank(f"{name}-{number}") for number in range(size)]
        for number, member in enumerate(members):
            member.join(name, number, size, share=share, priority=priority)
            member.lease(name)
        return members

    # --- time ---

    def after(self, delay_ns: int, happen: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (self.now_ns + delay_ns, next(self._order), happen))

    def run(self, duration_ns: int) -> None:
        end_ns = self.now_ns + duration_ns
        while self._agenda and self._agenda[0][0] <= end_ns:
            self.now_ns, _, happen = heapq.heappop(self._agenda)
            happen()
        self.now_ns = end_ns

    def until(self, true: Callable[[], bool], at_most_ns: int = 120 * SECOND_NS) -> int:
        """Runs in small steps until something is true; the time it took. Fails the test at the bound."""
        start_ns = self.now_ns
        while not true():
            assert self.now_ns - start_ns < at_most_ns, "it never happened:\n" + "\n".join(self.logs)
            self.run(LATE_NS)
        return self.now_ns - start_ns

    def _in_order(self, way: str, number: int, happen: Callable[[], None]) -> None:
        """Streams keep their order, however late."""
        at_ns = max(self.now_ns + self.random.randrange(LATE_NS), self._last_ns.get((way, number), 0))
        self._last_ns[way, number] = at_ns
        self.after(at_ns - self.now_ns, happen)

    # --- the controller and its surroundings ---

    def start_controller(self) -> None:
        self.up = True
        self.incarnation += 1
        saved = json.loads(self.state) if self.state is not None else None
        wall = 1 + self.now_ns * 1000 // SECOND_NS  # seconds that fly: epochs are used faster here than one a second
        settings = Settings("here", max_window=self.max_window)
        self.core = Controller(settings, self.offers, now_ns=self.now_ns, wall_s=wall, saved=saved)
        received = {entries.job: entries for entries in self.core.expected_entries()}
        self._perform()
        self._connect_aggregator(received)
        self._tick(self.incarnation)
        for rank in self.ranks:
            self.after(self.random.randrange(SECOND_NS), rank.connect)

    def kill_controller(self) -> None:
        self.up = False
        for rank in self.ranks:
            rank.connection = None
        self.ranks_by_connection.clear()

    def lose_state_file(self) -> None:
        self.state = None

    def _connect_aggregator(self, received: dict[int, JobConfig]) -> None:
        """As the P4Runtime driver does: what is missing means lost state, what is not expected is removed."""
        if not self.aggregator_up:
            return
        state_lost = any(self.aggregator.get(job) != entries for job, entries in received.items())
        self.aggregator = {} if state_lost else {job: self.aggregator[job] for job in received}
        self._at_controller(lambda: self.core.aggregator_ready(self.capacity, state_lost, self.now_ns))

    def break_aggregator(self) -> None:
        self.aggregator_up = False
        self.aggregator = {}
        self._at_controller(lambda: self.core.aggregator_lost("the stream broke", self.now_ns))

    def mend_aggregator(self) -> None:
        self.aggregator_up = True
        self._at_controller(lambda: self.core.aggregator_ready(self.capacity, True, self.now_ns))

    def glitch(self) -> None:
        """The connection to the aggregator breaks and is back at once; what was on its way is not carried out."""
        self.connection_to_aggregator += 1
        if self.aggregator_up:
            self._at_controller(lambda: self.core.aggregator_lost("a glitch", self.now_ns))
            self._at_controller(lambda: self.core.aggregator_ready(self.capacity, False, self.now_ns))

    def _at_controller(self, happen: Callable[[], None]) -> None:
        if self.up:
            happen()
            self._perform()

    def _tick(self, incarnation: int) -> None:
        if self.up and incarnation == self.incarnation:
            self.core.timer(self.now_ns)
            self._perform()
            self.after(max(1, self.core.next_timer_ns() - self.now_ns), lambda: self._tick(incarnation))

    def to_controller(self, connection: int, message: pb.ClientMessage) -> None:
        copy = pb.ClientMessage()
        copy.CopyFrom(message)

        def arrive() -> None:
            if connection in self.ranks_by_connection:
                self._at_controller(lambda: self.core.client_message(connection, copy, self.now_ns))

        self._in_order("up", connection, arrive)

    def heartbeat(self, token: int) -> None:
        self.after(self.random.randrange(LATE_NS), lambda: self._at_controller(lambda: self._heard(token)))

    def _heard(self, token: int) -> None:
        self.core.heartbeat(token, self.now_ns)

    def disconnect(self, rank: Rank) -> None:
        connection, rank.connection = rank.connection, None
        if connection is None:
            return
        self.ranks_by_connection.pop(connection, None)
        self.after(0, lambda: self._at_controller(lambda: self.core.disconnected(connection, self.now_ns)))
        self.after(self.random.randrange(SECOND_NS), rank.connect)

    def _perform(self) -> None:
        for effect in self.core.take_effects():
            match effect:
                case Send(connection, message):
                    self._deliver(connection, message)
                case Disconnect(connection):
                    rank = self.ranks_by_connection.get(connection)
                    if rank is not None:
                        self.after(0, lambda rank=rank: self.disconnect(rank))  # type: ignore[misc]
                case Save(snapshot):
                    self.state = json.dumps(snapshot)
                case Install(entries):
                    self._install(entries, self.incarnation)
                case Remove(job):
                    self._in_order("install", 0, partial(self._remove, job))
                case Log(text):
                    self.logs.append(f"{self.now_ns / 1e9:.3f} {text}")

    def _deliver(self, connection: int, message: pb.ServerMessage) -> None:
        rank = self.ranks_by_connection.get(connection)
        if rank is not None:

            def receive() -> None:
                if rank.connection == connection:
                    rank.receive(message)

            self._in_order("down", connection, receive)

    def _install(self, entries: JobConfig, incarnation: int) -> None:
        assert entries.epoch not in self.epochs, "an epoch is used once"
        assert json.loads(self.state or "{}")["next_epoch"] != entries.epoch, "an epoch is on disk before it is used"
        self.epochs.append(entries.epoch)
        connection = self.connection_to_aggregator

        def arrive() -> None:
            is_current = (incarnation, connection) == (self.incarnation, self.connection_to_aggregator)
            if self.aggregator_up and is_current and self.up:
                self.aggregator[entries.job] = entries
                self._check_slots()
                self._at_controller(lambda: self.core.installed(entries.job, entries.epoch, self.now_ns))

        self._in_order("install", 0, arrive)

    def _remove(self, job: int) -> None:
        self.aggregator.pop(job, None)

    def _check_slots(self) -> None:
        windows = [Run(entries.first_slot, entries.window) for entries in self.aggregator.values()]
        at_switch = [entries.switch_slots for entries in self.aggregator.values() if entries.switch_slots is not None]
        for runs in (windows, at_switch):
            taken = [slot for run in runs for slot in range(run.first, run.first + run.count)]
            assert len(taken) == len(set(taken)), "no slot is two jobs' at any moment"
