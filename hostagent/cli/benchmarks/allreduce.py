"""``netsum bench allreduce``: starts the ranks on both backends in turn, and compares."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hostagent.cli.benchmarks.facts import machine_facts
from hostagent.cli.benchmarks.training import run_ranks

RANKS_SCRIPT = Path(__file__).with_name("allreduce_ranks.py")
ROUNDS = 3


def measure(ranks: tuple[int, ...], size_bytes: int, repeats: int, lanes: int | None) -> dict[str, Any]:
    """For each number of ranks, what both backends did: they run in turn, and each one's better median counts.

    In turn, because the speed of a shared machine drifts by more than the backends differ.
    """
    results = []
    for count in ranks:
        options = ["--size-bytes", str(size_bytes), "--repeats", str(repeats)]
        runs: dict[str, list[dict[str, Any]]] = {"gloo": [], "netsum": []}
        for _ in range(ROUNDS):
            for backend, done in runs.items():
                done.append(_run(backend, count, lanes, options))
        best = {backend: _best(done) for backend, done in runs.items()}
        results.append({"ranks": count, **best, "runs": runs})
    return {"size_bytes": size_bytes, "results": results, "machine": machine_facts()}


def _best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The fastest figure of each kind."""
    kinds = ("large", "steady", "after_barrier")
    return {kind: min((run[kind] for run in runs), key=lambda figure: float(figure["median_s"])) for kind in kinds}


def _run(backend: str, ranks: int, lanes: int | None, options: list[str]) -> dict[str, Any]:
    ours = None if backend == "gloo" else ["--lanes", str(lanes)] if lanes else []
    return run_ranks(ranks, RANKS_SCRIPT, ["--backend", backend, *options], ours, os.environ)


def show(measured: dict[str, Any], as_json: bool) -> None:
    """Print the comparison."""
    if as_json:
        print(json.dumps(measured))
        return
    table = Table(title="allreduce, median of the calls", title_justify="left")
    for name in ("ranks", "what", "P4 switch", "gloo", "netsum / gloo"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for result in measured["results"]:
        for row in _rows(result, measured["size_bytes"]):
            table.add_row(str(result["ranks"]), *row)
    Console().print(table)


def _rows(result: dict[str, Any], size_bytes: int) -> list[tuple[str, str, str, str]]:
    ours, gloo = result["netsum"], result["gloo"]
    large = [size_bytes / run["large"]["median_s"] / 1e9 for run in (ours, gloo)]
    rows = [
        (
            f"{size_bytes / (1 << 20):g} MiB",
            f"{large[0]:.2f} GB/s",
            f"{large[1]:.2f} GB/s",
            f"{large[0] / large[1]:.2f}x",
        )
    ]
    for kind, name in (("steady", "4 KiB, steady"), ("after_barrier", "4 KiB, after a barrier")):
        times = [1e6 * run[kind]["median_s"] for run in (ours, gloo)]
        rows.append((name, f"{times[0]:.0f} us", f"{times[1]:.0f} us", f"{times[1] / times[0]:.2f}x as fast"))
    return rows
