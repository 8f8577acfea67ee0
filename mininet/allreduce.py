"""Time of an allreduce on a star of hosts with slow links: summed in the switch, and by gloo's ring beside it.

sudo .venv/bin/python mininet/allreduce.py --workers 4 --rate 50,100 --sizes 1MB,8MB --out results
sudo .venv/bin/python mininet/allreduce.py --impair 'loss=0.01&delay=1ms&seed=7' --slow 3=10 --calls 20 --out loss
sudo .venv/bin/python mininet/allreduce.py --faults faults.yaml --calls 20 --out faults
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from networks import KINDS, NetworkError, Star, choose, star_topology
from virtual import VirtualStar

from emulator.network.faults.files import read_faults
from emulator.network.topology.description import DescriptionError
from emulator.ports.errors import PortError
from emulator.ports.spec import parse_port
from emulator.ports.units import size_bytes
from hostagent.cli.bench.runner import commit
from hostagent.cli.pages.experiment import note, write_page

BACKENDS = {"netsum": "summed in the switch", "gloo": "gloo's ring"}
RANK_SCRIPT = str(Path(__file__).resolve().parent / "allreduce_rank.py")
MOST_WORKERS = 64
Said: TypeAlias = dict[str, list[float]]
"""Of a rank: times and bytes of its calls, by name."""


def crossings(backend: str, workers: int) -> float:
    """How often a tensor crosses each host's link in each direction: once and, on a ring, 2 (n - 1) / n times
    (Patarasuk and Yuan, 2009)."""
    return 1.0 if backend == "netsum" else 2 * (workers - 1) / workers


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each timed call, as they come."""
    common = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": version("netsum"),
        "commit": commit(),
        "network": options.network.kind,
        "workers": options.workers,
        "impairments": options.impair,
        "faults": options.faults.name if options.faults else "",
        "slow": " ".join(f"{number}={rate:g}" for number, rate in options.slow),
    }
    for rate_mbit in options.rate:
        rates = [dict(options.slow).get(number, rate_mbit) for number in range(1, options.workers + 1)]
        with running(options, rates) as call:
            for size_bytes, backend in product(options.sizes, options.backends):
                parameters = {**common, "rate_mbit": rate_mbit, "size_bytes": size_bytes, "backend": backend}
                limit_ms = crossings(backend, options.workers) * size_bytes * 8 / (min(rates) * 1e3)
                yield from calls_of(parameters | {"links_alone_ms": round(limit_ms, 3)}, call(backend, size_bytes))


@contextmanager
def running(options: argparse.Namespace, rates: list[float]) -> Iterator[Callable[[str, int], list[Said]]]:
    """A network until the end of the block; gives a function of (backend, size_bytes): what each rank says of its
    calls."""
    if options.network.kind == "virtual":
        virtual: VirtualStar = options.network(options.workers, rates, options.impair)
        yield lambda backend, size_bytes: virtual.calls(size_bytes, options.calls)
        return
    network: Star = options.network(options.workers, rates, options.impair, changeable=bool(options.faults))
    capture = options.capture and options.capture / f"{max(rates):g}Mbit.pcapng"

    def call(backend: str, size_bytes: int) -> list[Said]:
        words = [RANK_SCRIPT, backend, str(size_bytes), str(options.calls)]
        return [json.loads(out.splitlines()[-1]) for out in network.ranks(words, controller)]

    try:
        with network.aggregation(options.faults, capture) as controller:
            yield call
        for fault in network.happened:
            problem = f" was not possible: {fault['problem']}" if "problem" in fault else ""
            print(f"fault at {fault['time_s']:.3f} s: {fault['what']}{problem}", file=sys.stderr)
    finally:
        network.stop()


def calls_of(parameters: dict[str, Any], ranks: list[Said]) -> Iterator[dict[str, Any]]:
    """A row for each call: of the times and bytes of all ranks the largest."""
    columns = [
        zip(*(rank[name] for rank in ranks), strict=True) for name in ("times_s", "sent_bytes", "received_bytes")
    ]
    for call, (times_s, sent, received) in enumerate(zip(*columns, strict=True), 1):
        ms = round(1e3 * max(times_s), 3)
        yield {**parameters, "call": call, "ms": ms, "sent_bytes": max(sent), "received_bytes": max(received)}


HEADING = f"{'link':>10} {'size':>8} {'backend':8} {'median':>10} {'fastest':>9} {'slowest':>9} {'links alone':>12}"


def line(rows: list[dict[str, Any]]) -> str:
    first, times_ms = rows[0], [row["ms"] for row in rows]
    return (
        f"{first['rate_mbit']:>5g} Mbit {size_text(first['size_bytes']):>8} {first['backend']:8} "
        f"{statistics.median(times_ms):>7.0f} ms {min(times_ms):>6.0f} ms {max(times_ms):>6.0f} ms "
        f"{first['links_alone_ms']:>9.0f} ms"
    )


def size_text(size_bytes: int) -> str:
    """As ``8 MB``, in powers of ten as the rates of links are."""
    for power, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size_bytes >= power:
            return f"{size_bytes / power:.3g} {unit}"
    return f"{size_bytes} B"


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Time against rate, a panel for each size; against size where there is one rate. Bars reach from the fastest call
    to the slowest; dashed: what the links alone take."""
    from matplotlib import ticker
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sizes, rates = (sorted({row[name] for row in rows}) for name in ("size_bytes", "rate_mbit"))
    by_rate = len(rates) > 1
    panels: list[Any] = sizes if by_rate else [None]
    figure = Figure(figsize=(1 + 5 * len(panels), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        for backend in sorted({row["backend"] for row in rows}, reverse=True):
            mine = [row for row in rows if row["backend"] == backend and panel in (None, row["size_bytes"])]
            draw_backend(axes, backend, mine, "rate_mbit" if by_rate else "size_bytes")
        ticks = rates if by_rate else sizes
        labels = [f"{tick:g}" for tick in rates] if by_rate else [size_text(tick) for tick in sizes]
        axes.set(xscale="log", yscale="log", ylabel="time of an allreduce, ms")
        axes.set_xlabel("rate of each link, Mbit/s" if by_rate else "size of the tensor")
        axes.set_xticks(ticks, labels)
        axes.xaxis.set_minor_locator(ticker.NullLocator())
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5, 7)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(ticker.NullLocator())
        axes.set_title(size_text(panel) if by_rate else f"links of {rates[0]:g} Mbit/s")
        axes.grid(alpha=0.3)
        axes.legend()
    first = rows[0]
    about = [f"{first['workers']} hosts in a star", f"on {first['network']}", first["impairments"]]
    about.append(f"slow links: {first['slow']} Mbit/s" if first["slow"] else "")
    figure.suptitle(", ".join(filter(None, about)), fontsize=10)
    figure.savefig(path, dpi=120)


def draw_backend(axes: Any, backend: str, rows: list[dict[str, Any]], by: str) -> None:
    places = sorted({row[by] for row in rows})
    times_ms = [[row["ms"] for row in rows if row[by] == place] for place in places]
    medians = [statistics.median(times) for times in times_ms]
    below = [median - min(times) for median, times in zip(medians, times_ms, strict=True)]
    above = [max(times) - median for median, times in zip(medians, times_ms, strict=True)]
    words = BACKENDS[backend]
    (drawn, *_) = axes.errorbar(places, medians, yerr=(below, above), fmt="o-", capsize=3, label=words)
    limits = [next(row["links_alone_ms"] for row in rows if row[by] == place) for place in places]
    axes.plot(places, limits, "--", color=drawn.get_color(), label=f"{words}, links alone")


def rates(text: str) -> list[float]:
    """``50,100``: rates."""
    return [rate_mbit(each) for each in text.split(",")]


def rate_mbit(text: str) -> float:
    """A positive number."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate: write a positive number of Mbit/s")
    return value


def sizes(text: str) -> list[int]:
    """``1MB,16MiB``: sizes in bytes, of whole floats."""
    try:
        values = [size_bytes(each) // 4 * 4 for each in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if min(values) <= 0:
        raise argparse.ArgumentTypeError("a tensor has at least 4 bytes")
    return values


def slow_link(text: str) -> tuple[int, float]:
    """``3=10``: host 3 has a link of 10 Mbit/s."""
    number, _, rate = text.partition("=")
    if not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: write HOST=MBIT, such as 3=10")
    return int(number), rate_mbit(rate)


def impairments(text: str) -> str:
    """What `netsum switch` takes after the question mark of a port."""
    try:
        parse_port(f"1=if:link?{text}")
    except PortError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--workers", type=int, default=4, metavar="N", help="number of hosts, one rank each; default 4")
    add("--rate", type=rates, default=[100.0], metavar="MBIT,..", help="rate of all links, Mbit/s; default 100")
    add("--sizes", type=sizes, default=[8_000_000], metavar="SIZE,..", help="tensors, as 1MB or 16MiB; default 8MB")
    add("--against", choices=("gloo", "nothing"), default="gloo", help="what to measure beside netsum; default gloo")
    add("--calls", type=int, default=5, metavar="N", help="timed calls at each point; default 5")
    add(
        "--impair",
        type=impairments,
        default="",
        metavar="TEXT",
        help="of all frames on all links, as 'loss=0.01&seed=7'",
    )
    add("--slow", type=slow_link, action="append", default=[], metavar="HOST=MBIT", help="a slower link; repeatable")
    add("--faults", type=Path, metavar="FILE", help="script of faults on h1, h2, ... and s1; netsum alone is measured")
    add(
        "--on",
        choices=(*KINDS, VirtualStar.kind),
        help="default: mininet where it is installed, else namespaces; virtual: simulated frame by frame, netsum alone",
    )
    add("--capture", type=Path, metavar="DIR", help="folder for what passes netsum's ports: RATEMbit.pcapng")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for calls.csv, a row for each call, allreduce.png and report.html",
    )
    options = parser.parse_args()
    if not 2 <= options.workers <= MOST_WORKERS:
        parser.error(f"--workers is from 2 to {MOST_WORKERS}")
    if options.calls < 1:
        parser.error("--calls is at least 1")
    for number, _ in options.slow:
        if not 1 <= number <= options.workers:
            parser.error(f"--slow: host {number} is not from 1 to {options.workers}")
    if options.capture is not None and options.on == VirtualStar.kind:
        parser.error("--capture: not in virtual time; use --on namespaces or mininet")
    for name in ("out", "capture"):
        if (folder := getattr(options, name)) is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                parser.error(f"--{name}: {error}")
    if options.faults is not None:
        if options.on == VirtualStar.kind:
            parser.error("--faults: not in virtual time; use --on namespaces or mininet")
        try:
            read_faults(options.faults, star_topology(options.workers))
        except DescriptionError as error:
            parser.error(f"--faults: {error}")
    options.backends = ["netsum", "gloo"] if options.against == "gloo" and not options.faults else ["netsum"]
    if options.on == VirtualStar.kind:
        options.network, options.backends = VirtualStar, ["netsum"]
        print(
            "in virtual time, as asked: cores and P4 program are the real ones, links are simulated; gloo is left out"
        )
    else:
        options.network, why = choose(options.on)
        print(why)
    return options


def main() -> None:
    options = parsed()
    rows: list[dict[str, Any]] = []
    file = (options.out / "calls.csv").open("w", newline="") if options.out else None
    print(HEADING)
    try:
        for row in measure(options):
            if file:
                writer = csv.DictWriter(file, row)
                if not rows:
                    writer.writeheader()
                writer.writerow(row)
                file.flush()
            rows.append(row)
            if row["call"] == options.calls:
                print(line(rows[-options.calls :]), flush=True)
    except NetworkError as error:
        sys.exit(f"allreduce.py: {error}")
    finally:
        if file:
            file.close()
    if options.out:
        draw(rows, options.out / "allreduce.png")
        first = rows[0]
        note(options.out, f"Time of an allreduce: {first['workers']} hosts in a star, on {first['network']}")
        print(f"page: {write_page(options.out)}")


if __name__ == "__main__":
    main()
