"""Picture of reductions through trees of switches: a line for each level, root on top, and how a sparse result fills
up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pspin_model.flare.study.plots import draw_gantt, draw_memory, draw_use, make_figure, size_text, wrapped
from pspin_model.flare.study.series import input_bytes, working_bytes
from pspin_model.flare.study.tree_report import TreeOutcome, TreeReport
from pspin_model.flare.tree.switch import Switch

COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b")


def plot_tree(outcome: TreeOutcome, path: str | Path) -> None:
    """For each level its cores in handlers, memory of its fullest switch and a few microseconds of that switch by core;
    below, for sparse reductions, how full results are level by level and what goes up."""
    levels = _levels(outcome)
    sparse = [report for report in outcome.reports if report.density and report.levels]
    lines = len(levels) + bool(sparse)
    figure = make_figure(16, 3.9 * lines)
    panels = figure.subplots(lines, 3, squeeze=False)
    runs = {switch.name: switch.run for of_level in levels for switch in of_level}
    start = min(int(run.packets["arrival"].min()) for run in runs.values())
    end = max(int(run.packets["feedback"].max()) for run in runs.values())
    for line, switches in zip(panels, levels, strict=False):
        _draw_level(line, switches, start, end)
    if sparse:
        _draw_filling(panels[-1], sparse)
    figure.suptitle(wrapped(_title(outcome.reports)))
    figure.tight_layout(rect=(0, 0, 1, 0.98))
    figure.savefig(str(path), dpi=120)


def _levels(outcome: TreeOutcome) -> list[list[Switch]]:
    """Switches that had packets, root first."""
    used = [switch for switch in outcome.network.switches.values()
            if any(len(run.packets["arrival"]) for run in switch.passes)]  # fmt: skip
    numbers = sorted({switch.level for switch in used}, reverse=True)
    return [[switch for switch in used if switch.level == level] for level in numbers]


def _draw_level(line: Any, switches: Sequence[Switch], start: int, end: int) -> None:
    runs = [switch.run for switch in switches]
    cores = sum(len(run.busy_cycles) for run in runs)
    busy = sum(int(run.busy_cycles.sum()) for run in runs) / (cores * max(1, end - start))
    draw_use(line[0], runs, start, end, busy)
    working = [working_bytes(member.run for member in switch.members.values()) for switch in switches]
    fullest = int(np.argmax([series.peak for series in working]))
    name = switches[fullest].name
    draw_memory(line[1], input_bytes(runs[fullest]), working[fullest], end)
    packets = runs[fullest].packets
    draw_gantt(line[2], runs[fullest], int(packets["arrival"].min()), int(packets["feedback"].max()))
    which = name if len(switches) == 1 else f"{name}, the fullest of {len(switches)}"
    line[0].set_title(f"{name} and its level: cores in handlers" if len(switches) > 1 else f"{name}: cores in handlers")
    line[1].set_title(f"{which}: memory in use")
    line[2].set_title(f"{name}: {line[2].get_title()}", fontsize="medium")
    for axes in line[:2]:
        axes.set_xlim(start / 1000, end / 1000)


def _draw_filling(line: Any, reports: Sequence[TreeReport]) -> None:
    """How full a result is at each level, what goes up, and what of it hash tables have spilled."""
    width = 0.8 / len(reports)
    for number, report in enumerate(reports):
        color = COLORS[number % len(COLORS)]
        figures = [level.sparse for level in report.levels if level.sparse]
        at = np.arange(len(figures) + 1)
        full = [report.density, *(each.result_density for each in figures)]
        label = f"{report.name}, {report.algorithm}"
        line[0].plot(at, [100 * part for part in full], marker="o", color=color, label=label)
        up = [each.bytes_out / level.switches for each, level in zip(figures, report.levels, strict=True)]
        extra = [each.extra_bytes / level.switches for each, level in zip(figures, report.levels, strict=True)]
        shifted = at[1:] + (number - (len(reports) - 1) / 2) * width
        line[1].bar(shifted, np.array(up) / 1024, width, color=color, alpha=0.5, label=f"{label}: sent")
        line[1].bar(shifted, np.array(extra) / 1024, width, color=color, label=f"{label}: of it extra")
        spilled = [100 * each.spilled / max(1, each.pairs_in) for each in figures]
        line[2].bar(shifted, spilled, width, color=color, label=label)
    names = ["hosts", *(f"level {level.level}" for level in reports[0].levels)]
    titles = (
        "Elements in a switch's result, %",
        "Sent up by a switch (the root: down), KiB",
        "Spills, % of the pairs that came",
    )
    for axes, title in zip(line, titles, strict=True):
        axes.set_title(title)
        axes.set_xticks(range(len(names)), names)
        axes.set_ylim(bottom=0)
        axes.set_ylim(top=1.35 * max(axes.get_ylim()[1], 1e-9))  # room for the legend
        axes.legend(loc="upper left", fontsize="small")


def _title(reports: Sequence[TreeReport]) -> str:
    parts = [
        f"{report.algorithm}, {report.dtype}, {size_text(report.message_bytes)} from {report.children}: "
        f"{report.cycles / 1000:,.1f} µs"
        for report in reports
        if not report.refused
    ]
    return "; ".join(parts)
