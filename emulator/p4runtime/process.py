"""The process of a switch: what ``netsum switch`` runs.

When it is ready it prints one JSON line on stdout; everything else goes to stderr. SIGTERM and SIGINT end it in order.

Threads: the main thread waits for signals, one runs the data plane without the GIL, gRPC's serve the control plane.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from emulator.native.gc_pause import gc_paused
from emulator.native.object_code import release_linker
from emulator.p4.errors import CompileError
from emulator.p4.library import ProgramNotFound, find_program
from emulator.p4runtime import metrics
from emulator.p4runtime.commands.service import commands_handler
from emulator.p4runtime.device import Device
from emulator.p4runtime.flavor import SPECIFICATION, Flavor
from emulator.p4runtime.listen_before_ready import Listening
from emulator.p4runtime.pipeline.compilation import compile_config
from emulator.p4runtime.pipeline.device_config import read_config_file
from emulator.p4runtime.pipeline.package import PackageError, pack
from emulator.p4runtime.pipeline.pipeline import Compiled, CompileFailure, Target
from emulator.p4runtime.server import ServerError
from emulator.p4runtime.shutdown_signals import ShutdownRequested, ShutdownSignals, die_with_parent
from emulator.p4runtime.stream.cpu_port import CpuPort
from emulator.p4runtime.stream.log_messages import MessageLog
from emulator.p4runtime.translation import TranslationFileError, read_rules
from emulator.ports.batch import CELL_BYTES
from emulator.ports.cable.bell import Bell
from emulator.ports.cable.stale_shm import clean_stale
from emulator.ports.control import ports_handler
from emulator.ports.errors import PortError
from emulator.ports.loop.core_runner import CoreRunner
from emulator.ports.loop.live import LiveLoop
from emulator.ports.loop.runner import SwitchRunner
from emulator.ports.loop.switch_loops import adopt_switch_loops
from emulator.ports.opening import cable_for, make_switch_bell, open_switch_ports
from emulator.ports.pcap.writer import CaptureWriter
from emulator.ports.port import SwitchPort
from emulator.ports.sockets.tcp import TcpSwitchPort
from emulator.ports.sockets.udp import UdpSwitchPort
from emulator.ports.spec import PortKind, parse_ports
from emulator.rpc.metrics import MetricsEndpoint, MetricsError
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.rpc.statistics import statistics_handler
from emulator.rpc.tls import ServerTls
from emulator.switch.core import Switch
from emulator.v1model.compiled import ENGINES, WITH_SOURCE, load

DEFAULT_ADDRESS = "127.0.0.1:9559"
"""9559 is P4Runtime's port with IANA. Loopback only, unlike bmv2, since there is no authentication."""

DROP_PORT = 511
"""v1model's, so no port for controllers."""

log = logging.getLogger("netsum.switch")


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """``--capture`` and what belongs to it; see `CaptureWriter`."""

    path: str
    limit_bytes: int
    append: bool = False


@dataclass(frozen=True, slots=True)
class SwitchOptions:
    """The options of ``netsum switch``."""

    program: str | None = None
    """Path of P4 source, bmv2's JSON or a package; or a shipped program's name. None: P4Runtime loads one."""
    ports: tuple[str, ...] = ()
    """``N=SPEC`` texts; see ``emulator.ports.spec``."""
    defines: Mapping[str, str] = field(default_factory=dict)
    include_paths: tuple[str, ...] = ()
    grpc_server_addr: str = DEFAULT_ADDRESS
    device_id: int = 0
    longest_frame_bytes: int | None = None
    """What cells of shared memory have room for; fewer pages hold shorter ones. None: as long as any frame of ours."""
    cpu_port: int | None = None
    """Number of the CPU port (packet-in, packet-out); None: no CPU port."""
    engine: str = "llvm"
    priority_queues: int = 1
    """Egress queues of each port. With 1 packets go through no queue until a rate or a depth is set."""
    make_switch: Callable[[], Switch] = Switch
    """Constructor of the switch; with engine `WITH_SOURCE`, of one that traces its program."""
    tls: ServerTls | None = None
    """None: the P4Runtime server is without TLS."""
    capture: CaptureOptions | None = None
    """A file for what passes the ports, except the CPU port; None: none."""
    translation: Path | None = None
    """A file with the values of types that have `@p4runtime_translation`; see `emulator.p4runtime.translation`."""
    metrics: str | None = None
    """Listening address for Prometheus; None: no metrics."""
    flavor: Flavor = SPECIFICATION
    """What the P4Runtime server does where servers differ."""
    die_with_parent: bool = False
    quiet: bool = False
    """Only the JSON line; no text on stderr."""


LONGEST_TURN_NS = 20_000_000
"""Longest turn of an interpreted switch: the control plane waits for a turn."""


class OptionError(Exception):
    """An option that cannot be used; the text names it."""


class DataPlaneFailure(Exception):
    """The live loop has ended by itself."""


# --- The switch, assembled ----------------------------------------------------------------------------------------


class RunningSwitch:
    """Switch, ports, live loop and server; a context manager. Raises what `run_switch` reports.

    ``compiled`` is the program to start with; `compile_for` makes it.
    """

    def __init__(self, options: SwitchOptions, compiled: Compiled | None, listening: Listening | None = None) -> None:
        self.options = options
        self._listening = listening or Listening(options.grpc_server_addr, tls=options.tls)
        self.metrics: MetricsEndpoint | None = None
        self.ended_in_time = True
        """Whether all threads were gone when the context was left; one may still be compiling."""
        self._compiled = compiled
        self.switch = options.make_switch()
        if options.priority_queues > 1:
            self.switch.set_priority_queues(options.priority_queues)
        self._stack = ExitStack()
        try:
            self._assemble()
        except BaseException:
            self._stack.close()
            raise

    def _assemble(self) -> None:
        options = self.options
        specs = parse_ports(list(options.ports))
        clean_stale()
        bell = make_switch_bell(specs)
        self._stack.callback(bell.close)
        cable = cable_for(options.longest_frame_bytes or CELL_BYTES)
        self.ports: list[SwitchPort] = open_switch_ports(specs, self.switch.ports, bell, cable)
        for port in self.ports:
            self._stack.callback(port.close)
        self._capture = self._make_capture()
        self.cpu = self._make_cpu_port(bell)
        served = [*self.ports, *([self.cpu.port] if self.cpu is not None else [])]
        self._numbers = {port.number for port in served}
        runner = _compiled_runner if options.engine == ENGINES[0] else _interpreted_runner
        self.runner = runner(self.switch, served, bell)
        self.device = Device(options.device_id, self._target(), flavor=options.flavor)
        if self._compiled is not None:
            self.device.install(_config_of(options), self._compiled)
        self._messages = MessageLog(self.switch, self.device.hold_still, self.runner.paused)
        self._loop = LiveLoop(self.runner)
        self._stack.callback(self._loop.stop)
        self._stack.callback(self._messages.stop)
        if self.cpu is not None:
            self._stack.callback(self.cpu.stop)
        self.server = self._listening.serve(
            self.device, (statistics_handler(self.statistics), ports_handler(self.ports), self._commands())
        )
        self._stack.callback(self._stop_server)
        if options.metrics is not None:
            self.metrics = MetricsEndpoint(options.metrics, lambda: metrics.collect(self.statistics()))
            self._stack.callback(self.metrics.close)

    def _make_capture(self) -> CaptureWriter | None:
        options = self.options.capture
        if options is None:
            return None
        writer = CaptureWriter(options.path, limit_bytes=options.limit_bytes, append=options.append)
        self._stack.callback(writer.close)
        if any(port.spec.kind is not PortKind.PCAP for port in self.ports):
            writer.go_live()
        for port in self.ports:
            port.capture_into(writer)
        return writer

    def _target(self) -> Target:
        engine = self.options.engine
        return Target(
            self.switch,
            self.runner.paused,
            lambda config: self._prepared(compile_config(config, engine)),
            Switch,
            now_ns=self.runner.now_ns,
            packets_wait=self.runner.packets_wait,
            has_port=lambda number: number in self._numbers,
            ports_down=lambda: frozenset(port.number for port in self.ports if not port.is_up),
            translation=read_rules(self.options.translation),
            packet_out=self.cpu.send if self.cpu is not None else None,
        )

    def _prepared(self, compiled: Compiled) -> Compiled:
        """So that the data plane does not wait for the compiler when a program is loaded."""
        if self.switch.has_queues:
            self.switch.prepare_queues(compiled.program)
        return compiled

    def _commands(self) -> Any:
        """The service of simple_switch_CLI."""

        def make() -> Any:
            from emulator.p4runtime.commands.interpreter import Interpreter, Machine

            ports = {port.number: _spec_of(port) for port in self.ports}
            return Interpreter(Machine(self.device.live, self.device.reset, lambda: ports, self.switch))

        return commands_handler(make)

    def _make_cpu_port(self, bell: Bell) -> CpuPort | None:
        number = self.options.cpu_port
        if number is None:
            return None
        if any(port.number == number for port in self.ports):
            raise OptionError(f"--cpu-port {number}: a port has that number already")
        cpu = CpuPort(number, self.switch.ports, bell, lambda frame: self.device.packet_in(frame))
        self._stack.callback(cpu.port.close)
        return cpu

    def __enter__(self) -> RunningSwitch:
        self._loop.start()
        self._messages.start()
        if self.cpu is not None:
            self.cpu.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _stop_server(self) -> None:
        self.ended_in_time = self.server.stop()

    def check(self) -> None:
        """Raises DataPlaneFailure where the live loop has failed; it sends us SIGTERM then, as at the end of files."""
        if self._loop.failure is not None:
            raise DataPlaneFailure(f"the data plane failed: {self._loop.failure!r}") from self._loop.failure

    def ready_line(self) -> dict[str, Any]:
        return {
            "ready": True,
            "p4runtime": self.server.address,
            "device_id": self.options.device_id,
            "pid": os.getpid(),
            "program": self._program_name(),
            "engine": self.options.engine,
            "ports": {str(port.number): _spec_of(port) for port in self.ports},
            **({"metrics": f"http://{self.metrics.address}/metrics"} if self.metrics is not None else {}),
            **({"cpu_port": self.cpu.port.number} if self.cpu is not None else {}),
        }

    def statistics(self) -> dict[str, Any]:
        """See ``statistics`` for the keys."""
        with self.device.hold_still():  # not while another program is being loaded
            loaded = self.switch.program is not None
            return {
                **{key: value for key, value in self.ready_line().items() if key != "ready"},
                "ports": {str(port.number): _port_statistics(port) for port in self.ports},
                "drops": dict(self.switch.drops) if loaded else {},
                "faults": dict(self.switch.faults) if loaded else {},
                "loop": asdict(self.runner.statistics()),
                **({"capture": self._capture.statistics()} if self._capture is not None else {}),
            }

    def _program_name(self) -> str | None:
        return self.switch.program.name if self.switch.program is not None else None


def _compiled_runner(switch: Switch, ports: Sequence[SwitchPort], bell: Any) -> SwitchRunner:
    return SwitchRunner(switch, ports, bell, lock=switch.lock, starts_clock=True)


def _interpreted_runner(switch: Switch, ports: Sequence[SwitchPort], bell: Any) -> SwitchRunner:
    return CoreRunner(
        switch,
        ports,
        bell,
        lock=switch.lock,
        spin_ns=0,
        is_loaded=lambda: switch.program is not None,
        longest_turn_ns=LONGEST_TURN_NS,
        starts_clock=True,
    )


def _port_statistics(port: SwitchPort) -> dict[str, Any]:
    return {"spec": _spec_of(port), **asdict(port.statistics())}


def _spec_of(port: SwitchPort) -> str:
    """The option's text, with the actual UDP or TCP port in place of 0."""
    return str(replace(port.spec, local=port.local) if isinstance(port, UdpSwitchPort | TcpSwitchPort) else port.spec)


def compile_for(options: SwitchOptions) -> Compiled | None:
    """The program to start with. Raises OptionError, CompileError, CompileFailure, PackageError, ProgramNotFound."""
    if options.engine not in (*ENGINES, WITH_SOURCE):
        raise OptionError(f"--engine {options.engine}: choose one of {', '.join(ENGINES)}")
    if not 0 <= options.device_id < 1 << 64:
        raise OptionError(f"--device-id {options.device_id}: must fit in 64 bits")
    if options.cpu_port is not None and not 0 < options.cpu_port < DROP_PORT:
        raise OptionError(f"--cpu-port {options.cpu_port}: choose a number from 1 to {DROP_PORT - 1}")
    parse_ports(list(options.ports))  # errors in these are reported before the program is compiled
    if options.program is None:
        return None
    config = read_config_file(options.program)
    if config is not None:
        return compile_config(config, options.engine)
    program = load(options.program, dict(options.defines), engine=options.engine, include_paths=options.include_paths)
    return Compiled(program.p4info, program)


def _config_of(options: SwitchOptions) -> Any:
    """What GetForwardingPipelineConfig gives for a program that came from the command line."""
    assert options.program is not None
    if read_config_file(options.program) is not None:
        return p4runtime_pb2.ForwardingPipelineConfig(p4_device_config=Path(options.program).read_bytes())
    package = pack(find_program(options.program), options.defines, options.include_paths)
    return p4runtime_pb2.ForwardingPipelineConfig(p4_device_config=package)


# --- The process --------------------------------------------------------------------------------------------------


def run_switch(
    options: SwitchOptions,
    *,
    name: str = "netsum switch",
    ready: Callable[[RunningSwitch], None] | None = None,
    listening: Listening | None = None,
) -> int:
    """Run until SIGTERM or SIGINT; returns the exit status. What the operator can mend ends in a message on stderr, as
    from the command ``name``. ``ready`` is called instead of printing the JSON line; it may raise PortError.
    ``listening``: on the options' address, possibly before the switch is ready."""
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s switch: %(message)s", datefmt="%H:%M:%S")
    shutdown = ShutdownSignals()
    if options.die_with_parent:
        die_with_parent()
    try:
        with gc_paused(), listening or Listening(options.grpc_server_addr, tls=options.tls) as listening:
            listening.check()
            with shutdown.raising():
                compiled = compile_for(options)
                adopt_switch_loops()
            running = RunningSwitch(options, compiled, listening)
        release_linker()
        with running:
            if ready is not None:
                ready(running)
            else:
                print(json.dumps(running.ready_line()), flush=True)
            if not options.quiet:
                print(_summary(running, compiled), file=sys.stderr, flush=True)
            shutdown.wait()
            running.check()
            if not options.quiet:
                print(_lost_packets(running), end="", file=sys.stderr, flush=True)
    except ShutdownRequested:
        return 0
    except CompileError as error:
        print(f"{error}\n{name}: {options.program} does not compile", file=sys.stderr)
        return 1
    except CompileFailure as error:
        print(f"{name}: {options.program}: {error}", file=sys.stderr)
        return 1
    except (
        OptionError,
        PortError,
        ServerError,
        PackageError,
        DataPlaneFailure,
        MetricsError,
        ProgramNotFound,
        TranslationFileError,
    ) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    if not running.ended_in_time:
        os._exit(0)  # the interpreter would wait for the thread that compiles
    return 0


def _lost_packets(running: RunningSwitch) -> str:
    """What ports and program have dropped, by reason: a line each."""
    ports = ((port.number, port.statistics().drops) for port in running.ports)
    lines = [f"port {number}: dropped {_counts(drops)}" for number, drops in ports if drops]
    counts = running.statistics()
    lines += [f"program: {_counts(counts[kind])}" for kind in ("drops", "faults") if counts[kind]]
    return "".join(f"{line}\n" for line in lines)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def _summary(running: RunningSwitch, compiled: Compiled | None) -> str:
    warnings = "".join(f"{text}\n" for text in compiled.program.warnings) if compiled is not None else ""
    program = running.options.program or "no program yet"
    ports = ", ".join(map(_spec_of, running.ports)) or "none"
    who = f"switch {running.options.device_id}"
    return f"{warnings}{who}: {program}; P4Runtime on {running.server.address}; ports: {ports}"
