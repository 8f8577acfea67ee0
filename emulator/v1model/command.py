"""``netsum compile PROGRAM.p4``: check a program, write its P4Info, show the result of any stage or pass.

What a warm run does not need is imported where it is used: it reads `summaries` only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from emulator.p4.library import ProgramNotFound, find_program
from emulator.v1model.summaries import Summary, find_summary, message_texts, store_summary, summary_key

if TYPE_CHECKING:
    from emulator.p4.errors import CompileError
    from emulator.p4.frontend import Checked

P4INFO_SUFFIXES = (".txtpb", ".txt", ".bin", ".json")


@dataclass(frozen=True, slots=True)
class Request:
    """Options of ``netsum compile``."""

    program: str
    dump_after: str | None = None
    p4info: str | None = None
    """File to write."""
    defines: Mapping[str, str] | None = None
    include_paths: Sequence[str] = ()
    check_only: bool = False
    """Stop after checking, for programs of any architecture."""
    strict_bmv2: bool = False


def run_compile(
    program: str,
    *,
    dump_after: str | None = None,
    p4info: str | None = None,
    defines: Mapping[str, str] | None = None,
    include_paths: Sequence[str] = (),
    check_only: bool = False,
    strict_bmv2: bool = False,
    report: Callable[[Summary], None] | None = None,
    output: TextIO | None = None,
    errors: TextIO | None = None,
) -> int:
    """The command's exit status: 0, 1 for a program with errors, 2 for wrong arguments.

    ``report`` gets the summary of a program that was compiled to machine code (without it none is made); ``output``
    gets the dump (standard output), ``errors`` the diagnostics (standard error).
    """
    request = Request(program, dump_after, p4info, defines, include_paths, check_only, strict_bmv2)
    output, errors = output or sys.stdout, errors or sys.stderr
    if p4info is not None and Path(p4info).suffix not in P4INFO_SUFFIXES:
        print(f"netsum compile: {p4info}: the suffix must be one of {', '.join(P4INFO_SUFFIXES)}", file=errors)
        return 2
    try:
        path = find_program(program)
    except ProgramNotFound as error:
        print(f"netsum compile: {error}", file=errors)
        return 2
    needs_all_checks = strict_bmv2 or p4info is not None
    if check_only and needs_all_checks:
        check_only, report = False, None
    if dump_after is None and not check_only and (summary := _warm(path, request, report)) is not None:
        return _finish(summary, request, report, errors)
    from emulator.p4.errors import CompileError

    try:
        if dump_after is not None and needs_all_checks:
            status = _finish(_cold(path, request, False), request, None, errors)
            if status:
                return status
        if check_only or dump_after is not None:
            return _stages(path, request, output, errors)
        return _finish(_cold(path, request, report is not None), request, report, errors)
    except CompileError as error:
        if (
            p4info is not None
            and error.p4info is not None
            and not write_p4info(message_texts(error.p4info), p4info, errors)
        ):
            return _refuse(error, errors, "P4Info was written, machine code was not made")
        return _refuse(error, errors)


def run_warm(
    program: str,
    *,
    p4info: str | None,
    defines: Mapping[str, str],
    include_paths: Sequence[str],
    strict_bmv2: bool,
    report: Callable[[Summary], None],
) -> int | None:
    """`run_compile` where the cache has the whole answer, else None without any effect."""
    if p4info is not None and Path(p4info).suffix not in P4INFO_SUFFIXES:
        return None
    request = Request(program, None, p4info, defines, include_paths, False, strict_bmv2)
    try:
        summary = _warm(find_program(program), request, report)
    except ProgramNotFound:
        return None
    return None if summary is None else _finish(summary, request, report, sys.stderr)


def _refuse(error: CompileError, errors: TextIO, outcome: str = "nothing was compiled") -> int:
    print(error, file=errors)
    count = len(error.diagnostics)
    print(f"{count} error{'s' if count > 1 else ''}: {outcome}", file=errors)
    return 1


# --- Programs ---------------------------------------------------------------------------------------------------


def _key(path: str, request: Request, has_code: bool) -> str:
    return summary_key(path, request.defines or {}, request.include_paths, request.strict_bmv2, has_code)


def _warm(path: str, request: Request, report: object) -> Summary | None:
    return find_summary(_key(path, request, report is not None))


def _cold(path: str, request: Request, has_code: bool) -> Summary:
    """Compile, and store the summary."""

    checked = _checked(path, request)
    code_bytes = 0
    if has_code and checked.program.blocks:
        from emulator.v1model.compiled import load_checked

        compiled = load_checked(path, checked, request.defines, include_paths=request.include_paths)
        code_bytes = len(compiled.object_code)
    info = checked.p4info
    summary = Summary(
        checked.program.name, len(info.tables), len(info.actions), len(info.counters) + len(info.direct_counters),
        len(info.registers), code_bytes, tuple(map(str, checked.warnings)), message_texts(info), checked.sources,
    )  # fmt: skip
    store_summary(_key(path, request, has_code), summary)
    return summary


def _checked(path: str, request: Request) -> Checked:
    from emulator.p4.frontend import compile_source
    from emulator.v1model.architecture import V1MODEL
    from emulator.v1model.strict import check_strict

    return compile_source(
        path, architecture=V1MODEL, defines=request.defines, include_paths=request.include_paths, needs_main=False,
        more_checks=(check_strict,) if request.strict_bmv2 else (),
    )  # fmt: skip


def _finish(summary: Summary, request: Request, report: Callable[[Summary], None] | None, errors: TextIO) -> int:
    for warning in summary.warnings:
        print(warning, file=errors)
    if request.p4info is not None and (status := write_p4info(summary.p4info, request.p4info, errors)):
        return status
    if report is not None:
        report(summary)
    return 0


def write_p4info(texts: Mapping[str, str], path: str, errors: TextIO) -> int:
    """Write the one of ``texts`` (by suffix) for the path's suffix. The exit status: 0, or 2 after an error message."""
    suffix = Path(path).suffix
    if suffix not in P4INFO_SUFFIXES:
        print(f"netsum compile: {path}: the suffix must be one of {', '.join(P4INFO_SUFFIXES)}", file=errors)
        return 2
    text = texts[".txtpb" if suffix == ".txt" else suffix]
    try:
        Path(path).write_bytes(bytes.fromhex(text) if suffix == ".bin" else text.encode())
    except OSError as error:
        print(f"netsum compile: {path}: {error.strerror}", file=errors)
        return 2
    return 0


# --- Stages -----------------------------------------------------------------------------------------------------


def _stages(path: str, request: Request, output: TextIO, errors: TextIO) -> int:
    """``--check-only`` and ``--dump-after``."""
    from emulator.p4.frontend import run_stages
    from emulator.v1model.architecture import V1MODEL
    from emulator.v1model.stages import PASSES, dump

    if request.check_only:
        _, diagnostics = run_stages(
            path, architecture=V1MODEL, defines=request.defines, include_paths=request.include_paths, until="check"
        )
        for warning in diagnostics.warnings:
            print(warning, file=errors)
        return 0
    if request.dump_after not in PASSES:
        print(
            f"netsum compile: --dump-after: there is no pass {request.dump_after!r}; choose one of {', '.join(PASSES)}",
            file=errors,
        )
        return 2
    dump(path, request.dump_after, request.defines, request.include_paths, output)
    return 0
