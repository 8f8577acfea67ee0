"""``netsum topology simulate``: an allreduce on a topology, frame by frame, in virtual time."""

from __future__ import annotations

import html
import json
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.ports.units import TIME_UNITS_NS, quantity_text, size_text
from hostagent.cli.bench.command import parse_size
from hostagent.cli.options import AS_JSON, LANES, check_capture, check_lanes
from hostagent.cli.parsing import UsageError, command, integer, number, option
from hostagent.cli.topology import FILE

if TYPE_CHECKING:
    from emulator.network.topology.topology import Topology
    from hostagent.lab.simulated_job import Call, SimulatedJob

QUIET_S = 2.0
MOST_SHOWN = 12
"""Links in the table."""
COUNTS = ("frames", "bytes", "lost", "dropped", "most_waiting_bytes")
"""Of links, that tables show."""


def _mistakes() -> tuple[type[Exception], ...]:
    from emulator.network.topology.parts import TopologyError
    from emulator.ports.errors import PortError

    return (TopologyError, PortError)


@command(
    FILE,
    option("--size", metavar="SIZE", help="Tensor of each host, of float32."),
    option("--calls", type=integer(1), help="Allreduces, one after another: the first one learns the path."),
    option("--hosts", type=integer(2), help="Number of hosts that take part, the first ones. Default: all."),
    option("--root", metavar="SWITCH", help="Root of the tree of switches. Default: nearest to the farthest host."),
    LANES,
    option("--window", type=integer(1, 2048), help="Slots of the job, a power of two."),
    option("--loss", type=number(0), help="Probability that a link loses a frame."),
    option(
        "--seed",
        type=integer(0),
        help="Decides which frames are lost, by faults too unless their script has one. The same seed is the same run.",
    ),
    option(
        "--faults",
        type=Path,
        metavar="FILE",
        help="Script of faults, as for netsum run. Rank i is on the i-th host; time 0 is when the first call begins.",
    ),
    option("--timeout", type=number(0), metavar="S", help="Of virtual time, for a call that faults keep from ending."),
    option(
        "--capture", type=Path, metavar="FILE", help="File for the frames on links, *.pcapng, with virtual time stamps."
    ),
    option(
        "--links", metavar="LINK,..", help="What --capture has, as 'h0->s0,s0-root'. Default: all links of the tree."
    ),
    option("--report", type=Path, metavar="FILE", help="HTML page of the calls, the faults and all links."),
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
    faults: Path | None = None,
    timeout: float = 1800.0,
    capture: Path | None = None,
    links: str | None = None,
    report: Path | None = None,
    as_json: bool = False,
) -> int:
    """Simulate an allreduce over the hosts of a topology, frame by frame, in virtual time: with the worker cores of
    live ranks and the compiled P4 program in a tree of its switches. Sums are verified.

    Example:
      netsum topology build fat-tree 4 -o net.yaml
      netsum topology simulate net.yaml --size 16MB
      netsum topology simulate net.yaml --faults faults.yaml --seed 7 \\
        --capture run.pcapng --links h0-s0
    """
    from emulator.network.faults.files import read_faults
    from emulator.network.topology.builders import star
    from emulator.network.topology.files import read_topology
    from emulator.ports.pcap.writer import CaptureWriter

    check_job(lanes, window, loss)
    elements = parse_elements(size)
    topology = read_topology(file)
    script = read_faults(faults, topology) if faults is not None else None
    captured = _links_named(links, topology) if links else ()
    if captured and capture is None:
        raise UsageError("it says what --capture has: add --capture FILE", "--links")
    check_capture(None if capture is None else str(capture), {})
    if report is not None and not report.resolve().parent.is_dir():
        raise UsageError(f"{report}: its folder is not there", "--report")
    if hosts is not None and hosts > len(topology.hosts):
        raise UsageError(f"{hosts}: {topology.name} has {len(topology.hosts)} hosts", "--hosts")
    from hostagent.lab.simulated_job import JobEnded, SimulatedJob
    from hostagent.launch.terminal import progress
    from hostagent.protocol.worker.core import MAXIMUM_WORKERS

    chosen = topology.hosts[:hosts]
    if len(chosen) > MAXIMUM_WORKERS:
        raise UsageError(f"{len(chosen)} hosts: a job has at most {MAXIMUM_WORKERS} ranks", "--hosts")
    limit_ns = round(timeout * 1e9) if script is not None else None
    job = SimulatedJob(
        topology,
        hosts=chosen,
        root=root,
        lanes=lanes,
        window=window,
        loss=loss,
        faults=script,
        limit_ns=limit_ns,
        seed=seed,
    )
    with _told_if_long():
        SimulatedJob(star(2), lanes=lanes).allreduce(1)  # compiles what the run then has
    done: list[Call] = []
    ended = ""
    hops = calls * job.chunks(elements) * len(job.tree.links)  # about, if frames are lost
    with (
        progress(f"{job.count} hosts, {len(job.switches)} switches", hops) as update,
        CaptureWriter(str(capture)) if capture else nullcontext() as writer,
    ):
        if writer is not None:
            job.network.capture(writer, captured or [link.name for link in job.tree.links])
        try:
            for _ in range(calls):
                done.append(job.allreduce(elements, lambda hops: update(completed=hops)))
        except JobEnded as error:
            ended = str(error)
    found = {**summary(job, elements, done, ended), "loss": loss, "seed": seed}
    if report is not None:
        _write_page(found, report)
    if as_json:
        print(json.dumps(found))
    else:
        _print(found)
    _tell(job, ended)
    return 1 if ended else 0


def _links_named(text: str, topology: Topology) -> list[str]:
    from emulator.network.faults.files import link_names, unknown

    known = link_names(topology)
    if wrong := [name for name in text.split(",") if name not in known]:
        raise UsageError(unknown("link", wrong[0], known, topology), "--links")
    return list(dict.fromkeys(link for name in text.split(",") for link in known[name]))


def _time_text(time_ns: int) -> str:
    return quantity_text(time_ns, TIME_UNITS_NS)


def _tell(job: SimulatedJob, ended: str) -> None:
    """What has happened, on standard error."""
    said = [f"fault at {_time_text(round(1e9 * fault['time_s']))}: {fault['what']}" for fault in job.faults.happened]
    if ended:
        said.append(f"the job has ended at {job.network.now_ns / 1e9:.3f} s: {ended}")
    elif (due_ns := job.faults.left_ns) is not None:
        said.append(f"the calls ended before the faults from {_time_text(due_ns)} on")
    for text in said:
        print(f"netsum topology simulate: {text}", file=sys.stderr)


def check_job(lanes: int, window: int, loss: float) -> None:
    """Raises UsageError for what no simulated job has."""
    check_lanes(lanes)
    if window & (window - 1):
        raise UsageError(f"{window} is no power of two", "--window")
    if loss >= 1:
        raise UsageError(f"{loss:g} is not below 1", "--loss")


def parse_elements(size: str) -> int:
    """Number of floats in a tensor of that size. Raises UsageError."""
    elements = parse_size(size) // 4
    if elements == 0:
        raise UsageError(f"{size!r}: a tensor has at least 4 bytes", "--size")
    return elements


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


def summary(job: SimulatedJob, elements: int, calls: list[Call], ended: str = "") -> dict[str, Any]:
    """What ``--json`` prints; ``ended``: why the job has."""
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
        "faults": job.faults.happened,
        "ended": ended,
        "hops_per_second": round(job.network.hops * 1e9 / job.network.wall_ns),
        "links": {name: asdict(each) for name, each in counts.items() if each.frames},
    }


CALLS = ("elapsed", "tensor", "retransmissions", "lost", "dropped")


def _calls(found: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            f"{call['elapsed_ns'] / 1e6:,.3f} ms",
            f"{8e3 * found['size_bytes'] / call['elapsed_ns']:,.1f} Mbit/s",
            *(f"{call[name]:,}" for name in CALLS[2:]),
        )
        for call in found["calls"]
    ]


def _lead(found: dict[str, Any]) -> str:
    where = found["root"] if found["switches"] == 1 else f"a tree of {found['switches']} switches below {found['root']}"
    return f"{found['topology']}: {found['hosts']} hosts, summed by {where}"


def _configuration(found: dict[str, Any]) -> list[tuple[str, str]]:
    shown = {name: found[name] for name in ("topology", "hosts", "switches", "root", "lanes", "window", "loss", "seed")}
    return [
        *((name, f"{value}") for name, value in shown.items()),
        ("size of a tensor", size_text(found["size_bytes"])),
    ]


def _write_page(found: dict[str, Any], file: Path) -> None:
    from hostagent.cli.pages.page import faults_table, page, section, table

    links = [
        (name, *(each[column] for column in (*COUNTS, "duplicated", "reordered", "corrupted")))
        for name, each in found["links"].items()
    ]
    head = ("link", *COUNTS[:-1], "most bytes waiting", "duplicated", "reordered", "corrupted")
    body = (
        f"<h1>{html.escape(_lead(found))}</h1>",
        section("Configuration", table(["", ""], _configuration(found), "text")),
        section("Calls", table(CALLS, _calls(found))),
        section("Faults", faults_table(found["faults"], found["ended"])),
        section("Links", table(head, links)),
        section("The command that repeats it", f"<pre>{html.escape(shlex.join(('netsum', *sys.argv[1:])))}</pre>"),
    )
    try:
        file.write_text(page(found["topology"], "".join(body)))
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}", "--report") from error


def _print(found: dict[str, Any]) -> None:
    from hostagent.launch.terminal import print_table, wide_console

    console = wide_console()
    console.print(_lead(found), highlight=False)
    print_table([f">{name}" for name in CALLS], _calls(found), console=console)
    links = sorted(found["links"].items(), key=lambda item: (-item[1]["dropped"], -item[1]["bytes"]))
    shown = [(name, *(f"{each[column]:,}" for column in COUNTS)) for name, each in links[:MOST_SHOWN]]
    console.print()
    print_table(("link", ">frames", ">bytes", ">lost", ">dropped", ">most bytes waiting"), shown, console=console)
    if len(links) > MOST_SHOWN:
        console.print(f"and {len(links) - MOST_SHOWN:,} more links (--json has all)", highlight=False)
    console.print(f"{found['hops_per_second']:,} frames over links per second of wall time", highlight=False)
