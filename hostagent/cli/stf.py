"""``netsum stf``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.compiled import parse_defines
from hostagent.cli.options import AsJson, Define, Include


def stf(
    program: Annotated[str, typer.Argument(help="P4 source, or bmv2's JSON: a file, or a shipped program's name.")],
    tests: Annotated[list[Path], typer.Argument(metavar="TEST.stf...", help="Packet tests for it.")],
    engine: Annotated[str, typer.Option(help="llvm, interpreter, or both.")] = "llvm",
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Say what the switch counted and the program logged.")
    ] = False,
    define: Define = None,
    include: Include = None,
    as_json: AsJson = False,
) -> None:
    """Send packets into a P4 program and compare what comes out, as p4c's STF tests do.

    An expectation is a prefix unless '$' ends it, '*' is any nibble, and the number of packets of each port that the
    test names must be exact. The exit status is 0 exactly when all of it held.

    \b
    Example:
      netsum stf router.p4 tests/conformance/stf/p4src/router.stf --engine both
    """
    from emulator.harness.stf.command import run_stf

    status = run_stf(
        program,
        [str(test) for test in tests],
        engine=engine,
        as_json=as_json,
        verbose=verbose,
        defines=parse_defines(define),
        include_paths=[str(folder) for folder in include or ()],
    )
    raise typer.Exit(status)


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command("stf", epilog=_commands())(stf)


def _commands() -> str:
    from emulator.harness.stf.usage import USAGE

    lines = "\n".join(USAGE.values())
    # the backspace keeps the lines from being joined into one
    return f"\b\nLines of a test ('#' starts a comment):\n{lines}"
