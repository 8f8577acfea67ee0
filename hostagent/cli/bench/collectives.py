"""``netsum bench collectives``: every operation of torch.distributed by size, type and number of ranks, on both
backends in turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hostagent.cli.bench.collective_calls import CALLS
from hostagent.cli.bench.ranks import run_in_turn
from hostagent.cli.bench.runner import BenchError, Report, Row

ROUNDS = 2
DTYPES = ("float32", "bfloat16")
SIZES_BYTES = (4, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 16 << 20, 64 << 20)
LAUNCHES: dict[str, Sequence[str] | None] = {"gloo": None, "netsum": []}


def measure(
    ranks: Sequence[int] = (2, 4),
    operations: Sequence[str] = (),
    sizes_bytes: Sequence[int] = SIZES_BYTES,
    picture: Path | None = None,
) -> Report:
    """Rows for each number of ranks, type, operation and size; the better median of each backend counts. No
    ``operations``: all. Also drawn as ``picture``."""
    if unknown := set(operations) - set(CALLS):
        raise BenchError(f"no operation {min(unknown)!r}: choose from {', '.join(CALLS)}")
    rows: list[Row] = []
    for count in ranks:
        settings = {"operations": list(operations or CALLS), "sizes_bytes": list(sizes_bytes), "dtypes": list(DTYPES)}
        rows += _rows(count, run_in_turn("collectives", count, ROUNDS, LAUNCHES, **settings))
    if picture is not None:
        plot(rows, picture)
    remarks = ("A size is that of a rank's largest tensor of the call.",)
    return Report("collectives", "operations back to back, median of the calls", rows, remarks=remarks)


def _rows(ranks: int, runs: dict[str, list[dict[str, Any]]]) -> list[Row]:
    rows = []
    for key in runs["netsum"][0]:
        operation, dtype, size = key.split()
        gloo, ours = (
            min((run[key] for run in runs[backend] if run[key] is not None), default=None) for backend in LAUNCHES
        )
        if ours is None:
            raise BenchError(f"netsum does not do {key}")
        details = {"ranks": ranks, "operation": operation, "dtype": dtype, "size_bytes": int(size)}
        name = f"{ranks} ranks, {operation}, {dtype}, {size_text(int(size))}"
        note = "" if gloo is not None else "gloo does not do it"
        baseline = None if gloo is None else 1e6 * gloo
        rows.append(Row(name, 1e6 * ours, "us", "gloo", baseline, note, details))
    return rows


def size_text(size_bytes: int) -> str:
    """As ``16 KiB``."""
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size_bytes >= 1 << shift:
            return f"{size_bytes >> shift} {unit}"
    return f"{size_bytes} B"


def plot(rows: Sequence[Row], path: str | Path) -> None:
    """Write a picture of the ratios: a panel for each number of ranks and type. The path's ending says which kind."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = sorted(
        {(row.details["ranks"], row.details["dtype"]) for row in rows}, key=lambda p: (p[0], p[1] != "float32")
    )
    figure = Figure(figsize=(6 * len(panels) + 1.5, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (ranks, dtype) in zip(
        figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True
    ):
        here = [row for row in rows if (row.details["ranks"], row.details["dtype"]) == (ranks, dtype) and row.ratio]
        for operation in dict.fromkeys(row.details["operation"] for row in here):
            points = [(row.details["size_bytes"], row.ratio) for row in here if row.details["operation"] == operation]
            axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=operation)
        axes.axhline(1.0, color="black", linestyle=":")
        sizes = sorted({row.details["size_bytes"] for row in here})
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(sizes, [size_text(size) for size in sizes], rotation=45)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}x")
        axes.set_title(f"{ranks} ranks, {dtype}")
        axes.grid(visible=True, alpha=0.3)
    first = figure.axes[0]
    first.set_ylabel("times as fast as gloo")
    figure.legend(*first.get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    figure.savefig(str(path))
