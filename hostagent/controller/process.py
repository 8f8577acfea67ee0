"""The controller's process: what `netsum controller` runs.

Prints one JSON line on stdout when the aggregator is ready and ranks may come (or says why it gave up); everything else
goes to stderr, a line for each event. SIGTERM and SIGINT end it in order; the aggregator keeps what it knows.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from emulator.ports.errors import PortError
from emulator.rpc.metrics import MetricsEndpoint, MetricsError
from emulator.rpc.tls import ClientTls, TlsError
from hostagent.controller import metrics
from hostagent.controller.core.core import Controller
from hostagent.controller.core.model import Settings
from hostagent.controller.core.ports import PortOffer, offer_from
from hostagent.controller.core.slots import LARGEST_WINDOW, SMALLEST_WINDOW
from hostagent.controller.drivers.aggregator import SCHEME, AggregatorDriver
from hostagent.controller.drivers.driver import Driver
from hostagent.controller.drivers.groups.overflow import OverflowDriver
from hostagent.controller.drivers.groups.racks import RacksDriver
from hostagent.controller.drivers.groups.tree import TreeDriver
from hostagent.controller.drivers.p4.driver import USE_WHAT_RUNS, P4RuntimeDriver, Program, ProgramError
from hostagent.controller.persistence import StateFileError, read_state
from hostagent.controller.server import ControllerServer, ListenError
from hostagent.protocol.services.aggregator import WAYS
from hostagent.protocol.tree import FanOut, TreeRefused, regular_tree, tree_text
from hostagent.protocol.window import MOST_BY_SOCKETS, MOST_RANKS, default_max_window
from hostagent.transport.session.session import host_identity

READY_TIMEOUT_S = 90.0
"""Time-out of the aggregator's first readiness: connecting, and compiling a large program that no cache has."""

QUIET_S = 3.0
"""Time until a log line reports that the aggregator has not answered yet."""

ADDRESS_FROM_STDIN = "://-"

_PR_SET_PDEATHSIG = 1

log = logging.getLogger("netsum.controller")


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """The options of a controller."""

    aggregator: str
    """p4runtime://HOST:PORT of a P4 switch, netsum://HOST:PORT of an aggregator of ours, with several HOST:PORT and
    commas between them of rack servers that are each other's peers, or of the aggregators of a tree (one without a
    scheme has that of the one before it); with - for them, a line on standard input says it, so that a launcher can
    start both at the same time."""
    ports: tuple[str, ...]
    """`--port` texts, the switch's own, impairments included (bit flips decide whether checksums are needed)."""
    program: Program = USE_WHAT_RUNS
    tls: ClientTls | None = None
    """Certificates for a P4 switch with TLS."""
    listen: str = "127.0.0.1:0"
    max_window: int | None = None
    """None: what cables in shared memory hold, where there are such, else MOST_BY_SOCKETS."""
    full_length_no_data: bool = False
    """no_data frames come at full length: for bmv2, which can't lengthen a frame by more than 512 bytes. Implied where
    the program is what p4c wrote."""
    device_id: int = 0
    state: Path | None = None
    die_with_parent: bool = False
    way: str = WAYS[0]
    """How racks exchange sums, where there are several."""
    tree: FanOut = ()
    """Of a tree of aggregators; ``aggregator`` has the addresses in the
    order of ``regular_tree``."""
    overflow: bool = False
    """``aggregator`` is a rack server's and a P4 switch's: the server has the slots that the switch lacks."""
    slots: int | None = None
    """Of each P4 switch's slots, as many as jobs may have; None: all."""
    metrics: str | None = None
    """Listening address for Prometheus; None: no metrics."""


class TerminalFormatter(logging.Formatter):
    """Lines no wider than the terminal they go to; whole ones in files, where people search."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        text = super().format(record)
        if not sys.stderr.isatty():
            return text
        columns = shutil.get_terminal_size().columns
        lines = (textwrap.wrap(line, columns, subsequent_indent=" " * 9) for line in text.splitlines())
        return "\n".join(part for line in lines for part in line)


class OptionError(Exception):
    """An option that can't be used; the text names it."""


def run_controller(options: ControllerOptions) -> int:
    """Runs until SIGTERM; returns the exit status. Errors of the operator end in one line on stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TerminalFormatter("%(asctime)s controller: %(message)s", "%H:%M:%S"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    if options.die_with_parent:
        _die_with_parent()
    if options.aggregator.endswith(ADDRESS_FROM_STDIN):
        address = sys.stdin.readline().strip()
        if not address:
            return 1  # the launcher has failed, and reports the reason
        options = replace(options, aggregator=options.aggregator.removesuffix("-") + address)
    try:
        return asyncio.run(_serve(options))
    except (OptionError, PortError, StateFileError, ListenError, ProgramError, TlsError, MetricsError) as error:
        print(f"netsum controller: {error}", file=sys.stderr)
        return 1


async def _serve(options: ControllerOptions) -> int:
    host, port = _address("--listen", options.listen)
    full_length = options.full_length_no_data or options.program.p4info is not None  # p4c's output runs on bmv2
    offers = tuple(replace(offer_from(text), leads_on=options.overflow) for text in options.ports)
    core = Controller(
        Settings(
            host_identity(),
            _window(options.max_window, offers),
            not full_length,
            len(offers) if options.tree else MOST_RANKS,
        ),
        offers,
        now_ns=time.monotonic_ns(),
        wall_s=int(time.time()),
        saved=read_state(options.state) if options.state is not None else None,
    )
    server = ControllerServer(core, make_driver(options), options.state, report_problem)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await server.start(host, port)
    endpoint = None
    try:
        if options.metrics is not None:
            endpoint = MetricsEndpoint(options.metrics, lambda: metrics.collect(*server.figures()))
            log.info("metrics at http://%s/metrics", endpoint.address)
        return await _live(server, host, core, ended)
    finally:
        if endpoint is not None:
            await asyncio.to_thread(endpoint.close)
        await server.stop()


async def _live(server: ControllerServer, host: str, core: Controller, ended: asyncio.Event) -> int:
    """Serve from the first report of the aggregator to the end."""
    stop: asyncio.Future[object] = asyncio.ensure_future(ended.wait())
    report: asyncio.Future[object] = asyncio.ensure_future(_first_report(server))
    done, _ = await asyncio.wait({stop, report}, timeout=QUIET_S, return_when=asyncio.FIRST_COMPLETED)
    if not done:
        log.info("the aggregator has not answered yet; waiting up to %d s for it", READY_TIMEOUT_S)
        await asyncio.wait({stop, report}, timeout=READY_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
    if not stop.done():
        why = str(report.result()) if report.done() else core.world.problem
        if why:
            stop.cancel()
            print(f"netsum controller: {why}", file=sys.stderr)
            return 1
        address = f"{host}:{server.port}"
        print(json.dumps({"ready": True, "controller": address, "address": address, "pid": os.getpid()}), flush=True)
        await stop
    return 0


def report_problem(text: str) -> None:
    """Report to the log and to the parent process: a JSON line on standard output, like the ready line."""
    log.error("%s", text)
    print(json.dumps({"problem": text}), flush=True)


async def _first_report(server: ControllerServer) -> str:
    return await server.first_report


def make_driver(options: ControllerOptions) -> Driver:
    """The driver for an aggregator's address. Raises OptionError."""
    kind, _, address = options.aggregator.partition("://")
    if kind not in ("p4runtime", SCHEME) or not address:
        raise OptionError(
            f"--aggregator {options.aggregator!r}: expected p4runtime://HOST:PORT or {SCHEME}://HOST:PORT"
        )
    if options.tree:
        return _make_tree(options, kind, address)
    if options.overflow:
        drivers = _drivers(options, kind, address)
        if [type(driver) for driver in drivers] != [AggregatorDriver, P4RuntimeDriver]:
            raise OptionError(
                f"--aggregator {options.aggregator!r}: --overflow needs {SCHEME}://SERVER,p4runtime://SWITCH"
            )
        return OverflowDriver(*drivers)
    if kind == SCHEME:
        if options.slots is not None:
            raise OptionError("--slots is for P4 switches (p4runtime://HOST:PORT)")
        if options.program != USE_WHAT_RUNS:
            raise OptionError(f"--aggregator {options.aggregator!r} takes no P4 program")
        if options.tls is not None:
            raise OptionError("--cacert, --cert and --private-key are for P4 switches (p4runtime://HOST:PORT)")
        if options.way not in WAYS:
            raise OptionError(f"--way {options.way!r}: choose {', '.join(WAYS)}")
        addresses = ["{}:{}".format(*_address("--aggregator", one)) for one in address.split(",")]
        return RacksDriver(addresses, options.way) if len(addresses) > 1 else AggregatorDriver(addresses[0])
    if "," in address:
        raise OptionError(f"--aggregator {options.aggregator!r}: several P4 switches are a tree, give --tree")
    return _p4_driver(options, address)


def _p4_driver(options: ControllerOptions, address: str) -> P4RuntimeDriver:
    place = "{}:{}".format(*_address("--aggregator", address))
    return P4RuntimeDriver(place, options.program, options.device_id, options.tls, options.slots)


def _drivers(options: ControllerOptions, kind: str, addresses: str) -> list[Driver]:
    """Of several addresses, each of which has a scheme or that of the one before it."""
    drivers: list[Driver] = []
    for text in addresses.split(","):
        scheme, separator, address = text.rpartition("://")
        kind = scheme if separator else kind
        if kind == "p4runtime":
            drivers.append(_p4_driver(options, address))
        elif kind == SCHEME:
            drivers.append(AggregatorDriver("{}:{}".format(*_address("--aggregator", address))))
        else:
            raise OptionError(f"--aggregator {options.aggregator!r}: {kind!r} is neither p4runtime nor {SCHEME}")
    return drivers


def _make_tree(options: ControllerOptions, kind: str, addresses: str) -> TreeDriver:
    try:
        switches = regular_tree(options.tree)
    except TreeRefused as error:
        raise OptionError(f"--tree: {error}") from None
    drivers = _drivers(options, kind, addresses)
    if len(drivers) != len(switches):
        text = tree_text(options.tree)
        raise OptionError(f"--aggregator with {len(drivers)} switches, --tree {text}: it has {len(switches)}")
    return TreeDriver(drivers, switches)


def _address(option: str, text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 0xFFFF:
        raise OptionError(f"{option} {text!r}: expected HOST:PORT")
    return host, int(port)


def _window(window: int | None, offers: Sequence[PortOffer]) -> int:
    if window is None:
        return default_max_window(len(offers)) if any(offer.kind == "shm" for offer in offers) else MOST_BY_SOCKETS
    if not SMALLEST_WINDOW <= window <= LARGEST_WINDOW or window & (window - 1):
        raise OptionError(f"--max-window {window}: expected a power of two from {SMALLEST_WINDOW} to {LARGEST_WINDOW}")
    return window


def _die_with_parent() -> None:
    """SIGTERM when the parent goes, however it goes; at once where it went before we asked."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
