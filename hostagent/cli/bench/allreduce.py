"""``netsum bench allreduce``: starts the ranks on both backends in turn, and compares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hostagent.cli.bench.runner import Report, Row, run_ranks

RANKS_SCRIPT = Path(__file__).with_name("allreduce_ranks.py")
ROUNDS = 3
KINDS = ("large", "steady", "after_barrier")


def measure(
    ranks: tuple[int, ...] = (2, 4), size_bytes: int = 64 << 20, repeats: int = 8, lanes: int | None = None
) -> Report:
    """Rows for each number of ranks. The backends run in turn, and the better median of each counts.

    In turn, because the speed of a shared machine drifts by more than the backends differ.
    """
    rows: list[Row] = []
    for count in ranks:
        options = ["--size-bytes", str(size_bytes), "--repeats", str(repeats)]
        runs: dict[str, list[dict[str, Any]]] = {"gloo": [], "netsum": []}
        for _ in range(ROUNDS):
            for backend, done in runs.items():
                done.append(_run(backend, count, lanes, options))
        best = {backend: _best(done) for backend, done in runs.items()}
        rows += _rows(count, best, size_bytes, runs)
    return Report("allreduce", "allreduce through the P4 switch, median of the calls", rows)


def _best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The fastest figure of each kind."""
    return {kind: min((run[kind] for run in runs), key=lambda figure: float(figure["median_s"])) for kind in KINDS}


def _run(backend: str, ranks: int, lanes: int | None, options: list[str]) -> dict[str, Any]:
    ours = None if backend == "gloo" else ["--lanes", str(lanes)] if lanes else []
    return run_ranks(ranks, RANKS_SCRIPT, ["--backend", backend, *options], ours, os.environ)


def _rows(ranks: int, best: dict[str, Any], size_bytes: int, runs: dict[str, Any]) -> list[Row]:
    medians = {kind: [best[name][kind]["median_s"] for name in ("netsum", "gloo")] for kind in KINDS}
    ours, gloo = (size_bytes / seconds / 1e9 for seconds in medians["large"])
    details = {"ranks": ranks, "size_bytes": size_bytes, "runs": runs}
    rows = [Row(f"{ranks} ranks, {size_bytes / (1 << 20):g} MiB", ours, "GB/s", "gloo", gloo, details=details)]
    for kind, name in (("steady", "steady state"), ("after_barrier", "after a barrier")):
        ours, gloo = (1e6 * seconds for seconds in medians[kind])
        rows.append(Row(f"{ranks} ranks, 4 KiB, {name}", ours, "us", "gloo", gloo, details={"ranks": ranks}))
    return rows
