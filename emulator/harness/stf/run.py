"""A plan on a switch, in virtual time.

Time does not pass between packets. It moves by ``wait``, and by one second before a packet that follows a word of the
control plane: p4c's driver sleeps as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from emulator.harness.egress_rings import Rings
from emulator.harness.stf.indexed_state import COMPARE
from emulator.harness.stf.steps import Change, Check, Pause, Plan, Send, Show, Step
from emulator.harness.stf.syntax import CheckCount, CheckLog, NoPacket
from emulator.ports.batch import FrameBatch
from emulator.switch.control import Control, ControlError
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.metadata import Drop, Fault

START_NS = 1_000_000_000
"""Time of the first packet; not 0, so that no timestamp is zero by accident."""
CONTROL_PAUSE_NS = 1_000_000_000
ENDINGS = {
    Drop.ASSERTION: "failed an assertion of the program",
    Drop.LOG_FORMAT: "logged a message with more or fewer values than braces",
}
"""What would end the process of a bmv2, and so fails a test that does not ask for it with check_count."""


@dataclass(frozen=True, slots=True)
class Output:
    port: int
    content: bytes
    line: int
    """Line of the packet, wait or change of the test after which it came out; 0 before any."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that did not hold, other than by comparing packets."""

    line: int
    message: str


@dataclass(slots=True)
class Record:
    """All that came of a run."""

    outputs: list[Output] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)
    notes: list[Wrong] = field(default_factory=list)
    """What reading commands found."""
    messages: list[str] = field(default_factory=list)
    """What the program said with log_msg."""
    sent: int = 0
    drops: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)


def run(plan: Plan, program: CompiledProgram, rings: Rings, switch: Switch | None = None) -> Record:
    """Load the program into a new switch and do what the plan says, step by step."""
    rings.take()
    switch = switch or Switch(ports=rings.table)
    switch.load(program)
    return _Run(plan, switch, rings).go()


class _Run:
    def __init__(self, plan: Plan, switch: Switch, rings: Rings) -> None:
        self._plan = plan
        self._switch = switch
        self._rings = rings
        self._record = Record()
        self._now_ns = START_NS
        self._timer_ns: int | None = None
        self._changed = False
        self._line = 0
        self._read = 0
        """Messages that check_log has looked at."""
        self._asked: set[str] = set()
        """Counts that check_count has looked at."""
        self._marked = 0
        """How many outputs there were before the last packet."""

    def go(self) -> Record:
        for step in self._plan.steps:
            self._step(step)
        self._record.drops = dict(self._switch.drops)
        self._record.faults = dict(self._switch.faults)
        for reason, what in ENDINGS.items():
            if (failed := self._record.drops.get(reason.words, 0)) and reason.words not in self._asked:
                self._wrong(self._line, f"{failed} packets {what}, which ends a bmv2")
        return self._record

    def _step(self, step: Step) -> None:
        match step:
            case Send():
                self._send(step)
            case Pause(line, duration_ns):
                self._line = line
                self._sleep(duration_ns)
            case Change(line, apply):
                self._changed = True
                self._line = line
                try:
                    apply(self._switch)
                except ControlError as error:
                    self._wrong(line, f"refused by the switch: {error}")
            case Check(line, look):
                self._look(line, look)
            case Show(line, read):
                self._changed = True
                self._note(line, read)
            case CheckLog(line, message):
                self._log(line, message)
            case CheckCount():
                self._count(step)
            case NoPacket(line, port):
                self._no_packet(line, port)

    def _send(self, step: Send) -> None:
        if self._changed:
            self._sleep(CONTROL_PAUSE_NS)
            self._changed = False
        self._line, self._marked = step.line, len(self._record.outputs)
        self._record.sent += 1
        batch = FrameBatch(1)
        batch.append(step.content, step.port)
        self._process(batch)

    def _process(self, batch: FrameBatch) -> None:
        self._timer_ns = self._switch.process(batch, self._now_ns)
        self._record.messages += self._switch.take_messages()
        taken = self._rings.take()
        self._record.outputs += [Output(port, content, self._line) for port, content in taken]

    def _sleep(self, duration_ns: int) -> None:
        end_ns = self._now_ns + duration_ns
        while self._timer_ns is not None and self._timer_ns <= end_ns:
            self._now_ns = max(self._now_ns, self._timer_ns)
            self._process(FrameBatch(1))
        self._now_ns = end_ns

    def _look(self, line: int, look: Callable[[Control], str | None]) -> None:
        try:
            message = look(self._switch)
        except ControlError as error:
            message = str(error)
        if message is not None:
            self._wrong(line, message)

    def _note(self, line: int, read: Callable[[Control], str]) -> None:
        try:
            self._record.notes.append(Wrong(line, read(self._switch)))
        except ControlError as error:
            self._wrong(line, str(error))

    def _no_packet(self, line: int, port: int | None) -> None:
        since = self._record.outputs[self._marked :]
        for output in since:
            if port is None or output.port == port:
                where = f"port {output.port}: expected nothing after the packet of line {output.line}"
                self._wrong(line, f"{where}, received {output.content.hex()}")

    def _log(self, line: int, expected: str | None) -> None:
        messages = self._record.messages
        found = messages[self._read] if self._read < len(messages) else None
        self._read += found is not None
        if found != expected:
            self._wrong(line, f"log: expected {_quoted(expected)}, the oldest message is {_quoted(found)}")

    def _count(self, step: CheckCount) -> None:
        known = [reason.words for reason in (*Drop, *Fault)]
        if step.words not in known:
            self._wrong(step.line, f"the switch counts nothing called {step.words!r}, but: {', '.join(known)}")
            return
        self._asked.add(step.words)
        number = {**self._switch.drops, **self._switch.faults}.get(step.words, 0)
        if not COMPARE[step.operator](number, step.value):
            self._wrong(step.line, f"{step.words}: expected {step.operator} {step.value}, counted {number}")

    def _wrong(self, line: int, message: str) -> None:
        self._record.wrong.append(Wrong(line, message))


def _quoted(message: str | None) -> str:
    return "none" if message is None else f'"{message}"'
