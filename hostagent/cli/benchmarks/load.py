"""``netsum bench load``: how long until something runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hostagent.cli.benchmarks.facts import machine_facts
from hostagent.cli.benchmarks.large_program import program_of

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


def measure() -> dict[str, Any]:
    """Seconds: programs' load, cold and cached; first collective of two ranks, netsum run and torchrun."""
    loads = [
        {"program": f"allreduce.p4, {lanes} lanes"} | _cold_and_cached("allreduce.p4", f"LANES={lanes}")
        for lanes in (64, 256, 2048)
    ]
    with tempfile.TemporaryDirectory(prefix="netsum-bench-") as folder:
        large = Path(folder) / "large.p4"
        large.write_text(program_of())
        lines = large.read_text().count("\n")
        loads.append({"program": f"{lines:,} lines of P4"} | _cold_and_cached(str(large)))
    with tempfile.TemporaryDirectory(prefix="netsum-bench-") as folder:
        script = Path(folder) / "first_step.py"
        script.write_text(FIRST_STEP)
        commands = {
            "netsum": [sys.executable, "-m", "hostagent.cli.main", "run", "-n", "2", str(script), "netsum"],
            "gloo": [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", str(script), "gloo"],
        }
        # the first run warms the caches of both
        first = {name: [_first_step_s(command) for _ in range(3)][1:] for name, command in commands.items()}
    return {
        "program": loads,
        "first_step_s": {name: min(times) for name, times in first.items()},
        "machine": machine_facts(),
    }


def _cold_and_cached(program: str, *defines: str) -> dict[str, float]:
    """With a cache that is empty at first."""
    with tempfile.TemporaryDirectory(prefix="netsum-bench-") as cache:
        cold, cached = (_load_s([program, *defines], {"NETSUM_CACHE": cache}) for _ in range(2))
    return {"cold_s": cold, "cached_s": cached}


def _load_s(arguments: list[str], environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", LOAD, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _first_step_s(command: list[str]) -> float:
    """From the command's start to the end of rank 0's first collective."""
    started = time.time()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return next(float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("FIRST")) - started


def show(measured: dict[str, Any], as_json: bool) -> None:
    """Print the tables."""
    if as_json:
        print(json.dumps(measured))
        return
    table = Table(title="Source to machine code", title_justify="left")
    table.add_column("program")
    for name in ("cold", "from the cache"):
        table.add_column(name, justify="right")
    for row in measured["program"]:
        table.add_row(row["program"], f"{row['cold_s']:.2f} s", f"{1e3 * row['cached_s']:.0f} ms")
    console = Console()
    console.print(table)
    ours, gloo = measured["first_step_s"]["netsum"], measured["first_step_s"]["gloo"]
    text = f"start to first collective, 2 ranks, warm: netsum run {ours:.1f} s, torchrun with gloo {gloo:.1f} s"
    console.print(f"{text} ({ours - gloo:+.1f} s)", highlight=False)
