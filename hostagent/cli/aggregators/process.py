"""An aggregator of ours in a separate process: ports, live loop, gRPC service.

When it is ready it prints one JSON line on stdout; everything else goes to stderr. SIGTERM and SIGINT end it in order.

Threads: the main thread waits for signals, one runs the core, gRPC's serve the controller between its batches.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from emulator.p4runtime.shutdown_signals import ShutdownRequested, ShutdownSignals, die_with_parent
from emulator.ports.batch import TxPortTable
from emulator.ports.cable.bell import Bell
from emulator.ports.cable.stale_shm import clean_stale
from emulator.ports.control import ports_handler
from emulator.ports.errors import PortError
from emulator.ports.loop.core_runner import CoreRunner
from emulator.ports.loop.live import LiveLoop
from emulator.ports.loop.runner import SwitchRunner
from emulator.ports.loop.switch_loops import adopt_switch_loops
from emulator.ports.opening import cable_for, make_switch_bell, open_switch_ports
from emulator.ports.port import SwitchPort
from emulator.ports.spec import parse_ports
from hostagent.cli.aggregators.batch_watch import BatchWatch
from hostagent.cli.aggregators.cores import DEFAULT_SLOTS, CoreOptions, UnknownCore, make_core
from hostagent.protocol.services.aggregator import Aggregator, CompiledAggregator, peer_port
from hostagent.protocol.services.aggregator_pb2 import Place
from hostagent.protocol.services.aggregator_server import AggregatorServer, AggregatorServerError
from hostagent.protocol.wire import full_frame_bytes

DEFAULT_ADDRESS = "127.0.0.1:48865"
"""Address of the gRPC service: the port after the frames' UDP port. Not all interfaces: there is no authentication."""

MakeCore = Callable[[CoreOptions], Aggregator]


@dataclass(frozen=True, slots=True)
class AggregatorOptions:
    """The options of an aggregator's process."""

    core: str
    """A name that `cores.make_core` knows; for messages where `make` is given."""
    ports: tuple[str, ...] = ()
    """``N=SPEC`` texts; see ``emulator.ports.spec``."""
    lanes: int = 1024
    slots: int = DEFAULT_SLOTS
    listen: str = DEFAULT_ADDRESS
    die_with_parent: bool = False
    quiet: bool = False
    """No line for people on stderr in addition to the JSON line."""


class LoopFailure(Exception):
    """The live loop has ended by itself."""


MENDABLE: tuple[type[Exception], ...] = (UnknownCore, PortError, AggregatorServerError, LoopFailure)
"""What ends in a message."""


class RunningAggregator:
    """Core, ports, live loop and service; a context manager. Raises what `run_aggregator` reports."""

    def __init__(self, options: AggregatorOptions, make: MakeCore | None = None) -> None:
        self.options = options
        self._stack = ExitStack()
        self._watch: BatchWatch | None = None
        try:
            self._assemble(make or (lambda given: make_core(options.core, given)))
        except BaseException:
            self._stack.close()
            raise

    def _assemble(self, make: MakeCore) -> None:
        options = self.options
        adopt_switch_loops()
        specs = parse_ports(list(options.ports))
        table = TxPortTable()
        self.core = make(CoreOptions(options.lanes, options.slots, table))
        clean_stale()
        bell = make_switch_bell(specs)
        cable = cable_for(full_frame_bytes(self.core.capacity.lanes))
        self._stack.callback(bell.close)
        self.ports: list[SwitchPort] = open_switch_ports(specs, table, bell, cable)
        for port in self.ports:
            self._stack.callback(port.close)
        self.runner = make_runner(self.core, self.ports, bell)
        self._loop = LiveLoop(self.runner)
        if isinstance(self.runner, CoreRunner):
            self._watch = BatchWatch(options.core, self.runner, report_problem)
            self._stack.callback(self._watch.stop)
        self._stack.callback(self._loop.stop)
        self.server = AggregatorServer(
            self.core,
            self.runner.paused,
            options.listen,
            self.statistics,
            self.place(),
            self._child_ports(),
            (ports_handler(self.ports),),
        )
        self._stack.callback(self.server.stop)

    def place(self) -> Place | None:
        """Among servers of other racks; None: there are none."""
        return None

    def _child_ports(self) -> list[int]:
        place = self.place()
        between = {peer_port(rack) for rack in place.peers} if place is not None else set()
        return [port.number for port in self.ports if port.number not in between]

    def __enter__(self) -> RunningAggregator:
        self._loop.start()
        if self._watch is not None:
            self._watch.start()
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def check(self) -> None:
        """Raises LoopFailure where the live loop has failed; it sends us SIGTERM then, as at the end of files."""
        if self._loop.failure is not None:
            logging.error("the core failed", exc_info=self._loop.failure)
            raise LoopFailure(f"the core failed: {_described(self._loop.failure)}") from self._loop.failure

    def ready_line(self) -> dict[str, Any]:
        """What is printed when it can be used."""
        return {
            "ready": True,
            "aggregator": self.core.kind,
            "service": self.server.address,
            "incarnation": self.server.incarnation,
            "pid": os.getpid(),
            "lanes": self.core.capacity.lanes,
            "slots": self.core.capacity.slots,
            "ports": {str(port.number): spec_of(port) for port in self.ports},
        }

    def statistics(self) -> dict[str, Any]:
        """The core's under "core", and those of ports and loop."""
        facts = {key: value for key, value in self.ready_line().items() if key != "ready"}
        ports = {str(port.number): {"spec": spec_of(port), **asdict(port.statistics())} for port in self.ports}
        return {**facts, "ports": ports, "loop": asdict(self.runner.statistics()), "core": self.core.statistics()}


def make_runner(core: Aggregator, ports: Sequence[SwitchPort], bell: Bell) -> SwitchRunner:
    """The compiled loop where the core is machine code, else the one that calls Python once a batch."""
    if isinstance(core, CompiledAggregator):
        return SwitchRunner(core, ports, bell, allowances=core.allowances_address)
    return CoreRunner(core, ports, bell)


def _described(error: BaseException) -> str:
    """An exception as Python's traceback ends it, with the innermost place."""
    places = traceback.extract_tb(error.__traceback__)
    place = f" (at {Path(places[-1].filename).name}:{places[-1].lineno}, in {places[-1].name})" if places else ""
    return traceback.format_exception_only(error)[-1].strip() + place


def report_problem(text: str) -> None:
    """Report a problem to the parent process: a JSON line on standard output, like the ready line."""
    print(json.dumps({"problem": text}), flush=True)


def spec_of(port: SwitchPort) -> str:
    """As given, with the number that the system chose where any was asked for."""
    local = getattr(port, "local", None)
    return str(replace(port.spec, local=local) if local is not None else port.spec)


def run_aggregator(
    options: AggregatorOptions,
    *,
    name: str = "netsum aggregator",
    start: Callable[[], RunningAggregator] | None = None,
    at_end: Callable[[RunningAggregator], None] | None = None,
    errors: tuple[type[Exception], ...] = (),
) -> int:
    """Run until SIGTERM or SIGINT; returns the exit status. What the operator can mend ends in a message on stderr, as
    from the command ``name``.

    ``start`` makes another kind of process, ``errors`` are what it raises for the operator; ``at_end`` is called while
    everything is still there.
    """
    logging.basicConfig(stream=sys.stderr, format=f"%(asctime)s {options.core}: %(message)s", datefmt="%H:%M:%S")
    mendable = (*MENDABLE, *errors)
    shutdown = ShutdownSignals()
    if options.die_with_parent:
        die_with_parent()
    try:
        with start() if start is not None else RunningAggregator(options) as running:
            print(json.dumps(running.ready_line()), flush=True)
            if not options.quiet:
                ports = ", ".join(map(spec_of, running.ports)) or "none"
                facts = f"{running.core.kind}: {options.lanes} lanes, {running.core.capacity.slots} slots"
                print(f"{facts}; service on {running.server.address}; ports: {ports}", file=sys.stderr, flush=True)
            shutdown.wait()
            if at_end is not None:
                at_end(running)
            running.check()
    except ShutdownRequested:
        return 0
    except mendable as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
