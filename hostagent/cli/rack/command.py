"""``netsum racks``: when a hierarchy of rack servers pays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.options import AsJson


def racks(
    count: Annotated[int, typer.Option("--racks", min=2, max=16, help="Racks.")] = 4,
    workers: Annotated[int, typer.Option("-n", "--workers", min=1, max=32, help="Workers in each.")] = 4,
    worker_gbit: Annotated[float, typer.Option(min=0.001, help="A worker's link.")] = 10.0,
    server_gbit: Annotated[
        float, typer.Option(min=0.001, help="All links of a rack's server to its workers together.")
    ] = 80.0,
    chunks: Annotated[int, typer.Option(min=8, max=1024, help="Frames of a worker in the step that is played.")] = 48,
    lanes: Annotated[int, typer.Option(help="32-bit numbers in a frame.")] = 256,
    plot: Annotated[Path | None, typer.Option("-o", "--plot", metavar="FILE", help="Draw it, as .svg or .png.")] = None,
    as_json: AsJson = False,
) -> None:
    """Play a training step over racks of workers in virtual time: every worker to all servers, or rack by rack.

    Beside each step is what the model says; it ends with the uplink's rate below which the hierarchy pays.

    Example: [bold]netsum racks --racks 4 -n 4 --plot racks.svg[/bold]
    """
    import json

    from rich.console import Console
    from rich.table import Table

    from hostagent.cli.rack import sweep as sweeping

    if count * workers > 64:
        raise typer.BadParameter(f"{count} racks of {workers} workers: a flat server has 64 children at most")
    sweep = sweeping.Sweep(count, workers, worker_gbit, server_gbit, chunks, lanes)
    points = []
    table = Table("scheme", "uplink Gbit/s", "played ms", "model ms", "bytes out of a rack", "formula", "sums")
    for point in sweeping.play_all(sweep):
        points.append(point)
        table.add_row(
            point.scheme,
            f"{point.uplink_gbit:g}",
            f"{point.time_ms:.3f}",
            f"{point.model_ms:.3f}",
            f"{point.crossed_bytes:,}",
            f"{point.formula_bytes:,}",
            "right" if point.right else "WRONG",
        )
    told = sweeping.as_json(sweep, points)
    if plot is not None:
        sweeping.draw(sweep, points, plot)
    if as_json:
        print(json.dumps(told))
    else:
        Console().print(table)
        limit, published = told["switch_over_gbit"], told["switch_over_without_answers_gbit"]
        print(f"A hierarchy pays below {limit:g} Gbit/s of uplink ({published:g} with the flat answers left out).")
    raise typer.Exit(0 if all(point.right for point in points) else 1)


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(racks)
