"""``netsum warm``: compile now what would be compiled at the first run, once per version."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import command, flag

READY_TIMEOUT_S = 300.0


class WarmError(Exception):
    """A process did not start; why is on stderr."""


@command(flag("-q", "--quiet", help="No output."), AS_JSON)
def warm(*, quiet: bool = False, as_json: bool = False) -> int:
    """Compile the loops of ranks and aggregators and the P4 program into the cache; `make setup` does this.

    Example:
      netsum warm
    """
    import json

    from emulator.switch.tables.masked_bits import compile_loops
    from hostagent.transport.warm import ensure_warm

    began_s = time.monotonic()
    if not quiet and not as_json:
        print("compiling loops and the aggregation program, once for this version (a minute or two)", flush=True)
    try:
        with ThreadPoolExecutor() as pool:  # of processes, so that every core compiles
            started = [pool.submit(start_once, words) for words in starts()]
            ensure_warm(say=False)
            compile_loops()
            for future in started:
                future.result()
    except WarmError as error:
        print(f"netsum warm: {error}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - began_s
    if as_json:
        print(json.dumps({"seconds": round(seconds, 2)}))
    elif not quiet:
        print(f"done in {seconds:.0f} s")
    return 0


def starts() -> list[tuple[str, ...]]:
    """Every aggregator that ``netsum run`` may start, between one port of each kind."""
    from hostagent.launch.aggregators import DEFAULT_LANES, DEFAULT_PROGRAM, OUR_AGGREGATORS

    def common(name: str) -> tuple[str, ...]:
        own = f"warm-{os.getpid()}-{name}"  # another installation may be warming up at the same time
        return ("--port", f"1=shm:{own}", "--port", "2=udp:127.0.0.1:0", "--quiet", "--die-with-parent")

    program = ("switch", DEFAULT_PROGRAM, "-D", f"LANES={DEFAULT_LANES}", "--p4runtime", "127.0.0.1:0")
    ours = [("aggregator", name, "--listen", "127.0.0.1:0", *common(name)) for name in OUR_AGGREGATORS]
    return [(*program, *common("p4")), *ours]


def start_once(words: tuple[str, ...]) -> None:
    """Start a process and end it when it is ready: then all its loops are in the cache. Raises WarmError."""
    from hostagent.launch.processes import netsum_command

    command = netsum_command(*words)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sys.stderr, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        process.wait(READY_TIMEOUT_S)
    if not line:
        raise WarmError(f"netsum {' '.join(words[:2])} did not start; its error is above")
