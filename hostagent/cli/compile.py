"""``netsum compile``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hostagent.cli.options import AsJson, Define, Include, parse_defines

if TYPE_CHECKING:
    from emulator.v1model.summaries import Summary


def compile_program(
    program: Annotated[str, typer.Argument(help="P4 source: a file, or the name of a shipped program.")] = "",
    dump_after: Annotated[
        str | None, typer.Option(metavar="PASS", help="Print what this stage or pass leaves; see --list-passes.")
    ] = None,
    p4info: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write P4Info: .txtpb, .bin or .json, as the suffix says.")
    ] = None,
    define: Define = None,
    include: Include = None,
    check_only: Annotated[
        bool, typer.Option("--check-only", help="Only say whether the program is right; any architecture.")
    ] = False,
    strict_bmv2: Annotated[
        bool, typer.Option("--strict-bmv2", help="Refuse what p4c's bmv2 back end refuses, too.")
    ] = False,
    list_passes: Annotated[bool, typer.Option("--list-passes", help="Print the passes in their order.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compile a P4 program for v1model; errors come with file, line, column and a caret.

    Example: [bold]netsum compile p4src/allreduce.p4 -D LANES=256 --dump-after reroll[/bold]
    """
    from emulator.v1model.command import run_compile

    if list_passes:
        from emulator.v1model.stages import PASSES

        print("\n".join(PASSES))
        return
    if not program:
        raise typer.BadParameter("which program? Give a P4 file, or the name of a shipped one", param_hint="PROGRAM")
    started = time.perf_counter()
    status = run_compile(
        program,
        dump_after=dump_after,
        p4info=str(p4info) if p4info else None,
        defines=parse_defines(define),
        include_paths=[str(folder) for folder in include or ()],
        check_only=check_only,
        strict_bmv2=strict_bmv2,
        report=lambda summary: _print(program, summary, time.perf_counter() - started, as_json),
    )
    raise typer.Exit(status)


def _print(program: str, summary: Summary, seconds: float, as_json: bool) -> None:
    counts: dict[str, Any] = {
        "tables": summary.tables,
        "actions": summary.actions,
        "counters": summary.counters,
        "registers": summary.registers,
        "machine_code_bytes": summary.machine_code_bytes,
        "load_s": round(seconds, 3),
    }
    if as_json:
        print(json.dumps({"program": summary.name, **counts}))
        return
    objects = ", ".join(f"{counts[kind]} {kind}" for kind in ("tables", "actions", "counters", "registers"))
    code = summary.machine_code_bytes / 1024
    print(f"{program}: {objects}; {code:.1f} KiB of machine code, loaded in {seconds:.2f} s")


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command("compile")(compile_program)
