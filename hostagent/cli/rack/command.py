"""``netsum server``, the rack server started by itself, and ``netsum racks``: when a hierarchy of them pays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.network import DieWithParent
from hostagent.cli.options import AsJson, CheckpointSeconds, Restore, check_checkpoint, refuse
from hostagent.cli.rack import server_options as given


def server(
    context: typer.Context,
    port: given.Ports = None,
    lanes: given.Lanes = 1024,
    slots: given.Slots = 4096,
    cores: given.Cores = 1,
    pin: given.Pin = True,
    rack: given.Rack = None,
    peer: given.Peers = None,
    services: given.Services = None,
    memory: given.Memory = None,
    metrics: given.Metrics = None,
    checkpoint: given.Checkpoint = None,
    checkpoint_every: given.CheckpointEvery = 0,
    checkpoint_seconds: CheckpointSeconds = None,
    restore: Restore = True,
    listen: given.Listen = "127.0.0.1:48865",
    report: given.Report = False,
    of: given.Of = None,
    quiet: given.Quiet = False,
    die_with_parent: DieWithParent = False,
    as_json: AsJson = False,
) -> None:
    """Run the rack server until SIGTERM: it sums, keeps weights and steps optimizers for its tenants.

    \b
    Examples:
      netsum server --port 1=shm:a --port 2=tcp:0.0.0.0:9001 --metrics 127.0.0.1:9464 --report
      netsum server --port 1=shm:a --checkpoint state --checkpoint-every 100
      netsum server --report --of 127.0.0.1:48865
      netsum server --port 1=shm:a --rack 0 --peer 1=udp:10.0.0.1:7000,10.0.0.2:7000
    """
    if of is not None:
        others = [str(name) for name in context.params if name not in ("of", "report", "as_json")]
        refuse(context, "of a server that is started, and --of asks one that runs", *others)
        raise typer.Exit(_report_of(of, as_json))
    if cores == 1:
        refuse(context, "one core is the system's to place: add --cores N", "pin")
    check_checkpoint(checkpoint, checkpoint_every, checkpoint_seconds, restore)
    from hostagent.cli.aggregators.process import AggregatorOptions
    from hostagent.cli.rack.checkpoint_layout import check_server_folder
    from hostagent.cli.rack.checkpointing import Pace
    from hostagent.cli.rack.process import ServerOptions, run_server

    if checkpoint is not None and restore:
        check_server_folder(checkpoint, rack)
    options = ServerOptions(
        AggregatorOptions("server", tuple(port or ()), lanes, slots, listen, die_with_parent, quiet),
        cores=cores,
        memory_bytes=given.memory_bytes(memory),
        services=services,
        metrics=metrics,
        report=report,
        as_json=as_json,
        checkpoint=checkpoint,
        pace=Pace(checkpoint_every, checkpoint_seconds or 0.0),
        restore=restore,
        rack=rack,
        peers=given.peers_from(rack, peer or []),
        pin=pin,
    )
    raise typer.Exit(run_server(options))


def _report_of(address: str, as_json: bool) -> int:
    """Ask a running server; the exit status."""
    import json
    import sys

    from hostagent.cli.rack.report import print_report
    from hostagent.controller.drivers.aggregator import read_statistics
    from hostagent.controller.drivers.driver import AggregatorUnavailable

    try:
        told = read_statistics(address, 5.0).get("report")
    except AggregatorUnavailable as error:
        print(f"netsum server: {error}", file=sys.stderr)
        return 1
    if told is None:
        print(f"netsum server: {address} is no `netsum server`; name one's --listen address", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps(told))
    else:
        print_report(told, sys.stdout)
    return 0


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

    \b
    Example:
      netsum racks --racks 4 -n 4 --plot racks.svg
    """
    import json

    from rich.console import Console
    from rich.table import Table

    from hostagent.cli.rack import sweep as sweeping

    if count * workers > 64:
        raise typer.BadParameter(f"{count} racks of {workers} workers: a flat server has 64 children at most")
    if plot is not None and (plot.suffix not in (".svg", ".png") or not plot.parent.is_dir()):
        raise typer.BadParameter(f"{plot}: name a .svg or .png in a folder that there is", param_hint="--plot")
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
    if as_json:
        print(json.dumps(told))
    else:
        Console().print(table)
        limit, published = told["switch_over_gbit"], told["switch_over_without_answers_gbit"]
        pays = f"A hierarchy pays below {limit:g} Gbit/s of uplink" if limit else "A hierarchy never pays"
        print(f"{pays} ({f'{published:g}' if published else 'never'} with the flat answers left out).")
    if plot is not None:
        sweeping.draw(sweep, points, plot)
    raise typer.Exit(0 if all(point.right for point in points) else 1)


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (server, racks):
        app.command()(command)
