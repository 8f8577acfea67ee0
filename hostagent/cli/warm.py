"""``netsum warm``: compile now what would be compiled at the first run, once per version."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import typer

from hostagent.cli.options import AsJson

READY_TIMEOUT_S = 300.0


def warm(
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compile the loops of ranks and aggregators and the P4 program into the cache; `make setup` does this.

    \b
    Example:
      netsum warm
    """
    import json

    from emulator.p4runtime.bulk.bulk import compile_loops as compile_bulk_loops
    from emulator.switch.tables.masked_bits import compile_loops
    from hostagent.rackserver.core import compile_services
    from hostagent.transport.warm import ensure_warm

    started = time.monotonic()
    if not quiet and not as_json:
        print("compiling loops and the aggregation program, once for this version (a minute or two)", flush=True)
    switch, *others = starts()
    with ThreadPoolExecutor() as pool:  # of processes, so that every core compiles
        started_switch = pool.submit(start_once, switch)
        ensure_warm(say=False)
        compile_loops()
        compile_bulk_loops()
        started_switch.result()  # it has compiled the ports' loops, which the others load
        started_others = [pool.submit(start_once, words) for words in others]
        compile_services()
        for future in started_others:
            future.result()
    seconds = time.monotonic() - started
    if as_json:
        print(json.dumps({"seconds": round(seconds, 2)}))
    elif not quiet:
        print(f"done in {seconds:.0f} s")


def starts() -> list[tuple[str, ...]]:
    """Every aggregator that ``netsum run`` may start, between one port of each kind."""
    from hostagent.launch.aggregators import DEFAULT_LANES, DEFAULT_PROGRAM, OUR_AGGREGATORS

    def common(name: str) -> tuple[str, ...]:
        own = f"warm-{os.getpid()}-{name}"  # another installation may be warming up beside this one
        return ("--port", f"1=shm:{own}", "--port", "2=udp:127.0.0.1:0", "--quiet", "--die-with-parent")

    program = ("switch", DEFAULT_PROGRAM, "-D", f"LANES={DEFAULT_LANES}", "--p4runtime", "127.0.0.1:0")
    ours = [("aggregator", name, "--listen", "127.0.0.1:0", *common(name)) for name in OUR_AGGREGATORS]
    return [(*program, *common("p4")), *ours]


def start_once(words: tuple[str, ...]) -> None:
    """Start a process until it says that it is ready: then all its loops are in the cache."""
    from hostagent.launch.processes import netsum_command

    command = netsum_command(*words)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sys.stderr, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        process.wait(READY_TIMEOUT_S)
    if not line:
        print(f"netsum warm: netsum {' '.join(words[:2])} did not start; see above", file=sys.stderr)
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command()(warm)
