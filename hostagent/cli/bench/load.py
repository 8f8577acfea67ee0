"""``netsum bench load``: how long until something runs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
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
    """Load of programs, cached and cold; start to the first collective of two ranks, netsum run and torchrun."""
    rows = [_row(f"load of allreduce.p4, {lanes} lanes", "allreduce.p4", f"LANES={lanes}") for lanes in (64, 256, 2048)]
    with tempfile.TemporaryDirectory(prefix="netsum-bench-") as folder:
        large = Path(folder) / "large.p4"
        large.write_text(program_of())
        lines = large.read_text().count("\n")
        rows.append(_row(f"load of {lines:,} lines of P4", str(large)))
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


def _load_s(arguments: list[str], environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", LOAD, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _first_step_s(command: list[str]) -> float:
    """Time from the command's start to the end of rank 0's first collective."""
    started = time.time()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return next(float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("FIRST")) - started
