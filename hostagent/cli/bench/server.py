"""``netsum bench server``: the rack server's core next to its baselines, and a training step next to DDP on gloo."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hostagent.cli.bench.cpu import ROOT_VARIABLE
from hostagent.cli.bench.runner import Report, Row, run_ranks
from hostagent.cli.bench.server_core import Figure, run_bench_core
from hostagent.rackserver.core import compile_services

RANKS_SCRIPT = Path(__file__).with_name("server_ranks.py")
ROUNDS = 2


def measure(tensor_bytes: int, ranks: int, parameters: int, steps: int) -> Report:
    """All rows. ``parameters`` 0 leaves the training step out. Raises BenchError."""
    figures = run_bench_core(tensor_bytes)
    rows = [_row(figure) for figure in figures]
    compile_services()  # here, for the servers that are started below have to be ready within a time
    if parameters:
        rows.append(_step_row(ranks, parameters, steps))
    return Report("server", "rack server, best round of each", rows)


def _row(figure: Figure) -> Row:
    gb_s = figure.tensor_bytes / figure.ours_s / 1e9
    note = "; ".join(filter(None, (f"{gb_s:.2f} GB/s of tensor", figure.note)))
    return Row(figure.name, 1e3 * figure.ours_s, "ms", figure.peer, 1e3 * figure.peer_s, note, {"gb_s": gb_s})


def _step_row(ranks: int, parameters: int, steps: int) -> Row:
    """One training step's gradients and optimizer: both run in turn, and each one's better median counts.

    In turn, because the speed of a shared machine drifts by more than the two differ. CPU time is in the note: with
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
    name = f"Adam step, {parameters / 1e6:g} M parameters, {ranks} ranks"
    gb_s = 4 * parameters / ours / 1e9
    details = {"gb_s": gb_s, "runs": runs}
    return Row(name, 1e3 * ours, "ms", "gloo allreduce and local Adam", 1e3 * peer, f"{gb_s:.2f} GB/s; {note}", details)


def _total(cpu: dict[str, float]) -> float:
    return sum(cpu.values())


def _run(backend: str, ranks: int, options: list[str]) -> dict[str, Any]:
    ours = ["--aggregator", "server"] if backend == "rack" else None
    environment = {**os.environ, ROOT_VARIABLE: str(os.getpid())}
    return run_ranks(ranks, RANKS_SCRIPT, ["--backend", backend, *options], ours, environment)
