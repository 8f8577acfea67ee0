"""``netsum bench server``: the rack server's core beside its peers, and a training step beside DDP on gloo."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hostagent.cli.benchmarks.cpu import ROOT_VARIABLE
from hostagent.cli.benchmarks.facts import machine_facts
from hostagent.cli.benchmarks.training import run_ranks
from hostagent.rackserver.bench import Figure, run_bench_core
from hostagent.rackserver.core import compile_services

RANKS_SCRIPT = Path(__file__).with_name("server_ranks.py")
ROUNDS = 2


def measure(tensor_bytes: int, ranks: int, parameters: int, steps: int) -> dict[str, Any]:
    """All rows. ``parameters`` 0 leaves the training step out. Raises BenchError."""
    figures = run_bench_core(tensor_bytes)
    rows = [_row(figure) for figure in figures]
    compile_services()  # here, for the servers that are started below have to be ready within a time
    if parameters:
        rows.append(_step_row(ranks, parameters, steps))
    return {"rows": rows, "machine": machine_facts()}


def _row(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "ours_s": figure.ours_s,
        "peer": figure.peer,
        "peer_s": figure.peer_s,
        "ratio": figure.ratio,
        "gb_s": figure.tensor_bytes / figure.ours_s / 1e9,
        "note": figure.note,
    }


def _step_row(ranks: int, parameters: int, steps: int) -> dict[str, Any]:
    """One training step's gradients and optimizer: both run in turn, and each one's better median counts.

    In turn, because the speed of a shared machine drifts by more than the two differ. CPU time is told beside it: with
    other work on the machine it is the fairer figure.
    """
    options = ["--parameters", str(parameters), "--steps", str(steps)]
    runs: dict[str, list[dict[str, Any]]] = {"gloo": [], "rack": []}
    for _ in range(ROUNDS):
        for backend, done in runs.items():
            done.append(_run(backend, ranks, options))
    ours, peer = (min(run["median_s"] for run in runs[backend]) for backend in ("rack", "gloo"))
    cpu, peer_cpu = (min((run["cpu_s"] for run in runs[name]), key=_total) for name in ("rack", "gloo"))
    note = (
        f"communication and optimizer only; CPU time {1e3 * _total(cpu):.0f} ms (server {1e3 * cpu['server']:.0f}) "
        f"against {1e3 * _total(peer_cpu):.0f}"
    )
    return {
        "name": f"Adam step, {parameters / 1e6:g} M parameters, {ranks} ranks",
        "ours_s": ours,
        "peer": "gloo allreduce + local Adam",
        "peer_s": peer,
        "ratio": peer / ours,
        "gb_s": 4 * parameters / ours / 1e9,
        "note": note,
        "runs": runs,
    }


def _total(cpu: dict[str, float]) -> float:
    return sum(cpu.values())


def _run(backend: str, ranks: int, options: list[str]) -> dict[str, Any]:
    ours = ["--aggregator", "server"] if backend == "rack" else None
    environment = {**os.environ, ROOT_VARIABLE: str(os.getpid())}
    return run_ranks(ranks, RANKS_SCRIPT, ["--backend", backend, *options], ours, environment)


def show(measured: dict[str, Any], as_json: bool) -> None:
    """Print the rows."""
    if as_json:
        print(json.dumps(measured))
        return
    table = Table(title="rack server, best round of each", title_justify="left", show_lines=True)
    table.add_column("what, and what runs beside it")
    for name in ("server", "beside", "as fast"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in measured["rows"]:
        note = f"; {row['note']}" if row["note"] else ""
        what = f"{row['name']}\n[dim]beside {row['peer']}; {row['gb_s']:.2f} GB/s of tensor{note}[/dim]"
        times = [f"{1e3 * row[key]:.1f} ms" for key in ("ours_s", "peer_s")]
        table.add_row(what, *times, f"{row['ratio']:.2f}x")
    Console().print(table)
