"""A picture of a topology: nodes by their names, links in the color of their class."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

from emulator.network.topology.layout import Positions, positions
from emulator.network.topology.parts import NodeKind, TopologyError
from emulator.network.topology.topology import Topology
from emulator.ports.units import RATE_UNITS_BPS, TIME_UNITS_NS, quantity_text

MAX_NODES = 512
"""More of them are no picture any more."""
COLORS = ("#0f766e", "#d97706", "#7c3aed", "#be123c", "#2563eb", "#65a30d", "#0891b2", "#a16207")
STYLES = {NodeKind.HOST: ("round", "white"), NodeKind.NIC: ("round", "#fef3c7"), NodeKind.SWITCH: ("square", "#cbd5e1")}
"""Box and fill."""
EDGE = "#334155"
MARGIN, TITLE, LEGEND_LINE, STUB = 0.5, 0.3, 0.22, 0.4
"""Inches; a stub is the part that is drawn of a link around the edge of a grid."""


def check_picture(path: str | Path) -> None:
    """Raises TopologyError for a file name without an image format's suffix or without a folder; call it before the
    work is done."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if Path(path).suffix.removeprefix(".") not in FigureCanvasAgg.get_supported_filetypes():
        raise TopologyError(f"{path}: a picture's name ends in .png, .svg or .pdf")
    if not Path(path).parent.is_dir():
        raise TopologyError(f"{path}: there is no folder {Path(path).parent}")


def draw(topology: Topology, path: str | Path) -> None:
    """Write the picture; the name's ending says of which kind (png, svg, pdf). Raises TopologyError, OSError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if len(topology.nodes) > MAX_NODES:
        raise TopologyError(f"{topology.name}: {len(topology.nodes):,} nodes; a picture has at most {MAX_NODES}")
    places = positions(topology)
    xs, ys = ([place[axis] for place in places.values()] for axis in (0, 1))
    legend = _legend(topology)
    below = LEGEND_LINE * (len(legend) + 1)
    width, height = max(max(xs) - min(xs) + 2 * MARGIN, 4.5), max(ys) - min(ys) + 2 * MARGIN
    full = height + below + TITLE
    figure = Figure(figsize=(width, full))
    check_picture(path)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, below / full, 1, height / full))
    center = (max(xs) + min(xs)) / 2
    axes.set(xlim=(center - width / 2, center + width / 2), ylim=(min(ys) - MARGIN, max(ys) + MARGIN))
    axes.axis("off")
    _draw_links(axes, topology, places)
    for node in topology.nodes:
        shape, color = STYLES[node.kind]
        box = {"boxstyle": f"{shape},pad=0.3", "facecolor": color, "edgecolor": EDGE, "linewidth": 0.8}
        axes.text(*places[node.name], node.name, size=8, ha="center", va="center", bbox=box, zorder=3)
    figure.suptitle(topology.name, y=1 - TITLE / 2 / full, va="center", size=11, weight="bold")
    figure.legend(handles=legend, loc="lower center", frameon=False, fontsize=8)
    figure.savefig(str(path), dpi=130)


def _draw_links(axes: Any, topology: Topology, places: Positions) -> None:
    """A line for the two directions of a cable, an arrow for a link without its other direction."""
    around, colors = _around(topology), _colors(topology)
    names = {link.name for link in topology.links}
    drawn: set[str] = set()
    for link in topology.links:
        paired = link.reverse.name in names
        if paired and link.reverse.name in drawn:
            continue
        drawn.add(link.name)
        start, end = places[link.source], places[link.destination]
        color = colors[link.link_class.name]
        if link.name in around:
            for near, far in ((start, end), (end, start)):
                length = math.dist(near, far)
                stub = tuple(n + (n - f) * STUB / length for n, f in zip(near, far, strict=True))
                axes.plot(*zip(near, stub, strict=True), color=color, linewidth=1.2, linestyle=":")
            continue
        line = {"arrowstyle": "-" if paired else "->", "color": color, "linewidth": 1.2, "shrinkA": 0}
        bend = f"arc3,rad={0.18 * link.number}"
        axes.annotate("", end, start, arrowprops={**line, "shrinkB": 0 if paired else 12, "connectionstyle": bend})


def _around(topology: Topology) -> set[str]:
    """Names of the links that join opposite edges of a grid of more than two rows or columns."""
    found = set()
    places = {node.name: node.coordinates for node in topology.nodes if len(node.coordinates) == 2}
    last = [max((place[axis] for place in places.values()), default=0) for axis in (0, 1)]
    for link in topology.links:
        if link.source in places and link.destination in places:
            one, other = places[link.source], places[link.destination]
            apart = [abs(one[axis] - other[axis]) for axis in (0, 1)]
            if 0 in apart and any(apart[axis] == last[axis] > 1 for axis in (0, 1)):
                found.add(link.name)
    return found


def _colors(topology: Topology) -> dict[str, str]:
    return {name: COLORS[index % len(COLORS)] for index, name in enumerate(sorted(topology.classes))}


def _legend(topology: Topology) -> list[Any]:
    """A line for each kind of node and each class, and for links around the edge."""
    from matplotlib.lines import Line2D

    kinds = Counter(node.kind for node in topology.nodes)
    box: dict[str, Any] = {"marker": "s", "markersize": 8, "markeredgecolor": EDGE, "linestyle": ""}
    handles = [
        Line2D([], [], markerfacecolor=STYLES[kind][1], label=f"{kind} ({kinds[kind]})", **box)
        for kind in STYLES
        if kinds[kind]
    ]
    counts = Counter(link.link_class.name for link in topology.links)
    for name, color in _colors(topology).items():
        each = topology.classes[name]
        rate, latency = quantity_text(each.rate_bps, RATE_UNITS_BPS), quantity_text(each.latency_ns, TIME_UNITS_NS)
        label = f"{name}: {rate}/s, {latency}, {counts[name]} links"
        handles.append(Line2D([], [], color=color, linewidth=2, label=label))
    if _around(topology):
        handles.append(Line2D([], [], color=EDGE, linestyle=":", label="dotted: to the opposite edge"))
    return handles
