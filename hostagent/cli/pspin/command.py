"""``netsum pspin`` and its commands."""

from __future__ import annotations

import typer

from hostagent.cli.group import Group
from hostagent.cli.pspin import example, flare, riscv
from hostagent.cli.pspin.one_line import Command


def register(root: typer.Typer) -> None:
    """Add the group."""
    app = typer.Typer(
        cls=Group, no_args_is_help=True, help="The model of a PsPIN switch: cores in the packet path, cycle by cycle."
    )
    app.command("run", cls=Command)(flare.run)
    app.command("sweep", cls=Command)(flare.sweep)
    app.command("example", cls=Command)(example.example)
    app.command("compare", cls=Command)(example.compare)
    app.command("riscv", cls=Command)(riscv.riscv)
    root.add_typer(app, name="pspin")
