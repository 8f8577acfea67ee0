"""``netsum bench``: every figure beside its peer, in the same run."""

from __future__ import annotations

from pathlib import Path

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, command, integer, number, option, repeated

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}


def parse_size(text: str) -> int:
    """``64MiB`` to bytes; a bare number is bytes. Raises UsageError."""
    digits = text.strip().rstrip("BbKkMmGgIi ")
    unit = text.strip()[len(digits) :].strip().upper() or "B"
    if unit not in UNITS or not digits.isdecimal():
        raise UsageError(f"{text!r}: give a size as 64MiB, 4KiB or a number of bytes")
    return int(digits) * UNITS[unit]


@command(
    option("--size", metavar="SIZE", help="Size of the large tensor."),
    repeated(
        "-n",
        "--nproc",
        dest="ranks",
        metavar="N",
        type=integer(1),
        help="Number of ranks. Repeatable. Default: 2 and 4.",
    ),
    option("--repeats", metavar="N", type=integer(1), help="Calls with the large tensor."),
    option("--lanes", metavar="N", type=integer(), help="Integers in a frame. Default: as netsum run."),
    AS_JSON,
)
def allreduce(
    *,
    size: str = "64MiB",
    ranks: list[int] | None = None,
    repeats: int = 8,
    lanes: int | None = None,
    as_json: bool = False,
) -> int:
    """Allreduce through the P4 switch over shared memory, and on gloo beside it.

    Example:
      netsum bench allreduce --size 64MiB -n 2 -n 4
    """
    import sys

    from hostagent.cli.benchmarks import allreduce as benchmark
    from hostagent.cli.benchmarks.training import BenchError

    size_bytes = parse_size(size)
    try:
        benchmark.show(benchmark.measure(tuple(ranks or (2, 4)), size_bytes, repeats, lanes), as_json)
    except BenchError as error:
        print(f"netsum bench allreduce: {error}", file=sys.stderr)
        return 1
    return 0


@command(
    repeated(
        "--lanes", metavar="N", type=integer(), help="Integers in a frame. Repeatable. Default: 64, 256 and 2048."
    ),
    AS_JSON,
)
def switch(
    *,
    lanes: list[int] | None = None,
    as_json: bool = False,
) -> int:
    """Compiled programs on one core, in memory: aggregation, a router with 10,000 routes, a table of 1,000 filters.
    Each stands beside a bare loop that does the same (or without a table as much) by hand.

    Example:
      netsum bench switch --lanes 256
    """
    import json

    from emulator.switch import bench, bench_tables

    rows = bench.run_bench_switch(tuple(lanes or (64, 256, 2048)), quiet=as_json)
    forwarding = bench_tables.run_bench_forwarding()
    if as_json:
        print(json.dumps({**bench.report(rows), "forwarding": bench_tables.report(forwarding)}))
    else:
        print("\n" + bench_tables.render(forwarding))
    return 0


@command(
    repeated("--size", dest="sizes", metavar="N", type=integer(1), help="Entries. Repeatable. Default: 10 to 100,000."),
    option("--plot", dest="picture", metavar="FILE", type=Path, help="Picture to draw: .png, .svg or .pdf."),
    AS_JSON,
)
def tables(
    *,
    sizes: list[int] | None = None,
    picture: Path | None = None,
    as_json: bool = False,
) -> int:
    """What a look-up costs against the table's size, for each kind of key, beside a loop that looks nothing up.

    Example:
      netsum bench tables --plot tables.png
    """
    import json

    from emulator.switch import bench_tables
    from emulator.switch.bench_plot import plot

    rows = bench_tables.run_bench_tables(tuple(sizes or bench_tables.SIZES))
    print(json.dumps(bench_tables.report(rows)) if as_json else bench_tables.render(rows))
    if picture is not None:
        plot(rows, picture)
    return 0


@command(
    AS_JSON,
)
def ports(
    *,
    as_json: bool = False,
) -> int:
    """Rings, wake-ups and datagrams between two processes, beside plain system calls.

    Example:
      netsum bench ports
    """
    import json
    from dataclasses import asdict

    from emulator.ports.bench import format_bench, run_bench_ports

    result = run_bench_ports()
    print(json.dumps(asdict(result)) if as_json else format_bench(result))
    return 0


@command(
    option("--seconds", metavar="S", type=number(0.1), help="Seconds per round."),
    option("--rounds", metavar="N", type=integer(1), help="Rounds of each forwarder, in turn; the best one counts."),
    AS_JSON,
)
def forward(
    *,
    seconds: float = 0.7,
    rounds: int = 7,
    as_json: bool = False,
) -> int:
    """Frames through real interfaces (veth, needs root), beside a loop that only receives and sends, and bmv2.

    Example:
      sudo .venv/bin/netsum bench forward
    """
    import signal
    import sys

    from hostagent.cli.benchmarks import forward as benchmark
    from hostagent.cli.benchmarks.veth import NoNamespaces

    # as an exception, so that the namespaces are removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        benchmark.show(benchmark.measure(seconds, rounds), as_json)
    except (NoNamespaces, benchmark.BenchFailed) as error:
        print(f"netsum bench forward: {error}", file=sys.stderr)
        return 1
    return 0


@command(
    option("--size", metavar="SIZE", help="Size of a worker's tensor."),
    option("-n", "--nproc", dest="ranks", metavar="N", type=integer(1), help="Ranks of the training step."),
    option("--parameters", metavar="N", type=integer(0), help="Parameters of the model; 0: no training step."),
    option("--steps", metavar="N", type=integer(1), help="Training steps to time."),
    AS_JSON,
)
def server(
    *,
    size: str = "100MB",
    ranks: int = 4,
    parameters: int = 25_000_000,
    steps: int = 5,
    as_json: bool = False,
) -> int:
    """The rack server: sums beside plain copies, two cores beside one, tall beside wide, eight tenants beside one,
    and an Adam step in the server beside gloo with a local Adam.

    Example:
      netsum bench server --parameters 0
    """
    import sys

    from hostagent.cli.benchmarks import server as benchmark
    from hostagent.cli.benchmarks.training import BenchError

    try:
        benchmark.show(benchmark.measure(parse_size(size), ranks, parameters, steps), as_json)
    except BenchError as error:
        print(f"netsum bench server: {error}", file=sys.stderr)
        return 1
    return 0


@command(
    AS_JSON,
)
def load(
    *,
    as_json: bool = False,
) -> int:
    """Source to running machine code, cold and from the cache; start of a run, beside torchrun with gloo.

    Example:
      netsum bench load
    """
    from hostagent.cli.benchmarks import load as benchmark

    benchmark.show(benchmark.measure(), as_json)
    return 0


@command(
    AS_JSON,
)
def pspin(
    *,
    as_json: bool = False,
) -> int:
    """How fast the model of the PsPIN switch simulates, beside its RTL; what Flare's 512 cores reach on it.

    Example:
      netsum bench pspin
    """
    from hostagent.cli.benchmarks import pspin as benchmark

    benchmark.show(benchmark.measure(), as_json)
    return 0


@command(
    option("-o", "--output", metavar="FILE", type=Path, help="JSON file for all results."),
)
def everything(
    *,
    output: Path | None = None,
) -> int:
    """All of the above, one after the other: the tables of the README.

    Example:
      netsum bench all -o bench.json
    """
    from hostagent.cli.benchmarks.everything import run_everything

    run_everything(output)
    return 0
