"""An aggregator and its controller as processes of a run: which ones, how they are started, where they answer."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostagent.launch.processes import LaunchError, Service, netsum_command
from hostagent.protocol.tree import FanOut, TreeSwitch, regular_tree, switch_names, tree_text
from hostagent.protocol.wire import full_frame_bytes

if TYPE_CHECKING:
    from emulator.rpc.tls import ClientTls

DEFAULT_LANES = 1024
DEFAULT_PROGRAM = "allreduce.p4"
OUR_AGGREGATORS = ("pspin", "server")
RACK_FOLDER = "rack-"
"""Prefix of the folder in which a rack's server keeps checkpoints; the rack's number follows."""
CHOICES = "p4, p4:PROGRAM.p4, p4runtime://HOST:PORT, pspin, server or core:MODULE:CLASS"
OUTSIDE = "p4runtime"
SCHEME = "netsum"


@dataclass(frozen=True, slots=True)
class Choice:
    """What ``--aggregator`` says."""

    kind: str
    """p4, pspin, server; core, for a class of the user's (``core:MODULE:CLASS``); p4runtime, for a P4 switch that runs
    already (``p4runtime://HOST:PORT``)."""
    text: str
    program: str = ""
    """P4 program of a P4 switch; empty for other aggregators."""

    @property
    def is_p4(self) -> bool:
        """A P4 switch, driven by P4Runtime; the others are driven by our own service."""
        return self.kind in ("p4", OUTSIDE)

    @property
    def outside(self) -> str:
        """HOST:PORT of a P4 switch that is not started here; empty where it is."""
        return self.text.partition("://")[2] if self.kind == OUTSIDE else ""

    @property
    def title(self) -> str:
        """Name in messages: the process that sums."""
        return {"p4": "switch", OUTSIDE: "bridge", "pspin": "PsPIN switch", "server": "rack server"}.get(
            self.kind, "aggregator"
        )


def choose(text: str) -> Choice:
    """Raises LaunchError."""
    kind, _, rest = text.partition(":")
    if kind == OUTSIDE and rest.startswith("//") and rest.rpartition(":")[2].isdecimal():
        return Choice(kind, text, DEFAULT_PROGRAM)
    if kind == "p4":
        return Choice(kind, text, rest or DEFAULT_PROGRAM)
    if text in OUR_AGGREGATORS or (kind == "core" and rest.count(":") == 1):
        return Choice(kind, text)
    raise LaunchError(f"--aggregator {text}: choose {CHOICES}")


@dataclass
class Aggregator:
    """A running aggregator and its controller."""

    address: str
    """HOST:PORT of the controller, for NETSUM_CONTROLLER."""
    choice: Choice
    control: str
    """HOST:PORT where the aggregator itself answers: P4Runtime of a P4 switch, else our own service. With
    several racks, that of the first; of a tree the root's."""
    services: list[Service] = field(default_factory=list)
    controls: tuple[str, ...] = ()
    """``control`` of every rack, or of every node of a tree."""
    choices: tuple[Choice, ...] = ()
    """Of every node of a tree."""
    tls: ClientTls | None = None
    """Certificates for ``control`` of a P4 switch that runs already; None: without TLS."""
    rack_of: tuple[int, ...] = ()
    """Rack of each rank; empty where there is one rack."""
    tree: FanOut = ()
    """Whose nodes they are; empty where there is one aggregator, or racks, or a switch and its overflow server."""
    faults: Sequence[Mapping[str, Any]] = ()
    """What the run's script of faults has done so far, in the order of time."""


@contextmanager
def running_aggregator(
    ports: int,
    text: str = "p4",
    *,
    lanes: int = DEFAULT_LANES,
    impairments: str = "",
    controller_options: Sequence[str] = (),
    folder: Path | None = None,
) -> Iterator[Aggregator]:
    """An aggregator with this number of shm ports and its controller, ended with the block. Nothing restarts them."""
    with tempfile.TemporaryDirectory(prefix="netsum-") as made:
        choice = choose(text)
        services = make_services(folder or Path(made), ports, choice, lanes, impairments, controller_options)
        try:
            yield start_aggregator(services, choice)
        finally:
            for service in reversed(services):
                service.stop()


@contextmanager
def running_switches(ports: Sequence[int], lanes: int, impairments: str = "") -> Iterator[list[Aggregator]]:
    """Several independent P4 switches, each with its number of shm ports and a controller; as `running_aggregator`, but
    started all at once."""
    choice = choose("p4")
    with tempfile.TemporaryDirectory(prefix="netsum-") as made:
        switches = []
        for number, count in enumerate(ports):
            folder = Path(made) / str(number)
            folder.mkdir()
            switches.append(make_services(folder, count, choice, lanes, impairments))
        try:
            for services in switches:
                for service in services:
                    service.start()
            yield [_ready(services, choice) for services in switches]
        finally:
            for services in switches:
                for service in reversed(services):
                    service.stop()


def make_services(
    folder: Path,
    ports: int,
    choice: Choice,
    lanes: int,
    impairments: str = "",
    controller_options: Sequence[str] = (),
    server_options: Sequence[str] = (),
    rack_of: Sequence[int] = (),
    interfaces: Sequence[str] = (),
    loads: Sequence[str] = (),
    tls: ClientTls | None = None,
    tree: FanOut = (),
    capture: tuple[str, str] | None = None,
    overflows: bool = False,
    leaves: Sequence[Choice] = (),
) -> list[Service]:
    """The aggregator (or one for each rack or node of a tree) and the controller, not yet started.

    ``server_options``: `netsum server`'s, for a rack server. ``rack_of``: of each port's rank; none: there is one.
    For a switch that runs already: ``interfaces`` lead to its ports 1, 2, .. and a bridge joins them with the ranks'
    shm ports; ``loads`` are the controller's options about its program, none: netsum's package of allreduce.p4.
    ``tls``: the files that the controller needs to connect to it. ``tree``: ``choice`` is its root, and
    ``leaves`` are the kinds below it, as in `choices_of_tree`. ``overflows``: ``choice`` is the overflow server of a P4
    switch instead, which is wired as the leaf of the tree (1, ports).
    ``capture``: file and size of the captures of a P4 switch; of a tree each switch has a file, see `capture_files`.
    """
    tree = (1, ports) if overflows else tree
    switches = regular_tree(tree) if tree else ()
    racks = len(switches) or 1 + max(rack_of, default=0)
    choices = choices_of_tree(tree, choice, leaves) if tree else (choice,) * racks
    names = [f"{number}=shm:run-{os.getpid()}-{os.urandom(4).hex()}-{number}" for number in range(1, ports + 1)]
    suffix = f"?{impairments}" if impairments else ""
    dealt = [[names[port - 1] for port in sorted(each.ports)] for each in switches] or _dealt(names, rack_of)
    words_of = [[word for name in part for word in ("--port", name + suffix)] for part in dealt]
    port_words = [word for words in words_of for word in words]
    captures = capture_files(capture[0], tree) if capture else ()
    cables = _tree_cables(switches, suffix) if switches else _cables(racks)

    def aggregator(rack: int, choice: Choice, ready: Mapping[str, Any]) -> Sequence[str]:
        port_words, peers = words_of[rack], cables[rack].words
        where = control_of(ready) or "127.0.0.1:0"
        recorded = ["--capture", captures[rack], "--capture-size", capture[1]] if capture else []
        recorded += ["--capture-append"] if capture and ready else []
        if choice.outside:
            ends = [word for i, name in enumerate(interfaces, 1) for word in ("--interface", f"{i}={name}")]
            longest = str(full_frame_bytes(lanes))
            words = (*port_words, *ends, "--longest-frame", longest, "--p4runtime", where, "--die-with-parent")
            return netsum_command("bridge", *words, *recorded)
        if choice.is_p4:
            size = ("--longest-frame", str(full_frame_bytes(lanes))) if choice.program == DEFAULT_PROGRAM else ()
            words = (*port_words, *peers, *size, "--p4runtime", where, "--die-with-parent")
            return netsum_command("switch", *words, *recorded)
        shape = ("--lanes", str(lanes), "--listen", where, "--die-with-parent")
        if choice.kind == "server" and (server_options or peers):
            own = () if tree and rack else _of_rack(server_options, rack, 1 if tree else racks)
            return netsum_command("server", *port_words, *shape, *peers, *own)
        return netsum_command("aggregator", choice.text, *port_words, *peers, *shape)

    titles = [choice.title] if racks == 1 else [f"{choice.title} of rack {rack}" for rack in range(racks)]
    if switches:
        named = zip(switch_names(switches), switches, choices, strict=True)
        titles = [_title(name, each, kind.title) for name, each, kind in named]
        titles = ["overflow server", "switch"] if overflows else titles
    logs = ["aggregator"] if racks == 1 else [f"aggregator-{rack}" for rack in range(racks)]
    aggregators = [
        Service(title, folder / f"{log}.log", partial(aggregator, rack, each), sockets=cables[rack].sockets)
        for rack, (title, log, each) in enumerate(zip(titles, logs, choices, strict=True))
    ]

    def controller(ready: Mapping[str, Any]) -> Sequence[str]:
        listen = str(ready.get("address", "127.0.0.1:0"))
        known = all(service.ready for service in aggregators)
        control = _addresses(aggregators) if known else "-"  # sent on standard input when it is known
        if choice.outside and loads:
            target = [f"p4runtime://{control}", *loads]
        elif choice.is_p4:
            target = [f"p4runtime://{control}", "--program", choice.program, "-D", f"LANES={lanes}"]
        else:
            target = [f"{SCHEME}://{control}"]
            target += ["--program", DEFAULT_PROGRAM, "-D", f"LANES={lanes}"] if tree else []
        target += ["--overflow"] if overflows else ["--tree", tree_text(tree)] if tree else []
        state = ["--state", str(folder / "controller.state"), "--die-with-parent"]
        words = [
            "--listen",
            listen,
            "--aggregator",
            *target,
            *port_words,
            *state,
            *controller_options,
            *_tls_words(tls),
        ]
        return netsum_command("controller", *words)

    return [*aggregators, Service("controller", folder / "controller.log", controller, told_later=True)]


def choices_of_tree(tree: FanOut, root: Choice, leaves: Sequence[Choice]) -> tuple[Choice, ...]:
    """The kind of each aggregator of a tree, in the order of `regular_tree`. ``leaves`` are those below the root, by
    level from the top; one is for all levels, none for P4 switches."""
    switches, levels = regular_tree(tree), [0]
    for each in switches[1:]:
        assert each.parent is not None, "a switch comes before those below it"
        levels.append(levels[each.parent] + 1)
    kinds = list(leaves) or [choose("p4")]
    kinds = kinds if len(kinds) > 1 else kinds * (len(tree) - 1)
    return tuple(root if level == 0 else kinds[level - 1] for level in levels)


def capture_files(path: str, tree: FanOut) -> tuple[str, ...]:
    """The capture file of each switch: that path, or in a tree x-root.pcapng, x-s0.pcapng, ..., in the order of
    `regular_tree`."""
    if not tree:
        return (path,)
    file = Path(path)
    names = switch_names(regular_tree(tree))
    return tuple(str(file.with_name(f"{file.stem}-{name}{file.suffix}")) for name in names)


def in_runs(ranks: int, racks: int) -> tuple[int, ...]:
    """The rack of each rank, where racks have runs of them; of uneven numbers the last racks have more."""
    return tuple(rack for rack in range(racks) for _ in range(rack * ranks // racks, (rack + 1) * ranks // racks))


def _dealt(names: Sequence[str], rack_of: Sequence[int]) -> list[Sequence[str]]:
    """Ports of each rack."""
    if not rack_of:
        return [names]
    dealt = list(zip(names, rack_of, strict=True))
    return [[name for name, owner in dealt if owner == rack] for rack in range(1 + max(rack_of))]


@dataclass(slots=True)
class _Cables:
    """One server's ends of the cables to the others."""

    words: list[str] = field(default_factory=list)
    """Its options about them."""
    sockets: list[socket.socket] = field(default_factory=list)


def _cables(racks: int) -> list[_Cables]:
    """UDP over the loopback. The sockets are bound here, once, and passed on: nobody can take their addresses."""
    ends = {pair: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for pair in permutations(range(racks), 2)}
    for end in ends.values():
        end.bind(("127.0.0.1", 0))
    at = {pair: f"127.0.0.1:{end.getsockname()[1]}" for pair, end in ends.items()}
    cables = [_Cables(["--rack", str(rack)] if racks > 1 else []) for rack in range(racks)]
    for (one, other), end in ends.items():
        cables[one].words += ["--peer", f"{other}=udp:{at[one, other]},{at[other, one]}"]
        cables[one].sockets.append(end)
    return cables


def _tree_cables(switches: Sequence[TreeSwitch], suffix: str) -> list[_Cables]:
    """Of each switch of a tree: UDP over the loopback, as between racks."""
    cables = [_Cables() for _ in switches]
    for index, switch in enumerate(switches):
        if switch.parent is None:
            continue
        ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for end in ends:
            end.bind(("127.0.0.1", 0))
        at = [f"127.0.0.1:{end.getsockname()[1]}" for end in ends]
        for owner, port, end, way in (
            (index, switch.up_port, ends[0], at),
            (switch.parent, switch.down_port, ends[1], at[::-1]),
        ):
            cables[owner].words += ["--port", f"{port}=udp:{','.join(way)}{suffix}"]
            cables[owner].sockets.append(end)
    return cables


def _title(name: str, switch: TreeSwitch, kind: str) -> str:
    """Name of a switch of a tree in messages."""
    ranks = sorted(port - 1 for port in switch.ports)
    below = f" (ranks {ranks[0]} to {ranks[-1]})" if ranks else ""
    return f"{kind} {name}{below}"


def _of_rack(options: Sequence[str], rack: int, racks: int) -> Sequence[str]:
    """A server's further options; each keeps checkpoints in its own folder."""
    if racks == 1 or "--checkpoint" not in options:
        return options
    at = options.index("--checkpoint") + 1
    return (*options[:at], str(Path(options[at]) / f"{RACK_FOLDER}{rack}"), *options[at + 1 :])


def _tls_words(tls: ClientTls | None) -> Sequence[str]:
    """The options of `netsum controller`."""
    if tls is None:
        return ()
    files = {"--cacert": tls.ca, "--cert": tls.certificate, "--private-key": tls.key}
    return [word for name, file in files.items() if file is not None for word in (name, file)]


def control_of(ready: Mapping[str, Any]) -> str:
    """HOST:PORT where an aggregator's ready line says that it is controlled; empty before that."""
    return str(ready.get(OUTSIDE) or ready.get("service") or "")


def _addresses(aggregators: Sequence[Service]) -> str:
    """For the controller, commas between them; those of another kind than the one before with their scheme."""
    schemes = [OUTSIDE if OUTSIDE in each.ready else SCHEME for each in aggregators]
    places = [control_of(each.ready) for each in aggregators]
    words = zip([schemes[0], *schemes], schemes, places, strict=False)
    return ",".join(place if scheme == before else f"{scheme}://{place}" for before, scheme, place in words)


def start_aggregator(
    services: list[Service], choice: Choice, meanwhile: Callable[[], None] = lambda: None
) -> Aggregator:
    """Start them concurrently and call ``meanwhile``; returns when the controller is ready.

    The controller waits for the aggregator's address, so one that cannot start is the one that is named.
    """
    for service in services:
        service.start()
    meanwhile()
    return _ready(services, choice)


def _ready(services: list[Service], choice: Choice) -> Aggregator:
    """Of what has been started."""
    *aggregators, controller = services
    for aggregator in aggregators:
        aggregator.wait_ready()
    controls = (choice.outside,) if choice.outside else tuple(control_of(each.ready) for each in aggregators)
    controller.send_line(choice.outside or _addresses(aggregators))
    controller.wait_ready()
    return Aggregator(str(controller.ready["address"]), choice, controls[0], services, controls)
