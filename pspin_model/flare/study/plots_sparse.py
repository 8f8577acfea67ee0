"""Picture of a sweep of sparse reductions: what a density costs, by storage."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from pspin_model.flare.study.plots import COLORS, legend_below, make_figure, size_text

STORAGE_COLORS = {"array": COLORS["single"], "hash": COLORS["multi"]}
MARKERS = {"array": "o", "hash": "s"}
SHADES = {1: 1.0, 2: 0.45}
"""Opacity of a line, by the buffers of a block: one, several."""
LINES = ("-", "--", ":", "-.")
"""Line styles by message size."""

QUANTITIES = (
    ("dense_gbps", "model_dense_gbps", "messages with their zeros, Gbit/s", 1.0),
    ("bandwidth_gbps", "model_gbps", "packets in, Gbit/s", 1.0),
    ("spilled_part", "model_spilled_part", "spills, % of the pairs that came", 100.0),
    ("extra_part", "model_extra_part", "extra bytes up, % of bytes up", 100.0),
    ("working_bytes", "model_working_bytes", "working memory (mean), KiB", 1 / 1024),
    ("result_density", "model_result_density", "elements in the result, %", 100.0),
)


def plot_sparse_sweep(rows: Sequence[dict[str, Any]], path: str | Path) -> None:
    """For each (cores, children) six panels over density: bandwidths, spills, extra bytes, memory, densification,
    the model's as crosses."""
    taken = [_with_parts(row) for row in rows if not row["refused"]]
    key = _machine_of
    groups = [(where, list(found)) for where, found in groupby(sorted(taken, key=key), key=key)]
    lines = max(1, len(groups))
    figure = make_figure(14, 6.6 * lines)
    panels = figure.subplots(2 * lines, 3, squeeze=False)
    for number, (where, found) in enumerate(groups):
        flat = panels[2 * number : 2 * number + 2].ravel()
        for axes, (name, model, title, scale) in zip(flat, QUANTITIES, strict=True):
            _draw(axes, found, name, model, scale)
            axes.set_title(f"{title}\n{where[0]} cores, {where[1]} children", fontsize="medium")
    legend_below(figure)
    figure.savefig(str(path), dpi=130)


def _machine_of(row: dict[str, Any]) -> tuple[int, int]:
    return int(row["cores"]), int(row["children"])


def _with_parts(row: dict[str, Any]) -> dict[str, Any]:
    return row | {
        "spilled_part": row["spilled"] / max(1, row["pairs_in"]),
        "extra_part": row["extra_bytes"] / max(1, row["bytes_out"]),
        "model_spilled_part": row["model_spilled"] / max(1, row["pairs_in"]),
        "model_extra_part": row["model_extra_bytes"] / max(1, row["model_bytes_out"]),
    }


def _draw(axes: Any, rows: list[dict[str, Any]], name: str, model: str, scale: float) -> None:
    sizes = sorted({row["message_bytes"] for row in rows})
    by_line: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for row in rows:
        by_line.setdefault((row["storage"], row["message_bytes"], row["buffers"]), []).append(row)
    for (storage, size, buffers), found in sorted(by_line.items()):
        found.sort(key=lambda row: float(row["density"]))
        densities = [100 * row["density"] for row in found]
        line = LINES[sizes.index(size) % len(LINES)]
        label = f"{storage}, {size_text(size)}" + (f", {buffers} buffers" if buffers > 1 else "")
        values = [row[name] * scale for row in found]
        axes.plot(
            densities,
            values,
            line,
            color=STORAGE_COLORS[storage],
            marker=MARKERS[storage],
            alpha=SHADES[min(buffers, 2)],
            markerfacecolor="none",
            label=label,
        )
    predicted = [row[model] * scale for row in rows]
    axes.plot([100 * row["density"] for row in rows], predicted, "x", color="0.3", markersize=5, label="the model")
    axes.set_xscale("log")
    ticks = sorted({100 * row["density"] for row in rows})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("density of a child, %")
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
