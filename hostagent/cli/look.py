"""``netsum status`` and ``top``: what a run is doing."""

from __future__ import annotations

import os

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, address, argument, command, flag, number, option

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
    option("--interval", metavar="SECONDS", type=number(0.1, 3600.0), help="Time between two looks."),
    AS_JSON,
)
def top(controller: str | None = None, *, once: bool = False, interval: float = 1.0, as_json: bool = False) -> int:
    """Watch a run: ports, slots by job, latency of chunks, retransmissions, lag of each rank.

    Lag is how many operations, and chunks, a rank is behind the foremost of its job. Latencies are of the chunks since
    the last look, from the first frame to the result.

    Examples:
      netsum top
      netsum top 127.0.0.1:50100 --once --json
    """
    from hostagent.launch.top import run_top

    return run_top(_chosen(controller), once=once, as_json=as_json, interval_s=interval)


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
