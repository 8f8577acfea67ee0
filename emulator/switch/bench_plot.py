"""The cost of look-ups against table size as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emulator.switch.bench_tables import LIMIT, ROUTER, Row


def plot(rows: Sequence[Row], path: str | Path) -> None:
    """Write a picture; the path's ending says which kind (png, svg, pdf)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    limit = next(row for row in rows if row.table == LIMIT)
    for table in dict.fromkeys(row.table for row in rows if row.table not in (LIMIT, ROUTER)):
        mine = [row for row in rows if row.table == table]
        (line,) = axes.plot([r.entries for r in mine], [r.ns_per_frame for r in mine], marker="o", label=table)
        # the band up to the median is what the machine's other users cost
        axes.fill_between(
            [r.entries for r in mine],
            [r.ns_per_frame for r in mine],
            [r.median_ns for r in mine],
            alpha=0.12,
            color=line.get_color(),
        )
    for row in rows:
        if row.table == ROUTER:
            axes.plot(row.entries, row.ns_per_frame, marker="*", markersize=13, linestyle="none", label=ROUTER)
    axes.axhline(limit.ns_per_frame, color="black", linestyle=":", label="limit: parses and rewrites, no table")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("entries in the table")
    axes.set_ylabel("ns per frame: best batch, shaded up to the median")
    axes.set_title("A frame through a compiled program with one table, one core, in memory")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="upper left")
    figure.tight_layout()
    figure.savefig(str(path))
