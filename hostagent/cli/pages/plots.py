"""Plots as SVG text to stand in a page."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

matplotlib.use("svg")
from matplotlib import pyplot

COLOURS = ("#0f766e", "#d97706", "#4f46e5", "#be123c", "#0284c7", "#65a30d", "#7c3aed", "#475569")
NETSUM, OTHER, FAINT = COLOURS[0], COLOURS[1], "#94a3b8"
MOST_BARS = 10
MOST_LABEL = 34
"""Characters of a bar's name; longer ones would leave no room for the bars."""


def tick(value: float, _: object = None) -> str:
    """Text of a tick: 20, 0.2, 20k, 2M."""
    from matplotlib.ticker import EngFormatter

    return EngFormatter(sep="")(value) if abs(value) >= 1000 else f"{value:g}"


def svg(figure: Figure) -> str:
    """The figure's text; closes it."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return text.getvalue().partition("<svg")[1] + text.getvalue().partition("<svg")[2]


def axes_of(title: str, x: str, y: str, width: float = 5.0, height: float = 3.2) -> tuple[Figure, Any]:
    """An empty plot, small enough that its letters can be read on a telephone."""
    figure, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    return figure, axes


def bars(
    title: str, x: str, values: Mapping[str, float], reach: Mapping[str, tuple[float, float]] | None = None
) -> str:
    """Horizontal bars, the largest first; what is beyond MOST_BARS together as one. ``reach``: from where to where an
    error bar goes, for each; the values are medians then, which have no sum: what is beyond MOST_BARS is left out."""
    ordered = sorted(values.items(), key=lambda item: -item[1])
    if reach is not None and len(ordered) > MOST_BARS:
        x = f"{x} ({len(ordered) - MOST_BARS} smaller ones are not drawn)"
        ordered = ordered[:MOST_BARS]
    elif len(ordered) > MOST_BARS:
        rest = ordered[MOST_BARS - 1 :]
        ordered = [*ordered[: MOST_BARS - 1], (f"{len(rest)} others", sum(value for _, value in rest))]
    figure, axes = axes_of(title, x, "", height=max(1.6, 0.9 + 0.32 * len(ordered)))
    ends = [(value - reach[name][0], reach[name][1] - value) for name, value in ordered] if reach is not None else None
    spread = list(zip(*ends, strict=True)) if ends else None
    axes.barh(range(len(ordered)), [value for _, value in ordered], xerr=spread, capsize=3, color=NETSUM, height=0.6)
    axes.set_yticks(range(len(ordered)), [shortened(name) for name, _ in ordered], fontsize=9)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(tick)
    axes.grid(visible=False, axis="y")
    return svg(figure)


def pairs(title: str, x: str, y: str, names: Sequence[str], columns: Mapping[str, Sequence[float]]) -> str:
    """Vertical bars in groups: a group for each name, a bar in it for each column."""
    figure, axes = axes_of(title, x, y)
    width = 0.8 / len(columns)
    for place, (label, values) in enumerate(columns.items()):
        at = [number + (place - (len(columns) - 1) / 2) * width for number in range(len(names))]
        axes.bar(at, values, width=width, color=(NETSUM, FAINT, OTHER)[place % 3], label=label)
    axes.set_xticks(range(len(names)), names)
    axes.xaxis.set_major_locator(thinned(len(names)))
    axes.set_ylim(0, 1.25 * max([*(value for values in columns.values() for value in values), 1e-9]))
    axes.legend(frameon=False, loc="upper center", ncols=len(columns))
    return svg(figure)


def thinned(count: int) -> Any:
    """Ticks at whole numbers, no more than have room."""
    from matplotlib.ticker import FixedLocator

    step = -(-count // 16)
    return FixedLocator(list(range(0, count, step)))


def shortened(name: str) -> str:
    return name if len(name) <= MOST_LABEL else f"{name[: MOST_LABEL - 1]}…"
