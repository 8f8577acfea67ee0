"""The ``netsum`` command's commands: one file for each room behind the door (`main`).

Commands import what they need when they run, so that ``netsum --help`` answers at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.options import AsJson

app = typer.Typer(
    name="netsum",
    help="Sum gradients in an emulated network: a P4 switch on your laptop, under an unmodified torch script.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def demo(
    workers: Annotated[int, typer.Option("-n", "--workers", min=2, max=16, help="Training processes.")] = 4,
    epochs: Annotated[int, typer.Option(min=2, help="Passes over the digits.")] = 20,
    lanes: Annotated[int, typer.Option(help="32-bit numbers in a frame.")] = 1024,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the report.")] = Path("netsum-report"),
    as_json: AsJson = False,
) -> None:
    """Train a small CNN on real digits through the P4 switch, then on gloo, and compare.

    Example: [bold]netsum demo -n 4[/bold]
    """
    from hostagent.cli.demo.run import run_demo

    raise typer.Exit(run_demo(workers=workers, epochs=epochs, lanes=lanes, output=output, as_json=as_json))


def run_app() -> None:
    """Do what the command line says; ends the process."""
    from hostagent.cli import bench, compile, network, run, stf, trace, warm
    from hostagent.cli.aggregators import command as aggregators
    from hostagent.cli.pspin import command as pspin
    from hostagent.cli.rack import command as rack

    for module in (run, network, aggregators, pspin, rack, compile, stf, trace, bench, warm):
        module.register(app)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
