"""``netsum server``, the rack server started by itself, and ``netsum racks``: when a hierarchy of them pays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.network import DieWithParent
from hostagent.cli.options import AsJson, CheckpointSeconds, Restore, check_checkpoint, refuse


def server(
    context: typer.Context,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N=SPEC",
            help="N=shm:NAME, N=udp:LOCAL[,REMOTE] or N=tcp:LOCAL[,REMOTE], impairments behind a '?'; repeat.",
        ),
    ] = None,
    lanes: Annotated[int, typer.Option(help="32-bit numbers in a frame: 64, 256, 512, 1024 or 2048.")] = 1024,
    slots: Annotated[int, typer.Option(help="Slots, of two sets each, for all jobs together.")] = 4096,
    cores: Annotated[int, typer.Option(min=1, max=64, help="Cores that blocks are dealt to.")] = 1,
    pin: Annotated[
        bool, typer.Option("--pin/--no-pin", help="Several cores: each on a processor of its own, of one NUMA node.")
    ] = True,
    rack: Annotated[
        int | None, typer.Option(min=0, max=63, help="This server's number, where it is one of several racks'.")
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(metavar="RACK=SPEC", help="The cable to another rack's server, as udp:LOCAL,REMOTE; repeat."),
    ] = None,
    services: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Services with nonces, weights, quotas: nobody else is let in."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="That all services may use. Default: half of the machine's.")
    ] = None,
    metrics: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Serve Prometheus metrics there.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep every service's weights, state and step there, a file for each."),
    ] = None,
    checkpoint_every: Annotated[
        int, typer.Option(metavar="STEPS", min=0, help="As often as a service has taken so many steps.")
    ] = 0,
    checkpoint_seconds: CheckpointSeconds = None,
    restore: Restore = True,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where the controller finds it; port 0: any.")
    ] = "127.0.0.1:48865",
    report: Annotated[
        bool, typer.Option("--report", help="At the end: bytes and chunks by core and port, times, queues.")
    ] = False,
    of: Annotated[
        str | None, typer.Option("--of", metavar="HOST:PORT", help="Report of the server running there, now.")
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Only the JSON line that says it is ready.")] = False,
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
    from hostagent.cli.rack.tenants_file import size_of

    if of is not None:
        others = [str(name) for name in context.params if name not in ("of", "report", "as_json")]
        refuse(context, "of a server that is started, and --of asks one that runs", *others)
        raise typer.Exit(_report_of(of, as_json))
    try:
        memory_bytes = size_of(memory) if memory is not None else 0
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--memory") from None
    if cores == 1:
        refuse(context, "one core is the system's to place: add --cores N", "pin")
    check_checkpoint(checkpoint, checkpoint_every, checkpoint_seconds, restore)
    from hostagent.cli.aggregators.process import AggregatorOptions
    from hostagent.cli.rack.checkpointing import Pace
    from hostagent.cli.rack.process import ServerOptions, run_server

    common = AggregatorOptions(
        core="server",
        ports=tuple(port or ()),
        lanes=lanes,
        slots=slots,
        listen=listen,
        die_with_parent=die_with_parent,
        quiet=quiet,
    )
    options = ServerOptions(
        common,
        cores=cores,
        memory_bytes=memory_bytes,
        services=services,
        metrics=metrics,
        report=report,
        as_json=as_json,
        checkpoint=checkpoint,
        pace=Pace(checkpoint_every, checkpoint_seconds or 0.0),
        restore=restore,
        rack=rack,
        peers=_peers(rack, peer or []),
        pin=pin,
    )
    raise typer.Exit(run_server(options))


def _peers(rack: int | None, texts: list[str]) -> tuple[tuple[int, str], ...]:
    """(rack, SPEC) of each --peer. Raises typer.BadParameter."""
    peers: dict[int, str] = {}
    for text in texts:
        number, _, spec = text.partition("=")
        if not number.isdecimal() or not spec or int(number) > 63 or int(number) in (rack, *peers):
            raise typer.BadParameter(
                f"{text!r}: write RACK=SPEC, with another rack's number, 0 to 63, once", param_hint="--peer"
            )
        peers[int(number)] = spec
    if peers and rack is None:
        raise typer.BadParameter("other racks need to know which one this is", param_hint="--rack")
    if rack is not None and not peers:
        raise typer.BadParameter("a rack of several needs the others", param_hint="--peer")
    return tuple(sorted(peers.items()))


def _report_of(address: str, as_json: bool) -> int:
    """Ask a running server; the exit status."""
    import json
    import sys

    from hostagent.cli.rack.report import print_report
    from hostagent.controller.aggregator_driver import read_statistics
    from hostagent.controller.driver import AggregatorUnavailable

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
    for command in (server, racks):
        app.command()(command)
