"""``netsum run``: an aggregator, its controller and the ranks of a script, started together and ended together.

The supervisor below owns three kinds of processes: services (aggregator, controller), which are started again when they
end, and one child that runs torch's launcher with the ranks; the run ends with it. Whatever way the supervisor
ends, nothing stays: on every ordinary path it stops them itself; when it is killed with SIGKILL the kernel ends the
services (--die-with-parent) and the broken pipe ends the ranks. The next run removes the files it left, and its shared
memory.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.network.faults.files import read_faults
from emulator.network.topology.description import DescriptionError
from emulator.ports.errors import PortError
from emulator.ports.spec import parse_impairments
from hostagent.launch.aggregators import (
    DEFAULT_LANES,
    DEFAULT_PROGRAM,
    OUTSIDE,
    Aggregator,
    Choice,
    choices_of_tree,
    choose,
    make_services,
    start_aggregator,
)
from hostagent.launch.faults import LiveFaults, RunNetwork
from hostagent.launch.processes import REFUSED_STATUS, KilledEarlyError, LaunchError, Service
from hostagent.launch.rank_launcher import RankOrder
from hostagent.launch.run_folder import announce, run_folder
from hostagent.launch.stopped import LOOK_S, StoppedProcesses
from hostagent.protocol.services.aggregator import LANES
from hostagent.protocol.tree import FanOut, TreeRefused, regular_tree, tree_text
from hostagent.protocol.window import MOST_RANKS

if TYPE_CHECKING:
    from emulator.rpc.tls import ClientTls
from hostagent.transport.session.reach import Unreachable, check_reachable

RANKS_STOP_TIMEOUT_S = 35.0
"""torch's launcher gives ranks 30 s between SIGTERM and SIGKILL."""

CLOSE_LOOK_S = 0.02
"""Between two looks whether a service that a fault holds may be started again, or one that was started is ready."""

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What ``netsum run`` was asked for."""

    ranks: int
    script: str
    arguments: tuple[str, ...] = ()
    command: str = "netsum run"
    """Whose messages they are."""
    opening: str = ""
    """What is said once nothing speaks against the run."""
    aggregator: str = "p4"
    """See `aggregators.choose`."""
    lanes: int = DEFAULT_LANES
    controller: str | None = None
    """HOST:PORT of a running controller; then nothing but the ranks is started."""
    module: bool = False
    """The script is the name of a module, as with ``python -m``."""
    prefixed: bool = False
    """Start every line of a rank's output with its rank."""
    impairments: str = ""
    """Appended to every port, as ``loss=0.3&seed=7``."""
    controller_options: tuple[str, ...] = ()
    """Further options of the controller, as ``--max-window 32``."""
    server_options: tuple[str, ...] = ()
    """Further options of a rack server, as ``--cores 2``: those of ``netsum server``."""
    rack_of: tuple[int, ...] = ()
    """Rack of each rank: each rack has a server, and they are a hierarchy. Empty: there is one aggregator."""
    tree: FanOut = ()
    """Tree, of which ``aggregator`` is the root. Empty: there is one aggregator."""
    leaves: tuple[str, ...] = ()
    """Aggregators below the root of a tree, by level from the top; one is for all levels. Empty: P4 switches."""
    overflow: str = ""
    """Aggregator of the slots that the P4 switch lacks, as ``server``; empty: there is none."""
    interfaces: tuple[str, ...] = ()
    """Interface that leads to each rank's port of the switch, with ``p4runtime://``."""
    loads: tuple[str, ...] = ()
    """Options of the controller about the program, with ``p4runtime://``: ``--p4info F --device-config F``."""
    tls: ClientTls | None = None
    """Certificates for connections to the switch, with ``p4runtime://``; None: without TLS."""
    faults: Path | None = None
    """Script of faults (`emulator.network.faults.files`); not with ``controller``, ``rack_of`` or a switch that runs
    already."""
    capture: tuple[str, str] | None = None
    """File and size of captures at the P4 switch, as ``("x.pcapng", "1GiB")``; None: none."""
    verbose: bool = False
    replaced_backend: str = ""
    """Backend that scripts ask for and get netsum instead, as ``gloo``; empty: none."""
    share: int | None = None
    """Of slots, in proportion to other jobs', and of queues that mark, as a multiple of a TCP flow's; None: what
    NETSUM_SHARE says, else 1."""
    priority: int | None = None
    """For slots; None: what NETSUM_PRIORITY says, else 0."""
    at_end: Callable[[Aggregator, int], None] | None = None
    """Called with the exit code when the ranks have ended, while aggregator and controller still answer; not with
    ``controller``."""


class _Interrupted(Exception):
    """A signal asked the run to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_training(options: RunOptions) -> int:
    """Run a training script to its end; the exit code for the shell, REFUSED_STATUS where ``options`` cannot be
    followed. Prints one message on stderr when it failed."""
    try:
        _check(options)
        faults = _read_faults(options)
    except LaunchError as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return REFUSED_STATUS
    if options.opening:
        print(f"{options.command}: {options.opening}", file=sys.stderr, flush=True)
    try:
        with _signals_raise(), run_folder() as folder:
            return _Run(options, faults, folder).run()
    except _Interrupted as interrupt:
        print(f"{options.command}: ended by {signal.Signals(interrupt.number).name}", file=sys.stderr)
        return 128 + interrupt.number
    except LaunchError as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return 1


def _check(options: RunOptions) -> None:
    choice = choose(options.aggregator)
    if options.ranks < 1:
        raise LaunchError(f"-n {options.ranks}: at least one rank is needed")
    if options.ranks > MOST_RANKS and not options.tree:
        raise LaunchError(
            f"-n {options.ranks}: a job has at most {MOST_RANKS} ranks, a bit for each in the aggregator's slots; a "
            "--tree of P4 switches has more"
        )
    if not options.module and not Path(options.script).is_file():
        raise LaunchError(f"there is no script {options.script}")
    if (not choice.is_p4 or choice.program == DEFAULT_PROGRAM) and options.lanes not in LANES:
        raise LaunchError(f"--lanes {options.lanes}: choose one of {', '.join(map(str, LANES))}")
    try:
        parse_impairments(options.impairments)
    except PortError as error:
        raise LaunchError(f"--impair {options.impairments!r}: {error}") from None
    if options.server_options and (choice.kind != "server" or options.controller is not None):
        named = ", ".join(word for word in options.server_options if word.startswith("--"))
        raise LaunchError(
            f"{named} configures a rack server that this command starts: use --aggregator server, without --controller"
        )
    if options.rack_of:
        _check_racks(options, choice.kind)
    if options.tree or options.leaves:
        _check_tree(options, choice.kind)
    if options.overflow:
        _check_overflow(options, choice)
    if options.capture is not None:
        _check_capture(options.capture[0], choice)
    if choice.outside and len(options.interfaces) != options.ranks:
        raise LaunchError(
            f"{options.aggregator} needs --interface NAME {options.ranks} times, for the switch's ports 1 to "
            f"{options.ranks} in this order; {len(options.interfaces)} are given"
        )
    if options.tls is not None:
        _check_tls(options.tls)
    if (options.interfaces or options.loads or options.tls) and not choice.outside:
        raise LaunchError(
            "--interface, --p4info, --device-config, --cacert, --cert and --private-key are for a switch that runs "
            "already: --aggregator p4runtime://HOST:PORT"
        )
    if options.faults is not None and (options.controller or options.rack_of or choice.outside):
        raise LaunchError("--faults needs a switch or server that this command starts, and no --racks")
    if options.controller is not None:
        _check_answers(options.controller)


def _check_tls(tls: ClientTls) -> None:
    from emulator.rpc.tls import TlsError

    try:
        tls.credentials()
    except TlsError as error:
        raise LaunchError(f"TLS: {error}") from None


def _check_racks(options: RunOptions, kind: str) -> None:
    rack_of = options.rack_of
    if kind != "server" or options.controller is not None:
        raise LaunchError("--racks starts rack servers: use --aggregator server, without --controller")
    if len(rack_of) != options.ranks:
        raise LaunchError(f"racks are given for {len(rack_of)} ranks, but there are {options.ranks}")
    empty = sorted(set(range(max(rack_of) + 1)) - set(rack_of))
    if empty:
        raise LaunchError(f"rack {empty[0]} of {max(rack_of) + 1} has no rank; each rack needs at least one")


def _check_tree(options: RunOptions, kind: str) -> None:
    if not options.tree:
        raise LaunchError("--leaves is for trees: add --tree")
    if kind == OUTSIDE or options.controller is not None:
        raise LaunchError("--tree starts a root and aggregators below it: not with p4runtime:// or --controller")
    try:
        regular_tree(options.tree)
    except TreeRefused as error:
        raise LaunchError(f"--tree: {error}") from None
    leaves = _choose_leaves(options)
    if options.ranks > MOST_RANKS and not (kind == "p4" and all(leaf.is_p4 for leaf in leaves)):
        raise LaunchError(
            f"--tree: more than {MOST_RANKS} ranks, here {options.ranks}, are for trees of P4 switches alone"
        )


def _choose_leaves(options: RunOptions) -> tuple[Choice, ...]:
    """The kinds below a tree's root, by level. Raises LaunchError."""
    levels, text = len(options.tree) - 1, ",".join(options.leaves)
    if len(options.leaves) not in (0, 1, levels):
        tree = tree_text(options.tree)
        raise LaunchError(f"--leaves {text}: {tree} has {levels} levels below its root; give one kind, or {levels}")
    try:
        leaves = tuple(choose(leaf) for leaf in options.leaves)
    except LaunchError:
        leaves = (Choice(OUTSIDE, text),)
    if any(leaf.kind == OUTSIDE or leaf.program not in ("", DEFAULT_PROGRAM) for leaf in leaves):
        raise LaunchError(f"--leaves {text}: choose p4, pspin, server or core:MODULE:CLASS for each level")
    return leaves


def _check_overflow(options: RunOptions, choice: Choice) -> None:
    try:
        refused = choose(options.overflow).is_p4
    except LaunchError:
        refused = True
    if refused:
        raise LaunchError(f"--overflow {options.overflow}: choose server, pspin or core:MODULE:CLASS")
    if (choice.kind, choice.program) != ("p4", DEFAULT_PROGRAM) or options.tree or options.controller is not None:
        raise LaunchError("--overflow is for one P4 switch that this command starts: --aggregator p4, without --tree")


def _check_capture(path: str, choice: Choice) -> None:
    if not choice.is_p4:
        raise LaunchError("--capture is made by P4 switches: use --aggregator p4")
    if not os.access(Path(path).resolve().parent, os.W_OK):
        raise LaunchError(f"--capture {path}: its folder is not there, or cannot be written")


def _check_answers(address: str) -> None:
    """A controller that is not there is an error now, before any rank is started."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise LaunchError(f"--controller {address!r}: write HOST:PORT")
    try:
        check_reachable(address)
    except Unreachable as error:
        raise LaunchError(str(error)) from None


def _read_faults(options: RunOptions) -> LiveFaults | None:
    """Raises LaunchError for what is wrong with the script."""
    if options.faults is None:
        return None
    network = RunNetwork(options.ranks, (1, options.ranks) if options.overflow else options.tree)
    try:
        script = read_faults(options.faults, network.topology)
    except DescriptionError as error:
        raise LaunchError(str(error)) from None
    return LiveFaults(script, network, options.impairments, options.ranks)


class _Run:
    """One supervised run."""

    def __init__(self, options: RunOptions, faults: LiveFaults | None, folder: Path) -> None:
        self._options = options
        self._folder = folder
        self._services: list[Service] = []
        self._aggregator: Aggregator | None = None
        self._ranks: subprocess.Popen[bytes] | None = None
        self._pipe: int | None = None
        self._stopped = StoppedProcesses(self._tell_stopped)
        self._faults = faults
        self._impairments = options.impairments if faults is None else faults.impairments

    def run(self) -> int:
        try:
            self._start_ranks_waiting()
            address = self._options.controller or self._start_services()
            announce(self._folder, address, self._options.script)
            self._tell_ranks(address)
            if self._faults is not None:
                self._faults.start(self._services, self._aggregator)
            return self._supervise()
        except _Interrupted as interrupt:
            self._stop_ranks(interrupt.number)
            raise
        finally:
            with _signals_held():
                self._end()

    def _start_services(self) -> str:
        options = self._options
        choice = choose(options.overflow or options.aggregator)
        leaves = _choose_leaves(options) if options.tree else ()
        self._services = make_services(
            self._folder,
            options.ranks,
            choice,
            options.lanes,
            self._impairments,
            options.controller_options,
            options.server_options,
            options.rack_of,
            options.interfaces,
            options.loads,
            options.tls,
            options.tree,
            options.capture,
            bool(options.overflow),
            leaves,
        )
        for service in self._services:
            service.verbose = options.verbose
        self._aggregator = start_aggregator(self._services, choice, meanwhile=_clean_shared_memory)
        self._aggregator.rack_of, self._aggregator.tls = options.rack_of, options.tls
        self._aggregator.tree = options.tree
        self._aggregator.choices = choices_of_tree(options.tree, choice, leaves) if options.tree else ()
        return self._aggregator.address

    def _start_ranks_waiting(self) -> None:
        """The child imports torch meanwhile; it starts no rank before it has the controller's address."""
        options = self._options
        target = ["-m", options.script] if options.module else [options.script]
        program = (sys.executable, "-u", *target, *options.arguments)
        reader, self._pipe = os.pipe()
        is_placed = options.rack_of or options.tree  # a rank's port says where it is
        ports = tuple(range(1, options.ranks + 1)) if is_placed else ()
        order = RankOrder(
            options.ranks,
            program,
            str(self._folder / "ranks"),
            options.prefixed,
            reader,
            ports,
            options.replaced_backend,
            options.share,
            options.priority,
            self._faults.slowed if self._faults is not None else (),
        )
        command = [sys.executable, "-P", "-m", "hostagent.launch.rank_launcher", order.as_json()]
        self._ranks = subprocess.Popen(command, pass_fds=[reader], start_new_session=True)
        os.close(reader)

    def _tell_ranks(self, address: str) -> None:
        assert self._pipe is not None
        with suppress(BrokenPipeError):
            os.write(self._pipe, f"{address}\n".encode())

    def _supervise(self) -> int:
        """Start services again that end, until the ranks have ended; the ranks' exit code."""
        assert self._ranks is not None
        while self._ranks.poll() is None:
            processes: list[subprocess.Popen[Any]] = [
                self._ranks,
                *(service.process for service in self._services if service.process and not service.is_held),
            ]
            is_waited_for = any(service.is_held or not service.is_ready for service in self._services)
            watched = [os.pidfd_open(process.pid) for process in processes]
            try:
                select.select(watched, [], [], CLOSE_LOOK_S if is_waited_for else LOOK_S)
            finally:
                for descriptor in watched:
                    os.close(descriptor)
            self._stopped.look([service.process.pid for service in self._services if service.process])
            for service in self._services:
                if self._ranks.poll() is None and not service.is_held:
                    self._keep_running(service)
        code = self._exit_code(self._ranks.returncode)
        if self._faults is not None:
            self._faults.stop()
        if self._aggregator is not None and self._options.at_end is not None:
            self._options.at_end(self._aggregator, code)
        return code

    def _tell_stopped(self, pid: int, is_stopped: bool) -> None:
        name = next(service.name for service in self._services if service.process and service.process.pid == pid)
        what = f"is stopped; the ranks wait for it. `kill -CONT {pid}` lets it go on" if is_stopped else "goes on"
        print(f"netsum run: the {name} (process {pid}) {what}", file=sys.stderr)

    def _keep_running(self, service: Service) -> None:
        """Start it again where it has ended. Nothing waits for it here: a controller is ready when the switch is."""
        with suppress(KilledEarlyError):
            if service.becomes_ready() and self._faults is not None:
                self._faults.restore(service)
        if not service.running():
            print(f"netsum run: the {service.name} {service.restart()}; restarted", file=sys.stderr)

    def _exit_code(self, code: int) -> int:
        if code < 0:
            print(f"netsum run: the launcher of the ranks was killed by signal {-code}", file=sys.stderr)
            return 128 - code
        return code

    def _stop_ranks(self, number: int) -> None:
        """Pass the signal on to torch's launcher, which passes it to the ranks."""
        if self._ranks is not None and self._ranks.poll() is None:
            self._ranks.send_signal(number if number != signal.SIGHUP else signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired, _Interrupted):
                self._ranks.wait(RANKS_STOP_TIMEOUT_S)

    def _end(self) -> None:
        if self._faults is not None:
            self._faults.stop()
        if self._pipe is not None:
            os.close(self._pipe)  # ends the child and its ranks, if they still run
        if self._ranks is not None:
            self._ranks.wait()
        for service in reversed(self._services):
            service.stop()
        if self._services:
            _clean_shared_memory()  # of ranks and services that were killed


def _clean_shared_memory() -> None:
    from emulator.ports.cable.stale_shm import clean_stale

    clean_stale()


@contextmanager
def _signals_raise() -> Iterator[None]:
    """The ending signals as exceptions in the main thread, so that every ``finally`` runs."""

    def interrupt(number: int, _: Any) -> None:
        raise _Interrupted(number)

    previous = {number: signal.signal(number, interrupt) for number in FORWARDED}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Nothing interrupts the clean-up."""
    held: Callable[..., Any] = signal.pthread_sigmask
    held(signal.SIG_BLOCK, FORWARDED)
    try:
        yield
    finally:
        held(signal.SIG_UNBLOCK, FORWARDED)
