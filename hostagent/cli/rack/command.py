"""``netsum server``, the rack server started by itself, and ``netsum racks``: when a hierarchy of them pays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hostagent.cli.options import (
    AS_JSON,
    CHECKPOINT_EVERY,
    CHECKPOINT_SECONDS,
    DIE_WITH_PARENT,
    LANES,
    LISTEN,
    METRICS,
    QUIET,
    RESTORE,
    SLOTS,
    check_checkpoint,
    check_lanes,
    check_ports,
)
from hostagent.cli.parsing import (
    UsageError,
    address,
    command,
    flag,
    integer,
    number,
    option,
    refuse,
    repeated,
    switchable,
)


@command(
    repeated(
        "--port",
        metavar="N=SPEC",
        help="Port N: shm:NAME, udp:LOCAL[,REMOTE] or tcp:LOCAL[,REMOTE]; impairments follow a '?'. Repeatable.",
    ),
    LANES,
    SLOTS,
    option(
        "--cores",
        metavar="N",
        type=integer(1, 64),
        help="Number of worker threads. Two gain 1.4 times on one machine and nothing on another: netsum bench server.",
    ),
    switchable("--pin", help="Pinning of the threads to CPUs of one NUMA node; requires several --cores."),
    option("--rack", metavar="RACK", type=integer(0, 63), help="Number of this server among those of several racks."),
    repeated(
        "--peer", metavar="RACK=SPEC", help="Link to the server of another rack, as udp:LOCAL,REMOTE. Repeatable."
    ),
    option(
        "--services",
        metavar="FILE.toml",
        type=Path,
        help="File of services, a [[service]] table each; all other services are rejected. Its form: above.",
    ),
    option("--memory", metavar="SIZE", help="Memory limit for all services. Default: half of RAM."),
    METRICS,
    option(
        "--checkpoint",
        metavar="DIR",
        type=Path,
        help="Folder for the weights, optimizer state and step of every service, one file each.",
    ),
    CHECKPOINT_EVERY,
    CHECKPOINT_SECONDS,
    RESTORE,
    LISTEN,
    flag("--report", help="Report at exit: bytes and chunks by core and port, times, queues."),
    option("--of", metavar="HOST:PORT", type=address, help="Address of a running server to print the report of, now."),
    QUIET,
    DIE_WITH_PARENT,
    AS_JSON,
)
def server(
    *,
    port: list[str] | None = None,
    lanes: int = 1024,
    slots: int = 4096,
    cores: int = 1,
    pin: bool = True,
    rack: int | None = None,
    peer: list[str] | None = None,
    services: Path | None = None,
    memory: str | None = None,
    metrics: str | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_seconds: float | None = None,
    restore: bool = True,
    listen: str = "127.0.0.1:48865",
    report: bool = False,
    of: str | None = None,
    quiet: bool = False,
    die_with_parent: bool = False,
    as_json: bool = False,
    given: Mapping[str, str],
) -> int:
    """Run the rack server until SIGTERM: it sums, keeps weights and steps optimizers for its tenants.

    A --services file has a table for each service; name and workers are required:
      [[service]]
      name = "vision"
      nonce = "4f1c..."    # as in RackOptimizer(server="vision:4f1c...")
      workers = 4          # ranks of a job, at most
      weight = 2           # share of the cores against other services
      quota = "2GiB"       # of memory
    Without a nonce the server draws one and prints it on stderr. A weight is 1
    and a quota the server's --memory where they are left out.

    Examples:
      netsum server --port 1=shm:a --port 2=tcp:0.0.0.0:9001 \\
        --metrics 127.0.0.1:9464 --report
      netsum server --port 1=shm:a --checkpoint state --checkpoint-every 100
      netsum server --report --of 127.0.0.1:48865
      netsum server --port 1=shm:a --rack 0 \\
        --peer 1=udp:10.0.0.1:7000,10.0.0.2:7000
    """
    if of is not None:
        others = [name for name in given if name not in ("of", "report", "as_json")]
        refuse(given, "configures a server that is started; --of asks a running one", *others)
        return _report_of(of, as_json)
    if cores == 1:
        refuse(given, "applies to several cores only: add --cores N", "pin")
    check_checkpoint(checkpoint, checkpoint_every, checkpoint_seconds, restore)
    from hostagent.cli.aggregators.process import AggregatorOptions
    from hostagent.cli.rack.checkpointing import Pace
    from hostagent.cli.rack.layout import check_server_folder
    from hostagent.cli.rack.process import ServerOptions, run_server

    if checkpoint is not None and restore:
        check_server_folder(checkpoint, rack)
    options = ServerOptions(
        AggregatorOptions("server", check_ports(port or ()), check_lanes(lanes), slots, listen, die_with_parent, quiet),
        cores=cores,
        memory_bytes=memory_bytes(memory),
        services=services,
        metrics=metrics,
        report=report,
        as_json=as_json,
        checkpoint=checkpoint,
        pace=Pace(checkpoint_every or 0, checkpoint_seconds or 0.0),
        restore=restore,
        rack=rack,
        peers=peers_from(rack, peer or []),
        pin=pin,
    )
    return run_server(options)


def _report_of(address: str, as_json: bool) -> int:
    """Ask a running server; the exit status."""
    import json
    import sys

    from hostagent.cli.rack.report import print_report
    from hostagent.controller.drivers.aggregator import read_statistics
    from hostagent.controller.drivers.driver import AggregatorUnavailable

    try:
        found = read_statistics(address, 5.0).get("report")
    except AggregatorUnavailable as error:
        print(f"netsum server: {error}", file=sys.stderr)
        return 1
    if found is None:
        print(f"netsum server: {address} is not a `netsum server`; give the --listen address of one", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps(found))
    else:
        print_report(found, sys.stdout)
    return 0


@command(
    option("--racks", dest="count", metavar="N", type=integer(2, 16), help="Number of racks."),
    option("--workers", metavar="N", type=integer(1, 32), help="Workers in each rack."),
    option("--worker-gbit", metavar="GBIT", type=number(0.001), help="Rate of a worker's link, Gbit/s."),
    option(
        "--server-gbit",
        metavar="GBIT",
        type=number(0.001),
        help="Rate of all links together from a rack's server to its workers, Gbit/s.",
    ),
    option("--chunks", metavar="N", type=integer(8, 1024), help="Frames of a worker in the simulated step."),
    option("--lanes", metavar="N", type=integer(), help="Integers in a frame."),
    option("-o", "--plot", metavar="FILE", type=Path, help="Picture to draw, .svg or .png."),
    AS_JSON,
)
def racks(
    *,
    count: int = 4,
    workers: int = 4,
    worker_gbit: float = 10.0,
    server_gbit: float = 80.0,
    chunks: int = 48,
    lanes: int = 256,
    plot: Path | None = None,
    as_json: bool = False,
) -> int:
    """Simulate a training step over racks of workers: every worker to all servers (flat), or rack by rack.

    Each simulated step is next to the model's prediction, and bytes out of a rack next to their formula, which counts
    the answers of the flat scheme, too. The last line is the uplink rate below which the hierarchy pays.

    Example:
      netsum racks --racks 4 --workers 4 --plot racks.svg
    """
    import json

    from hostagent.cli.rack import sweep as sweeping
    from hostagent.launch.terminal import print_table

    if count * workers > 64:
        raise UsageError(f"{count} racks of {workers} workers: a flat server has at most 64 children", "--racks")
    if plot is not None and (plot.suffix not in (".svg", ".png") or not plot.parent.is_dir()):
        raise UsageError(f"{plot}: give a .svg or .png file in an existing folder", "--plot")
    sweep = sweeping.Sweep(count, workers, worker_gbit, server_gbit, chunks, lanes)
    points = list(sweeping.play_all(sweep))
    summary = sweeping.as_json(sweep, points)
    if as_json:
        print(json.dumps(summary))
    else:
        columns = (
            "scheme", ">uplink Gbit/s", ">simulated ms", ">model ms", ">bytes out of a rack", "formula", ">bytes by it",
            "sums",
        )  # fmt: skip
        rows = [
            (
                point.scheme,
                f"{point.uplink_gbit:g}",
                f"{point.time_ms:.3f}",
                f"{point.model_ms:.3f}",
                f"{point.crossed_bytes:,}",
                point.formula,
                f"{point.formula_bytes:,}",
                "right" if point.right else "WRONG",
            )
            for point in points
        ]
        print_table(columns, rows)
        print(
            f"M = {summary['model_bytes']:,} bytes, n = {workers} workers in each of r = {count} racks. Flat: pushes, "
            "and as many answers to the other racks' workers; with these left out, as published, n(r-1)M/r."
        )
        limit, published = summary["switch_over_gbit"], summary["switch_over_without_answers_gbit"]
        pays = f"A hierarchy pays below {limit:g} Gbit/s of uplink" if limit else "A hierarchy never pays"
        print(f"{pays} ({f'{published:g}' if published else 'never'} with the flat answers left out).")
    if plot is not None:
        sweeping.draw(sweep, points, plot)
    return 0 if all(point.right for point in points) else 1


def memory_bytes(text: str | None) -> int:
    """The value of --memory; 0 where it is not given. Raises UsageError."""
    from emulator.ports.units import size_bytes

    try:
        return size_bytes(text) if text is not None else 0
    except ValueError as error:
        raise UsageError(str(error), "--memory") from None


def peers_from(rack: int | None, texts: list[str]) -> tuple[tuple[int, str], ...]:
    """(rack, SPEC) of each --peer. Raises UsageError."""
    peers: dict[int, str] = {}
    for text in texts:
        number, _, spec = text.partition("=")
        if not number.isdecimal() or not spec or int(number) > 63 or int(number) in (rack, *peers):
            raise UsageError(f"{text!r}: give RACK=SPEC, each RACK once, 0 to 63, and not this server's own", "--peer")
        peers[int(number)] = spec
    if peers and rack is None:
        raise UsageError("requires --rack", "--peer")
    if rack is not None and not peers:
        raise UsageError("requires at least one --peer", "--rack")
    return tuple(sorted(peers.items()))
