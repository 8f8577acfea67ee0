"""The commands of ``netsum bench``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, command, integer, number, option, repeated

ALL = (
    "switch",
    "tables",
    "ports",
    "forward",
    "server",
    "load",
    "pspin",
    "loss",
    "frames",
    "messages",
    "worker",
    "entries",
    "allreduce",
    "collectives",
    "cuda",
)
"""What `everything` measures, in this order."""
VIRTUAL_TIME = ("loss", "frames", "messages")
"""Those in the folder of that name."""


def parse_size(text: str) -> int:
    """``64MiB`` to bytes; a bare number is bytes. Raises UsageError."""
    from emulator.ports.units import size_bytes

    try:
        return size_bytes(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _run(name: str, as_json: bool, *arguments: Any) -> int:
    """Run the benchmark of the module of that name, below this package; modules are imported when they run."""
    from hostagent.cli.bench.runner import run_benchmark

    module = importlib.import_module(f"hostagent.cli.bench.{name}")
    return run_benchmark(name.rpartition(".")[2], lambda: module.measure(*arguments), as_json)


@command(
    option("--size", metavar="SIZE", help="Size of the large tensor."),
    repeated("-n", "--nproc", dest="ranks", type=integer(1), help="Number of ranks. Repeatable. Default: 2 and 4."),
    option("--repeats", type=integer(1), help="Calls with the large tensor."),
    option("--lanes", type=integer(), help="Integers in a frame. Default: as netsum run."),
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
    """Allreduce through the P4 switch over shared memory, next to gloo.

    Example:
      netsum bench allreduce --size 64MiB -n 2 -n 4
    """
    return _run("allreduce", as_json, tuple(ranks or (2, 4)), parse_size(size), repeats, lanes)


@command(
    repeated("-n", "--nproc", dest="ranks", type=integer(2), help="Number of ranks. Repeatable. Default: 2 and 4."),
    repeated(
        "--operation", dest="operations", metavar="NAME", help="Operation, as all_gather. Repeatable. Default: all."
    ),
    repeated("--size", dest="sizes", metavar="SIZE", help="Size of the tensor. Repeatable. Default: 4 B to 64 MiB."),
    option("--plot", dest="picture", metavar="FILE", type=Path, help="Picture to draw: .png, .svg or .pdf."),
    AS_JSON,
)
def collectives(
    *,
    ranks: list[int] | None = None,
    operations: list[str] | None = None,
    sizes: list[str] | None = None,
    picture: Path | None = None,
    as_json: bool = False,
) -> int:
    """Every operation of torch.distributed by size, in float32 and bfloat16, next to gloo.

    Example:
      netsum bench collectives -n 4 --operation all_gather --plot all_gather.png
    """
    from hostagent.cli.bench.collectives import SIZES_BYTES

    sizes_bytes = [parse_size(size) for size in sizes] if sizes else SIZES_BYTES
    return _run("collectives", as_json, tuple(ranks or (2, 4)), tuple(operations or ()), sizes_bytes, picture)


@command(
    repeated("--lanes", type=integer(), help="Integers in a frame. Repeatable. Default: 64, 256 and 2048."),
    AS_JSON,
)
def switch(*, lanes: list[int] | None = None, as_json: bool = False) -> int:
    """Compiled programs on one core, in memory: aggregation, a router with 10,000 routes, a table of 1,000 filters.
    Each is next to hand-written code that does the same (or the same without a table).

    Example:
      netsum bench switch --lanes 256
    """
    return _run("switch", as_json, tuple(lanes or (64, 256, 2048)))


@command(
    repeated("--size", dest="sizes", type=integer(1), help="Entries. Repeatable. Default: 10 to 100,000."),
    option("--plot", dest="picture", metavar="FILE", type=Path, help="Picture to draw: .png, .svg or .pdf."),
    AS_JSON,
)
def tables(*, sizes: list[int] | None = None, picture: Path | None = None, as_json: bool = False) -> int:
    """Lookup cost by table size and kind of key, next to a loop without a table.

    Example:
      netsum bench tables --plot tables.png
    """
    return _run("tables", as_json, tuple(sizes or (10, 100, 1_000, 10_000, 100_000)), picture)


@command(AS_JSON)
def ports(*, as_json: bool = False) -> int:
    """Rings, wake-ups and datagrams between two processes, next to plain system calls.

    Example:
      netsum bench ports
    """
    return _run("ports", as_json)


@command(
    option("--seconds", metavar="S", type=number(0.1), help="Seconds per round."),
    option("--rounds", type=integer(1), help="Rounds of each forwarder, in turn; the best one counts."),
    AS_JSON,
)
def forward(*, seconds: float = 0.7, rounds: int = 7, as_json: bool = False) -> int:
    """Frames through real interfaces (veth, needs root), next to a loop that only receives and sends, and to bmv2.

    Example:
      sudo .venv/bin/netsum bench forward
    """
    import signal
    import sys

    # as an exception, so that the namespaces are removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return _run("forward", as_json, seconds, rounds)


@command(
    option("--size", metavar="SIZE", help="Size of a worker's tensor."),
    option("-n", "--nproc", dest="ranks", type=integer(1), help="Ranks of the training step."),
    option("--parameters", type=integer(0), help="Parameters of the model; 0: no training step."),
    option("--steps", type=integer(1), help="Training steps to time."),
    AS_JSON,
)
def server(
    *, size: str = "100MB", ranks: int = 4, parameters: int = 25_000_000, steps: int = 5, as_json: bool = False
) -> int:
    """The rack server: sums next to plain copies, two cores to one, eight tenants to one, and an Adam step in the
    server next to gloo with a local Adam; tall next to wide, that is each block of a tensor summed by one core next to
    each by all cores together.

    Example:
      netsum bench server --parameters 0
    """
    return _run("server", as_json, parse_size(size), ranks, parameters, steps)


@command(AS_JSON)
def load(*, as_json: bool = False) -> int:
    """Source to running machine code, cold and from the cache; start of a run, next to torchrun with gloo.

    Example:
      netsum bench load
    """
    return _run("load", as_json)


@command(AS_JSON)
def pspin(*, as_json: bool = False) -> int:
    """Simulation speed of the model of the PsPIN switch, next to its RTL; bandwidth of Flare's 512 cores on it.

    Example:
      netsum bench pspin
    """
    return _run("pspin", as_json)


@command(
    repeated("-n", "--nproc", dest="ranks", type=integer(1, 64), help="Number of ranks. Repeatable. Default: 2, 4, 8."),
    option("--size", metavar="SIZE", help="Size of the tensor."),
    AS_JSON,
)
def loss(*, ranks: list[int] | None = None, size: str = "2MiB", as_json: bool = False) -> int:
    """An allreduce on slow, long and lossy links, in virtual time, next to the same without loss.

    Example:
      netsum bench loss -n 4 --size 16MiB
    """
    return _run("virtual_time.loss", as_json, tuple(ranks or (2, 4, 8)), parse_size(size))


@command(
    repeated("--network", dest="networks", metavar="KIND=SIZE", help="Network, as tree=8x8. Repeatable."),
    option("--size", metavar="SIZE", help="Tensor of each host."),
    AS_JSON,
)
def frames(*, networks: list[str] | None = None, size: str = "16MB", as_json: bool = False) -> int:
    """Networks simulated frame by frame on one core (netsum topology simulate): frames that cross a link per second of
    wall time, next to SimPy's model of the same network.

    Example:
      netsum bench frames --network tree=8x8 --size 16MB
    """
    from hostagent.cli.bench.virtual_time.frames import NETWORKS

    return _run("virtual_time.frames", as_json, tuple(networks or NETWORKS), parse_size(size))


@command(option("-n", "--nproc", dest="ranks", type=integer(16), help="Ranks of the rings, a multiple of 8."), AS_JSON)
def messages(*, ranks: int = 256, as_json: bool = False) -> int:
    """Schedules simulated message by message on one core (netsum schedule show): starts, ends and links of messages per
    second of wall time, on links that are shared and on exclusive ones, next to SimGrid with the same messages.

    Example:
      netsum bench messages -n 256
    """
    if ranks % 8:
        raise UsageError(f"{ranks} is no multiple of 8", "-n")
    return _run("virtual_time.messages", as_json, ranks)


@command(option("--lanes", type=integer(2), help="Integers in a frame."), AS_JSON)
def worker(*, lanes: int = 256, as_json: bool = False) -> int:
    """A host's cost of a frame: quantize, send, receive and dequantize, next to a plain copy of its lanes.

    Example:
      netsum bench worker --lanes 2048
    """
    return _run("worker", as_json, lanes)


@command(
    option("--size", metavar="SIZE", help="Size of the all_reduce's tensor."),
    repeated("-n", "--nproc", dest="ranks", type=integer(2), help="Number of ranks. Repeatable. Default: 2 and 4."),
    option("--repeats", type=integer(1), help="Calls of each kind."),
    AS_JSON,
)
def cuda(*, size: str = "64MiB", ranks: list[int] | None = None, repeats: int = 10, as_json: bool = False) -> int:
    """An all_reduce and a DDP step with tensors on a GPU, next to gloo.

    Example:
      netsum bench cuda -n 2
    """
    return _run("cuda", as_json, tuple(ranks or (2, 4)), parse_size(size), repeats)


@command(option("--entries", type=integer(1, 150_000), help="Number of table entries."), AS_JSON)
def entries(*, entries: int = 100_000, as_json: bool = False) -> int:
    """Table entries inserted, modified, read and deleted over P4Runtime, next to a server that ignores them.

    Example:
      netsum bench entries --entries 10000
    """
    return _run("entries", as_json, entries)


@command(option("-o", "--output", metavar="FILE", type=Path, help="JSON file for all results."), AS_JSON)
def everything(*, output: Path | None = None, as_json: bool = False) -> int:
    """All benchmarks, one after the other, each with its default options: the figures of BENCHMARKS.md, and those of
    worker and entries, which it does not have.

    Example:
      netsum bench all -o bench.json
    """
    import json
    import sys

    from hostagent.cli.bench.runner import BenchError, machine_facts, print_report

    facts = machine_facts()
    if not as_json:
        print("  ".join(f"{name} {value}" for name, value in facts.items()))
    reports = []
    for name in ALL:
        try:
            folder = ".virtual_time" if name in VIRTUAL_TIME else ""
            report = importlib.import_module(f"hostagent.cli.bench{folder}.{name}").measure()
        except BenchError as error:  # such as one that needs root
            print(f"\n{name}: not measured: {error}", file=sys.stderr)
            continue
        if not as_json:
            print()
            print_report(report)
        reports.append(report.as_json())
    text = json.dumps({"machine": facts, "reports": reports}, indent=1)
    if output is not None:
        output.write_text(text + "\n")
    if as_json:
        print(text)
    elif output is not None:
        print(f"written to {output}")
    return 0
