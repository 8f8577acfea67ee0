"""A Gantt chart: tasks on their resources over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule.columns import Kind
from emulator.network.schedule.parts import ScheduleError
from emulator.network.schedule.schedule import Schedule

COLORS = {Kind.COMPUTE: "0.6", Kind.SEND: "tab:blue", Kind.REDUCE: "tab:orange", Kind.COLLECTIVE: "tab:green"}
MOST_TASKS = 50_000
"""More are no picture."""
MOST_INCHES = 20.0
"""Of all rows."""


def draw(schedule: Schedule, start_ns: NDArray[np.int64], finish_ns: NDArray[np.int64], path: Path) -> None:
    """Write a picture, whose format is that of the name's suffix. ``start_ns``, ``finish_ns``: [tasks], as simulated.

    A bar of a message is from its start to its arrival, on each link of its route. Raises ScheduleError.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    columns, links = schedule.columns, schedule.topology.links
    if len(schedule) > MOST_TASKS:
        raise ScheduleError(f"{len(schedule)} tasks are too many for a picture: at most {MOST_TASKS}")
    used = np.unique(columns.route.values).tolist()
    units = np.unique(columns.source[columns.kind == Kind.COMPUTE]).tolist()
    names = [f"rank {rank}" for rank in units] + [links[link].name for link in used]
    row_of = {("unit", rank): row for row, rank in enumerate(units)}
    row_of |= {("link", link): len(units) + row for row, link in enumerate(used)}
    height = min(MOST_INCHES, 0.22 * max(4, len(names)))
    figure = Figure(figsize=(11, 1.2 + height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    line = 0.4 if len(schedule) <= MOST_TASKS // 25 else 0
    for kind, color in COLORS.items():
        bars = []
        for task in np.flatnonzero(columns.kind == kind).tolist():
            key = [("unit", int(columns.source[task]))]
            if kind is not Kind.COMPUTE:
                key = [("link", link) for link in columns.route.row(task).tolist()]
            left, right = start_ns[task] / 1e3, finish_ns[task] / 1e3
            for row in (row_of[each] for each in key):
                bars.append([(left, row - 0.4), (right, row - 0.4), (right, row + 0.4), (left, row + 0.4)])
        if bars:
            axes.add_collection(PolyCollection(bars, facecolor=color, edgecolor="white", linewidth=line))
    every = -(-len(names) // round(height / 0.16))  # of so many rows one has its name
    axes.set_yticks(range(0, len(names), every), names[::every], fontsize=7)
    axes.set_xlim(0, max(1, int(finish_ns.max(initial=0))) / 1e3 * 1.01)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("microseconds")
    axes.set_title(f"{schedule.name} on {schedule.topology.name}", loc="left")
    there = [Patch(color=color, label=kind.name.lower()) for kind, color in COLORS.items() if kind in columns.kind]
    axes.legend(handles=there, fontsize=7, ncols=4, loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise ScheduleError(f"{path}: {error}") from None
