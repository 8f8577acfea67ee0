"""``netsum plan``: collectives synthesized for a topology."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostagent.cli.bench.command import parse_size
from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, argument, command, flag, number, option

if TYPE_CHECKING:
    from emulator.network.schedule.schedule import Schedule
    from hostagent.planner.synthesis.inputs import Machine


GAP = re.compile(r"%\s+\S+\s+\S+\s+([\d.]+%)")
"""In a line of HiGHS's log: after the explored share, the bound and the best objective."""
DEFAULT_BYTES = 10**6
"""Of a chunk; or a few more, to be equal pieces of whole numbers. The published profiles are of such messages."""
MOST_BYTES = 10**12
"""Of a chunk: rates that take longer for it do not fit int64."""


def _mistakes() -> tuple[type[Exception], ...]:
    from emulator.network.topology.parts import TopologyError

    return (TopologyError,)


@command(
    argument("machine", metavar="MACHINE", help="NDv2, DGX2, custom, or a topology file (.yaml) of `netsum topology`."),
    argument("collective", metavar="COLLECTIVE", help="Collective: allgather, alltoall, reduce_scatter or allreduce."),
    option("--sketch", metavar="S.json", type=Path, help="Communication sketch, as TACCL's; without: one node."),
    option(
        "--topology", metavar="T.json", type=Path, help="Links' alpha and beta, as TACCL's; without: published ones."
    ),
    option(
        "--size",
        metavar="SIZE",
        help="Of a chunk: of a rank (allgather), of a pair of ranks (alltoall); 1 MB, whole pieces.",
    ),
    option(
        "--profiled-size",
        metavar="SIZE",
        help="Of the messages that betas are of; without: --size, and 1 MB for published ones.",
    ),
    option("--unit-us", metavar="US", type=number(1e-6), help="Microseconds that T.json's numbers count; 1."),
    option(
        "--time-limit", metavar="S", type=number(1), help="Seconds for both programs; the best plan so far is taken."
    ),
    flag("--separate", help="A message for every piece: do not join neighbors."),
    option("--solver", metavar="NAME", help="HiGHS to use: scipy's, or highspy's, which starts from the greedy plan."),
    flag("--log", help="Print the solver's log on standard error; without, a terminal shows its gap."),
    option("-o", "--output", metavar="FILE", type=Path, help="Schedule to write: .json, or MSCCL's .xml."),
    option("--plot", metavar="FILE.png", type=Path, help="Picture of the plan's bandwidth at other sizes."),
    AS_JSON,
    mistakes=_mistakes,
)
def synthesize(
    machine: str,
    collective: str,
    *,
    sketch: Path | None = None,
    topology: Path | None = None,
    size: str | None = None,
    profiled_size: str | None = None,
    unit_us: float = 1.0,
    time_limit: float = 60.0,
    separate: bool = False,
    solver: str = "scipy",
    log: bool = False,
    output: Path | None = None,
    plot: Path | None = None,
    as_json: bool = False,
) -> int:
    """Synthesize a collective for GPUs and their links, within a communication sketch (TACCL), and compare it with
    rings; an allreduce also with one that switches sum.

    Example:
      netsum plan synthesize NDv2 allgather -o plan.json --plot bandwidth.png
      netsum schedule show plan.json --gantt plan.png
    """
    from emulator.network.topology.draw import check_picture
    from hostagent.cli.schedule.command import check_name, write
    from hostagent.launch.terminal import progress
    from hostagent.planner.synthesis.inputs import MACHINES, Sketch, read_sketch
    from hostagent.planner.synthesis.picture import draw
    from hostagent.planner.synthesis.program import Solver
    from hostagent.planner.synthesis.synthesize import COLLECTIVES, in_switches, rings
    from hostagent.planner.synthesis.synthesize import synthesize as plan_of

    if collective not in COLLECTIVES:
        raise UsageError(f"{collective!r}: choose one of {', '.join(COLLECTIVES)}", "COLLECTIVE")
    for name, path in (("-o/--output", output), ("--plot", plot)):
        if path is not None and not path.parent.is_dir():
            raise UsageError(f"{path.parent} is no folder", name)
    if output is not None:
        check_name(output, "-o/--output")
    if plot is not None:
        check_picture(plot)
    used = read_sketch(sketch) if sketch else Sketch()
    piece_bytes = 4 * used.pieces
    size_bytes = -(-DEFAULT_BYTES // piece_bytes) * piece_bytes if size is None else _size_bytes(size, "--size")
    if profiled_size is not None:
        profiled_bytes = _size_bytes(profiled_size, "--profiled-size")
    else:
        profiled_bytes = DEFAULT_BYTES if topology is None and machine in MACHINES else size_bytes
    model = _machine(machine, topology, used.nodes, profiled_bytes, unit_us)
    with progress("routing") as update:
        programs = Solver(solver, _watching(update, log))
        plan = plan_of(
            model, used, collective, size_bytes, time_limit_s=time_limit, coalesce=not separate, solver=programs
        )
    found: dict[str, Any] = {
        "name": plan.schedule.name,
        "elapsed_ns": plan.elapsed_ns,
        "messages": len(plan.schedule),
        "bound_ns": plan.bound_ns,
        "gap": plan.gap,
        "separate_ns": plan.separate_ns,
        "routing_ns": plan.routing.time_ns,
        "routing_bound_ns": plan.routing.bound_ns,
        "routing_gap": plan.routing.gap,
        "greedy_routing_ns": plan.greedy_ns,
        "routing_s": plan.routing_s,
        "messages_s": plan.messages_s,
        "busiest_link": _busiest(plan.schedule),
    }
    best, only_messages = plan.schedule, output is not None and output.suffix == ".xml"  # as MSCCL's programs
    for name, other in (
        ("rings_ns", rings(model, collective, size_bytes)),
        ("in_switches_ns", in_switches(model, collective, size_bytes)),
    ):
        if other is not None:
            found[name] = _elapsed_ns(other)
            if found[name] < _elapsed_ns(best) and not (only_messages and name == "in_switches_ns"):
                best = other
    found["written"] = best.name
    if output is not None:
        write(best, output)
    if plot is not None:
        draw(model, plan, plot)
    if as_json:
        print(json.dumps(found))
    else:
        _print(found)
    return 0


def _watching(update: Callable[..., None], log: bool) -> Callable[[str, str], None] | None:
    """What reads the solver's log: nobody, unless somebody sees it."""

    def watch(what: str, line: str) -> None:
        if log:
            print(line, file=sys.stderr)
        elif (gap := GAP.search(line)) or line.startswith("Running"):
            update(description=f"{what}: gap {gap[1]}" if gap else what)

    return watch if log or sys.stderr.isatty() else None


def _size_bytes(text: str, option: str) -> int:
    """Of a chunk. Raises UsageError."""
    if not 1 <= (found := parse_size(text)) <= MOST_BYTES:
        raise UsageError(f"{text!r} is not from 1 byte to 1 TB", option)
    return found


def _machine(name: str, topology: Path | None, nodes: int, size_bytes: int, unit_us: float) -> Machine:
    from emulator.network.topology.files import read_topology
    from hostagent.planner.synthesis.inputs import MACHINES, Machine, read_machine

    if name in MACHINES:
        return read_machine(name, topology, nodes, size_bytes, unit_us)
    if Path(name).suffix not in (".yaml", ".yml", ".json"):
        raise UsageError(f"{name!r}: choose one of {', '.join(MACHINES)}, or a topology file", "MACHINE")
    if topology is not None or nodes > 1:
        raise UsageError(f"{name} has links of its own, and its hosts are one node", "--topology and --sketch")
    read = read_topology(Path(name))
    return Machine(read, len(read.hosts), 1, tuple(range(len(read.hosts))), {}, size_bytes)


def _elapsed_ns(schedule: Schedule) -> int:
    from emulator.network.messages.simulate import simulate

    return simulate(schedule).elapsed_ns


def _busiest(schedule: Schedule) -> dict[str, Any]:
    """Of the links: what goes over the one that is occupied longest."""
    from emulator.network.schedule.verify import verify

    moved, links = verify(schedule), schedule.topology.links

    def held_ns(index: int) -> float:
        bits_ns: float = 8e9 * int(moved.link_bytes[index]) / links[index].rate_bps
        return bits_ns + int(moved.link_messages[index]) * links[index].alpha_ns

    most = max(range(len(links)), key=held_ns)
    return {
        "link": links[most].name,
        "messages": int(moved.link_messages[most]),
        "bytes": int(moved.link_bytes[most]),
        "held_ns": round(held_ns(most)),
    }


def _print(found: dict[str, Any]) -> None:
    def us(name: str) -> str:
        return f"{found[name] / 1000:,.2f} us"

    routing = "proven optimal" if found["routing_gap"] < 1e-4 else f"gap {found['routing_gap']:.1%}"
    if found["routing_bound_ns"] == 0:
        routing = "no bound was found in time"
    whole = "proven optimal" if found["gap"] < 1e-4 else f"gap {found['gap']:.1%}"
    busiest = found["busiest_link"]
    print(
        f"routing   {us('routing_ns')}, without order on links: {routing}; {found['routing_s']:.1f} s; "
        f"greedy {us('greedy_routing_ns')}\n"
        f"plan      {us('elapsed_ns')}, {found['messages']} messages; {found['messages_s']:.1f} s; one for each piece: "
        f"{us('separate_ns')}\n"
        f"bound     {us('bound_ns')}, which no plan over these edges is below: {whole}\n"
        f"busiest   {busiest['link']}: {busiest['held_ns'] / 1000:,.2f} us, {busiest['messages']} messages, "
        f"{busiest['bytes']:,} bytes"
    )
    for name, text in (("rings_ns", "rings"), ("in_switches_ns", "switches")):
        if name in found:
            print(f"{text:<10}{us(name)}, {found[name] / found['elapsed_ns']:.2f} times the plan's")
    print(f"best      {found['written']}")
