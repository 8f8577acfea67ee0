"""``netsum bench load``: how long until something runs."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hostagent.cli.bench.large_program import program_of
from hostagent.cli.bench.runner import Report, Row

LOAD = """
import sys, time
started = time.perf_counter()
from emulator.v1model.compiled import load
imported = time.perf_counter()
load(sys.argv[1], dict(define.split("=") for define in sys.argv[2:]))
print(time.perf_counter() - imported)
"""
SWITCH = "hostagent.cli.bmv2.simple_switch_grpc"
RUNS = 7
LISTEN_TIMEOUT_S = 120.0
LOOK_AGAIN_S = 0.002
FIRST_STEP = """
import time, sys
import torch, torch.distributed as dist
dist.init_process_group(sys.argv[1])
dist.all_reduce(torch.ones(1))
if dist.get_rank() == 0:
    print("FIRST", time.time(), flush=True)
dist.barrier()
dist.destroy_process_group()
"""


def measure() -> Report:
    """Load of programs, cached and cold; start of a switch; start to the first collective of two ranks."""
    rows = [_row(f"load of allreduce.p4, {lanes} lanes", "allreduce.p4", f"LANES={lanes}") for lanes in (64, 256, 2048)]
    with tempfile.TemporaryDirectory(prefix="netsum-bench-") as folder:
        large = Path(folder) / "large.p4"
        large.write_text(program_of())
        lines = large.read_text().count("\n")
        rows.append(_row(f"load of {lines:,} lines of P4", str(large)))
        rows += _switch_rows(Path(folder) / "router.json")
    with tempfile.TemporaryDirectory(prefix="netsum-bench-") as folder:
        script = Path(folder) / "first_step.py"
        script.write_text(FIRST_STEP)
        commands = {
            "netsum": [sys.executable, "-m", "hostagent.cli.main", "run", "-n", "2", str(script), "netsum"],
            "gloo": [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", str(script), "gloo"],
        }
        # the first run warms the caches of both
        first = {name: [_first_step_s(command) for _ in range(3)][1:] for name, command in commands.items()}
    ours, gloo = (min(first[name]) for name in ("netsum", "gloo"))
    rows.append(Row("start to first collective, 2 ranks, warm", ours, "s", "torchrun with gloo", gloo, details=first))
    return Report("load", "time until something runs", rows)


def _row(name: str, program: str, *defines: str) -> Row:
    """Row of a start from the cache, next to a cache that is empty at first."""
    with tempfile.TemporaryDirectory(prefix="netsum-bench-") as cache:
        cold, cached = (_load_s([program, *defines], {"NETSUM_CACHE": cache}) for _ in range(2))
    return Row(name, cached, "s", "empty cache", cold)


def _switch_rows(document: Path) -> list[Row]:
    """From the start of simple_switch_grpc until its port listens, without and with a program's JSON; medians."""
    from emulator.p4.library import find_program
    from emulator.ports.loop.switch_loops import adopt_switch_loops
    from hostagent.cli.bmv2.p4c import run as p4c

    adopt_switch_loops()  # compiled once; not in the first start
    p4c([find_program("router.p4"), "-o", str(document)])
    imported = _median(lambda: _seconds([sys.executable, "-c", "import grpc"]))
    rows = []
    for name, program in (("no program", "--no-p4"), ("router.p4 as JSON", str(document))):
        start = functools.partial(_listening_s, program)
        start()  # fills the cache
        listening = _median(start)
        rows.append(Row(f"start of simple_switch_grpc, {name}", listening, "s", "import grpc", imported))
    return rows


def _median(measured: Callable[[], float]) -> float:
    return sorted(measured() for _ in range(RUNS))[RUNS // 2]


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def _listening_s(program: str) -> float:
    """A RuntimeError where it does not listen in time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    words = [sys.executable, "-m", SWITCH, program, "--", "--grpc-server-addr", f"{address[0]}:{address[1]}"]
    started = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        try:
            while time.perf_counter() - started < LISTEN_TIMEOUT_S and process.poll() is None:
                with suppress(OSError):
                    socket.create_connection(address).close()
                    return time.perf_counter() - started
                time.sleep(LOOK_AGAIN_S)
        finally:
            process.terminate()
    raise RuntimeError(f"{SWITCH} does not listen: it ended with status {process.returncode}")


def _load_s(arguments: list[str], environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", LOAD, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _first_step_s(command: list[str]) -> float:
    """Time from the command's start to the end of rank 0's first collective."""
    started = time.time()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return next(float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("FIRST")) - started
