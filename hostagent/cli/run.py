"""``netsum run``, ``status`` and ``doctor``: what somebody with a training script needs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.options import AsJson, CheckpointSeconds, Restore, check_checkpoint, refuse

OF_WHAT_IS_STARTED = (
    *("aggregator", "lanes", "impair", "max_window", "cores", "racks", "rack_of", "way", "report", "verbose"),
    *("checkpoint", "checkpoint_every", "checkpoint_seconds", "restore"),
)
"""Parameters of `run` that are about the aggregator and its controller."""


def run(
    context: typer.Context,
    script: Annotated[str, typer.Argument(help="The training script; its own arguments follow it.")],
    ranks: Annotated[int, typer.Option("-n", "--nproc", min=1, help="Training processes.")] = 2,
    aggregator: Annotated[str, typer.Option(help="Where to sum: p4, p4:PROGRAM.p4, pspin or server.")] = "p4",
    lanes: Annotated[
        int | None, typer.Option(help="32-bit numbers in a frame: 64, 256, 512, 1024 (the default) or 2048.")
    ] = None,
    controller: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Use this running controller; start nothing but the ranks.")
    ] = None,
    module: Annotated[bool, typer.Option("-m", "--module", help="SCRIPT is a module's name, as in python -m.")] = False,
    prefix: Annotated[bool, typer.Option("--prefix", help="Start each line of output with its rank.")] = False,
    impair: Annotated[
        str, typer.Option(metavar="TEXT", help="Impair every port, e.g. 'loss=0.05&delay=1ms&seed=7'.")
    ] = "",
    max_window: Annotated[
        int | None,
        typer.Option(metavar="SLOTS", help="Most slots of the job, a power of two; default 512 / N, at most 128."),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, max=64, help="--aggregator server: cores that blocks are dealt to.")
    ] = None,
    racks: Annotated[
        int,
        typer.Option(min=1, max=16, help="--aggregator server: so many servers, each with a run of the ranks."),
    ] = 1,
    rack_of: Annotated[
        str | None, typer.Option(metavar="RACK,RACK,...", help="Or the rack of each rank, as in 0,0,1,1.")
    ] = None,
    way: Annotated[str, typer.Option(help="How racks exchange sums: ring, sharded or tree.")] = "ring",
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="--aggregator server: keep every service's weights, state and step there."),
    ] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(metavar="STEPS", min=1, help="As often as a service has taken so many steps.")
    ] = None,
    checkpoint_seconds: CheckpointSeconds = None,
    restore: Restore = True,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what aggregator and ranks counted, as JSON.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Show the aggregator's and controller's logs.")
    ] = False,
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
    from hostagent.torch_backend.aggregators import DEFAULT_LANES, Aggregator
    from hostagent.torch_backend.launcher import RunOptions, default_max_window, run_training

    if controller is not None:
        why = f"of what a run starts itself, and with --controller that is only ranks; see `netsum status {controller}`"
        refuse(context, why, *OF_WHAT_IS_STARTED)
    rack_of_rank = place_ranks(ranks, racks, rack_of)
    if not rack_of_rank:
        refuse(context, "one server has no others to exchange sums with: add --racks N", "way")
    if checkpoint is not None and restore:
        check_layout(checkpoint, 1 + max(rack_of_rank, default=0))

    def at_end(where: Aggregator) -> None:
        from hostagent.cli.measured import summary, write

        for line in summary(where):
            print(f"{where.choice.title}: {line}", file=sys.stderr)
        if report is not None:
            write(where, report)

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
        controller_options=(
            "--max-window",
            str(max_window or default_max_window(ranks)),
            *_ways(way, bool(rack_of_rank)),
        ),
        rack_of=rack_of_rank,
        server_options=_server_options(cores, checkpoint, checkpoint_every, checkpoint_seconds, restore),
        at_end=at_end,
    )
    raise typer.Exit(run_training(options))


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
    from hostagent.torch_backend.status import run_status

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
    from hostagent.torch_backend.doctor import run_doctor

    raise typer.Exit(run_doctor(as_json))


def register(app: typer.Typer) -> None:
    """Add this file's commands. What follows SCRIPT is the script's, options included."""
    app.command(context_settings={"allow_interspersed_args": False, "allow_extra_args": True})(run)
    app.command()(status)
    app.command()(doctor)
