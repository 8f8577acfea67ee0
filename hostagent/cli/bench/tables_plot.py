"""The cost of look-ups against table size as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hostagent.cli.bench.tables import LIMIT, ROUTER, TOUCH, Lookup


def plot(rows: Sequence[Lookup], path: str | Path) -> None:
    """Write a picture; the path's ending says which kind (png, svg, pdf)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.5))
    FigureCanvasAgg(figure)
    limit = next(row for row in rows if row.table == LIMIT)
    tables = list(dict.fromkeys(row.table for row in rows if row.table not in (LIMIT, TOUCH, ROUTER)))
    panels = figure.subplots(1, 2)
    for axes, title, chosen in zip(
        panels,
        ("Exact and longest prefix", "Ternary and range, 104 bits, a mask for every entry"),
        ([t for t in tables if not t.startswith("ternary")], [t for t in tables if t.startswith("ternary")]),
        strict=True,
    ):
        for table in chosen:
            _draw(axes, [row for row in rows if row.table == table])
        touch = [row for row in rows if row.table == TOUCH]
        label = "limit, and one of as many cache lines read"
        axes.plot(
            [r.entries for r in touch], [r.ns_per_frame for r in touch], color="black", linestyle="--", label=label
        )
        axes.axhline(limit.ns_per_frame, color="black", linestyle=":", label="limit: parses and rewrites, no table")
        axes.set_title(title)
    for row in rows:
        if row.table == ROUTER:
            panels[0].plot(row.entries, row.ns_per_frame, marker="*", markersize=13, linestyle="none", label=ROUTER)
    for axes in panels:
        axes.set_xscale("log")
        axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # room for the legend
        axes.set_xlabel("entries in the table")
        axes.set_ylabel("ns a frame: best batch, shaded up to the median")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(loc="upper left", fontsize="small")
    figure.tight_layout()
    figure.savefig(str(path))


def _draw(axes: Any, rows: Sequence[Lookup]) -> None:
    """One table's line; the band up to the median is what the machine's other users cost."""
    sizes, best = [row.entries for row in rows], [row.ns_per_frame for row in rows]
    (line,) = axes.plot(sizes, best, marker="o", label=rows[0].table)
    axes.fill_between(sizes, best, [row.median_ns for row in rows], alpha=0.12, color=line.get_color())
