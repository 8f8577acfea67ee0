"""``netsum pspin`` and its commands."""

from __future__ import annotations

import typer

from hostagent.cli.group import Group
from hostagent.cli.pspin import example, flare, riscv


def register(root: typer.Typer) -> None:
    """Add the group."""
    app = typer.Typer(
        cls=Group, no_args_is_help=True, help="The model of a PsPIN switch: cores in the packet path, cycle by cycle."
    )
    app.command("run")(flare.run)
    app.command("sweep")(flare.sweep)
    app.command("example")(example.example)
    app.command("compare")(example.compare)
    app.command("riscv")(riscv.riscv)
    root.add_typer(app, name="pspin")
