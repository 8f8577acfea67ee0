"""A picture of costs between ranks, before and after their order is changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hostagent.planner.placement.costs import PlacementError
from hostagent.planner.placement.model import Model
from hostagent.planner.placement.solve import Placement


def draw(model: Model, placement: Placement, path: Path) -> None:
    """Two matrices of costs [rank, rank], and the pairs that the algorithm's messages take. Raises PlacementError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    costs_us = model.message_ns / 1e3
    given = np.arange(model.ranks)
    for place, (order, elapsed_ns, text) in enumerate(
        ((given, placement.given_elapsed_ns, "given"), (placement.order, placement.elapsed_ns, "reordered"))
    ):
        axes = figure.add_subplot(1, 2, place + 1)
        image = axes.imshow(costs_us[np.ix_(order, order)], vmin=0, vmax=costs_us.max(), cmap="viridis")
        axes.scatter(model.messages.destination, model.messages.source, s=6, color="white", edgecolors="none")
        axes.set(title=f"{text}: {elapsed_ns / 1e3:,.0f} us", xlabel="to rank", ylabel="from rank")
    figure.colorbar(image, ax=figure.axes, label="microseconds of a message")
    figure.suptitle(f"{model.name}; dots: its messages")
    try:
        figure.savefig(path, dpi=110)
    except (OSError, ValueError) as error:
        raise PlacementError(f"{path}: {error}") from None
