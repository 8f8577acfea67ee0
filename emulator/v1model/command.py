"""``netsum compile PROGRAM.p4``: check a program, write its P4Info, show what any stage or pass made of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from emulator.p4 import ir
from emulator.p4.dump import stage_text
from emulator.p4.errors import CompileError
from emulator.p4.frontend import STAGES, compile_source, run_stages
from emulator.p4.library import ProgramNotFound, find_program
from emulator.p4.passes import PIPELINE, run_passes
from emulator.p4.printer import print_program
from emulator.v1model.architecture import V1MODEL
from emulator.v1model.target import V1MODEL_TARGET

PASSES = (*STAGES, *(step.__name__ for step in PIPELINE))
"""Names that ``--dump-after`` takes, in the order they run."""


def run_compile(
    program: str,
    *,
    dump_after: str | None = None,
    p4info: str | None = None,
    defines: Mapping[str, str] | None = None,
    include_paths: Sequence[str] = (),
    output: TextIO | None = None,
    errors: TextIO | None = None,
) -> int:
    """The command's exit status: 0, 1 for a program with errors, 2 for wrong arguments.

    ``output`` gets the dump (standard output), ``errors`` the diagnostics (standard error).
    """
    output, errors = output or sys.stdout, errors or sys.stderr
    if dump_after is not None and dump_after not in PASSES:
        print(f"there is no pass {dump_after!r}; choose one of {', '.join(PASSES)}", file=errors)
        return 2
    if p4info is not None and Path(p4info).suffix not in P4INFO_SUFFIXES:
        print(f"{p4info}: the suffix says the format, one of {', '.join(P4INFO_SUFFIXES)}", file=errors)
        return 2
    try:
        return _compile(find_program(program), dump_after, p4info, defines, include_paths, output, errors)
    except ProgramNotFound as error:
        print(error, file=errors)
        return 2
    except CompileError as error:
        print(error, file=errors)
        count = len(error.diagnostics)
        print(f"{count} error{'s' if count > 1 else ''}: nothing was compiled", file=errors)
        return 1


def _compile(
    path: str,
    dump_after: str | None,
    p4info: str | None,
    defines: Mapping[str, str] | None,
    include_paths: Sequence[str],
    output: TextIO,
    errors: TextIO,
) -> int:
    if dump_after in STAGES[:-1]:
        stages, _ = run_stages(
            path, architecture=V1MODEL, defines=defines, include_paths=include_paths, until=str(dump_after)
        )
        output.write(stage_text(stages, str(dump_after)))
        return 0
    checked = compile_source(path, architecture=V1MODEL, defines=defines, include_paths=include_paths)
    for warning in checked.warnings:
        print(warning, file=errors)
    if p4info is not None:
        try:
            write_p4info(checked.p4info, p4info)
        except OSError as error:
            print(f"{p4info}: {error.strerror}", file=errors)
            return 2
    if dump_after == STAGES[-1]:
        output.write(print_program(checked.program))
    elif dump_after is not None:
        output.write(print_program(after_pass(checked.program, dump_after)))
    return 0


def after_pass(program: ir.Program, name: str) -> ir.Program:
    """The program as the pass of that name leaves it."""
    results: dict[str, ir.Program] = {}
    run_passes(program, V1MODEL_TARGET, after=results.__setitem__)
    return results[name]


# --- P4Info -----------------------------------------------------------------------------------------------------

P4INFO_SUFFIXES = (".txtpb", ".txt", ".bin", ".json")
_HEADER = "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n"


def write_p4info(message: Any, path: str) -> None:
    """In the format that the suffix says; text as p4c writes it."""
    from google.protobuf import json_format, text_format

    suffix = Path(path).suffix
    if suffix == ".bin":
        Path(path).write_bytes(message.SerializeToString(deterministic=True))
    elif suffix == ".json":
        Path(path).write_text(json_format.MessageToJson(message) + "\n")
    else:
        Path(path).write_text(_HEADER + text_format.MessageToString(message))
