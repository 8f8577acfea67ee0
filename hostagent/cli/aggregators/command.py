"""``netsum aggregator``: the PsPIN switch or the rack server, summing only, started by itself."""

from __future__ import annotations

from typing import Annotated

import typer

from hostagent.cli.aggregators.cores import DEFAULT_SLOTS, OUR_CORES


def aggregator(
    core: Annotated[str, typer.Argument(help=f"{', '.join(OUR_CORES)}, or core:MODULE:CLASS for one of your own.")],
    port: Annotated[
        list[str] | None,
        typer.Option(metavar="N=SPEC", help="N=shm:NAME or N=udp:LOCAL[,REMOTE], impairments behind a '?'; repeat."),
    ] = None,
    lanes: Annotated[int, typer.Option(help="32-bit numbers in a frame: 64, 256, 512, 1024 or 2048.")] = 1024,
    slots: Annotated[int, typer.Option(help="Slots, of two sets each, for all jobs together.")] = DEFAULT_SLOTS,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where the controller finds it; port 0: any.")
    ] = "127.0.0.1:48865",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Only the JSON line that says it is ready.")] = False,
    die_with_parent: Annotated[
        bool, typer.Option("--die-with-parent", help="End when the process that started this does.")
    ] = False,
) -> None:
    """Run an aggregator that is no P4 switch, until SIGTERM; `netsum controller --aggregator netsum://...` drives it.

    \b
    Example:
      netsum aggregator server --lanes 256 --port 1=shm:a --port 2=shm:b
    """
    from hostagent.cli.aggregators.process import AggregatorOptions, run_aggregator

    options = AggregatorOptions(
        core=core,
        ports=tuple(port or ()),
        lanes=lanes,
        slots=slots,
        listen=listen,
        die_with_parent=die_with_parent,
        quiet=quiet,
    )
    raise typer.Exit(run_aggregator(options))


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command()(aggregator)
