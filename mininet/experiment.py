"""What the experiments share: options of the network, one network for each setting, rows as they come, a picture."""

from __future__ import annotations

import argparse
import csv
import datetime
import math
import statistics
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from networks import ETHERNET_MTU_BYTES, KINDS, EgressQueues, Network, NetworkError, choose, lanes_of, tree_topology
from virtual import VirtualNetwork

from emulator.network.topology.parts import TopologyError
from emulator.network.topology.topology import Topology
from emulator.ports.errors import PortError
from emulator.ports.spec import Impairments, parse_impairments
from emulator.ports.units import size_bytes, size_text
from hostagent.cli.bench.runner import commit
from hostagent.cli.pages.experiment import note, write_page
from hostagent.protocol.tree import TreeRefused, regular_tree

AGGREGATORS = {"p4": "in the switch", "server": "in a rack server"}
OVERFLOW = "overflow"
GLOO = "gloo"
PLACES = {**AGGREGATORS, OVERFLOW: "in the switch and its overflow server"}
VIRTUAL_MS = "virtual_ms"
"""Column of a live call's time in virtual time."""
LIVE = "live_ms"
"""The other way round, in a picture."""
MOST_WORKERS = 64
MOST_PANELS_IN_A_ROW = 3
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """A network to measure on."""

    fan_out: tuple[int, ...]
    """(4,) is a star of four hosts, (2, 2) a tree with two of them at each of two switches below the root."""
    rate_mbit: float
    loss: float
    rates_mbit: tuple[float, ...]
    """Of each host's link."""
    uplink_mbit: float
    mtu_bytes: int
    impairments: str
    spare: int = 0
    """Hosts of a star without ranks, after the others."""
    slots: int | None = None
    """Of the switch that is the leaf of the tree (1, N), whose root is its overflow server; None: it has none."""

    def topology(self) -> Topology:
        fan_out = (self.fan_out[0] + self.spare,) if self.spare else self.fan_out
        return tree_topology(
            fan_out, self.rates_mbit + (self.rate_mbit,) * self.spare, self.uplink_mbit, self.mtu_bytes
        )

    @property
    def workers(self) -> int:
        """Ranks of a job, one on each of the first hosts."""
        return prod(self.fan_out)

    @property
    def slowest_mbit(self) -> float:
        """Of all links."""
        return min((*self.rates_mbit, self.uplink_mbit)) if len(self.fan_out) > 1 else min(self.rates_mbit)

    def where(self, place: str) -> str:
        """As ``p4 2x2``: what sums, and the tree's form where it is no star."""
        is_star = len(self.fan_out) == 1 or self.slots is not None
        return place if is_star else f"{place} {'x'.join(map(str, self.fan_out))}"

    def label(self, place: str) -> str:
        """As ``p4-2x2-4hosts-50Mbit-0.01``: where, hosts, rate, and loss and slots where there are some."""
        return "-".join(
            [
                *self.where(place).split(),
                f"{self.workers}hosts",
                f"{self.rate_mbit:g}Mbit",
                *([f"{self.loss:g}"] * bool(self.loss)),
                *([] if self.slots is None else [f"{self.slots}slots"]),
            ]
        )

    def columns(self, place: str) -> Row:
        """Parameters of a row."""
        return {
            "workers": self.workers,
            "rate_mbit": self.rate_mbit,
            "loss": self.loss,
            "where": self.where(place),
            "topology": self.topology().name,
            "mtu_bytes": self.mtu_bytes,
            "backend": GLOO if place == GLOO else "netsum",
            "slots": "" if self.slots is None else self.slots,
        }


def settings(options: argparse.Namespace, spare: int = 0) -> Iterator[Setting]:
    """``spare``: hosts without ranks."""
    points = product(options.fan_outs, options.rate, options.loss or [None], options.slots or [None])
    for fan_out, rate_mbit, loss, slots in points:
        rates = tuple(dict(options.slow).get(number, rate_mbit) for number in range(1, prod(fan_out) + 1))
        impairments = "&".join(filter(None, (options.impair, "" if loss is None else f"loss={loss!r}")))
        share = _loss_of(impairments) if impairments else 0.0
        uplink_mbit = options.uplink or max(rates)
        yield Setting(fan_out, rate_mbit, share, rates, uplink_mbit, options.mtu, impairments, spare, slots)


def crossings(place: str, workers: int) -> float:
    """How often a tensor crosses each link in each direction: once and, on a ring, 2 (n - 1) / n times (Patarasuk and
    Yuan, 2009); in a tree the ring crosses each link between switches as often, ranks being in the order of hosts."""
    return 2 * (workers - 1) / workers if place == GLOO else 1.0


@dataclass(frozen=True, slots=True)
class Point:
    """A network that runs, and what sums on it."""

    setting: Setting
    network: Network | VirtualNetwork
    place: str
    """A key of PLACES, or GLOO."""
    controller: str
    """HOST:PORT; empty where there is none."""


def points(options: argparse.Namespace, spare: int = 0, jobs: int = 1) -> Iterator[Point]:
    """All that is to be measured, one after the other; each stops when the next is asked for. ``spare``: hosts without
    ranks; ``jobs``: at once."""
    for setting in settings(options, spare):
        with _running(options, setting) as network:
            for place in options.places:
                with _summing(options, network, setting, place, jobs) as controller:
                    yield Point(setting, network, place, controller)


@contextmanager
def _running(options: argparse.Namespace, setting: Setting) -> Iterator[Any]:
    """A network until the end of the block: a live one, or one in virtual time."""
    faults = options.faults
    if options.network is VirtualNetwork:
        virtual = VirtualNetwork(setting.topology(), setting.impairments, faults)
        try:
            yield virtual
        finally:
            _tell(virtual.happened)
        return
    queues = EgressQueues() if setting.spare else None
    network: Network = options.network(setting.topology(), setting.impairments, changeable=bool(faults), queues=queues)
    try:
        yield network
        _tell(network.happened)
    finally:
        network.stop()


def _tell(faults: Iterable[Mapping[str, Any]]) -> None:
    for fault in faults:
        problem = f" was not possible: {fault['problem']}" if "problem" in fault else ""
        print(f"fault at {fault['time_s']:.3f} s: {fault['what']}{problem}", file=sys.stderr)


@contextmanager
def _summing(
    options: argparse.Namespace,
    network: Network | VirtualNetwork,
    setting: Setting,
    place: str,
    jobs: int = 1,
) -> Iterator[str]:
    """What sums, until the end of the block; gives the controller's HOST:PORT, empty where there is none."""
    if place == GLOO:
        yield ""
        return
    capture = None
    if options.capture is not None:
        capture = options.capture / setting.label(place)
        capture.mkdir(parents=True, exist_ok=True)
    if isinstance(network, VirtualNetwork):
        with network.captured(capture) if capture is not None else nullcontext():
            yield ""
        return
    fan_out = () if setting.spare else setting.fan_out
    with network.aggregation(place, fan_out, options.faults, jobs, capture, setting.slots) as controller:
        yield controller


def origin(options: argparse.Namespace) -> Row:
    """Columns that all rows of a run share."""
    impairments = next(filter(None, parse_impairments(options.impair)), Impairments())
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": version("netsum"),
        "commit": commit(),
        "network": options.network.kind,
        "impairments": options.impair,
        "delay_ms": impairments.delay_ns / 1e6,
        "seed": impairments.seed,
        "faults": options.faults.name if options.faults else "",
        "slow": " ".join(f"{number}={rate:g}" for number, rate in options.slow),
        "uplink_mbit": options.uplink or "",
    }


def record(options: argparse.Namespace, rows: Iterable[Row], name: str, said: Callable[[list[Row]], str]) -> list[Row]:
    """Write rows into NAME as they come, and what ``said`` says of the rows of a point when all are there. A network or
    process that fails ends the experiment with its text."""
    found: list[Row] = []
    point: list[Row] = []
    file = (options.out / name).open("w", newline="") if options.out else None
    try:
        for row in rows:
            if file:
                writer = csv.DictWriter(file, row)
                if not found:
                    writer.writeheader()
                writer.writerow(row)
                file.flush()
            found.append(row)
            point.append(row)
            if row.get("call") == options.calls:
                print(said(point), flush=True)
                point = []
    except NetworkError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    finally:
        if file:
            file.close()
    return found


def publish(folder: Path, title: str) -> None:
    """Write the page of an experiment's folder."""
    note(folder, title)
    print(f"page: {write_page(folder)}")


@dataclass(frozen=True, slots=True)
class Axis:
    """A swept parameter in a picture."""

    column: str
    label: str
    text: Callable[[Any], str]
    """Of a value."""


WORKERS = Axis("workers", "hosts, one rank each", str)
LOSS = Axis("loss", "frames lost on each link, %", lambda share: f"{100 * share:g}")
RATE = Axis("rate_mbit", "rate of each link, Mbit/s", lambda rate: f"{rate:g}")
SIZE = Axis("size_bytes", "size of the tensor", size_text)
SLOTS = Axis("slots", "slots of the switch", str)
UNITS = {"workers": " hosts", "loss": " % loss", "rate_mbit": " Mbit/s", "slots": " slots"}


def draw(
    rows: Sequence[Row], path: Path, axes_of: Sequence[Axis], names: Sequence[Axis], label: str, words: str
) -> None:
    """Column ``ms`` against the first of ``axes_of`` that has several values, else a bar for each place; a panel for
    each point of the others and of ``names``. Error bars reach from the least value to the largest; dashed: what the
    links alone take. ``words``: what is done, for the legend ("summed")."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    by = next((axis for axis in axes_of if len({row[axis.column] for row in rows}) > 1), None)
    others = [axis for axis in (*axes_of, *names) if axis is not by]
    panels = list(dict.fromkeys(tuple(row[axis.column] for axis in others) for row in rows))
    columns = min(len(panels), MOST_PANELS_IN_A_ROW)
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(1 + 5 * columns, 0.9 + 3.8 * lines), layout="constrained")
    FigureCanvasAgg(figure)
    for place, panel in enumerate(panels, 1):
        axes = figure.add_subplot(lines, columns, place)
        mine = [row for row in rows if tuple(row[axis.column] for axis in others) == panel]
        if by is None:
            _draw_bars(axes, mine, label, words)
        else:
            for series, group in _grouped(mine, words).items():
                _draw_series(axes, group, by, series)
            _set_axes(axes, by, mine, label)
        texts = [(axis, axis.text(value)) for axis, value in zip(others, panel, strict=True)]
        shown = [text + UNITS.get(axis.column, "") for axis, text in texts if (axis.column, text) != ("loss", "0")]
        axes.set_title(", ".join(shown), fontsize=10)
    if by is not None:
        handles, labels = axes.get_legend_handles_labels()
        handles += axes.plot([], [], "--", color="gray")
        figure.legend(handles, [*labels, "links alone"], loc="outside lower center", ncols=columns + 1, fontsize=8)
    first = rows[0]
    about = [f"on {first['network']}", first["impairments"]]
    about.append(f"slow links: {first['slow']} Mbit/s" if first["slow"] else "")
    figure.suptitle(", ".join(filter(None, about)), fontsize=10)
    figure.savefig(path, dpi=120)


def draw_shares(rows: Sequence[Row], path: Path) -> None:
    """Rates of concurrent jobs and TCP flows, a bar for each; a panel for each point."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = ("rate_mbit", "loss", "size_bytes")
    panels = list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))
    figure = Figure(figsize=(1 + 5 * len(panels), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for number, panel in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), number)
        mine = [row for row in rows if tuple(row[name] for name in names) == panel]
        labels, values = [], []
        for series, group in _grouped(mine, "summed").items():
            labels.append(series)
            values.append(group[0]["mbit"])
            if group[0]["job"] == group[0]["jobs"]:
                labels.append(f"each TCP flow of {group[0]['tcp']}\nJain's index {group[0]['jain']:.3f}")
                values.append(group[0]["tcp_mbit"])
        colors = ["#e0a458" if "TCP" in label else "#7aa6c2" for label in labels]
        axes.bar(range(len(values)), values, color=colors)
        axes.set_xticks(range(len(values)), labels, fontsize=8)
        axes.set(ylabel="data, Mbit/s", title=f"{panel[0]:g} Mbit/s, {size_text(panel[2])}")
        axes.grid(axis="y", alpha=0.3)
    figure.savefig(path, dpi=120)


def _grouped(rows: Sequence[Row], words: str) -> dict[str, list[Row]]:
    """Rows by what the legend says of them."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        place, _, tree = row["where"].partition(" ")
        named = "gloo's ring" if place == GLOO else f"{words} {PLACES[place]}"
        job = f"job {row['job']}" if int(row.get("jobs", 1)) > 1 else ""
        groups.setdefault(", ".join(filter(None, (named, tree and f"tree {tree}", job))), []).append(row)
    for name, mine in list(groups.items()):
        if VIRTUAL_MS in mine[0]:
            groups[f"{name}, in virtual time"] = [{**row, "ms": row[VIRTUAL_MS], LIVE: row["ms"]} for row in mine]
    return groups


def _difference(rows: Sequence[Row]) -> str:
    """Of the median in virtual time from the live one; nothing where the rows are not of both."""
    if LIVE not in rows[0]:
        return ""
    virtual, live = (statistics.median(row[name] for row in rows) for name in ("ms", LIVE))
    return f"{100 * (virtual / live - 1):+.1f} %"


def _spread(groups: Sequence[Sequence[Row]]) -> tuple[list[float], tuple[list[float], list[float]]]:
    """Medians, and how far the values reach below and above."""
    values = [[row["ms"] for row in group] for group in groups]
    medians = [statistics.median(each) for each in values]
    below = [median - min(each) for median, each in zip(medians, values, strict=True)]
    above = [max(each) - median for median, each in zip(medians, values, strict=True)]
    return medians, (below, above)


def _draw_series(axes: Any, rows: Sequence[Row], by: Axis, label: str) -> None:
    places = sorted({row[by.column] for row in rows})
    groups = [[row for row in rows if row[by.column] == place] for place in places]
    medians, spread = _spread(groups)
    (drawn, *_) = axes.errorbar(places, medians, yerr=spread, fmt="o-", capsize=3, label=label)
    axes.plot(places, [group[0]["links_alone_ms"] for group in groups], "--", color=drawn.get_color(), alpha=0.7)
    for place, median, group in zip(places, medians, groups, strict=True):
        axes.annotate(
            _difference(group), (place, median), (0, -14), textcoords="offset points", ha="center", fontsize=8
        )


def _draw_bars(axes: Any, rows: Sequence[Row], label: str, words: str) -> None:
    grouped = _grouped(rows, words)
    groups = list(grouped.values())
    medians, spread = _spread(groups)
    axes.barh(list(grouped), medians, xerr=spread, capsize=3, color="#7aa6c2")
    for height, group in enumerate(groups):
        limit_ms = group[0]["links_alone_ms"]
        axes.plot([limit_ms] * 2, [height - 0.4, height + 0.4], "k--", label="" if height else "links alone")
        axes.annotate(_difference(group), (0, height), (6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.legend(fontsize=8)


def _set_axes(axes: Any, by: Axis, rows: Sequence[Row], label: str) -> None:
    from matplotlib import ticker

    places = sorted({row[by.column] for row in rows})
    if by in (LOSS, SLOTS) and min(places) == 0:
        least = min(place for place in places if place > 0)
        axes.set_xscale("symlog", linthresh=least, linscale=0.5)
        axes.set_xlim(left=min(places) - 0.1 * least)
    else:
        axes.set_xscale("log")
    axes.set(yscale="log", ylabel=label, xlabel=by.label)
    axes.set_xticks(places, [by.text(place) for place in places])
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.grid(alpha=0.3)


def workers(text: str) -> list[int]:
    """``2,4``: numbers of hosts."""
    counts = [int(each) if each.isdecimal() else 0 for each in text.split(",")]
    if not all(2 <= count <= MOST_WORKERS for count in counts):
        raise ArgumentTypeError(f"{text!r}: write numbers of hosts from 2 to {MOST_WORKERS}, such as 2,4,8")
    return list(dict.fromkeys(counts))


def hosts_text(counts: Sequence[int]) -> str:
    """2, 4 and 8 hosts."""
    *before, last = map(str, counts)
    return f"{', '.join(before)} and {last} hosts" if before else f"{last} hosts"


def rates(text: str) -> list[float]:
    """``50,100``: rates."""
    return [rate_mbit(each) for each in text.split(",")]


def mtu_bytes(text: str) -> int:
    """An MTU that carries frames of netsum."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not an MTU: write a number of bytes, as 1500 or 9000")
    try:
        lanes_of(tree_topology((2,), (1.0, 1.0), mtu_bytes=int(text)))
    except TopologyError as error:
        raise ArgumentTypeError(error.text) from None
    except NetworkError as error:
        raise ArgumentTypeError(str(error)) from None
    return int(text)


def rate_mbit(text: str) -> float:
    """A positive number."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a rate: write a positive number of Mbit/s")
    return value


def sizes(text: str) -> list[int]:
    """``1MB,16MiB``: sizes in bytes, of whole floats."""
    try:
        values = [size_bytes(each) // 4 * 4 for each in text.split(",")]
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    if min(values) <= 0:
        raise ArgumentTypeError("a tensor has at least 4 bytes")
    return values


def slow_link(text: str) -> tuple[int, float]:
    """``3=10``: host 3 has a link of 10 Mbit/s."""
    number, _, rate = text.partition("=")
    if not number.isdecimal():
        raise ArgumentTypeError(f"{text!r}: write HOST=MBIT, such as 3=10")
    return int(number), rate_mbit(rate)


def impairments(text: str) -> str:
    """What `netsum switch` takes after the question mark of a port."""
    _loss_of(text)
    return text


def slot_counts(text: str) -> list[int]:
    """``0,64``: numbers of slots."""
    counts = text.split(",")
    if not all(map(str.isdecimal, counts)):
        raise ArgumentTypeError(f"{text!r}: write numbers of slots, such as 0,64,256")
    return list(dict.fromkeys(map(int, counts)))


def losses(text: str) -> list[float]:
    """``0,0.1%,0.05``: shares of frames."""
    return list(dict.fromkeys(_loss_of(f"loss={each}") for each in text.split(",")))


def _loss_of(text: str) -> float:
    """The share of frames that impairments lose."""
    try:
        inbound, _ = parse_impairments(text)
    except PortError as error:
        raise ArgumentTypeError(f"{text}: {error}") from error
    loss = inbound.loss if inbound else 0.0
    if loss == 1:
        raise ArgumentTypeError(f"{text}: no sum ends where all frames are lost; give less than 1")
    return loss


def aggregators(text: str) -> list[str]:
    """``p4,server``: what sums."""
    found = list(dict.fromkeys(text.split(",")))
    if unknown := [each for each in found if each not in AGGREGATORS]:
        raise ArgumentTypeError(f"there is no aggregator {unknown[0]!r}: choose of {', '.join(AGGREGATORS)}")
    return found


def trees(text: str) -> list[tuple[int, ...]]:
    """``2x2,4x2``: fan-outs."""
    found = []
    for each in text.split(","):
        levels = each.split("x")
        if len(levels) < 2 or not all(map(str.isdecimal, levels)):
            raise ArgumentTypeError(f"{each!r} is not a tree: write 2x4 for two switches with 4 hosts each")
        found.append(tuple(map(int, levels)))
        try:
            regular_tree(found[-1])
        except TreeRefused as error:
            raise ArgumentTypeError(str(error)) from error
    return found


class OptionParser(argparse.ArgumentParser):
    """An experiment's options: mistakes are one line, without the usage."""

    def __init__(self, description: str | None) -> None:
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}\n")


def add_network_options(
    parser: argparse.ArgumentParser, default_rates: Sequence[float], *, in_virtual_time: bool = True
) -> None:
    """Options of the network and of what sums. ``in_virtual_time``: whether that is one of the networks."""
    parser.epilog = "Options with ,.. take a list, and are swept: each combination is measured. Others have one value."
    add = parser.add_argument
    default = ",".join(f"{rate:g}" for rate in default_rates)
    add(
        "--workers",
        type=workers,
        metavar="N,..",
        help="hosts of a star, one rank each; default 4, or those of the trees",
    )
    add("--rate", type=rates, default=list(default_rates), metavar="MBIT,..", help=f"of all links; default {default}")
    add("--against", choices=("gloo", "nothing"), default="gloo", help="what to compare netsum with; default gloo")
    add(
        "--aggregator",
        type=aggregators,
        default=["p4"],
        metavar="KIND,..",
        help="what sums in the centre: p4 (a switch), server (a rack server); default p4",
    )
    add("--tree", type=trees, default=[], metavar="NxM,..", help="trees of switches to measure after the star")
    add("--uplink", type=rate_mbit, metavar="MBIT", help="rate of links between switches; default: as the hosts' links")
    add("--mtu", type=mtu_bytes, default=ETHERNET_MTU_BYTES, metavar="BYTES", help="of all links; default 1500")
    add("--calls", type=int, default=5, metavar="N", help="timed calls at each point; default 5")
    add(
        "--impair",
        type=impairments,
        default="",
        metavar="TEXT",
        help="of all frames on all links, as 'loss=0.01&seed=7'",
    )
    add("--loss", type=losses, metavar="SHARE,..", help="of all frames on all links, a sweep, as 0,0.1%%,1%%,5%%")
    add("--slow", type=slow_link, action="append", default=[], metavar="HOST=MBIT", help="a slower link; repeatable")
    add(
        "--on",
        choices=(*KINDS, *([VirtualNetwork.kind] if in_virtual_time else [])),
        help="default: mininet where it is installed, else namespaces"
        + ("; virtual: simulated frame by frame, netsum alone" if in_virtual_time else ""),
    )
    add(
        "--capture",
        type=Path,
        metavar="DIR",
        help="folder for what passes the ports of netsum's P4 switches, or all links in virtual time, as pcapng",
    )


def check_network_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse what cannot be measured; add ``fan_outs``, ``places`` and ``network``, and say which network is used."""
    if options.workers is None:
        options.workers = list(dict.fromkeys(map(prod, options.tree))) or [4]
    for tree in options.tree:
        if prod(tree) not in options.workers:
            text, given = "x".join(map(str, tree)), ",".join(map(str, options.workers))
            parser.error(
                f"--tree {text} has {prod(tree)} hosts, and --workers {given} has no star of as many beside it"
            )
    if options.uplink and not (options.tree or options.slots):
        parser.error("--uplink is of the links of a --tree, or of an overflow server")
    if options.calls < 1:
        parser.error("--calls is at least 1")
    if options.loss and "loss=" in options.impair:
        parser.error("--loss and --impair both say loss: give one of them")
    for number, _ in options.slow:
        if not 1 <= number <= min(options.workers):
            parser.error(f"--slow: host {number} is not from 1 to {min(options.workers)}")
    for name in ("out", "capture"):
        try:
            if (folder := getattr(options, name)) is not None:
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--{name}: {error}")
    options.fan_outs = [*((count,) for count in options.workers), *options.tree]
    options.places = [*options.aggregator, *([GLOO] if options.against == "gloo" else [])]


def check_combinations(
    parser: argparse.ArgumentParser, options: argparse.Namespace, excluded: Mapping[str, Sequence[str]]
) -> None:
    """``excluded``: of each option those that cannot be measured with it, named as in ``options``."""

    def shown(name: str) -> str:
        value = getattr(options, name)
        return "--on virtual" if name == "on" else f"--{name} {value}" if isinstance(value, str) else f"--{name}"

    def is_given(name: str) -> bool:
        value = getattr(options, name)
        return value == VirtualNetwork.kind if name == "on" else value not in (None, parser.get_default(name))

    for name, others in excluded.items():
        if is_given(name) and (wrong := [other for other in others if is_given(other)]):
            parser.error(f"{shown(name)} can't be measured with {' and '.join(map(shown, wrong))}")


def choose_network(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Set ``network``, and say which it is and why."""
    if options.on == VirtualNetwork.kind:
        if options.aggregator != ["p4"]:
            parser.error("--aggregator: virtual time has P4 switches alone; use --on namespaces or mininet")
        options.network, options.places = VirtualNetwork, ["p4"]
        print(
            "in virtual time, as asked: cores and P4 program are the real ones, links are simulated; gloo is left out"
        )
    else:
        try:
            options.network, why = choose(options.on)
        except NetworkError as error:
            sys.exit(f"{parser.prog}: {error}")
        print(why)


def columns_of(said: Sequence[Mapping[str, Sequence[float]]], names: Sequence[str]) -> Iterator[tuple[float, ...]]:
    """Of each call the largest value of all ranks, by column."""
    columns = [[max(values) for values in zip(*(rank[name] for rank in said), strict=True)] for name in names]
    yield from zip(*columns, strict=True)
