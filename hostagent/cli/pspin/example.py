"""``netsum pspin example`` and ``compare``: PsPIN's examples on the model, and the model beside the RTL."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.options import AsJson

OTHER_NAMES = {"ooorb": "out_of_order"}
"""PsPIN's own, where they are others."""

HEADINGS = {
    "messages": "msgs", "packets": "pkts", "size_bytes": "B", "inter_packet_ns": "gap", "throughput_gbps": "Gbit/s",
    "latency_min_ns": "lat min", "latency_avg_ns": "avg", "latency_max_ns": "max ns", "handler_min_cycles": "cyc min",
    "handler_avg_cycles": "avg", "handler_max_cycles": "max", "handler_instructions": "instr",
}  # fmt: skip
"""Columns in few letters."""

WIDE = 200
FAULTS_SHOWN = 5
COSTS = "Cost table: rtl (measured) or flare (the paper's)."


def example(
    name: Annotated[
        str | None, typer.Argument(help="Which example (ooorb: out_of_order); without it, their names.")
    ] = None,
    messages: Annotated[int, typer.Option(min=1, help="Messages of each execution context.")] = 1,
    packets: Annotated[int, typer.Option(min=1, help="Packets of a message.")] = 32,
    size: Annotated[int, typer.Option(min=40, max=2048, help="Bytes of a packet.")] = 1024,
    delay_ns: Annotated[int, typer.Option(min=0, help="From a packet to the next; 0: as fast as they go in.")] = 20,
    clusters: Annotated[int, typer.Option(min=1, help="Clusters of the machine.")] = 4,
    cores: Annotated[int, typer.Option(min=1, help="Cores of a cluster.")] = 8,
    costs: Annotated[str, typer.Option(help=COSTS)] = "rtl",
    riscv: Annotated[bool, typer.Option("--riscv", help="Its payload handler in C, run by instructions.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run one of PsPIN's examples on the model: throughput, latencies, cycles and instructions of its handlers.

    \b
    Example:
      netsum pspin example ping_pong --messages 4 --packets 256 --size 1024 --delay-ns 0
    """
    from pspin_model.examples.catalogue import EXAMPLES
    from pspin_model.examples.run import as_json as in_json
    from pspin_model.examples.run import figures, run_example
    from pspin_model.flare.compiling import tell_compiling
    from pspin_model.machine import TABLES, ConfigError, MachineConfig

    if name is None:
        print(json.dumps({"examples": list(EXAMPLES)}) if as_json else "\n".join(EXAMPLES))
        return
    name = _known(name, EXAMPLES)
    if costs not in TABLES:
        raise ConfigError(f"no cost table {costs!r}; there are {', '.join(TABLES)}")
    config = MachineConfig(clusters=clusters, cores=cores)
    tell_compiling()
    parts = None
    if riscv:
        from pspin_model.riscv.timed import timed_in_c

        parts = timed_in_c(name)
    rows, run, _ = run_example(name, messages, packets, size, delay_ns, config=config, costs=TABLES[costs], parts=parts)
    if as_json:
        print(json.dumps(in_json(rows, run.faults)))
        return
    show([figures(row) for row in rows], name)
    for fault in run.faults[:FAULTS_SHOWN]:
        typer.echo(f"error: {fault}", err=True)
    wrong = int((run.packets["fault"] != 0).sum())
    if wrong > FAULTS_SHOWN:
        typer.echo(f"error: .. and {wrong - FAULTS_SHOWN} handlers more", err=True)


def compare(
    measured: Annotated[
        Path | None, typer.Argument(exists=True, dir_okay=False, help="CSV of figures of the RTL; default: ours.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="One example only.")] = None,
    limit: Annotated[float, typer.Option(help="Relative error above which a row is shown.")] = 0.1,
    every: Annotated[bool, typer.Option("--all", help="Show all rows.")] = False,
    as_json: AsJson = False,
) -> None:
    """Play every row of a table of RTL figures on the model, and show how far off it is.

    \b
    Example:
      netsum pspin compare --only ping_pong
    """
    from pspin_model.examples.catalogue import EXAMPLES
    from pspin_model.examples.compare import RTL, handler_of
    from pspin_model.examples.compare import compare as rows_of
    from pspin_model.machine import ConfigError

    only = None if only is None else _known(only, EXAMPLES)
    told: list[dict[str, object]] = []
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
            told.append({**row, **{key: round(value, 4) for key, value in each.errors().items()}})
    summary = [{"example": name, "worst_error": round(e, 4), "where": w} for name, (e, w) in sorted(worst.items())]
    if as_json:
        print(json.dumps({"rows": told, "worst": summary}))
        return
    if told:
        show(told, f"relative errors{'' if every else f' of rows with one above {limit:.0%}'}")
    if summary:
        show(summary, "worst relative error of each example")


def _known(name: str, examples: Iterable[str]) -> str:
    """The example of that name. Raises ConfigError."""
    from pspin_model.machine import ConfigError

    found = OTHER_NAMES.get(name, name)
    if found not in examples:
        raise ConfigError(f"no example {name!r}; there are {', '.join(examples)}")
    return found


def show(rows: list[dict[str, object]], title: str) -> None:
    """A table of rows of the same columns; into a file or pipe it goes whole."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for column in rows[0]:
        table.add_column(HEADINGS.get(column, column), justify="left" if isinstance(rows[0][column], str) else "right")
    for row in rows:
        table.add_row(*("-" if value is None else str(value) for value in row.values()))
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    console.print(table)
