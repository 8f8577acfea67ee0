"""``netsum schedule``: build, show, convert and run schedules."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostagent.cli.bench.command import parse_size
from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, argument, command, flag, integer, option, refuse

if TYPE_CHECKING:
    from emulator.network.messages.simulate import Run
    from emulator.network.schedule.schedule import Schedule

FILE = argument(
    "file",
    metavar="FILE",
    type=Path,
    help="Schedule: JSON, MSCCL's .xml, or T.et for Chakra's T.0.et, T.1.et, ... or torch's T.0.json, T.1.json, ...",
)
ALGORITHM = option("--algorithm", metavar="NAME", help="Allreduce of a trace (.et): ring, ...; without, in switches.")
OUTPUT = option(
    "-o", "--output", metavar="FILE", type=Path, required=True, help="Schedule to write: .json, .xml or .et."
)
FORMATS = (".json", ".xml", ".et")
TOPOLOGY = option("--topology", metavar="FILE", type=Path, help="Topology, for files that have none (.xml, .et).")
SIZE = option("--size", metavar="SIZE", help="Bytes at each rank, for files that have none (.xml).")
SHARING = option("--sharing", metavar="KIND", help="Links take messages one by one (exclusive), or all share (fair).")
MOST_SHOWN = 20


def _mistakes() -> tuple[type[Exception], ...]:
    from emulator.network.topology.parts import TopologyError

    return (TopologyError,)


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Says whose fault it is that a schedule is none."""
    from emulator.network.schedule.parts import ScheduleError

    try:
        yield
    except ScheduleError as error:
        raise ScheduleError(f"{file}: {error}") from None


def _algorithms() -> str:
    from emulator.network.schedule.generators import GENERATORS
    from emulator.network.schedule.grids import GRID_GENERATORS

    shown = []
    for name, each in {**GENERATORS, **GRID_GENERATORS}.items():
        text = (each.__doc__ or "").splitlines()[0].replace("``", "")
        shown.append(textwrap.fill(text, 80, initial_indent=f"  {name:<20}", subsequent_indent=" " * 22))
    lines = "\n".join(shown)
    return f"Algorithms (n ranks, S bytes at each; alpha, beta: of a message and a byte):\n{lines}"


@command(
    argument("algorithm", metavar="ALGORITHM", help="Allreduce to build; they are below."),
    argument("topology", metavar="TOPOLOGY", type=Path, help="Topology file; rank i is at its i-th host."),
    option("--size", metavar="SIZE", help="Bytes at each rank."),
    OUTPUT,
    epilog=_algorithms,
    mistakes=_mistakes,
)
def build(algorithm: str, topology: Path, *, size: str = "1MiB", output: Path) -> int:
    """Build a well-known allreduce over the hosts of a topology as a schedule, and verify it.

    Example:
      netsum topology build star 8 -o net.yaml
      netsum schedule build ring net.yaml --size 1MiB -o ring.json
    """
    from emulator.network.schedule.generators import GENERATORS
    from emulator.network.schedule.grids import GRID_GENERATORS
    from emulator.network.schedule.parts import ScheduleError
    from emulator.network.schedule.verify import verify
    from emulator.network.topology.files import read_topology
    from emulator.network.topology.parts import TopologyError
    from hostagent.launch.terminal import amount, progress

    check_name(output, "-o/--output")
    builders = {**GENERATORS, **GRID_GENERATORS}
    if algorithm not in builders:
        raise UsageError(f"{algorithm!r}: choose one of {', '.join(builders)}", "ALGORITHM")
    with progress(f"building {algorithm}") as update:
        network = read_topology(topology)
        try:
            schedule = builders[algorithm](network, parse_size(size))
        except TopologyError as error:
            place = f"--size {size}" if error.place == ("size",) else f"{algorithm} on {topology}"
            raise ScheduleError(f"{place}: {error.text}") from None
        update(description=f"verifying {amount(len(schedule), 'task')}")
        verify(schedule)
        update(description=f"writing {amount(len(schedule), 'task')}")
        write(schedule, output)
    return 0


@command(
    FILE,
    TOPOLOGY,
    SIZE,
    ALGORITHM,
    SHARING,
    option("--gantt", metavar="FILE.png", type=Path, help="Picture to draw: tasks on their resources over time."),
    option("--tasks", metavar="N", type=integer(0), help="Number of tasks to list, the first ones."),
    AS_JSON,
    mistakes=_mistakes,
)
def show(
    file: Path,
    *,
    topology: Path | None = None,
    size: str | None = None,
    algorithm: str = "",
    sharing: str = "exclusive",
    gantt: Path | None = None,
    tasks: int = MOST_SHOWN,
    as_json: bool = False,
) -> int:
    """Verify a schedule, simulate it, and show what it moves and when it is done.

    Example:
      netsum schedule show ring.json --gantt ring.png
    """
    from emulator.network.messages.simulate import Sharing, simulate
    from emulator.network.schedule.gantt import draw
    from emulator.network.schedule.verify import verify
    from emulator.network.topology.draw import check_picture
    from hostagent.launch.terminal import amount, progress

    if sharing not in tuple(Sharing):
        raise UsageError(f"{sharing!r}: choose one of {', '.join(Sharing)}", "--sharing")
    if gantt is not None:
        check_picture(gantt)
    exclusive = sharing == Sharing.EXCLUSIVE
    with progress(f"reading {file}") as update:
        schedule = read(file, topology, size, algorithm)
        update(description=f"simulating and verifying {amount(len(schedule), 'task')}")
        with _naming(file):
            run = simulate(schedule, Sharing(sharing))
            moved = verify(schedule, *((run.start_ns, run.finish_ns) if exclusive else ()))
    if gantt is not None:
        draw(schedule, run.start_ns, run.finish_ns, gantt)
    found = {
        "name": schedule.name,
        "topology": schedule.topology.name,
        "ranks": schedule.ranks,
        "tasks": len(schedule),
        "elapsed_ns": run.elapsed_ns,
        "sent_bytes": moved.sent_bytes.tolist(),
        "received_bytes": moved.received_bytes.tolist(),
        "link_bytes": {
            link.name: int(count)
            for link, count in zip(schedule.topology.links, moved.link_bytes, strict=True)
            if count
        },
    }
    if as_json:
        print(json.dumps(found))
    else:
        _print(schedule, run, found, tasks)
    return 0


def _print(schedule: Schedule, run: Run, found: dict[str, Any], tasks: int) -> None:
    from hostagent.launch.terminal import amount, print_table, wide_console

    console = wide_console()
    sizes = f"{amount(schedule.ranks, 'rank')}, {amount(len(schedule), 'task')}"
    console.print(
        f"{schedule.name} on {found['topology']}: {sizes}, right in any order; {run.elapsed_ns:,} ns", highlight=False
    )
    links = found["link_bytes"]
    if links:
        console.print(
            f"{len(links)} links carry {_range(links.values())} each"
            + (f"; ranks send {_range(found['sent_bytes'])} to one another" if any(found["sent_bytes"]) else ""),
            highlight=False,
        )
    rows = [
        (str(number), *schedule.describe(number), f"{run.start_ns[number]:,}", f"{run.finish_ns[number]:,}")
        for number in range(min(tasks, len(schedule)))
    ]
    print_table(
        (">task", "kind", "ranks", "chunks", ">bytes", "after", ">start ns", ">finish ns"), rows, console=console
    )
    if tasks < len(schedule):
        console.print(f"and {len(schedule) - tasks:,} more: --tasks N", highlight=False)


def _range(counts: Collection[int]) -> str:
    """Of bytes."""
    from emulator.ports.units import size_text

    fewest, most = size_text(min(counts)), size_text(max(counts))
    return most if fewest == most else f"{fewest} to {most}"


@command(FILE, OUTPUT, TOPOLOGY, SIZE, ALGORITHM, mistakes=_mistakes)
def convert(
    file: Path, *, output: Path, topology: Path | None = None, size: str | None = None, algorithm: str = ""
) -> int:
    """Read a schedule in one format, verify it, and write it in another: JSON, MSCCL XML (.xml), Chakra traces (.et).
    MSCCL XML keeps neither links nor sizes; a Chakra trace no links.

    Example:
      netsum schedule convert ring.json -o ring.xml
      netsum schedule convert ring.xml --topology net.yaml --size 1MiB \\
        -o again.json
    """
    from emulator.network.schedule.verify import verify
    from hostagent.launch.terminal import amount, progress

    check_name(output, "-o/--output")
    with progress(f"reading {file}") as update:
        schedule = read(file, topology, size, algorithm)
        update(description=f"verifying {amount(len(schedule), 'task')}")
        with _naming(file):
            verify(schedule)
        update(description=f"writing {amount(len(schedule), 'task')}")
        write(schedule, output)
    return 0


@command(
    FILE,
    TOPOLOGY,
    SIZE,
    ALGORITHM,
    option(
        "-n", "--nproc", dest="ranks", metavar="N", type=integer(1), help="Number of ranks, which is the schedule's."
    ),
    option("--aggregator", metavar="KIND", help="Place that forwards and sums: p4, pspin or server."),
    flag(
        "--all-switches",
        help="A live P4 switch for each of the topology that messages pass or that sums, rather than one for all "
        "ranks. Each message and each sum has one on its links, or all are sums of all ranks in one tree.",
    ),
    option(
        "--lanes", metavar="N", type=integer(), help="Integers in a frame: 64, 256, 336, 512, 1024 (default) or 2048."
    ),
    option("--impair", metavar="TEXT", help="Impairments of every port, e.g. 'loss=0.05&seed=7'."),
    option("--seed", metavar="N", type=integer(0, 1 << 20), help="Of the data."),
    mistakes=_mistakes,
)
def run(
    file: Path,
    *,
    topology: Path | None = None,
    size: str | None = None,
    algorithm: str = "",
    ranks: int | None = None,
    aggregator: str = "p4",
    all_switches: bool = False,
    lanes: int | None = None,
    impair: str = "",
    seed: int = 1,
    given: Mapping[str, str],
) -> int:
    """Run a schedule on live ranks around one switch, or all of the topology's: messages through the switch, reductions
    at the ranks, collectives summed in the switch. Every sum of random int32 is checked, and the bytes at each port are
    compared with the schedule's, what was sent again apart.

    Example:
      netsum schedule run ring.json -n 8
      netsum schedule run line-switches.json --all-switches
    """
    import tempfile

    from emulator.network.schedule.files import write_schedule
    from emulator.network.schedule.verify import verify
    from hostagent.launch.aggregators import DEFAULT_LANES, running_switches
    from hostagent.launch.launcher import RunOptions, run_training
    from hostagent.launch.processes import LaunchError

    if all_switches:
        refuse(given, "does not apply with --all-switches, which are P4 switches", "aggregator")
    schedule = read(file, topology, size, algorithm)
    with _naming(file):
        verify(schedule)
    if ranks is not None and ranks != schedule.ranks:
        raise UsageError(f"{schedule.name} has {schedule.ranks} ranks, not {ranks}", "-n")
    if uneven := [each for each in schedule.chunks if each.bytes % 4]:
        raise UsageError(f"{file}: chunks of {uneven[0].bytes} bytes are no int32, which live ranks add up")
    with tempfile.TemporaryDirectory(prefix="netsum-") as folder:
        path, lanes = Path(folder) / "schedule.json", lanes or DEFAULT_LANES
        write_schedule(schedule, path)
        options = RunOptions(
            ranks=schedule.ranks,
            script="hostagent.cli.schedule.rank",
            arguments=(str(path), str(lanes), str(seed)),
            module=True,
            aggregator=aggregator,
            lanes=lanes,
            impairments=impair,
            command="netsum schedule run",
            opening=f"{schedule.ranks} ranks and a switch start",
        )
        if not all_switches:
            return run_training(options)
        from hostagent.collectives.execute.executor import ranks_of, tasks_of_switches, tree_of_switches
        from hostagent.protocol.tree import tree_text

        if tree := tree_of_switches(schedule):
            opening = f"a tree of switches starts ({tree_text(tree)}), then {schedule.ranks} ranks"
            return run_training(replace(options, tree=tree, opening=opening))
        with _naming(file):
            members = {name: ranks_of(schedule, tasks) for name, tasks in tasks_of_switches(schedule).items()}
        _say(f"{len(members)} switches start, then {schedule.ranks} ranks")
        try:
            with running_switches([len(each) for each in members.values()], lanes, impair) as running:
                places = [f"{name}={each.address}" for name, each in zip(members, running, strict=True)]
                arguments = (*options.arguments, *places)
                controller = running[0].address
                return run_training(replace(options, arguments=arguments, controller=controller, opening=""))
        except LaunchError as error:
            _say(str(error))
            return 1


def _say(text: str) -> None:
    """Progress."""
    print(f"netsum schedule run: {text}", file=sys.stderr, flush=True)


def check_name(file: Path, argument: str) -> None:
    """Raises UsageError for a file that is none of `FORMATS`."""
    if file.suffix not in FORMATS:
        raise UsageError(f"{file}: a schedule's name ends in {', '.join(FORMATS)}", argument)


def read(file: Path, topology: Path | None, size: str | None, algorithm: str = "") -> Schedule:
    """By the file's suffix. Raises ScheduleError, UsageError for another one and for what the format lacks."""
    from emulator.network.schedule.chakra import read_chakra
    from emulator.network.schedule.files import read_schedule
    from emulator.network.schedule.generators import GENERATORS
    from emulator.network.schedule.msccl import read_msccl
    from emulator.network.topology.files import read_topology

    check_name(file, "FILE")
    needs = {".xml": ("topology", "size"), ".et": ("topology",)}.get(file.suffix, ())
    for name, value in (("topology", topology), ("size", size)):
        if (value is None) == (name in needs):
            raise UsageError(f"{file} has none: add it" if name in needs else f"{file} has its own", f"--{name}")
    if algorithm and (file.suffix != ".et" or algorithm not in GENERATORS):
        text = (
            f"{algorithm!r}: choose one of {', '.join(GENERATORS)}" if file.suffix == ".et" else f"{file} has its own"
        )
        raise UsageError(text, "--algorithm")
    if topology is None:
        return read_schedule(file)
    if size is None:
        return read_chakra(file, read_topology(topology), algorithm=algorithm)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    network = read_topology(topology)
    with _naming(file):
        return read_msccl(text, network, parse_size(size))


def write(schedule: Schedule, output: Path) -> None:
    """By the file's suffix. Raises UsageError."""
    from emulator.network.schedule.chakra import write_chakra
    from emulator.network.schedule.files import write_schedule
    from emulator.network.schedule.msccl import write_msccl

    try:
        if output.suffix == ".xml":
            output.write_text(write_msccl(schedule), encoding="utf-8")
        elif output.suffix == ".et":
            write_chakra(schedule, output)
        else:
            write_schedule(schedule, output)
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}", "-o/--output") from None
