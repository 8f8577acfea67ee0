"""``netsum pspin example`` and ``compare``: PsPIN's examples on the model, and the model next to the RTL."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, argument, command, flag, integer, number, option
from hostagent.cli.pspin import mistakes

OTHER_NAMES = {"ooorb": "out_of_order"}
"""PsPIN's own, where they are others."""

HEADINGS = {
    "messages": "msgs", "packets": "pkts", "size_bytes": "B", "inter_packet_ns": "gap", "throughput_gbps": "Gbit/s",
    "latency_min_ns": "lat min", "latency_avg_ns": "avg", "latency_max_ns": "max ns", "handler_min_cycles": "cyc min",
    "handler_avg_cycles": "avg", "handler_max_cycles": "max", "handler_instructions": "instr",
}  # fmt: skip
"""Columns in few letters."""

FAULTS_SHOWN = 5


@command(
    argument("name", nargs="?", help="Name of the example (ooorb: out_of_order). Default: a list of the names."),
    option("--messages", metavar="N", type=integer(1), help="Messages of each execution context."),
    option("--packets", metavar="N", type=integer(1), help="Packets of a message."),
    option("--size", metavar="BYTES", type=integer(40, 2048), help="Packet size."),
    option("--delay-ns", metavar="NS", type=integer(0), help="Inter-packet gap, ns; 0: back to back."),
    option("--clusters", metavar="N", type=integer(1), help="Clusters of the machine."),
    option("--cores", metavar="N", type=integer(1), help="Cores of a cluster."),
    option(
        "--costs",
        metavar="NAME",
        help="Cost table: rtl (measured), flare (the paper's 4 cycles a word), flare-remembered.",
    ),
    flag("--riscv", help="Payload handler in C, executed by instructions."),
    AS_JSON,
    mistakes=mistakes,
)
def example(
    name: str | None = None,
    *,
    messages: int = 1,
    packets: int = 32,
    size: int = 1024,
    delay_ns: int = 20,
    clusters: int = 4,
    cores: int = 8,
    costs: str = "rtl",
    riscv: bool = False,
    as_json: bool = False,
) -> int:
    """Run one of PsPIN's examples on the model: throughput, latencies, cycles and instructions of its handlers.

    Example:
      netsum pspin example ping_pong --messages 4 --packets 256 --delay-ns 0
    """
    from pspin_model.compile_notice import print_compile_notice
    from pspin_model.examples.catalogue import EXAMPLES
    from pspin_model.examples.run import as_json as in_json
    from pspin_model.examples.run import figures, run_example
    from pspin_model.machine import TABLES, ConfigError, MachineConfig

    if name is None:
        print(json.dumps({"examples": list(EXAMPLES)}) if as_json else "\n".join(EXAMPLES))
        return 0
    name = _known(name, EXAMPLES)
    if costs not in TABLES:
        raise ConfigError(f"no cost table {costs!r}; there are {', '.join(TABLES)}")
    config = MachineConfig(clusters=clusters, cores=cores)
    print_compile_notice()
    parts = None
    if riscv:
        from pspin_model.riscv.twins import parts_in_c

        parts = parts_in_c(name)
    rows, run, _ = run_example(name, messages, packets, size, delay_ns, config=config, costs=TABLES[costs], parts=parts)
    if as_json:
        print(json.dumps(in_json(rows, run.faults)))
        return 0
    show([figures(row) for row in rows], name)
    for fault in run.faults[:FAULTS_SHOWN]:
        print(f"error: {fault}", file=sys.stderr)
    wrong = int((run.packets["fault"] != 0).sum())
    if wrong > FAULTS_SHOWN:
        print(f"error: .. and {wrong - FAULTS_SHOWN} handlers more", file=sys.stderr)
    return 0


@command(
    argument("measured", type=Path, nargs="?", help="CSV file of RTL measurements. Default: ours."),
    option("--only", metavar="EXAMPLE", help="Example to compare; the others are left out."),
    option("--limit", metavar="F", type=number(0), help="Relative error above which a row is shown."),
    flag("--all", dest="every", help="List of all rows."),
    AS_JSON,
    mistakes=mistakes,
)
def compare(
    measured: Path | None = None,
    *,
    only: str | None = None,
    limit: float = 0.1,
    every: bool = False,
    as_json: bool = False,
) -> int:
    """Simulate every row of a table of RTL measurements, and show the relative errors.

    Example:
      netsum pspin compare --only ping_pong
    """
    from pspin_model.examples.catalogue import EXAMPLES
    from pspin_model.examples.compare import RTL, handler_of
    from pspin_model.examples.compare import compare as rows_of
    from pspin_model.machine import ConfigError

    if measured is not None and not measured.is_file():
        raise UsageError(f"there is no file {measured}", "MEASURED")
    only = None if only is None else _known(only, EXAMPLES)
    rows: list[dict[str, object]] = []
    worst: dict[str, tuple[float, str]] = {}
    try:
        compared = list(rows_of(measured or RTL, only))
    except ValueError as wrong:
        raise ConfigError(str(wrong)) from None
    for each in compared:
        figure, error = each.worst()
        m = each.measured
        shape = "x".join(m[key] for key in ("messages", "packets", "size_bytes", "inter_packet_ns"))
        before = worst.get(m["example"], (0.0, ""))
        if abs(error) >= abs(before[0]):
            worst[m["example"]] = (error, f"{figure}, {shape}")
        if every or abs(error) > limit:
            row = {"example": m["example"], "shape": shape, "handler": handler_of(m)}
            rows.append({**row, **{key: round(value, 4) for key, value in each.errors().items()}})
    summary = [{"example": name, "worst_error": round(e, 4), "where": w} for name, (e, w) in sorted(worst.items())]
    if as_json:
        print(json.dumps({"rows": rows, "worst": summary}))
        return 0
    if rows:
        show(rows, f"relative errors{'' if every else f' of rows with one above {limit:.0%}'}")
    if summary:
        show(summary, "worst relative error of each example")
    return 0


def _known(name: str, examples: Iterable[str]) -> str:
    """The example of that name. Raises ConfigError."""
    from pspin_model.machine import ConfigError

    found = OTHER_NAMES.get(name, name)
    if found not in examples:
        raise ConfigError(f"no example {name!r}; there are {', '.join(examples)}")
    return found


def show(rows: list[dict[str, object]], title: str) -> None:
    """Print rows of the same columns as a table."""
    from hostagent.launch.terminal import print_table

    columns = [
        ("" if isinstance(value, str) else ">") + HEADINGS.get(name, name) for name, value in rows[0].items()
    ]  # fmt: skip
    print_table(
        columns, [["-" if value is None else str(value) for value in row.values()] for row in rows], title=title
    )
