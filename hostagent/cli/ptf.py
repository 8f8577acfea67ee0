"""``netsum ptf``: PTF as it is, in an environment whose protobuf is newer than P4Runtime's generated code."""

from __future__ import annotations

import importlib.util
import runpy
import shutil
import sys
from pathlib import Path

import typer

MISSING = "netsum ptf: PTF is not installed here: pip install ptf"


def ptf(context: typer.Context) -> None:
    """Run PTF with P4Runtime's messages (`p4.v1`) ready to import; its options follow unchanged.

    Its own help: netsum ptf -- --help

    \b
    Example:
      netsum ptf --test-dir mytests --interface 1@veth1 --test-params "grpcaddr='127.0.0.1:9559'"
    """
    script = find_script()
    if script is None:
        print(MISSING, file=sys.stderr)
        raise typer.Exit(2)
    # makes the modules p4.v1.* and p4.config.v1.* out of the installed descriptors, by their usual names
    import emulator.native.p4protos  # noqa: F401

    sys.argv = [script, *context.args]
    runpy.run_path(script, run_name="__main__")


def find_script() -> str | None:
    """PTF's launcher: a script that lies beside this Python, or in PATH."""
    if importlib.util.find_spec("ptf") is None:
        return None
    beside = Path(sys.executable).parent / "ptf"
    return str(beside) if beside.is_file() else shutil.which("ptf")


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("ptf", context_settings=settings)(ptf)
