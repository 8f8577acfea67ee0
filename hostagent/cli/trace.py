"""``netsum trace``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hostagent.cli.compiled import parse_defines
from hostagent.cli.options import AsJson, Define, Include


def trace(
    program: Annotated[str, typer.Argument(help="P4 source, or bmv2's JSON: a file, or a shipped program's name.")],
    hex_digits: Annotated[list[str] | None, typer.Option("--hex", metavar="DIGITS", help="A packet; repeat.")] = None,
    pcap: Annotated[Path | None, typer.Option(metavar="FILE", help="The packets of a capture.")] = None,
    port: Annotated[int, typer.Option(min=0, max=511, help="Where the packets come in.")] = 0,
    entries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table entries and so on, as lines of an STF test.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Packets of the capture, at most.")] = None,
    interval: Annotated[str, typer.Option(help="Time between packets given in hex, for example 1ms.")] = "0ns",
    define: Define = None,
    include: Include = None,
    as_json: AsJson = False,
) -> None:
    """Show what a P4 program does with packets: states, tables, actions, statements by source line.

    With --json, one object a line for each packet.

    \b
    Example:
      netsum trace router.p4 --port 1 --hex "020000000002 020000000001 0800" --entries routes.stf
    """
    from emulator.harness.trace_command import TraceRequest, run_trace

    request = TraceRequest(
        program, tuple(hex_digits or ()), None if pcap is None else str(pcap), port,
        None if entries is None else str(entries), limit, interval, as_json, parse_defines(define),
        [str(folder) for folder in include or ()],
    )  # fmt: skip
    raise typer.Exit(run_trace(request))


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command("trace")(trace)
