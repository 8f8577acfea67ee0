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
