"""``netsum topology``: descriptions of networks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, argument, command, grid, integer, number, option, refuse

if TYPE_CHECKING:
    from emulator.network.topology.topology import Topology

FILE = argument("file", metavar="FILE", type=Path, help="Topology file, YAML or JSON.")
FORMATS = (".yaml", ".yml", ".json")
LINK_FIELDS = {
    "rate": "rate_bps",
    "latency": "latency_ns",
    "alpha": "alpha_ns",
    "queue": "queue_bytes",
    "mtu": "mtu_bytes",
}
"""Options of `build`, and columns of `show`, by the fields of a class."""


def _mistakes() -> tuple[type[Exception], ...]:
    from emulator.network.topology.parts import TopologyError

    return (TopologyError,)


def _kinds() -> str:
    from emulator.network.topology.builders import BUILDERS

    lines = "\n".join(f"  {name:<12}{each.shape}" for name, each in BUILDERS.items())
    return f"Kinds, and how their SIZE is written:\n{lines}"


@command(
    argument("kind", metavar="KIND", help="Kind of network; the kinds are below."),
    argument("size", metavar="SIZE", nargs="?", help="Numbers that the kind takes, such as 8 or 4x16."),
    option("--spines", type=integer(1), help="Spine switches of a leaf-spine network."),
    option("--taper", type=number(0), help="Hosts to an uplink of a fat tree; 2: half the bisection. Default: 1."),
    option("--board", metavar="AxB", type=grid, help="Accelerators on a board of an hxmesh. Default: 2x2."),
    option("--grid", metavar="RxC", help="Boards of an hxmesh: its SIZE."),
    option("--rate", metavar="RATE", help="Rate of a link, in each direction."),
    option("--switch-rate", metavar="RATE", help="Rate of a link between switches. Default: as --rate."),
    option("--latency", metavar="TIME", help="Latency of a link."),
    option("--alpha", metavar="TIME", help="Cost of a message on a link besides its latency and bytes."),
    option("--queue", metavar="SIZE", help="Room for frames that wait for a link."),
    option("--mtu", metavar="SIZE", help="Largest IP packet of a link."),
    option("-o", "--output", metavar="FILE", type=Path, help="File to write, .yaml or .json. Default: YAML on stdout."),
    epilog=_kinds,
    mistakes=_mistakes,
)
def build(
    kind: str,
    size: str | None,
    *,
    spines: int | None = None,
    taper: float | None = None,
    board: tuple[int, int] | None = None,
    grid: str | None = None,
    rate: str = "10Gbit",
    switch_rate: str | None = None,
    latency: str = "1us",
    alpha: str = "0ns",
    queue: str = "256KiB",
    mtu: str = "1500",
    output: Path | None = None,
    given: Mapping[str, str],
) -> int:
    """Build a regular network and write its description, a file to edit, draw, simulate and run.

    Example:
      netsum topology build leaf-spine 4x8 --spines 2 --switch-rate 40Gbit \\
        -o net.yaml
    """
    from emulator.network.topology.builders import BUILDERS
    from emulator.network.topology.files import topology_yaml, write_topology
    from emulator.network.topology.parts import LinkClass

    if kind not in BUILDERS:
        raise UsageError(f"{kind!r}: choose one of {', '.join(BUILDERS)}", "KIND")
    if output is not None and output.suffix not in FORMATS:
        raise UsageError(f"{output}: a topology's name ends in {', '.join(FORMATS)}", "-o/--output")
    builder = BUILDERS[kind]
    if grid is not None and (size is not None or "board" not in builder.options):
        raise UsageError(f"is the SIZE of an hxmesh; here is {kind} {size or ''}".rstrip(), "--grid")
    size = size or grid
    if size is None:
        raise UsageError(f"missing; of {kind}: {builder.shape}", "SIZE")
    specific = {"spines": spines, "taper": taper, "board": board, "switch_rate": switch_rate}
    taken = [name.replace("switch_link", "switch_rate") for name in builder.options]
    refuse(given, f"does not apply to {kind}", *(name for name in specific if name not in taken))
    for name in builder.required:
        if specific[name] is None:
            raise UsageError(f"missing; {kind} needs it", f"--{name}")
    own: dict[str, Any] = {name: specific[name] for name in ("spines", "taper", "board") if specific[name] is not None}
    texts = {"rate": rate, "latency": latency, "alpha": alpha, "queue": queue, "mtu": mtu}
    values = {field: _value(name, field, texts[name]) for name, field in LINK_FIELDS.items()}
    own["host_link"] = LinkClass("host", **values)
    if "switch_link" in builder.options:
        if switch_rate is not None:
            values["rate_bps"] = _value("switch-rate", "rate_bps", switch_rate)
        own["switch_link"] = LinkClass("switch", **values)
    topology = built(kind, size, **own)
    if output is None:
        print(topology_yaml(topology), end="")
        return 0
    try:
        write_topology(topology, output)
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}", "-o/--output") from None
    return 0


@command(FILE, AS_JSON, mistakes=_mistakes)
def show(file: Path, *, as_json: bool = False) -> int:
    """Check a topology file and show what is in it: nodes, links, the largest distance of two hosts in links
    (diameter), and the most bits per second from one half of the hosts to the other (bisection).

    Example:
      netsum topology show net.yaml
    """
    from emulator.network.topology.files import read_topology
    from hostagent.launch.terminal import print_table, wide_console

    found = summary(read_topology(file))
    if as_json:
        print(json.dumps(found))
        return 0
    console = wide_console()
    console.print(f"{found['name']}")
    print_table(("nodes", ">"), [(kind, str(count)) for kind, count in found["nodes"].items()], console=console)
    names = ("", *LINK_FIELDS)
    rows = [
        (name, str(each["links"]), *(_text(field, each[field]) for field in LINK_FIELDS.values()))
        for name, each in found["classes"].items()
    ]
    print_table(("links of class", *(f">{name}" for name in names)), rows, console=console)
    bisection = _text("rate_bps", found["bisection_bps"])
    console.print(f"diameter {found['diameter']} links, bisection {bisection}/s")
    return 0


def summary(topology: Topology) -> dict[str, Any]:
    """What ``netsum topology show --json`` prints."""
    from emulator.network.topology.parts import NodeKind
    from emulator.network.topology.routes import bisection_bps, diameter

    counts = Counter(link.link_class.name for link in topology.links)
    return {
        "name": topology.name,
        "nodes": {str(kind): len(topology.names(kind)) for kind in NodeKind},
        "classes": {
            name: {"links": counts[name], **{field: getattr(each, field) for field in LINK_FIELDS.values()}}
            for name, each in topology.classes.items()
        },
        "groups": {name: len(members) for name, members in topology.groups.items()},
        "planes": len(topology.planes),
        "diameter": diameter(topology),
        "bisection_bps": bisection_bps(topology),
    }


@command(
    FILE,
    option("-o", "--output", metavar="FILE", type=Path, required=True, help="Picture to write: .png, .svg or .pdf."),
    mistakes=_mistakes,
)
def draw(file: Path, *, output: Path) -> int:
    """Draw a topology: trees by tiers, a torus as a grid, a ring as a circle; links in the color of their class.

    Example:
      netsum topology draw net.yaml -o net.png
    """
    from emulator.network.topology.draw import draw as draw_topology
    from emulator.network.topology.files import read_topology

    try:
        draw_topology(read_topology(file), output)
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}", "-o/--output") from None
    return 0


def built(kind: str, size: str, **options: Any) -> Topology:
    """A regular network by its words on the command line. Raises UsageError and TopologyError."""
    from emulator.network.topology.builders import BUILDERS

    if kind not in BUILDERS:
        raise UsageError(f"{kind!r}: choose one of {', '.join(BUILDERS)}", "KIND")
    builder = BUILDERS[kind]
    return builder.build(_numbers(size, builder.shape), **options)


def _numbers(size: str, shape: str) -> tuple[int, ...]:
    """``4x8`` for the shape LEAVESxHOSTS. Raises UsageError."""
    words = size.split("x")
    fits = shape.endswith("...") or len(words) == len(shape.split("x"))
    if not fits or not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise UsageError(f"{size!r} is not {shape}, such as {'x'.join('4' for _ in shape.split('x'))}", "SIZE")
    return tuple(map(int, words))


def _value(name: str, field: str, text: str) -> int:
    """Of the option --NAME, for a field of a class. Raises UsageError."""
    from emulator.network.topology.files import UNITS
    from emulator.ports.units import quantity, size_bytes

    try:
        return size_bytes(text) if field.endswith("_bytes") else quantity(text, UNITS[field])
    except ValueError as error:
        raise UsageError(str(error), f"--{name}") from None


def _text(field: str, value: int) -> str:
    from emulator.network.topology.files import UNITS
    from emulator.ports.units import quantity_text

    return quantity_text(value, UNITS[field])
