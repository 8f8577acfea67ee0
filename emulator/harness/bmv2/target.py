"""simple_switch_grpc as a test's target, in real time."""

from __future__ import annotations

import select
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from emulator.harness.bmv2.client import P4RuntimeControl
from emulator.harness.bmv2.packet_socket import PacketSocket
from emulator.harness.bmv2.process import PORTS, SwitchProcess, Veths, compile_program, require
from emulator.harness.catalogue import Catalogue
from emulator.harness.errors import NotSupported
from emulator.harness.replay import Recording
from emulator.harness.target import Received
from emulator.harness.virtual import RINGS, Source
from emulator.harness.walk.events import Left, Walk
from emulator.v1model.make_control_view import make_view

EXPECT_WITHIN_NS = 2_000_000_000
QUIET_NS = 500_000_000
"""No frame for so long: nothing is under way."""


class Bmv2Testbed:
    """The switches of one test, each with its own processes and interfaces."""

    def __init__(self) -> None:
        require()
        self.arrived: list[Received] = []
        self.targets: dict[str, Bmv2Switch] = {}
        self._start_ns = time.monotonic_ns()

    @property
    def now_ns(self) -> int:
        return time.monotonic_ns() - self._start_ns

    def add(self, name: str, source: Source, seed: int) -> Bmv2Switch:
        target = self.targets[name] = Bmv2Switch(name, source, len(self.targets))
        return target

    def link(self, one: tuple[str, int], other: tuple[str, int], impairments: str = "") -> None:
        raise NotSupported("links between switches are for our own switch")

    def wait(self, enough: Callable[[], bool], within_ns: int | None) -> None:
        end_ns = self.now_ns + (EXPECT_WITHIN_NS if within_ns is None else within_ns)
        while not enough() and self.now_ns < end_ns:
            self._gather(end_ns - self.now_ns)

    def settle(self) -> None:
        while self._gather(QUIET_NS):
            pass

    def mishaps(self, origin: int) -> list[str]:
        return []  # there are no links

    def advance(self, duration_ns: int) -> None:
        end_ns = self.now_ns + duration_ns
        while self.now_ns < end_ns:
            self._gather(end_ns - self.now_ns)

    def close(self) -> None:
        for target in self.targets.values():
            target.close()

    def _gather(self, most_ns: int) -> bool:
        """Frames that have come, or come next; whether there were any."""
        wires = {wire.socket: (target, port) for target in self.targets.values() for port, wire in target.wires.items()}
        ready, _, _ = select.select(list(wires), [], [], max(most_ns, 0) / 1e9)
        for one in ready:
            target, port = wires[one]
            frame = target.wires[port].receive()
            self.arrived.append(Received(target.name, port, frame, self.now_ns, -1))
        return bool(ready)


class Bmv2Switch:
    """A `Target`."""

    def __init__(self, name: str, source: Source, number: int) -> None:
        self.name = name
        self.ports = PORTS
        self.wires: dict[int, PacketSocket] = {}
        self._recording = Recording()
        self._stack = ExitStack()
        try:
            self._start(source, number)
        except BaseException:
            self.close()
            raise

    def _start(self, source: Source, number: int) -> None:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="netsum-bmv2-")))
        compiled = compile_program(source, folder)
        own = source.compiled("interpreter")
        assert own.program is not None
        self.catalogue = Catalogue(make_view(own.program, compiled.p4info), compiled.p4info)
        veths = self._stack.enter_context(Veths(number))
        process = SwitchProcess(veths.theirs)
        self._stack.callback(process.stop)
        for port, interface in veths.ours.items():
            self.wires[port] = PacketSocket(interface)
            self._stack.callback(self.wires[port].close)
        process.wait_until_it_listens()
        self.control = P4RuntimeControl(process.address, compiled.p4info, compiled.json)
        self._stack.callback(self.control.close)
        self._interpreted = own
        self._recording.watch(self.control)

    def send(self, port: int, content: bytes, origin: int) -> None:
        self._recording.arrive(port, content, time.monotonic_ns())
        self.wires[port].send(content)

    def walks(self, origin: int) -> list[Walk]:
        return []

    def left(self, received: Received) -> Left | None:
        """bmv2 does not say which headers it wrote: they are those that our interpreter writes for the same inputs."""
        rings = RINGS.take()
        try:
            return self._recording.similar_frame(received.port, received.content, self._interpreted, rings)
        finally:
            RINGS.give(rings)

    def messages(self) -> list[str]:
        raise NotSupported("log messages are for our own switch: bmv2 writes them to its log")

    def counts(self) -> Mapping[str, int]:
        raise NotSupported("bmv2 does not say what it dropped")

    def close(self) -> None:
        self._stack.close()
