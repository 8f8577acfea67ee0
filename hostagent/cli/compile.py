"""``netsum compile``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostagent.cli.compiled import parse_defines, print_summary
from hostagent.cli.options import AsJson, Define, Include, Undefine

if TYPE_CHECKING:
    from emulator.p4runtime.pipeline.device_config import JsonConfig


def compile_program(
    program: Annotated[
        str, typer.Argument(help="P4 source (a file, or the name of a shipped program), or bmv2's JSON.")
    ] = "",
    dump_after: Annotated[
        str | None, typer.Option(metavar="PASS", help="Print what this stage or pass leaves; see --list-passes.")
    ] = None,
    p4info: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write P4Info: .txtpb, .bin or .json, as the suffix says.")
    ] = None,
    define: Define = None,
    undefine: Undefine = None,
    include: Include = None,
    check_only: Annotated[
        bool,
        typer.Option(
            "--check-only",
            help="Only say whether the program is right P4, for any architecture; not whether the switch can run it.",
        ),
    ] = False,
    strict_bmv2: Annotated[
        bool, typer.Option("--strict-bmv2", help="Refuse what p4c's bmv2 back end refuses, too.")
    ] = False,
    list_passes: Annotated[bool, typer.Option("--list-passes", help="Print the passes in their order.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compile a P4 program for v1model; errors come with file, line, column and a caret.

    \b
    Example:
      netsum compile p4src/allreduce.p4 -D LANES=256 --dump-after reroll
    """
    from emulator.p4.preprocess.preprocessor import UNDEFINED
    from emulator.p4runtime.pipeline.device_config import read_json_file
    from emulator.v1model.command import run_compile

    if list_passes:
        from emulator.v1model.stages import PASSES

        print("\n".join(PASSES))
        return
    if not program:
        raise typer.BadParameter("which program? Give a P4 file, or the name of a shipped one", param_hint="PROGRAM")
    started = time.perf_counter()
    if (config := read_json_file(program)) is not None:
        if define or undefine or include or dump_after or check_only or strict_bmv2:
            raise typer.BadParameter("bmv2's JSON is compiled already: only --p4info and --json go with it")
        raise typer.Exit(_compile_json(program, config, p4info, as_json))
    status = run_compile(
        program,
        dump_after=dump_after,
        p4info=str(p4info) if p4info else None,
        defines={**parse_defines(define), **dict.fromkeys(undefine or (), UNDEFINED)},
        include_paths=[str(folder) for folder in include or ()],
        check_only=check_only,
        strict_bmv2=strict_bmv2,
        report=lambda summary: print_summary(program, summary, time.perf_counter() - started, as_json),
    )
    raise typer.Exit(status)


def _compile_json(path: str, config: JsonConfig, p4info: Path | None, as_json: bool) -> int:
    """The exit status."""
    from emulator.p4.errors import CompileError
    from emulator.p4runtime.pipeline.programs import load_json_file
    from emulator.v1model.command import write_p4info
    from emulator.v1model.p4info_files import p4info_texts
    from emulator.v1model.summaries import Summary

    started = time.perf_counter()
    try:
        compiled = load_json_file(path, config)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    info = compiled.p4info
    summary = Summary(
        Path(path).stem, len(info.tables), len(info.actions), len(info.counters) + len(info.direct_counters),
        len(info.registers), len(compiled.object_code), (), p4info_texts(info), (),
    )  # fmt: skip
    if p4info is not None and (status := write_p4info(summary.p4info, str(p4info), sys.stderr)):
        return status
    print_summary(path, summary, time.perf_counter() - started, as_json)
    return 0


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command("compile")(compile_program)
