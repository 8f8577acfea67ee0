"""``netsum compile``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hostagent.cli.options import AsJson, Define, Include, parse_defines


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
    list_passes: Annotated[bool, typer.Option("--list-passes", help="Print the passes in their order.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compile a P4 program for v1model; errors come with file, line, column and a caret.

    Example: [bold]netsum compile p4src/allreduce.p4 -D LANES=256 --dump-after reroll[/bold]
    """
    from emulator.v1model.command import PASSES, run_compile

    if list_passes:
        print("\n".join(PASSES))
        return
    if not program:
        raise typer.BadParameter("which program? Give a P4 file, or the name of a shipped one", param_hint="PROGRAM")
    defines, includes = parse_defines(define), [str(folder) for folder in include or ()]
    status = run_compile(
        program,
        dump_after=dump_after,
        p4info=str(p4info) if p4info else None,
        defines=defines,
        include_paths=includes,
    )
    if status == 0 and dump_after is None:
        _summarize(program, defines, includes, as_json)
    raise typer.Exit(status)


def _summarize(program: str, defines: dict[str, str], includes: list[str], as_json: bool) -> None:
    """Make machine code too, and say what there is."""
    from emulator.v1model.compiled import load

    started = time.perf_counter()
    compiled = load(program, defines, include_paths=includes)
    seconds = time.perf_counter() - started
    info = compiled.p4info
    counts: dict[str, Any] = {
        "tables": len(info.tables),
        "actions": len(info.actions),
        "counters": len(info.counters) + len(info.direct_counters),
        "registers": len(info.registers),
        "machine_code_bytes": len(compiled.object_code),
        "load_s": round(seconds, 3),
    }
    if as_json:
        print(json.dumps({"program": compiled.name, **counts}))
        return
    objects = ", ".join(f"{counts[kind]} {kind}" for kind in ("tables", "actions", "counters", "registers"))
    code = counts["machine_code_bytes"] / 1024
    print(f"{program}: {objects}; {code:.1f} KiB of machine code, loaded in {seconds:.2f} s")


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command("compile")(compile_program)
