"""v1model for the interpreter: the life of one packet from ingress port to egress ports.

The same as ``emulator.v1model.llvm``, in plain Python; the two must agree on every packet and every
cell of state.

All that comes of one arriving frame is finished before the next one: what waits for egress goes first, in the order in
which it was put there, then what was resubmitted or recirculated. That is what simple_switch does with packets that
come one at a time, and arrival order where its threads would decide.

With egress queues (``emulator.v1model.egress_queues``) a packet enters a queue instead, and goes through egress at the
time at which it leaves the queue; those that leave at once do so before anything that waits for the parser.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from emulator.p4 import ir
from emulator.p4.arithmetic import wrap
from emulator.p4.interpreter.interpreter import Discard, LoopLimit, Machine, Tables
from emulator.v1model.egress_queues import EgressQueues, QueueSettings, qid_of
from emulator.v1model.features import Features, features_of
from emulator.v1model.interpreted_externs import EXTERNS
from emulator.v1model.interpreted_requests import Requests, requests
from emulator.v1model.limits import QUEUE_CAPACITY, REINJECTION_CELL_BYTES, REINJECTION_LIMIT, UNCUT
from emulator.v1model.metadata import DROP_PORT, Drop, Fault, Instance, standard
from emulator.v1model.state import Session, State
from emulator.v1model.target import V1MODEL_TARGET

NANOSECONDS_PER_MICROSECOND = 1000


@dataclass(frozen=True, slots=True)
class Entering:
    """A frame on its way to the parser; ``kept`` are the variables of a field list."""

    frame: bytes
    instance: Instance = Instance.NORMAL
    kept: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Leaving:
    """A packet on its way to egress, as one or more copies."""

    machine: Machine
    replicas: tuple[tuple[int, int], ...]
    """(port, egress_rid) of each."""
    fresh: bool
    """The copies are new packets, without the requests that the packet's ingress made."""
    cut_bytes: int = UNCUT
    ingress_port: int = 0
    """Ingress port of the frame; kept for egress queues, in which the packet outlives its frame."""


@dataclass(frozen=True, slots=True)
class Queueing:
    """What egress learns of a packet's queue."""

    enq_timestamp: int
    enq_qdepth: int = 0
    deq_timedelta: int = 0
    deq_qdepth: int = 0
    qid: int = 0


@dataclass(slots=True)
class Life:
    """All packets that result from one arriving frame, or that leave their queues together."""

    port: int
    now_ns: int
    entering: deque[Entering] = field(default_factory=deque)
    leaving: deque[Leaving] = field(default_factory=deque)
    reinjections: int = 0

    @property
    def now_us(self) -> int:
        return self.now_ns // NANOSECONDS_PER_MICROSECOND


@dataclass(slots=True)
class Interpreter:
    """Packets through a program, one by one. ``replicas`` gives a multicast group's (port, rid) pairs."""

    program: ir.Program
    tables: Tables
    replicas: Callable[[int], tuple[tuple[int, int], ...]]
    state: State
    make_machine: type[Machine] = Machine
    queues: EgressQueues[Leaving] | None = None
    """None: nothing waits between ingress and egress."""
    uses: Features = field(init=False)
    qid: ir.Variable | None = field(init=False)

    def __post_init__(self) -> None:
        self.uses = features_of(self.program)
        self.qid = qid_of(self.program)

    def process(self, frame: bytes, port: int, now_ns: int) -> Iterator[tuple[int, bytes]]:
        """The (egress port, frame) pairs that a frame becomes; whether those ports exist is the caller's concern."""
        life = Life(port, now_ns)
        life.entering.append(Entering(frame))
        yield from self._live(life)

    def depart(self, now_ns: int) -> Iterator[tuple[int, bytes]]:
        """What the packets become that leave their queues until now; to be asked before frames that arrive now."""
        life = Life(0, 0)
        while 0 <= self.next_ns <= now_ns:
            life.now_ns = self.next_ns
            yield from self._live(life)

    def _live(self, life: Life) -> Iterator[tuple[int, bytes]]:
        while True:
            if life.leaving:
                leaving = life.leaving.popleft()
                if self.queues is None:
                    yield from self._leave(life, leaving, Queueing(life.now_us))
                else:
                    self._enqueue(life, leaving)
            elif self.queues is not None and (first := self.queues.leave(life.now_ns)) is not None:
                waiting, depth = first
                life.port = waiting.packet.ingress_port
                enqueued_us = waiting.entered_ns // NANOSECONDS_PER_MICROSECOND
                waited_us = life.now_us - enqueued_us
                known = Queueing(enqueued_us, waiting.enq_qdepth, waited_us, depth, waiting.priority)
                yield from self._leave(life, waiting.packet, known)
            elif life.entering:
                self._enter(life, life.entering.popleft())
            else:
                return

    @property
    def next_ns(self) -> int:
        """When a packet next leaves its queue; -1: none waits in one."""
        next_ns = None if self.queues is None else self.queues.next_ns
        return -1 if next_ns is None else next_ns

    def set_queues(self, settings: QueueSettings) -> None:
        """Use egress queues from now on."""
        if self.queues is None:
            self.queues = EgressQueues(settings)
        self.queues.settings = settings
        settings.write(self.queues.queues)

    # --- From the parser to the end of ingress ----------------------------------------------------------------------

    def _enter(self, life: Life, entering: Entering) -> None:
        m = self._machine(life, entering.frame)
        if entering.instance is Instance.NORMAL:
            self._set(m, "ingress_port", life.port)
            self._set(m, "ingress_global_timestamp", life.now_us)
        m.variables.update(entering.kept)
        self._set(m, "packet_length", len(m.frame))
        self._set(m, "instance_type", entering.instance)
        try:
            self._parse(m)
            self._control(m, "ig")
        except Discard as reason:
            self._discarded(reason)
            return
        self._after_ingress(life, m)

    def _machine(self, life: Life, frame: bytes) -> Machine:
        m = self.make_machine(self.program, self.tables, EXTERNS, V1MODEL_TARGET, frame)
        m.notes = {
            "state": self.state,
            "length": len(frame),
            "requests": Requests(),
            "uses": self.uses,
            "now_ns": life.now_ns,
        }
        return m

    def _parse(self, m: Machine) -> None:
        parser = self.program.block("p")
        assert isinstance(parser, ir.Parser)
        self._set(m, "parser_error", m.parse(parser))
        self._control(m, "vr")

    def _after_ingress(self, life: Life, m: Machine) -> None:
        """In simple_switch's order of evaluation; a clone goes to egress before its original."""
        pending = requests(m)
        if pending.digest is not None:
            self.state.send_digest(*pending.digest)
        kept = self._kept(m, pending.clone[1]) if pending.clone is not None else {}
        replicas: tuple[tuple[int, int], ...] = ()
        if pending.resubmit is not None:
            self._reinject(life, Entering(m.frame, Instance.RESUBMITTED, self._kept(m, pending.resubmit)))
        else:
            replicas = self._copies(m)
        if pending.clone is not None and (session := self._session(life, pending.clone[0])) is not None:
            self._clone_ingress(life, m.frame, session, kept)
        m.notes["requests"] = replace(pending, clone=None, digest=None)
        if replicas:
            life.leaving.append(Leaving(m, replicas, self._get(m, "instance_type") == Instance.REPLICATED))

    def _copies(self, m: Machine) -> tuple[tuple[int, int], ...]:
        """Multicast beats a drop by egress_spec."""
        group, spec = self._get(m, "mcast_grp"), self._get(m, "egress_spec")
        copies: tuple[tuple[int, int], ...] = ((spec, 0),)
        if group:
            copies = self.replicas(group)
            if not copies:
                return self._dropped(Drop.NO_SUCH_GROUP)
        elif spec == DROP_PORT:
            return self._dropped(Drop.INGRESS)
        if self.queues is None and self._get(m, "priority"):
            return self._dropped(Drop.PRIORITY, len(copies))
        self._set(m, "instance_type", Instance.REPLICATED if group else Instance.NORMAL)
        return copies

    # --- Copies -----------------------------------------------------------------------------------------------------

    def _kept(self, m: Machine, number: int) -> dict[str, int]:
        return {v.name: m.value(v) for v in self.uses.lists[number]}

    def _session(self, life: Life, number: int) -> Session | None:
        """The clone session, if there is one and one more packet may be made."""
        session = self.state.clone_sessions.get(number)
        if session is None or not session.replicas:
            self.state.faults[Fault.NO_SUCH_SESSION] += 1
            return None
        return session if self._may_reinject(life) else None

    def _may_reinject(self, life: Life) -> bool:
        if life.reinjections >= REINJECTION_LIMIT:
            self._dropped(Drop.REINJECTED_TOO_OFTEN)
            return False
        life.reinjections += 1
        return True

    def _reinject(self, life: Life, entering: Entering) -> None:
        if not self._may_reinject(life):
            return
        if len(life.entering) >= QUEUE_CAPACITY:
            self._dropped(Drop.QUEUE_FULL)
        elif entering.instance is Instance.RECIRCULATED and len(entering.frame) > REINJECTION_CELL_BYTES:
            self._dropped(Drop.TOO_LONG)
        else:
            life.entering.append(entering)

    def _clone_ingress(self, life: Life, frame: bytes, session: Session, kept: dict[str, int]) -> None:
        """Parsed again from the bytes; what the parser puts into metadata is lost (bmv2)."""
        m = self._machine(life, frame)
        self._set(m, "ingress_port", life.port)
        try:
            self._parse(m)
        except Discard as reason:
            self._discarded(reason)
            return
        self._forget(m, Instance.INGRESS_CLONE, kept)
        life.leaving.append(Leaving(m, session.replicas, True, session.packet_length_bytes or UNCUT))

    def _clone_egress(self, life: Life, m: Machine) -> None:
        """With the headers as they are now, before the deparser."""
        clone = requests(m).clone
        if clone is None:
            return
        session = self._session(life, clone[0])
        if session is None:
            return
        if len(life.leaving) >= QUEUE_CAPACITY:
            self._dropped(Drop.QUEUE_FULL)
            return
        copied = _fork(m)
        self._forget(copied, Instance.EGRESS_CLONE, self._kept(m, clone[1]))
        life.leaving.append(Leaving(copied, session.replicas, True, session.packet_length_bytes or UNCUT))

    def _forget(self, m: Machine, instance: Instance, kept: dict[str, int]) -> None:
        """All metadata and locals become zero, except those of a field list."""
        m.variables = dict(kept)
        self._set(m, "instance_type", instance)

    # --- Egress -----------------------------------------------------------------------------------------------------

    def _enqueue(self, life: Life, leaving: Leaving) -> None:
        """Each copy into the queue of its port and its priority."""
        assert self.queues is not None
        m = leaving.machine
        for replica in leaving.replicas:
            one = replace(leaving, replicas=(replica,), ingress_port=life.port)
            reason = self.queues.enter(one, replica[0], self._get(m, "priority"), len(m.frame), life.now_ns)
            if reason is not None:
                self._dropped(reason)

    def _leave(self, life: Life, leaving: Leaving, known: Queueing) -> Iterator[tuple[int, bytes]]:
        for port, rid in leaving.replicas:
            each = _fork(leaving.machine)
            each.notes["now_ns"] = life.now_ns
            if leaving.fresh:
                each.notes["requests"] = Requests(cut_bytes=leaving.cut_bytes)
                self._set(each, "egress_rid", rid)
            try:
                if self._egress(life, each, port, known):
                    yield port, bytes(each.output[: requests(each).cut_bytes])
            except Discard as reason:
                self._discarded(reason)

    def _egress(self, life: Life, m: Machine, port: int, known: Queueing) -> bool:
        """Whether a frame is to be sent."""
        for name, value in (
            ("egress_port", port),
            ("egress_spec", 0),
            ("packet_length", m.notes["length"]),
            ("egress_global_timestamp", life.now_us),
            ("enq_timestamp", known.enq_timestamp),
            ("enq_qdepth", known.enq_qdepth),
            ("deq_timedelta", known.deq_timedelta),
            ("deq_qdepth", known.deq_qdepth),
        ):
            self._set(m, name, value)
        if self.queues is not None and self.qid is not None:
            m.assign(self.qid, wrap(known.qid, self.qid.type))
        self._control(m, "eg")
        self._clone_egress(life, m)
        if self._get(m, "egress_spec") == DROP_PORT:
            self._dropped(Drop.EGRESS)
            return False
        self._control(m, "ck")
        self._control(m, "dep")
        m.output += m.frame[m.cursor :]
        again = requests(m).recirculate
        if again is None:
            return True
        self._reinject(life, Entering(bytes(m.output), Instance.RECIRCULATED, self._kept(m, again)))
        return False

    # --- Helpers ----------------------------------------------------------------------------------------------------

    def _control(self, m: Machine, name: str) -> None:
        control = self.program.block(name)
        assert isinstance(control, ir.Control)
        m.control(control.body)

    def _set(self, m: Machine, name: str, value: int) -> None:
        variable = standard(name)
        m.assign(variable, wrap(value, variable.type))

    def _get(self, m: Machine, name: str) -> int:
        return m.value(standard(name))

    def _dropped(self, reason: Drop, count: int = 1) -> tuple[tuple[int, int], ...]:
        self.state.drops[reason] += count
        return ()

    def _discarded(self, reason: Discard) -> None:
        if isinstance(reason, LoopLimit):
            self._dropped(Drop.LOOP_LIMIT)


def _fork(m: Machine) -> Machine:
    """A copy of the packet."""
    each = copy.copy(m)
    each.variables = dict(m.variables)
    each.headers = {name: replace(h, fields=dict(h.fields)) for name, h in m.headers.items()}
    each.next_index = dict(m.next_index)
    each.notes = dict(m.notes)
    each.output = bytearray()
    return each
