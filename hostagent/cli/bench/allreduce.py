"""``netsum bench allreduce``: training jobs on both backends, in turn."""

from __future__ import annotations

from typing import Any

from hostagent.cli.bench.ranks import run_in_turn
from hostagent.cli.bench.runner import Report, Row

ROUNDS = 3
KINDS = ("large", "steady", "after_barrier")


def measure(
    ranks: tuple[int, ...] = (2, 4), size_bytes: int = 64 << 20, repeats: int = 8, lanes: int | None = None
) -> Report:
    """Rows for each number of ranks; the better median of each backend counts."""
    launches = {"gloo": None, "netsum": ["--lanes", str(lanes)] if lanes else []}
    rows: list[Row] = []
    for count in ranks:
        runs = run_in_turn("allreduce", count, ROUNDS, launches, size_bytes=size_bytes, repeats=repeats)
        rows += _rows(count, size_bytes, runs)
    return Report("allreduce", "allreduce through the P4 switch, median of the calls", rows)


def _rows(ranks: int, size_bytes: int, runs: dict[str, list[dict[str, Any]]]) -> list[Row]:
    medians = {
        kind: [min(float(run[kind]["median_s"]) for run in runs[backend]) for backend in ("netsum", "gloo")]
        for kind in KINDS
    }
    ours, gloo = (size_bytes / seconds / 1e9 for seconds in medians["large"])
    details = {"ranks": ranks, "size_bytes": size_bytes, "runs": runs}
    rows = [Row(f"{ranks} ranks, {size_bytes / (1 << 20):g} MiB", ours, "GB/s", "gloo", gloo, details=details)]
    for kind, name in (("steady", "steady state"), ("after_barrier", "after a barrier")):
        ours, gloo = (1e6 * seconds for seconds in medians[kind])
        rows.append(Row(f"{ranks} ranks, 4 KiB, {name}", ours, "us", "gloo", gloo, details={"ranks": ranks}))
    return rows
