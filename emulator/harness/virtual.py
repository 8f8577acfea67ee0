"""Our switch as a test's target: in this process, in virtual time, with links between switches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from emulator.harness.catalogue import Catalogue
from emulator.harness.egress_rings import Rings
from emulator.harness.errors import ExpectationFailed, WrongTest
from emulator.harness.replay import Recording, one_frame
from emulator.harness.target import Received
from emulator.harness.walk.events import Left, Walk
from emulator.harness.walk.traced_switch import TracedSwitch
from emulator.network.simulation import End, EndlessCircle, Simulation
from emulator.p4runtime.pipeline.programs import load_program
from emulator.ports.batch import FrameBatch
from emulator.ports.errors import PortError
from emulator.ports.spec import Impairments, parse_port
from emulator.switch.core import Switch
from emulator.switch.engines import CompiledEngine, Engine
from emulator.switch.tables.tables import Table
from emulator.v1model.compiled import CompiledProgram

PROCESS = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 4, ctypes.c_int64, ctypes.c_int64)
"""See `Switch.program_address`."""


class QuickEngine(CompiledEngine):
    """Calls machine code through ctypes: the compiled loop needs numba, and its first call in a process takes seconds,
    which would be most of a small test run."""

    def process(self, batch: FrameBatch, now_ns: int) -> int:
        words = [int(batch.record[name][0]) for name in ("addresses", "lengths", "ports", "count")]
        return int(PROCESS(self.program_address)(self.context_address, *words, now_ns))


class QuickSwitch(Switch):
    """A `Switch` that answers the first packet at once, and is slower than one with many."""

    def _make_engine(self, program: CompiledProgram) -> Engine:
        return QuickEngine(program, self.ports) if program.engine == "llvm" else super()._make_engine(program)


ALL_PORTS = range(1 << 9)
START_NS = 1_000_000_000
"""Time at the beginning of a test; not 0, so that no timestamp is zero by accident."""


class RingPool:
    """Egress rings are large and slow to make: tests take turns."""

    def __init__(self) -> None:
        self._free: list[Rings] = []

    def take(self) -> Rings:
        rings = self._free.pop() if self._free else Rings()
        rings.take()
        return rings

    def give(self, rings: Rings) -> None:
        self._free.append(rings)


RINGS = RingPool()


@dataclass(frozen=True, slots=True)
class Source:
    """A program and how it is compiled."""

    path: str
    defines: tuple[tuple[str, str], ...] = ()
    include_paths: tuple[str, ...] = ()

    def compiled(self, engine: str) -> CompiledProgram:
        """Raises CompileError."""
        return load_program(self.path, dict(self.defines), engine=engine, include_paths=self.include_paths)


class Watcher(Protocol):
    """Is notified of all that happens in a switch."""

    def watch(self, source: Source, walk: Walk) -> None:
        """A frame has passed."""
        ...

    def know_entries(self, source: Source, tables: Iterable[Table]) -> None:
        """What is in the tables when a test ends."""
        ...


class VirtualTestbed:
    """The network of one test."""

    def __init__(self, *, engine: str = "llvm", watcher: Watcher | None = None) -> None:
        """With a watcher the engine is the interpreter."""
        self.arrived: list[Received] = []
        self.engine = engine
        self.watcher = watcher
        self._simulation = Simulation(self._outside, start_ns=START_NS)
        self.targets: dict[str, VirtualSwitch] = {}

    @property
    def now_ns(self) -> int:
        return self._simulation.now_ns

    def add(self, name: str, source: Source, seed: int) -> VirtualSwitch:
        if name in self.targets:
            raise WrongTest(f"there is a switch {name!r} already: give each another name")
        target = self.targets[name] = VirtualSwitch(self, name, source, seed)
        self._simulation.add(name, target.process)
        return target

    def link(self, one: tuple[str, int], other: tuple[str, int], impairments: str = "") -> None:
        """``impairments`` as ports take them: ``delay=1ms&loss=0.1&seed=7``."""
        text = f"0=memory:link{'?' if impairments else ''}{impairments}"
        try:
            spec = parse_port(text)
            self._simulation.connect(End(*one), End(*other), spec.outbound or Impairments())
        except (PortError, ValueError) as error:
            what = str(error).removeprefix(f"port {text!r}: ")
            raise WrongTest(f"link {one[0]}:{one[1]} - {other[0]}:{other[1]}: {what}") from None

    def inject(self, name: str, port: int, content: bytes, origin: int) -> None:
        if End(name, port) in self._simulation.cables:
            raise WrongTest(f"port {port} of {name} has a link: send by a port without one")
        self._guarded(lambda: self._simulation.inject(End(name, port), content, origin))

    def wait(self, enough: Callable[[], bool], within_ns: int | None) -> None:
        limit = None if within_ns is None else self.now_ns + within_ns

        def go_on() -> None:
            while not enough() and self._simulation.step(limit):
                pass
            if limit is not None and not enough():
                self._simulation.run_until(limit)

        self._guarded(go_on)

    def settle(self) -> None:
        self.wait(lambda: False, None)

    def advance(self, duration_ns: int) -> None:
        self._guarded(lambda: self._simulation.run_until(self.now_ns + duration_ns))

    def mishaps(self, origin: int) -> list[str]:
        return [
            f"the link from {m.source.node}, port {m.source.port}, to {m.target.node}, port {m.target.port}: {m.what}"
            for m in self._simulation.mishaps
            if m.origin == origin
        ]

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except EndlessCircle as error:
            raise ExpectationFailed(str(error)) from None

    def close(self) -> None:
        for target in self.targets.values():
            target.close()

    def _outside(self, end: End, frame: bytes, now_ns: int, origin: int) -> None:
        self.arrived.append(Received(str(end.node), end.port, frame, now_ns, origin))


class VirtualSwitch:
    """A `Target`."""

    def __init__(self, testbed: VirtualTestbed, name: str, source: Source, seed: int) -> None:
        self.name = name
        self.ports = ALL_PORTS
        self.source = source
        self._testbed = testbed
        self._walks: dict[int, Walk] = {}
        self._origins: list[tuple[int, int]] = []
        """(origin, number in the recording) of each frame that arrived."""
        program = source.compiled("interpreter" if testbed.watcher is not None else testbed.engine)
        self._rings = RINGS.take()
        self.switch = self._make_switch(seed)
        self.switch.load(program)
        self.control = self.switch
        self.catalogue = Catalogue(program.view, program.p4info)
        self._recording = Recording(seed)
        self._recording.watch(self.switch)

    def _make_switch(self, seed: int) -> Switch:
        watcher = self._testbed.watcher
        if watcher is None:
            return QuickSwitch(ports=self._rings.table, seed=seed)
        return TracedSwitch(ports=self._rings.table, seed=seed, report=lambda walk: self._keep(watcher, walk))

    def _keep(self, watcher: Watcher, walk: Walk) -> None:
        self._walks[self._origins[-1][1]] = walk
        watcher.watch(self.source, walk)

    def process(self, frame: bytes, port: int, now_ns: int, origin: int) -> list[tuple[int, bytes]]:
        number = self._recording.arrive(port, frame, now_ns)
        self._origins.append((origin, number))
        self.switch.process(one_frame(frame, port), now_ns)
        return self._rings.take()

    def send(self, port: int, content: bytes, origin: int) -> None:
        self._testbed.inject(self.name, port, content, origin)

    def walks(self, origin: int) -> list[Walk]:
        return [self._walk(number) for mine, number in self._origins if mine == origin]

    def _walk(self, number: int) -> Walk:
        if number not in self._walks:
            rings = RINGS.take()
            try:
                program = self.source.compiled("interpreter")
                self._walks[number] = self._recording.walk_of(number, program, rings)
            finally:
                RINGS.give(rings)
        return self._walks[number]

    def left(self, received: Received) -> Left | None:
        for walk in self.walks(received.origin):
            for left in walk.left:
                if (left.port, left.content) == (received.port, received.content):
                    return left
        return None

    def messages(self) -> list[str]:
        return self.switch.take_messages()

    def counts(self) -> Mapping[str, int]:
        return {**self.switch.drops, **self.switch.faults}

    def close(self) -> None:
        if self._testbed.watcher is not None:
            self._testbed.watcher.know_entries(self.source, self.switch.tables())
        RINGS.give(self._rings)
