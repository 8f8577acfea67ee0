"""``netsum run`` and ``doctor``: the commands for users with a training script."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hostagent.cli.options import (
    AS_JSON,
    CACERT,
    CAPTURE,
    CAPTURE_SIZE,
    CERT,
    CHECKPOINT_EVERY,
    CHECKPOINT_SECONDS,
    PRIVATE_KEY,
    RESTORE,
    TREE,
    WAY,
    check_capture,
    check_checkpoint,
    check_lanes,
    client_tls,
)
from hostagent.cli.parsing import UsageError, address, argument, command, flag, integer, option, refuse, repeated
from hostagent.protocol.window import LARGEST_PRIORITY, LARGEST_SHARE

if TYPE_CHECKING:
    from hostagent.launch.aggregators import Aggregator, Choice

BMV2_WINDOW = 32
"""bmv2 queues 64 packets a port; with more results in flight than that it drops, and frames are retransmitted."""
OF_THE_AGGREGATOR = (
    *(
        "aggregator",
        "lanes",
        "impair",
        "max_window",
        "cores",
        "racks",
        "rack_of",
        "way",
        "tree",
        "leaves",
        "overflow",
        "slots",
        "report",
        "verbose",
        "faults",
    ),
    *("checkpoint", "checkpoint_every", "checkpoint_seconds", "restore", "interface", "p4info", "device_config"),
    *("cacert", "cert", "private_key", "capture", "capture_size"),
)
"""Parameters of `run` that configure the aggregator and its controller."""
OF_THE_SWITCH = ("interface", "p4info", "device_config", "cacert", "cert", "private_key")
"""Those of them that apply to a running P4 switch only."""


@command(
    argument("script", help="Training script; all words after it are its own arguments."),
    option(
        "-n",
        "--nproc",
        "--nproc-per-node",
        dest="ranks",
        metavar="N",
        type=integer(1),
        help="Number of training processes.",
    ),
    option(
        "--aggregator",
        metavar="KIND",
        help="Place to sum: p4, p4:PROGRAM.p4, pspin, server, or a running switch, p4runtime://HOST:PORT.",
    ),
    repeated(
        "--interface", metavar="NAME", help="Interface to the switch's port of each rank, in order (p4runtime://)."
    ),
    option("--p4info", metavar="FILE", type=Path, help="P4Info file that p4c writes for bmv2 (p4runtime://)."),
    option("--device-config", metavar="FILE", type=Path, help="JSON file that p4c writes for bmv2 (p4runtime://)."),
    CACERT,
    CERT,
    PRIVATE_KEY,
    option(
        "--lanes", metavar="N", type=integer(), help="Integers in a frame: 64, 256, 336, 512, 1024 (default) or 2048."
    ),
    option(
        "--controller",
        metavar="HOST:PORT",
        type=address,
        help="Address of a running controller; only ranks are started then.",
    ),
    flag("-m", "--module", help="SCRIPT as the name of a module, as in python -m."),
    option(
        "--replace-backend",
        metavar="NAME",
        help="Backend that netsum replaces, as gloo: for scripts that ask for it, or for none.",
    ),
    flag("--prefix", help="Rank at the start of each line of output."),
    option("--impair", metavar="TEXT", help="Impairments of every port, e.g. 'loss=0.05&delay=1ms&seed=7'."),
    option(
        "--max-window",
        metavar="SLOTS",
        type=integer(),
        help="Maximum slots of the job, a power of two. Default: 512 / N, from 16 to 64.",
    ),
    option(
        "--share",
        metavar="N",
        type=integer(1, LARGEST_SHARE),
        help="Share of the aggregator's slots, in proportion to other jobs', and of links whose queues mark congestion "
        "(ECN), as a multiple of a TCP flow's. Default: 1.",
    ),
    option(
        "--priority",
        metavar="N",
        type=integer(-LARGEST_PRIORITY, LARGEST_PRIORITY),
        help="Priority for slots: jobs of a larger one get theirs first, others share what is left. Default: 0.",
    ),
    option(
        "--cores",
        metavar="N",
        type=integer(1, 64),
        help="Worker threads of --aggregator server; whether two gain depends on the machine.",
    ),
    option(
        "--racks",
        metavar="N",
        type=integer(1, 16),
        help="Number of rack servers (--aggregator server); ranks are split into contiguous blocks.",
    ),
    option("--rack-of", metavar="RACK,RACK,...", help="Rack of each rank, as in 0,0,1,1, instead of --racks."),
    WAY,
    TREE,
    option(
        "--leaves",
        metavar="KIND,..",
        help="Aggregators below the root of --tree: p4, pspin or server; one for each level as p4,pspin. Default: p4.",
    ),
    option(
        "--overflow",
        metavar="KIND",
        help="Aggregator of what the P4 switch has no slots for: server or pspin. Default: jobs get smaller windows.",
    ),
    option("--slots", metavar="N", type=integer(0), help="Slots of each P4 switch that jobs may have. Default: all."),
    option(
        "--checkpoint",
        metavar="DIR",
        type=Path,
        help="Folder for the weights, optimizer state and step of every service (--aggregator server).",
    ),
    CHECKPOINT_EVERY,
    CHECKPOINT_SECONDS,
    RESTORE,
    CAPTURE,
    CAPTURE_SIZE,
    option(
        "--faults",
        metavar="FILE",
        type=Path,
        help="Script of faults, as {at: 1s, down: h0-s0, for: 500ms}. Rank i is host hi; a star has switch s0.",
    ),
    option(
        "--report",
        metavar="FILE",
        type=Path,
        help="File for what aggregator and ranks counted: x.html as a page, any other as JSON.",
    ),
    flag("-v", "--verbose", help="Logs of aggregator and controller on stderr."),
    forwards="arguments",
)
def run(
    script: str,
    arguments: list[str],
    *,
    ranks: int | None = None,
    aggregator: str = "p4",
    interface: list[str] | None = None,
    p4info: Path | None = None,
    device_config: Path | None = None,
    cacert: str | None = None,
    cert: str | None = None,
    private_key: str | None = None,
    lanes: int | None = None,
    controller: str | None = None,
    module: bool = False,
    replace_backend: str = "",
    prefix: bool = False,
    impair: str = "",
    max_window: int | None = None,
    share: int | None = None,
    priority: int | None = None,
    cores: int | None = None,
    racks: int = 1,
    rack_of: str | None = None,
    way: str = "ring",
    tree: tuple[int | tuple[int, ...], ...] = (),
    leaves: str | None = None,
    overflow: str | None = None,
    slots: int | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_seconds: float | None = None,
    restore: bool = True,
    faults: Path | None = None,
    capture: str | None = None,
    capture_size: str = "1GiB",
    report: Path | None = None,
    verbose: bool = False,
    given: Mapping[str, str],
) -> int:
    """Run a torch script on N ranks; a switch or a server that is started for the run sums its gradients.

    The script calls init_process_group("netsum"); the environment is torchrun's. Every aggregator gives the same bits
    at the same --lanes: a P4 switch (p4), the model of a PsPIN switch (pspin), or a rack server (server).

    Examples:
      netsum run -n 4 train.py --epochs 3
      netsum run -n 4 --aggregator server train.py
      netsum run --tree 2x4 train.py
      netsum run --tree 2x4 --aggregator server train.py
      netsum run --tree 2x2 --leaves pspin train.py
      netsum run -n 4 --slots 16 --overflow server train.py
      netsum run -n 4 --report run.html train.py
      netsum run -n 4 --faults faults.yaml --report report.json train.py
      netsum run -n 2 --capture run.pcapng train.py
      netsum run -n 4 --aggregator server --checkpoint state \\
        --checkpoint-every 100 train.py
    """
    from hostagent.cli.rack.layout import check_layout, place_ranks
    from hostagent.launch.aggregators import DEFAULT_LANES
    from hostagent.launch.launcher import RunOptions, run_training
    from hostagent.protocol.window import default_max_window

    if controller is not None:
        why = f"configures the aggregator, which is not started with --controller; see `netsum status {controller}`"
        refuse(given, why, *OF_THE_AGGREGATOR)
    else:
        choice = _check_aggregator(aggregator, lanes)
        if not choice.outside:
            refuse(given, "applies to a running switch only: --aggregator p4runtime://HOST:PORT", *OF_THE_SWITCH)
        _check_slots(slots, choice, bool(tree), overflow is not None)
    check_capture(capture, given)
    ranks = _ranks(ranks, tree)
    if controller is not None:
        _check_ports(ranks, controller)
    rack_of_rank = place_ranks(ranks, racks, rack_of)
    if not rack_of_rank:
        refuse(given, "applies to several rack servers only: add --racks N", "way")
    if checkpoint is not None and restore:
        check_layout(checkpoint, 1 + max(rack_of_rank, default=0))

    if (p4info is None) != (device_config is None):
        raise UsageError("p4c writes two files for a switch: give --p4info and --device-config together")
    loads = () if p4info is None else ("--p4info", str(p4info), "--device-config", str(device_config))
    window = max_window or (min(default_max_window(ranks), BMV2_WINDOW) if loads else default_max_window(ranks))
    options = RunOptions(
        ranks=ranks,
        script=script,
        arguments=tuple(arguments),
        aggregator=aggregator,
        lanes=lanes or DEFAULT_LANES,
        controller=controller,
        module=module,
        replaced_backend=replace_backend,
        prefixed=prefix,
        impairments=impair,
        share=share,
        priority=priority,
        faults=faults,
        capture=None if capture is None else (capture, capture_size),
        verbose=verbose,
        controller_options=("--max-window", str(window), *_ways(way, bool(rack_of_rank)), *_slots(slots)),
        rack_of=rack_of_rank,
        tree=tree,
        leaves=tuple(leaves.split(",")) if leaves is not None else (),
        overflow=overflow or "",
        interfaces=tuple(interface or ()),
        loads=loads,
        tls=client_tls(cacert, cert, private_key),
        server_options=_server_options(cores, checkpoint, checkpoint_every, checkpoint_seconds, restore),
        at_end=lambda where, code: _print_summary(
            where, report, ranks, code, script, capture is not None, overflow is not None
        ),
    )
    return run_training(options)


def _ranks(ranks: int | None, tree: tuple[int | tuple[int, ...], ...]) -> int:
    """Number of training processes. Raises UsageError where a tree has another number, or is none."""
    from hostagent.protocol.tree import TreeRefused, tree_text, workers_of

    if not tree:
        return ranks or 2
    try:
        count = sum(workers_of(tree))
    except TreeRefused as error:
        raise UsageError(str(error), "--tree") from None
    if ranks is not None and ranks != count:
        raise UsageError(f"{tree_text(tree)} has {count} ranks, but -n says {ranks}", "--tree")
    return count


def _check_ports(ranks: int, controller: str) -> None:
    """Raises UsageError where a controller has fewer ports than there are ranks. That none answers is found later."""
    from grpc import RpcError

    from hostagent.launch.status import fetch_status
    from hostagent.launch.terminal import amount

    with suppress(RpcError):
        if ranks > (ports := len(fetch_status(controller).ports)):
            raise UsageError(
                f"-n {ranks}: the controller at {controller} has {amount(ports, 'port')}; start the aggregator and the "
                "controller with one --port for each rank"
            )


def _check_aggregator(text: str, lanes: int | None) -> Choice:
    """Raises UsageError for an unknown aggregator or program, and for a number of lanes that none of ours has."""
    from emulator.p4.library import ProgramNotFound, find_program
    from hostagent.launch.aggregators import DEFAULT_PROGRAM, choose
    from hostagent.launch.processes import LaunchError

    try:
        choice = choose(text)
        if choice.program:
            find_program(choice.program)
    except (LaunchError, ProgramNotFound) as error:
        raise UsageError(str(error)) from None
    if lanes is not None and choice.program in ("", DEFAULT_PROGRAM):
        check_lanes(lanes)
    return choice


def _print_summary(
    where: Aggregator,
    report: Path | None,
    ranks: int,
    code: int,
    script: str,
    has_captures: bool,
    has_overflow: bool,
) -> None:
    """Print at exit whether anything was summed, a summary, and the report's file."""
    from hostagent.cli.run_report import nothing_summed, places, summary, write

    if code == 0 and ranks > 1 and (why := nothing_summed(where)):
        print(f"netsum run: nothing went through the {where.choice.title}: {why}", file=sys.stderr)
    for line in places(where) if has_overflow else ():
        print(f"netsum run: {line}", file=sys.stderr)
    for line in summary(where, has_captures):
        print(f"{where.choice.title}: {line}", file=sys.stderr)
    if report is not None:
        write(where, report, script, code)


def _ways(way: str, is_needed: bool) -> tuple[str, ...]:
    """The controller's options about racks. Raises UsageError."""
    from hostagent.protocol.services.aggregator import WAYS

    if way not in WAYS:
        raise UsageError(f"{way!r} is none of {', '.join(WAYS)}", "--way")
    return ("--way", way) if is_needed else ()


def _check_slots(slots: int | None, choice: Choice, has_tree: bool, has_overflow: bool) -> None:
    from hostagent.controller.core.slots import SMALLEST_WINDOW

    if slots is None:
        return
    if not choice.is_p4 and not has_tree:
        raise UsageError(f"is for P4 switches, and --aggregator is {choice.text}", "--slots")
    if slots < SMALLEST_WINDOW and not has_overflow:
        raise UsageError(
            f"{slots}: a job needs {SMALLEST_WINDOW} or more, unless --overflow server sums the rest", "--slots"
        )


def _slots(slots: int | None) -> tuple[str, ...]:
    """The controller's option about slots of P4 switches."""
    return () if slots is None else ("--slots", str(slots))


def _server_options(
    cores: int | None, checkpoint: Path | None, every: int | None, seconds: float | None, restore: bool
) -> tuple[str, ...]:
    """The options that are passed on to `netsum server`. Raises UsageError."""
    check_checkpoint(checkpoint, every, seconds, restore)
    passed = {"cores": cores, "checkpoint": checkpoint, "checkpoint-every": every, "checkpoint-seconds": seconds}
    words = [word for name, value in passed.items() if value is not None for word in (f"--{name}", str(value))]
    return (*words, *(() if restore else ("--no-restore",)))


@command(AS_JSON)
def doctor(*, as_json: bool = False) -> int:
    """Show what this machine lacks for netsum, and why it matters.

    Example:
      netsum doctor
    """
    from hostagent.launch.doctor import run_doctor

    return run_doctor(as_json)
