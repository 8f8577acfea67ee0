"""``netsum bench``: every figure beside its peer, in the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.group import Group
from hostagent.cli.options import AsJson

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Measure; each figure stands beside its peer from the same run."
)

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}


def parse_size(text: str) -> int:
    """``64MiB`` to bytes; a bare number is bytes. Raises typer.BadParameter."""
    digits = text.strip().rstrip("BbKkMmGgIi ")
    unit = text.strip()[len(digits) :].strip().upper() or "B"
    if unit not in UNITS or not digits.isdecimal():
        raise typer.BadParameter(f"{text!r}: write a size as 64MiB, 4KiB or a number of bytes")
    return int(digits) * UNITS[unit]


@app.command()
def allreduce(
    size: Annotated[str, typer.Option(help="The large tensor.")] = "64MiB",
    ranks: Annotated[list[int] | None, typer.Option("-n", "--nproc", help="Ranks; repeat. Default: 2 and 4.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Calls with the large tensor.")] = 8,
    lanes: Annotated[int | None, typer.Option(help="32-bit numbers in a frame; default: as netsum run.")] = None,
    as_json: AsJson = False,
) -> None:
    """Allreduce through the P4 switch over shared memory, and on gloo beside it.

    \b
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
        raise typer.Exit(1) from None


@app.command()
def switch(
    lanes: Annotated[list[int] | None, typer.Option(help="Lanes a frame; repeat. Default: 64, 256 and 2048.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compiled programs on one core, in memory: aggregation, a router with 10,000 routes, a table of 1,000 filters.
    Each stands beside a bare loop that does the same (or without a table as much) by hand.

    \b
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


@app.command()
def tables(
    sizes: Annotated[list[int] | None, typer.Option("--size", help="Entries; repeat. Default: 10 to 100,000.")] = None,
    picture: Annotated[Path | None, typer.Option("--plot", help="Also draw it: a .png, .svg or .pdf file.")] = None,
    as_json: AsJson = False,
) -> None:
    """What a look-up costs against the table's size, for each kind of key, beside a loop that looks nothing up.

    \b
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


@app.command()
def ports(as_json: AsJson = False) -> None:
    """Rings, wake-ups and datagrams between two processes, beside plain system calls.

    \b
    Example:
      netsum bench ports
    """
    import json
    from dataclasses import asdict

    from emulator.ports.bench import format_bench, run_bench_ports

    result = run_bench_ports()
    print(json.dumps(asdict(result)) if as_json else format_bench(result))


@app.command()
def forward(
    seconds: Annotated[float, typer.Option(min=0.1, help="Of a round; the forwarders take turns.")] = 0.7,
    rounds: Annotated[int, typer.Option(min=1, help="The best counts.")] = 7,
    as_json: AsJson = False,
) -> None:
    """Frames through real interfaces (veth, needs root), beside a loop that only receives and sends, and bmv2.

    \b
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
        raise typer.Exit(1) from None


@app.command()
def server(
    size: Annotated[str, typer.Option(help="A worker's tensor.")] = "100MB",
    ranks: Annotated[int, typer.Option("-n", "--nproc", min=1, help="Ranks of the training step.")] = 4,
    parameters: Annotated[int, typer.Option(min=0, help="Of the model; 0 leaves the training step out.")] = 25_000_000,
    steps: Annotated[int, typer.Option(min=1, help="Of the training, timed.")] = 5,
    as_json: AsJson = False,
) -> None:
    """The rack server: sums beside plain copies, two cores beside one, tall beside wide, eight tenants beside one,
    and an Adam step in the server beside gloo with a local Adam.

    \b
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
        raise typer.Exit(1) from None


@app.command()
def load(as_json: AsJson = False) -> None:
    """Source to running machine code, cold and from the cache; start of a run, beside torchrun with gloo.

    \b
    Example:
      netsum bench load
    """
    from hostagent.cli.benchmarks import load as benchmark

    benchmark.show(benchmark.measure(), as_json)


@app.command()
def pspin(as_json: AsJson = False) -> None:
    """How fast the model of the PsPIN switch simulates, beside its RTL; what Flare's 512 cores reach on it.

    \b
    Example:
      netsum bench pspin
    """
    from hostagent.cli.benchmarks import pspin as benchmark

    benchmark.show(benchmark.measure(), as_json)


@app.command("all")
def everything(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also write everything as JSON.")] = None,
) -> None:
    """All of the above, one after the other: the tables of the README.

    \b
    Example:
      netsum bench all -o bench.json
    """
    from hostagent.cli.benchmarks.everything import run_everything

    run_everything(output)


def register(root: typer.Typer) -> None:
    """Add this file's commands."""
    root.add_typer(app, name="bench")
