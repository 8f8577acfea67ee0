"""``netsum topology simulate``: an allreduce on a topology, frame by frame, in virtual time."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostagent.cli.bench.command import parse_size
from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, command, integer, number, option
from hostagent.cli.topology import FILE

if TYPE_CHECKING:
    from hostagent.lab.simulated_job import Call, SimulatedJob

LANES = (64, 256, 512, 1024, 2048)
QUIET_S = 2.0
MOST_SHOWN = 12
"""Links in the table."""


def _mistakes() -> tuple[type[Exception], ...]:
    from emulator.network.topology.parts import TopologyError

    return (TopologyError,)


@command(
    FILE,
    option("--size", metavar="SIZE", help="Tensor of each host, of float32."),
    option("--calls", type=integer(1), help="Allreduces, one after another: the first one learns the path."),
    option("--hosts", type=integer(2), help="Number of hosts that take part, the first ones. Default: all."),
    option("--root", metavar="SWITCH", help="Root of the tree of switches. Default: nearest to the farthest host."),
    option("--lanes", type=integer(), help=f"Integers in a frame: {', '.join(map(str, LANES))}."),
    option("--window", type=integer(1, 2048), help="Slots of the job, a power of two."),
    option("--loss", type=number(0), help="Probability that a link loses a frame."),
    option("--seed", type=integer(0), help="Decides which frames are lost. The same seed is the same run."),
    AS_JSON,
    mistakes=_mistakes,
)
def simulate(
    file: Path,
    *,
    size: str = "16MB",
    calls: int = 1,
    hosts: int | None = None,
    root: str | None = None,
    lanes: int = 256,
    window: int = 128,
    loss: float = 0.0,
    seed: int = 1,
    as_json: bool = False,
) -> int:
    """Simulate an allreduce over the hosts of a topology, frame by frame, in virtual time: with the worker cores of
    live ranks and the compiled P4 program in a tree of its switches. Sums are verified.

    Example:
      netsum topology build fat-tree 4 -o net.yaml
      netsum topology simulate net.yaml --size 16MB
    """
    from emulator.network.topology.builders import star
    from emulator.network.topology.files import read_topology

    if lanes not in LANES:
        raise UsageError(f"{lanes}: choose one of {', '.join(map(str, LANES))}", "--lanes")
    if window & (window - 1):
        raise UsageError(f"{window} is no power of two", "--window")
    if loss >= 1:
        raise UsageError(f"{loss:g} is not below 1", "--loss")
    elements = parse_size(size) // 4
    if elements == 0:
        raise UsageError(f"{size!r}: a tensor has at least 4 bytes", "--size")
    topology = read_topology(file)
    if hosts is not None and hosts > len(topology.hosts):
        raise UsageError(f"{hosts}: {topology.name} has {len(topology.hosts)} hosts", "--hosts")
    from hostagent.lab.simulated_job import SimulatedJob
    from hostagent.protocol.worker.core import MAXIMUM_WORKERS

    chosen = topology.hosts[:hosts]
    if len(chosen) > MAXIMUM_WORKERS:
        raise UsageError(f"{len(chosen)} hosts: a job has at most {MAXIMUM_WORKERS} ranks", "--hosts")
    job = SimulatedJob(topology, hosts=chosen, root=root, lanes=lanes, window=window, loss=loss, seed=seed)
    with _told_if_long():
        SimulatedJob(star(2), lanes=lanes).allreduce(1)  # compiles what the run then has
    with _progress(job, elements, calls) as progress:
        done = [job.allreduce(elements, progress) for _ in range(calls)]
    found = summary(job, elements, done)
    if as_json:
        print(json.dumps(found))
    else:
        _print(found)
    return 0


@contextmanager
def _told_if_long() -> Iterator[None]:
    """Say that loops are being compiled, where that is not over at once."""
    text = "netsum: compiling its loops, once for this version (up to a minute)"
    timer = threading.Timer(QUIET_S, lambda: print(text, file=sys.stderr))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _progress(job: SimulatedJob, elements: int, calls: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal's standard error, by frames over links: about, if some are lost."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        total = calls * job.chunks(elements) * len(job.tree.links)
        task = bar.add_task(f"{job.count} hosts, {len(job.switches)} switches", total=total)
        yield lambda hops: bar.update(task, completed=hops)


def summary(job: SimulatedJob, elements: int, calls: list[Call]) -> dict[str, Any]:
    """What ``--json`` prints."""
    counts = job.network.counts()
    return {
        "topology": job.network.topology.name,
        "hosts": job.count,
        "root": job.tree.root,
        "switches": len(job.switches),
        "size_bytes": 4 * elements,
        "lanes": job.lanes,
        "window": job.window,
        "calls": [asdict(call) for call in calls],
        "hops_per_second": round(job.network.hops * 1e9 / job.network.wall_ns),
        "links": {name: asdict(each) for name, each in counts.items() if each.frames},
    }


def _print(found: dict[str, Any]) -> None:
    from hostagent.launch.terminal import print_table, wide_console

    console = wide_console()
    switches = "1 switch" if found["switches"] == 1 else f"{found['switches']} switches"
    console.print(
        f"{found['topology']}: {found['hosts']} hosts, a tree of {switches} below {found['root']}", highlight=False
    )
    bits = 8 * found["size_bytes"]
    rows = [
        (
            f"{call['elapsed_ns'] / 1e6:,.3f} ms",
            f"{bits * 1e3 / call['elapsed_ns']:,.1f} Mbit/s",
            f"{call['retransmissions']:,}",
            f"{call['lost']:,}",
            f"{call['dropped']:,}",
        )
        for call in found["calls"]
    ]
    print_table((">elapsed", ">tensor", ">retransmissions", ">lost", ">dropped"), rows, console=console)
    links = sorted(found["links"].items(), key=lambda item: (-item[1]["dropped"], -item[1]["bytes"]))
    columns = ("frames", "bytes", "lost", "dropped", "most_waiting_bytes")
    shown = [(name, *(f"{each[column]:,}" for column in columns)) for name, each in links[:MOST_SHOWN]]
    console.print()
    print_table(("link", ">frames", ">bytes", ">lost", ">dropped", ">most bytes waiting"), shown, console=console)
    if len(links) > MOST_SHOWN:
        console.print(f"and {len(links) - MOST_SHOWN:,} more links (--json has all)", highlight=False)
    console.print(f"{found['hops_per_second']:,} frames over links per second of wall time", highlight=False)
