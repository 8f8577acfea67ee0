"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Define = Annotated[
    list[str] | None, typer.Option("-D", "--define", metavar="NAME[=VALUE]", help="Preprocessor definition; repeat.")
]
Undefine = Annotated[
    list[str] | None, typer.Option("-U", "--undefine", metavar="NAME", help="Forget a preprocessor definition; repeat.")
]
Include = Annotated[
    list[Path] | None, typer.Option("-I", "--include", metavar="FOLDER", help="Where to look for includes; repeat.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
CheckpointSeconds = Annotated[
    float | None, typer.Option(metavar="S", min=0.0, help="Or so often; with neither every 30 s, and at the end.")
]
Restore = Annotated[bool, typer.Option("--restore/--no-restore", help="Begin with what is in --checkpoint's folder.")]


def check_checkpoint(folder: Path | None, every: int | None, seconds: float | None, restore: bool) -> None:
    """Raises typer.BadParameter for words about checkpoints that have no folder."""
    if folder is None and (every or seconds or not restore):
        raise typer.BadParameter("it needs --checkpoint DIR", param_hint="--checkpoint-every, -seconds, --no-restore")


def refuse(context: typer.Context, why: str, *names: str) -> None:
    """Raises typer.BadParameter if the command line has one of these options, by their parameters' names."""
    given = [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name in names and _is_given(context, parameter.name)
    ]
    if given:
        raise typer.BadParameter(why, param_hint=", ".join(given))


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
