"""``netsum status``, ``top`` and ``report``: what a run is doing, what an experiment has found."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, address, argument, command, flag, integer, number, option

CONTROLLER = argument(
    "controller",
    metavar="HOST:PORT",
    nargs="?",
    type=address,
    help="Address of the controller. Default: NETSUM_CONTROLLER, else that of the only run on this machine.",
)


@command(CONTROLLER, AS_JSON)
def status(controller: str | None = None, *, as_json: bool = False) -> int:
    """Show what a controller knows: jobs and their members, ports, slots.

    Example:
      netsum status 127.0.0.1:50100
    """
    from hostagent.launch.status import run_status

    return run_status(_chosen(controller), as_json)


@command(
    CONTROLLER,
    flag("--once", help="Print the view once and end, also in a terminal."),
    option(
        "--web",
        metavar="PORT",
        type=integer(0, 65535),
        help="Serve a page with topology, loads and jobs on this port of 127.0.0.1; 0: any.",
    ),
    option("--interval", metavar="SECONDS", type=number(0.1, 3600.0), help="Time between two looks."),
    AS_JSON,
)
def top(
    controller: str | None = None,
    *,
    once: bool = False,
    web: int | None = None,
    interval: float = 1.0,
    as_json: bool = False,
) -> int:
    """Watch a run: ports, slots by job, latency of chunks, retransmissions, lag of each rank.

    Lag is how many operations, and chunks, a rank is behind the foremost of its job. Latencies are of the chunks since
    the last look, from the first frame to the result.

    Examples:
      netsum top
      netsum top 127.0.0.1:50100 --once --json
      netsum top --web 8080
    """
    from hostagent.launch.top import run_top

    if web is not None:
        return _serve(_chosen(controller), web)
    return run_top(_chosen(controller), once=once, as_json=as_json, interval_s=interval)


def _serve(controller: str, port: int) -> int:
    """Serve the live page until Ctrl-C."""
    import grpc

    from hostagent.cli.pages.live import LiveServer, WebError
    from hostagent.launch.live_view import take
    from hostagent.protocol.services.reasons import reason_of

    try:
        take(controller)
        server = LiveServer(port, lambda: take(controller))
    except grpc.RpcError as error:
        print(f"netsum top: no controller answers at {controller}: {reason_of(error)}", file=sys.stderr)
        return 1
    except WebError as error:
        print(f"netsum top: --web: {error}", file=sys.stderr)
        return 1
    print(server.address, flush=True)
    server.serve()
    return 0


@command(
    argument("folder", metavar="DIR", type=Path, help="Folder of an experiment, as mininet/allreduce.py writes it."),
    option("-o", "--output", metavar="FILE", type=Path, help="File for the page. Default: report.html in DIR."),
    option(
        "--measured",
        metavar="NAME,...",
        help="Columns that were measured. Default: those after the column call, repeat, run or seed.",
    ),
)
def report(folder: Path, *, output: Path | None = None, measured: str = "") -> int:
    """Write the page of an experiment: configuration, plots, tables, and the command that repeats it.

    The folder has CSV files with a row for each call, and pictures (.png).

    Examples:
      netsum report results
      netsum report sweep --measured ms,bytes -o sweep.html
    """
    from hostagent.cli.pages.experiment import ExperimentError, write_page

    try:
        print(write_page(folder, output, [name for name in measured.split(",") if name]))
    except ExperimentError as error:
        print(f"netsum report: {error}", file=sys.stderr)
        return 1
    return 0


def _chosen(controller: str | None) -> str:
    """HOST:PORT of the controller that is meant. Raises UsageError."""
    from hostagent.launch.run_folder import running

    if chosen := controller or os.environ.get("NETSUM_CONTROLLER"):
        return chosen
    runs = running()
    if len(runs) == 1:
        return next(iter(runs))
    if not runs:
        raise UsageError(
            "missing: no run of yours is on this machine; give HOST:PORT, or set NETSUM_CONTROLLER", "HOST:PORT"
        )
    listed = "; ".join(f"{where} ({what})" for where, what in runs.items())
    raise UsageError(f"several runs are on this machine; give one of them: {listed}", "HOST:PORT")
