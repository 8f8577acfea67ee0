"""``netsum warm``: compile now what would be compiled at the first run, once per version."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Annotated

import typer

from hostagent.cli.options import AsJson

READY_TIMEOUT_S = 300.0


def warm(
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compile the loops of ranks and switch and the aggregation program into the cache; `make setup` does this.

    Example: [bold]netsum warm[/bold]
    """
    import json

    from emulator.p4runtime.bulk import compile_loops as compile_bulk_loops
    from emulator.switch.masked_bits import compile_loops
    from hostagent.transport.warm import ensure_warm

    started = time.monotonic()
    if not quiet and not as_json:
        print("compiling loops and the aggregation program, once for this version (about a minute)", flush=True)
    ensure_warm(say=False)
    compile_loops()
    compile_bulk_loops()
    _warm_switch()
    seconds = time.monotonic() - started
    if as_json:
        print(json.dumps({"seconds": round(seconds, 2)}))
    elif not quiet:
        print(f"done in {seconds:.0f} s")


def _warm_switch() -> None:
    """Have a switch load the program that ``netsum run`` uses, between one port of each kind."""
    from hostagent.torch_backend.aggregators import DEFAULT_LANES, DEFAULT_PROGRAM
    from hostagent.torch_backend.processes import netsum_command

    ports = ("--port", "1=shm:warm", "--port", "2=udp:127.0.0.1:0")
    options = ("-D", f"LANES={DEFAULT_LANES}", *ports, "--p4runtime", "127.0.0.1:0", "--quiet", "--die-with-parent")
    command = netsum_command("switch", DEFAULT_PROGRAM, *options)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sys.stderr, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        process.wait(READY_TIMEOUT_S)
    if not line:
        print("netsum warm: the switch did not start; see above", file=sys.stderr)
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command()(warm)
