"""A plan on a switch, in virtual time.

Time stands still between packets. It moves by ``wait``, and by one second before a packet that follows a word of the
control plane: p4c's driver sleeps as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from emulator.harness.stf.rings import Rings
from emulator.harness.stf.steps import Change, Check, Pause, Plan, Send, Show, Step
from emulator.harness.stf.syntax import NoPacket
from emulator.ports.batch import FrameBatch
from emulator.switch.control import Control, ControlError
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.metadata import Drop

START_NS = 1_000_000_000
"""So that no timestamp is zero by accident."""
CONTROL_PAUSE_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Output:
    port: int
    content: bytes
    line: int
    """Of the packet, wait or change of the test after which it came out; 0 before any."""


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
    sent: int = 0
    drops: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)


def run(plan: Plan, program: CompiledProgram, rings: Rings) -> Record:
    """Load the program into a new switch and do what the plan says, step by step."""
    rings.take()
    switch = Switch(ports=rings.table)
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
        self._marked = 0
        """How many outputs there were before the last packet."""

    def go(self) -> Record:
        for step in self._plan.steps:
            self._step(step)
        self._record.drops = dict(self._switch.drops)
        self._record.faults = dict(self._switch.faults)
        failed = self._record.drops.get(Drop.ASSERTION.words, 0)
        if failed:
            self._wrong(self._line, f"{failed} packets failed an assertion of the program, which ends a bmv2")
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

    def _wrong(self, line: int, message: str) -> None:
        self._record.wrong.append(Wrong(line, message))
