"""Pictures of a simulation and of a sweep. The path's ending says which kind (png, svg, pdf)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from pspin_model.flare.models.dense import crossovers
from pspin_model.flare.study.series import Series, busy_cores
from pspin_model.flare.study.simulate import Report
from pspin_model.machine.machine import Run

BINS = 200
MOST_COLUMNS, LEGEND_LINE_INCHES = 7, 0.24
TITLE_LETTERS = 120
COLORS = {"single": "#1f77b4", "multi": "#ff7f0e", "tree": "#2ca02c"}
MARKERS = {"single": "o", "multi": "s", "tree": "^"}
MOST_GANTT_CORES = 64
GANTT_CYCLES = 6_000


def plot_report(report: Report, path: str | Path) -> None:
    """Four panels: cores in handlers, input memory and working memory over time, and a few microseconds by core."""
    assert report.run is not None, "a refused reduction has no picture"
    figure = make_figure(12, 8)
    (use, memory), (gantt, latency) = figure.subplots(2, 2)
    packets = report.run.packets
    start, end = int(packets["arrival"].min()), int(packets["feedback"].max())
    draw_use(use, [report.run], start, end, report.core_use)
    draw_memory(memory, report.input_series(), report.working_series(), end)
    draw_gantt(gantt, report.run, start, end)
    _draw_latency(latency, report, start)
    figure.suptitle(wrapped(_title(report)))
    figure.tight_layout()
    figure.savefig(str(path), dpi=130)


def _title(report: Report) -> str:
    cores = report.machine.clusters * report.machine.cores
    parts = [
        f"{o.algorithm}, {o.dtype}, {size_text(o.message_bytes)} from {o.children}: {o.bandwidth_gbps:,.0f} Gbit/s"
        for o in report.outcomes
        if not o.refused
    ]
    return f"{cores} cores, costs {report.costs}. " + "; ".join(parts)


def draw_use(axes: Any, runs: Sequence[Run], start: int, end: int, mean: float) -> None:
    """How many cores of some machines are in handlers; ``mean``: the part of them all, over the time."""
    binned = [busy_cores(run, start, end, BINS) for run in runs]
    at, busy = binned[0][0], sum(each for _, each in binned)
    axes.stairs(busy, np.append(at, end) / 1000, fill=True, alpha=0.4)
    cores = sum(len(run.busy_cycles) for run in runs)
    axes.axhline(cores, color="black", linestyle=":", label=f"{cores} cores")
    axes.axhline(mean * cores, color="tab:blue", linestyle="--", label=f"mean {mean:.0%}")
    axes.set_ylim(0, 1.18 * cores)
    axes.set_title("Cores in handlers")
    axes.set_xlabel("µs")
    axes.set_ylabel("cores")
    axes.legend(loc="upper right", ncols=2)


def draw_memory(axes: Any, arrived: Series, working: Series, end: int) -> None:
    """Packets in a machine and buffers of blocks, over time."""
    for series, label in ((arrived, "input: packets"), (working, "working: buffers")):
        _step(axes, series, end, label)
    axes.set_title("Memory in use")
    axes.set_xlabel("µs")
    axes.set_ylabel("KiB")
    axes.set_ylim(bottom=0)
    axes.set_ylim(top=1.3 * axes.get_ylim()[1])  # room for the legend
    axes.legend(loc="upper center")


def _step(axes: Any, series: Series, end: int, label: str) -> None:
    at = np.append(series.at, end) / 1000
    value = np.append(series.value, series.value[-1]) / 1024
    label = f"{label} (peak {series.peak / 1024:,.0f}, mean {series.mean / 1024:,.0f} KiB)"
    axes.plot(at, value, drawstyle="steps-post", linewidth=1, label=label)


def draw_gantt(axes: Any, run: Run, start: int, end: int) -> None:
    """Handlers as bars, round the time by which half of them have begun; colours distinguish blocks."""
    packets = run.packets
    length = min(GANTT_CYCLES, end - start)
    cores = min(MOST_GANTT_CORES, len(run.busy_cycles))
    shown = (packets["core"] >= 0) & (packets["core"] < cores)
    middle = int(np.median(packets["dispatch"][shown])) if shown.any() else (start + end) // 2
    first = max(start, min(middle - length // 2, end - length))
    shown &= (packets["doorbell"] > first) & (packets["dispatch"] < first + length)
    begun, ended = packets["dispatch"][shown], packets["doorbell"][shown]
    colors = _block_colors(packets["tag"][shown] & 0xFFFFFFFF)
    axes.barh(
        packets["core"][shown],
        (ended - begun) / 1000,
        left=begun / 1000,
        height=0.8,
        color=colors,
        edgecolor="white",
        linewidth=0.6,
    )
    axes.set_xlim(first / 1000, (first + length) / 1000)
    axes.set_ylim(-0.5, cores - 0.5)
    axes.set_title(f"Handlers by core (cores 0 to {cores - 1}; a colour is a block)")
    axes.set_xlabel("µs")
    axes.set_ylabel("core")


def _block_colors(blocks: Any) -> Any:
    from matplotlib import colormaps

    # neighbouring blocks get colours far apart
    return colormaps["hsv"]((blocks * 0.618034) % 1.0) * np.array([0.85, 0.85, 0.85, 1.0])


def _draw_latency(axes: Any, report: Report, start: int) -> None:
    """How long packets were in the machine, by when they came."""
    assert report.run is not None
    packets = report.run.packets
    for number, made in enumerate(report.runs):
        mine = packets["context"] == made.context.index
        arrival = (packets["arrival"][mine] - start) / 1000
        stay = (packets["feedback"] - packets["arrival"])[mine] / 1000
        service = (packets["doorbell"] - packets["dispatch"])[mine] / 1000
        several = len(report.runs) > 1
        label = f"{made.name.removeprefix('reduction')}: {made.reduction.kind}" if several else made.reduction.kind
        color = f"C{number % 10}" if several else COLORS.get(made.reduction.kind, "C0")
        axes.plot(arrival, stay, ".", markersize=2, alpha=0.5, color=color, label=f"{label}, in the machine")
        axes.plot(arrival, service, "x", markersize=2, alpha=0.5, color=color, label=f"{label}, on a core")
    axes.set_title("Time of a packet, by its arrival")
    axes.set_xlabel("arrival, µs")
    axes.set_ylabel("µs")
    axes.set_ylim(bottom=0)
    axes.set_ylim(top=(1.15 + 0.1 * len(report.runs)) * axes.get_ylim()[1])  # room for the legend
    axes.legend(loc="upper left", markerscale=3, fontsize="x-small" if len(report.runs) > 1 else "small", ncols=2)


def plot_sweep(rows: Sequence[dict[str, Any]], path: str | Path, buffers: int = 4, packet_bytes: int = 1024) -> None:
    """For each (cores, children) bandwidth, working memory and latency by message size; the model dashed."""
    taken = [row for row in rows if not row["refused"]]
    key = _machine_of
    groups = [(where, list(found)) for where, found in groupby(sorted(taken, key=key), key=key)]
    figure = make_figure(14, 3.8 * max(1, len(groups)))
    panels = figure.subplots(max(1, len(groups)), 3, squeeze=False)
    quantities = (
        ("bandwidth_gbps", "model_gbps", "bandwidth, Gbit/s", 1.0),
        ("working_bytes", "model_working_bytes", "working memory (mean), KiB", 1 / 1024),
        ("latency_cycles", "model_latency_cycles", "latency of a block (mean), µs", 1 / 1000),
    )
    for line, (where, found) in zip(panels, groups, strict=False):
        for axes, (name, model, title, scale) in zip(line, quantities, strict=True):
            _draw_sizes(axes, found, name, model, scale)
            axes.set_title(f"{title}\n{where[0]} cores, {where[1]} children", fontsize="medium")
        for size in crossovers(where[0], packet_bytes, buffers):
            label = "crossovers, by the model" if size == crossovers(where[0], packet_bytes, buffers)[0] else None
            line[0].axvline(size / 1024, color="0.6", linestyle=":", linewidth=1, label=label)
    legend_below(figure)
    figure.savefig(str(path), dpi=130)


def _machine_of(row: dict[str, Any]) -> tuple[int, int]:
    return int(row["cores"]), int(row["children"])


def _draw_sizes(axes: Any, rows: Iterable[dict[str, Any]], name: str, model: str, scale: float) -> None:
    by_algorithm: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_algorithm.setdefault(row["algorithm"], []).append(row)
    for algorithm, found in by_algorithm.items():
        found.sort(key=lambda row: int(row["message_bytes"]))
        sizes = [row["message_bytes"] / 1024 for row in found]
        color, marker = COLORS.get(algorithm), MARKERS.get(algorithm, "o")
        axes.plot(sizes, [row[name] * scale for row in found], color=color, marker=marker, label=algorithm)
        predicted = [row[model] * scale for row in found]
        axes.plot(sizes, predicted, color=color, linestyle="--", linewidth=1, label=f"{algorithm}, model")
    axes.set_xscale("log", base=2)
    ticks = sorted({row["message_bytes"] / 1024 for found in by_algorithm.values() for row in found})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("message of a child, KiB")
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)


def legend_below(figure: Any) -> None:
    """Arrange a figure of panels with the same lines, and name each of these once, below them all."""
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries = {**dict(zip(labels, handles, strict=True)), **entries}
    columns = min(len(entries), MOST_COLUMNS)
    inches = LEGEND_LINE_INCHES * (1 + -(-len(entries) // max(1, columns)))
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + inches)
    figure.tight_layout(rect=(0, inches / (height + inches), 1, 1))
    figure.legend(entries.values(), entries, loc="lower center", ncols=columns, fontsize="medium")


def wrapped(title: str) -> str:
    """A figure's title, in lines that are no wider than it."""
    return "\n".join(textwrap.wrap(title, TITLE_LETTERS))


def make_figure(width: float, height: float) -> Any:
    """An empty figure, in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def size_text(count: int) -> str:
    """A number of bytes as people write it."""
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} B"
