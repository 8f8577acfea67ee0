"""The ``netsum`` command's commands: one file for each room behind the door (`main`).

Commands import what they need when they run, so that ``netsum --help`` answers at once.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.group import Group
from hostagent.cli.options import AsJson

app = typer.Typer(
    name="netsum",
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"netsum {version('netsum')}")
        raise typer.Exit


@app.callback()
def netsum(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Sum gradients in an emulated network: a P4 switch on your laptop, under an unmodified torch script."""


@app.command()
def demo(
    workers: Annotated[int, typer.Option("-n", "--workers", min=2, max=16, help="Training processes.")] = 4,
    epochs: Annotated[int, typer.Option(min=2, help="Passes over the digits.")] = 20,
    lanes: Annotated[int, typer.Option(help="32-bit numbers in a frame.")] = 1024,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the report.")] = Path("netsum-report"),
    as_json: AsJson = False,
) -> None:
    """Train a small CNN on real digits through the P4 switch, then on gloo, and compare.

    \b
    Example:
      netsum demo -n 4
    """
    from hostagent.cli.demo.run import run_demo

    raise typer.Exit(run_demo(workers=workers, epochs=epochs, lanes=lanes, output=output, as_json=as_json))


ROOMS = {
    "run": ("run", "status", "doctor"),
    "network": ("switch", "controller", "shell", "package"),
    "aggregators.command": ("aggregator",),
    "pspin.command": ("pspin",),
    "rack.command": ("server", "racks"),
    "compile": ("compile",),
    "stf": ("stf",),
    "trace": ("trace",),
    "ptf": ("ptf",),
    "bench": ("bench",),
    "warm": ("warm",),
}
"""Module -> its commands, in the order of ``netsum --help``."""


def register_rooms(word: str | None) -> None:
    """Add the module that has the command ``word``; all of them where none has, as for --help."""
    rooms = [room for room, commands in ROOMS.items() if word in commands]
    for room in rooms or ROOMS:
        importlib.import_module(f"hostagent.cli.{room}").register(app)


def run_app() -> None:
    """Do what the command line says; ends the process."""
    register_rooms(sys.argv[1] if len(sys.argv) > 1 else None)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
