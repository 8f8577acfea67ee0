"""``netsum run``, ``status`` and ``doctor``: what somebody with a training script needs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostagent.cli import run_options as given
from hostagent.cli.options import AsJson, CheckpointSeconds, Restore, check_checkpoint, refuse

if TYPE_CHECKING:
    from hostagent.launch.aggregators import Aggregator

OF_WHAT_IS_STARTED = (
    *("aggregator", "lanes", "impair", "max_window", "cores", "racks", "rack_of", "way", "report", "verbose"),
    *("checkpoint", "checkpoint_every", "checkpoint_seconds", "restore"),
)
"""Parameters of `run` that are about the aggregator and its controller."""


def run(
    context: typer.Context,
    script: given.Script,
    ranks: given.Ranks = 2,
    aggregator: given.Where = "p4",
    lanes: given.Lanes = None,
    controller: given.Controller = None,
    module: given.Module = False,
    prefix: given.Prefix = False,
    impair: given.Impair = "",
    max_window: given.MaxWindow = None,
    cores: given.Cores = None,
    racks: given.Racks = 1,
    rack_of: given.RackOf = None,
    way: given.Way = "ring",
    checkpoint: given.Checkpoint = None,
    checkpoint_every: given.CheckpointEvery = None,
    checkpoint_seconds: CheckpointSeconds = None,
    restore: Restore = True,
    report: given.Report = None,
    verbose: given.Verbose = False,
) -> None:
    """Run a torch script on N ranks, its gradients summed in a switch or server of its own.

    The script calls init_process_group("netsum"); the environment is torchrun's. Every aggregator gives the same bits
    at the same --lanes: a P4 switch (p4), the model of a PsPIN switch (pspin), or a rack server (server).

    \b
    Examples:
      netsum run -n 4 train.py --epochs 3
      netsum run -n 4 --aggregator server train.py
      netsum run -n 4 --aggregator server --checkpoint state --checkpoint-every 100 train.py
    """
    from hostagent.cli.rack.checkpoint_layout import check_layout
    from hostagent.cli.rack.placing import place_ranks
    from hostagent.launch.aggregators import DEFAULT_LANES
    from hostagent.launch.launcher import RunOptions, run_training
    from hostagent.protocol.window import default_max_window

    if controller is not None:
        why = f"of what a run starts itself, and with --controller that is only ranks; see `netsum status {controller}`"
        refuse(context, why, *OF_WHAT_IS_STARTED)
    rack_of_rank = place_ranks(ranks, racks, rack_of)
    if not rack_of_rank:
        refuse(context, "one server has no others to exchange sums with: add --racks N", "way")
    if checkpoint is not None and restore:
        check_layout(checkpoint, 1 + max(rack_of_rank, default=0))

    window = max_window or default_max_window(ranks)
    options = RunOptions(
        ranks=ranks,
        script=script,
        arguments=tuple(context.args),
        aggregator=aggregator,
        lanes=lanes or DEFAULT_LANES,
        controller=controller,
        module=module,
        prefixed=prefix,
        impairments=impair,
        verbose=verbose,
        controller_options=("--max-window", str(window), *_ways(way, bool(rack_of_rank))),
        rack_of=rack_of_rank,
        server_options=_server_options(cores, checkpoint, checkpoint_every, checkpoint_seconds, restore),
        at_end=lambda where: _tell(where, report),
    )
    raise typer.Exit(run_training(options))


def _tell(where: Aggregator, report: Path | None) -> None:
    """At the end: a summary, and the report's file."""
    from hostagent.cli.measured import summary, write

    for line in summary(where):
        print(f"{where.choice.title}: {line}", file=sys.stderr)
    if report is not None:
        write(where, report)


def _ways(way: str, is_needed: bool) -> tuple[str, ...]:
    """The controller's options about racks. Raises typer.BadParameter."""
    from hostagent.protocol.services.aggregator import WAYS

    if way not in WAYS:
        raise typer.BadParameter(f"choose {', '.join(WAYS)}", param_hint="--way")
    return ("--way", way) if is_needed else ()


def _server_options(
    cores: int | None, checkpoint: Path | None, every: int | None, seconds: float | None, restore: bool
) -> tuple[str, ...]:
    """What of it is `netsum server`'s, in its words. Raises typer.BadParameter."""
    check_checkpoint(checkpoint, every, seconds, restore)
    given = {"cores": cores, "checkpoint": checkpoint, "checkpoint-every": every, "checkpoint-seconds": seconds}
    words = [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
    return (*words, *(() if restore else ("--no-restore",)))


def status(
    controller: Annotated[
        str | None, typer.Argument(metavar="[HOST:PORT]", help="The controller; default: NETSUM_CONTROLLER.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What a controller knows: jobs and their members, ports, slots.

    \b
    Example:
      netsum status 127.0.0.1:50100
    """
    from hostagent.launch.status import run_status

    address = controller or os.environ.get("NETSUM_CONTROLLER")
    if not address:
        print("netsum status: which controller? Give HOST:PORT, or set NETSUM_CONTROLLER.", file=sys.stderr)
        raise typer.Exit(2)
    raise typer.Exit(run_status(address, as_json))


def doctor(as_json: AsJson = False) -> None:
    """What this machine lacks for netsum, and why it matters.

    \b
    Example:
      netsum doctor
    """
    from hostagent.launch.doctor import run_doctor

    raise typer.Exit(run_doctor(as_json))


def register(app: typer.Typer) -> None:
    """Add this file's commands. What follows SCRIPT is the script's, options included."""
    app.command(context_settings={"allow_interspersed_args": False, "allow_extra_args": True})(run)
    app.command()(status)
    app.command()(doctor)
