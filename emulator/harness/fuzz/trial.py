"""One program under fire: prepared by its packet test, then packets without end.

`compare` runs both engines in parallel; `endure` runs the compiled one alone for long, checks whether anything
grew or was overwritten, and then compares again from where it got to.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from emulator.harness.egress_rings import CELLS, Rings
from emulator.harness.fuzz.packets import PacketSource
from emulator.harness.fuzz.state import control_state, state_of, transplant
from emulator.harness.stf.bind import bind
from emulator.harness.stf.parser import parse
from emulator.harness.stf.runner import BOTH, Runner
from emulator.harness.stf.steps import Change, Plan, Send
from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.ports.batch import FrameBatch
from emulator.switch.control import ControlError
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram

COMPARED_AT_ONCE = 16
ENDURED_AT_ONCE = CELLS
"""All may leave by one port."""
START_NS = 1_000_000_000
STEP_NS = 10_000
"""Virtual time between two batches."""
GROWTH_BYTES = 4 << 20
"""What a process's memory may move by itself: the allocator's blocks, pages of counters touched for the first time."""
UNCOPIED = frozenset(("random", "meter.execute_meter", "direct_meter.read"))
"""Externs with state that a control plane can't read: after them two switches can't be brought to the same point."""


@dataclass(frozen=True, slots=True)
class Difference:
    batch: int
    words: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that must not happen."""

    program: str
    message: str


@dataclass(frozen=True, slots=True)
class Endured:
    """Figures of the long work."""

    packets: int
    sent: int
    """Frames that left, copies included."""
    seconds: float
    """Time of the processor inside the switch."""
    grown_bytes: int
    """Memory, from a quarter of the packets to the end."""


@cache
def shared_rings(engine: str) -> Rings:
    """One set of rings for each engine, whatever runs on it: making them costs more than a short trial."""
    return Rings()


class Trial:
    """A program, its test's table entries, and packets like its test's."""

    def __init__(self, program: str, test: str | None, *, number: int = 1) -> None:
        self.program = program
        self._runner = Runner(program, engine=BOTH)
        self._number = number
        first = next(iter(self._runner.compiled.values()))
        self._plan = bind(parse(Path(test).read_text()), first) if test else Plan((), (), frozenset(), 0)
        self._rings = {name: shared_rings(name) for name in self._runner.compiled}
        self.endured = Endured(0, 0, 0.0, 0)

    def _packets(self, more: int) -> PacketSource:
        return PacketSource(self.seeds, self._number + more, COMPARED_AT_ONCE)

    @property
    def seeds(self) -> list[tuple[int, bytes]]:
        return [(step.port, step.content) for step in self._plan.steps if isinstance(step, Send)]

    def compare(self, count: int) -> list[Trouble]:
        """``count`` packets through both engines; all that leaves and all state must be equal."""
        compiled, oracle = self._switch("llvm"), self._switch("interpreter")
        source = self._packets(0)
        difference = self._first_difference(compiled, oracle, source, count)
        if difference is not None:
            return [self._trouble(f"{difference.words}; {self._culprit(difference.batch)}")]
        troubles = state_of(compiled).differences(state_of(oracle))
        return [self._trouble(f"compiled and interpreted differ in {words}") for words in troubles]

    def endure(self, count: int, compared: int) -> list[Trouble]:
        """``count`` packets through the compiled program, then ``compared`` through both from there."""
        switch, rings = self._switch("llvm"), self._rings["llvm"]
        source = PacketSource(self.seeds, self._number + 1, ENDURED_AT_ONCE)
        before, troubles = control_state(switch), []
        with rings.unread():
            if not self._work(switch, source, max(2, -(-count // ENDURED_AT_ONCE))):
                troubles.append(self._trouble("the program wrote into frames that came in"))
        if self.endured.grown_bytes > GROWTH_BYTES:
            troubles.append(self._trouble(f"memory grew by {self.endured.grown_bytes} bytes"))
        after = control_state(switch)
        troubles += [self._trouble(f"packets changed the {what}") for what in before if before[what] != after[what]]
        if not UNCOPIED & extern_names(self._runner.compiled["interpreter"]):
            troubles += self._continue(switch, compared)
        return troubles

    def _work(self, switch: Switch, source: PacketSource, batches: int) -> bool:
        """Packets that nobody compares; have they stayed as they were? Notes what it took."""
        rings = switch.ports.rings
        sent, memory, seconds = int(rings["frames"].sum()), 0, 0.0
        for index in range(batches):
            if index == max(1, batches // 4):
                memory = resident_bytes()
            batch, started = source.refill(), time.thread_time()
            switch.process(batch, START_NS + index * STEP_NS)
            seconds += time.thread_time() - started
            rings["limit"] = rings["tail"] + CELLS
            if not source.untouched():
                return False
        left = int(rings["frames"].sum()) - sent
        self.endured = Endured(batches * ENDURED_AT_ONCE, left, seconds, resident_bytes() - memory)
        return True

    def _continue(self, endured: Switch, count: int) -> list[Trouble]:
        """Does the compiled program still do what a fresh interpreter does?"""
        oracle = self._switch("interpreter")
        transplant(endured, oracle)
        self._rings["llvm"].take()
        difference = self._first_difference(endured, oracle, self._packets(2), count)
        if difference is not None:
            return [self._trouble(f"after long work, {difference.words}")]
        mine, theirs = state_of(endured).registers, state_of(oracle).registers
        return [
            self._trouble(f"after long work, register {name} differs") for name in mine if mine[name] != theirs[name]
        ]

    def _switch(self, engine: str) -> Switch:
        """A new switch with the test's entries, groups and values."""
        self._rings[engine].take()
        switch = Switch(ports=self._rings[engine].table)
        switch.load(self._runner.compiled[engine])
        for step in self._plan.steps:
            if isinstance(step, Change):
                try:
                    step.apply(switch)
                except ControlError:
                    continue
        return switch

    # --- Two switches -------------------------------------------------------------------------------------------------

    def _first_difference(
        self, compiled: Switch, oracle: Switch, source: PacketSource, count: int
    ) -> Difference | None:
        for index in range(-(-count // COMPARED_AT_ONCE)):
            batch = source.refill()
            words = self._step(compiled, oracle, batch, index)
            if words is not None:
                return Difference(index, words)
            if not source.untouched():
                return Difference(index, f"batch {index}: an engine changed received frames in place")
        return None

    def _step(self, compiled: Switch, oracle: Switch, batch: FrameBatch, index: int) -> str | None:
        """A batch through both; how their output differs."""
        outputs = []
        for name, switch in (("llvm", compiled), ("interpreter", oracle)):
            switch.process(batch, START_NS + index * STEP_NS)
            outputs.append(self._rings[name].take())
        if outputs[0] == outputs[1]:
            return None
        only = [
            [f"port {p} {f.hex()}" for p, f in mine if (p, f) not in other]
            for mine, other in zip(outputs, outputs[::-1], strict=True)
        ]
        return f"batch {index}: only compiled {only[0] or 'nothing'}, only interpreted {only[1] or 'nothing'}"

    def _culprit(self, expected: int) -> str:
        """The first packet of a batch that the engines disagree on, found by going there again, one by one."""
        compiled, oracle = self._switch("llvm"), self._switch("interpreter")
        source = self._packets(0)
        for index in range(expected):
            self._step(compiled, oracle, source.refill(), index)
        for port, frame in source.refill().frames():
            single = FrameBatch(1)
            single.append(frame, port)
            if self._step(compiled, oracle, single, expected) is not None:
                return f"the packet is: packet {port} {frame.hex()}"
        return "packets one by one make no difference"

    def _trouble(self, message: str) -> Trouble:
        return Trouble(self.program, message)


def resident_bytes() -> int:
    """Memory that this process has in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def extern_names(compiled: CompiledProgram) -> frozenset[str]:
    """Externs that the program calls; ``compiled`` is for the interpreter, which has the program."""
    assert compiled.program is not None
    statements = (s for block in walk.root_blocks(compiled.program) for s in walk.statements(block))
    return frozenset(s.name for s in statements if isinstance(s, ir.CallExtern))
