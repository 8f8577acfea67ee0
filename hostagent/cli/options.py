"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Define = Annotated[
    list[str] | None, typer.Option("-D", "--define", metavar="NAME[=VALUE]", help="Preprocessor definition; repeat.")
]
Include = Annotated[
    list[Path] | None, typer.Option("-I", "--include", metavar="FOLDER", help="Where to look for includes; repeat.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def parse_defines(definitions: list[str] | None) -> dict[str, str]:
    """``["LANES=256"]`` to ``{"LANES": "256"}``; a bare name is defined as 1, as cpp does."""
    pairs = (text.partition("=") for text in definitions or [])
    return {name: value if separator else "1" for name, separator, value in pairs}
