"""``netsum aggregator``: the PsPIN switch or the rack server, summing only, started by itself."""

from __future__ import annotations

from hostagent.cli.options import DIE_WITH_PARENT, LANES, LISTEN, QUIET, SLOTS, check_lanes, check_ports
from hostagent.cli.parsing import UsageError, argument, command, repeated


@command(
    argument("core", help="Aggregator to run: pspin, server, or core:MODULE:CLASS for your own."),
    repeated(
        "--port", metavar="N=SPEC", help="Port N: shm:NAME or udp:LOCAL[,REMOTE]; impairments follow a '?'. Repeatable."
    ),
    LANES,
    SLOTS,
    LISTEN,
    QUIET,
    DIE_WITH_PARENT,
)
def aggregator(
    core: str,
    *,
    port: list[str] | None = None,
    lanes: int = 1024,
    slots: int = 512,  # as cores.DEFAULT_SLOTS
    listen: str = "127.0.0.1:48865",
    quiet: bool = False,
    die_with_parent: bool = False,
) -> int:
    """Run an aggregator that is not a P4 switch, until SIGTERM.

    `netsum controller --aggregator netsum://...` controls it.

    Example:
      netsum aggregator server --lanes 256 --port 1=shm:a --port 2=shm:b
    """
    from hostagent.cli.aggregators.cores import UnknownCore, place_of

    try:
        place_of(core)
    except UnknownCore as error:
        raise UsageError(str(error), "CORE") from None
    check_lanes(lanes)
    from hostagent.cli.aggregators.process import AggregatorOptions, run_aggregator

    options = AggregatorOptions(
        core=core,
        ports=check_ports(port or ()),
        lanes=lanes,
        slots=slots,
        listen=listen,
        die_with_parent=die_with_parent,
        quiet=quiet,
    )
    return run_aggregator(options)
