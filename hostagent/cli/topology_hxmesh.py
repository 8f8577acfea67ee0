"""``netsum topology cost``, ``bandwidth`` and ``allocate``: what HammingMesh is compared by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostagent.cli.bench.command import parse_size
from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, argument, command, flag, grid, integer, option, refuse, repeated
from hostagent.cli.topology import FILE

if TYPE_CHECKING:
    from emulator.network.topology.topology import Topology

PATTERNS = ("alltoall", "allreduce", "permutation")


def _mistakes() -> tuple[type[Exception], ...]:
    from emulator.network.topology.parts import TopologyError

    return (TopologyError,)


@command(AS_JSON)
def cost(*, as_json: bool = False) -> int:
    """Costs of the sixteen networks of the HammingMesh paper (Hoefler et al. 2022, table II), from counted switches and
    cables, next to the paper's; diameters in links.

    Example:
      netsum topology cost
    """
    from emulator.network.topology.hxmesh.cost import published
    from hostagent.launch.terminal import print_table, wide_console

    rows = published()
    if as_json:
        print(json.dumps([{**asdict(row), "dollars": row.network.dollars} for row in rows]))
        return 0
    columns = ("", ">accelerators", ">planes", ">switches", ">copper", ">fibre", ">dollars", ">paper, M$", ">diameter")
    table = [
        (
            each.name,
            *(f"{n:,}" for n in (each.accelerators, each.planes, each.parts.switches, each.parts.copper)),
            *(f"{n:,}" for n in (each.parts.fibre, each.dollars)),
            f"{row.million_dollars:g}",
            str(each.diameter),
        )
        for row in rows
        for each in (row.network,)
    ]
    print_table(columns, table, console=wide_console())
    return 0


@command(
    FILE,
    option("--pattern", metavar="PATTERN", required=True, help=f"Traffic: {', '.join(PATTERNS)}."),
    repeated("--size", metavar="SIZE", help="Bytes of an allreduce at each host. Repeatable. Default: 64KiB to 1GiB."),
    option("--seed", metavar="N", type=integer(0), help="Seed of a permutation."),
    option("--plot", metavar="FILE", type=Path, help="Picture of an allreduce's times: .png, .svg or .pdf."),
    AS_JSON,
    mistakes=_mistakes,
)
def bandwidth(
    file: Path,
    *,
    pattern: str,
    size: list[str] | None = None,
    seed: int = 1,
    plot: Path | None = None,
    as_json: bool = False,
    given: dict[str, str],
) -> int:
    """Bandwidth of a topology. Of alltoall and of a random permutation: bounds from the loads of links on shortest
    routes, as a share of what a host's links inject. Of an allreduce on a torus or HammingMesh: simulated times of the
    algorithms for grids, and the bytes of a tensor over its time.

    Example:
      netsum topology build hxmesh 4x4 --board 2x2 --rate 400Gbit -o hx.yaml
      netsum topology bandwidth hx.yaml --pattern alltoall
      netsum topology bandwidth hx.yaml --pattern allreduce --size 1MiB
    """
    from emulator.network.topology.bandwidth import alltoall, permutation
    from emulator.network.topology.draw import check_picture
    from emulator.network.topology.files import read_topology
    from hostagent.launch.terminal import print_table, wide_console

    if pattern not in PATTERNS:
        raise UsageError(f"{pattern!r}: choose one of {', '.join(PATTERNS)}", "--pattern")
    if pattern != "allreduce":
        refuse(given, "applies to --pattern allreduce", "size", "plot")
    if pattern != "permutation":
        refuse(given, "applies to --pattern permutation", "seed")
    if plot is not None:
        check_picture(plot)
    topology = read_topology(file)
    if pattern != "allreduce":
        bound = alltoall(topology) if pattern == "alltoall" else permutation(topology, seed)
        if as_json:
            print(json.dumps(bound._asdict()))
            return 0
        shares = f"mean {bound.mean_share:.1%}, least {bound.least_share:.1%} of what its links inject"
        print(f"{pattern}: {bound.mean_bps / 1e9:,.4g} Gbit/s of each host; {shares}")
        return 0
    sizes = [parse_size(each) for each in size] if size else [1 << power for power in range(16, 31, 2)]
    left_out: list[str] = []
    rows = list(_allreduces(topology, sizes, left_out))
    if plot is not None:
        try:
            _draw(topology, rows, plot)
        except (OSError, ValueError) as error:
            raise UsageError(f"{plot}: {error}", "--plot") from None
    if as_json:
        print(json.dumps(rows))
        return 0
    table = [
        (each["algorithm"], f"{each['size_bytes']:,}", f"{each['elapsed_ns'] / 1e3:,.1f}", f"{each['gbps']:,.1f}")
        for each in rows
    ]
    print_table(("allreduce", ">bytes", ">us", ">Gbit/s"), table, console=wide_console())
    for each in left_out:
        print(f"left out: {each}")
    return 0


def _allreduces(topology: Topology, sizes: list[int], left_out: list[str]) -> Iterator[dict[str, Any]]:
    """A row for each algorithm and size; what does not fit the topology is added to ``left_out``, with the reason.
    Raises ScheduleError where nothing does."""
    from emulator.network.messages.grid_steps import rings_elapsed_ns, torus_elapsed_ns
    from emulator.network.messages.simulate import simulate
    from emulator.network.schedule.grids import GRID_GENERATORS
    from emulator.network.schedule.parts import ScheduleError
    from emulator.network.topology.parts import TopologyError

    without_list = {"grid-rings": rings_elapsed_ns, "grid-torus": torus_elapsed_ns}
    for name, build in GRID_GENERATORS.items():
        try:
            for size in sizes:
                own = without_list.get(name)
                elapsed_ns = own(topology, size) if own else simulate(build(topology, size)).elapsed_ns
                yield {"algorithm": name, "size_bytes": size, "elapsed_ns": elapsed_ns, "gbps": 8 * size / elapsed_ns}
        except TopologyError as error:
            left_out.append(f"{name}: {error.text}")
    if len(left_out) == len(GRID_GENERATORS):
        raise ScheduleError(f"no allreduce for grids: {'; '.join(left_out)}")


def _draw(topology: Topology, rows: list[dict[str, Any]], path: Path) -> None:
    """Gbit/s over sizes, both logarithmic."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from emulator.ports.units import SIZE_UNITS_BYTES, quantity_text

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for name in dict.fromkeys(row["algorithm"] for row in rows):
        own = [row for row in rows if row["algorithm"] == name]
        axes.plot([row["size_bytes"] for row in own], [row["gbps"] for row in own], marker="o", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(xlabel="tensor at each accelerator", ylabel="Gbit/s", title=f"allreduce on {topology.name}, one plane")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: quantity_text(round(size), SIZE_UNITS_BYTES)))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


@command(
    argument("boards", metavar="ROWSxCOLUMNS", type=grid, nargs="?", help="Boards. Default: 16x16."),
    option("--jobs", metavar="FILE.csv", type=Path, help="Jobs: name,rows,columns. Default: drawn from the seed."),
    option("--fail", metavar="N", type=integer(0), help="Number of failed boards, drawn from the seed."),
    option("--seed", metavar="N", type=integer(0), help="Seed of failures and of drawn jobs."),
    flag("--no-transpose", help="No job with rows and columns exchanged."),
    flag("--no-aspect", help="No job in another shape of as many boards."),
    flag("--no-sort", help="Jobs in their order rather than the largest first."),
    flag("--no-locality", help="Columns from the first on rather than under few leaf switches."),
    AS_JSON,
    mistakes=_mistakes,
)
def allocate(
    boards: tuple[int, int] | None,
    *,
    jobs: Path | None = None,
    fail: int = 0,
    seed: int = 1,
    no_transpose: bool = False,
    no_aspect: bool = False,
    no_sort: bool = False,
    no_locality: bool = False,
    as_json: bool = False,
) -> int:
    """Place jobs on the boards of a HammingMesh: each gets rows and columns, adjacent or not, whose crossings are all
    free. Exit status 1 where a job found no boards.

    Example:
      netsum topology allocate 16x16 --fail 3
    """
    from emulator.network.schedule.columns import set_text
    from emulator.network.topology.hxmesh.allocation import (
        Allocation,
        Heuristics,
        random_failures,
        random_jobs,
        read_jobs,
    )
    from hostagent.launch.terminal import print_table, wide_console

    boards = boards or (16, 16)
    wanted = random_jobs(boards, seed) if jobs is None else read_jobs(jobs)
    heuristics = Heuristics(not no_transpose, not no_aspect, not no_sort, not no_locality)
    allocation = Allocation(boards, heuristics, random_failures(boards, fail, seed))
    waiting = allocation.place(wanted)
    if as_json:
        placed = [asdict(each) for each in allocation.placements.values()]
        found = {"placed": placed, "waiting": [job.name for job in waiting], "failed": sorted(allocation.failed)}
        print(json.dumps({**found, "utilization": allocation.utilization}))
        return 1 if waiting else 0
    table = [
        (each.job.name, f"{each.job.rows}x{each.job.columns}", set_text(each.rows), set_text(each.columns))
        for each in allocation.placements.values()
    ]
    table += [(job.name, f"{job.rows}x{job.columns}", "-", "-") for job in waiting]
    print_table(("job", ">boards", ">rows", ">columns"), table, console=wide_console())
    used = sum(each.job.boards for each in allocation.placements.values())
    waits = f"{len(waiting)} {'job waits' if len(waiting) == 1 else 'jobs wait'}"
    failed = ", ".join(f"{row},{column}" for row, column in sorted(allocation.failed))
    failures = f"; failed (row, column): {failed}" if failed else ""
    print(f"{used} of {allocation.working} working boards in use ({allocation.utilization:.1%}); {waits}{failures}")
    return 1 if waiting else 0
