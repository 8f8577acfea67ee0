"""Front end, from source text to the IR and P4Info: the stages in order, each with a name to dump after."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from emulator.native.gc_pause import gc_paused
from emulator.p4 import ir
from emulator.p4.architecture import Architecture
from emulator.p4.check import resolved as r
from emulator.p4.check.checker import check
from emulator.p4.deep_stack import is_deep, with_room
from emulator.p4.errors import MAX_ERRORS, CompileError, Diagnostic, Diagnostics, Kind, NoMain
from emulator.p4.lower.lowering import Lowered, lower
from emulator.p4.p4info.make import make_p4info
from emulator.p4.preprocess.preprocessor import Preprocessor
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.parse import parse
from emulator.p4.syntax.source import FileReader, Tokens, read_from_disk

CORE_FOLDER = str(Path(__file__).parent / "include")
STAGES = ("preprocess", "parse", "check", "lower")
"""Names for ``--dump-after``; the passes over the IR follow."""


NO_TEXT = ("\0", "\1", "\2")
"""Control bytes that tell a binary file; anything else odd in a source is an error at its place."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A program without errors."""

    program: ir.Program
    p4info: Any
    """``p4.config.v1.P4Info``."""
    sources: tuple[tuple[str, str], ...]
    """(path, SHA-256) of every file read, the program's first."""
    warnings: tuple[Diagnostic, ...]


@dataclass(slots=True)
class Stages:
    """What each stage made, as far as the run came."""

    tokens: Tokens | None = None
    syntax: s.Program | None = None
    resolved: r.Program | None = None
    lowered: Lowered | None = None
    refusals: tuple[Diagnostic, ...] = ()
    """Legal constructs that the architecture's engines lack."""


Checks: TypeAlias = Sequence[Callable[[Stages, Diagnostics], None]]


def compile_source(
    path_or_text: str,
    *,
    architecture: Architecture,
    defines: Mapping[str, str] | None = None,
    include_paths: Sequence[str] = (),
    file_reader: FileReader | None = None,
    needs_main: bool = True,
    more_checks: Checks = (),
) -> Checked:
    """Compile a file, or program text (anything with a line break in it), down to the IR.

    ``defines`` are the -D macros; ``file_reader`` stands in for the file system. A program without ``main`` is
    refused (`NoMain`) unless ``needs_main`` is false; then its blocks are empty. ``more_checks`` look at a program
    that is right and may report what a target refuses. Raises `CompileError`.
    """
    return with_room(
        lambda: _compile(path_or_text, architecture, defines, include_paths, file_reader, needs_main, more_checks)
    )


def _compile(
    path_or_text: str,
    architecture: Architecture,
    defines: Mapping[str, str] | None,
    include_paths: Sequence[str],
    file_reader: FileReader | None,
    needs_main: bool,
    more_checks: Checks,
) -> Checked:
    stages, diagnostics = _run_stages(
        path_or_text, architecture, defines, include_paths, file_reader, "lower", needs_main
    )
    for check_more in more_checks:
        check_more(stages, diagnostics)
    diagnostics.raise_if_any()
    assert stages.tokens is not None
    assert stages.lowered is not None
    assert stages.resolved is not None
    p4info = make_p4info(stages.lowered, stages.resolved, stages.tokens, diagnostics, architecture)
    diagnostics.raise_if_any()
    if stages.refusals:
        raise CompileError(stages.refusals[:MAX_ERRORS], p4info)
    return Checked(stages.lowered.program, p4info, stages.tokens.sources.digests(), tuple(diagnostics.warnings))


def run_stages(
    path_or_text: str,
    *,
    architecture: Architecture,
    defines: Mapping[str, str] | None = None,
    include_paths: Sequence[str] = (),
    file_reader: FileReader | None = None,
    until: str = "lower",
    needs_main: bool = True,
) -> tuple[Stages, Diagnostics]:
    """Run the stages up to and including ``until``; raises `CompileError` at the first stage with errors."""
    stages, diagnostics = with_room(
        lambda: _run_stages(path_or_text, architecture, defines, include_paths, file_reader, until, needs_main)
    )
    if stages.refusals:
        raise CompileError(stages.refusals[:MAX_ERRORS])
    return stages, diagnostics


def _run_stages(
    path_or_text: str,
    architecture: Architecture,
    defines: Mapping[str, str] | None,
    include_paths: Sequence[str],
    file_reader: FileReader | None,
    until: str,
    needs_main: bool,
) -> tuple[Stages, Diagnostics]:
    path, text = _source(path_or_text, file_reader or read_from_disk)
    diagnostics, stages = Diagnostics(), Stages()
    preprocessor = Preprocessor(
        diagnostics,
        search=tuple(include_paths),
        system_folders=(*architecture.include_folders, CORE_FOLDER),
        read_file=_with_own_files(file_reader, architecture),
    )
    with gc_paused():
        stages.tokens = preprocessor.run(path, text, {**architecture.defines, **(defines or {})})
        diagnostics.raise_if_any()
        if until == "preprocess":
            return stages, diagnostics
        stages.syntax = parse(stages.tokens, diagnostics)
        diagnostics.raise_if_any()
        if until == "parse":
            return stages, diagnostics
        stages.resolved = _guarded(lambda: check(stages.syntax, stages.tokens, diagnostics, architecture), path)
        diagnostics.raise_if_any()
        if until == "check":
            return stages, diagnostics
        if stages.resolved.main is None:
            _no_main(stages.tokens, diagnostics, needs_main)
        name = os.path.splitext(os.path.basename(path))[0]
        refusals = stages.resolved.refusals
        try:
            stages.lowered = _guarded(
                lambda: lower(stages.resolved, name, stages.tokens, diagnostics, architecture),
                path,
            )
        except CompileError:
            if refusals:
                raise CompileError(refusals[:MAX_ERRORS]) from None
            raise
        stages.refusals = (*refusals, *stages.lowered.refusals)
    return stages, diagnostics


def _no_main(tokens: Tokens, diagnostics: Diagnostics, needs_main: bool) -> None:
    kind = Kind.NAME if needs_main else Kind.WARNING
    end = len(tokens.kinds) - 1
    line = tokens.sources.line_at(tokens.places[end])
    found = Diagnostic(kind, "there is no instance called 'main'", tokens.span(end), line)
    if needs_main:
        raise NoMain((found,))
    diagnostics.report(found)


def _guarded(stage: Any, path: str) -> Any:
    try:
        return stage()
    except RecursionError:
        if not is_deep():
            raise
        span = ir.Span(path, 1, 1, 1, 2)
        message = "something in this program is nested too deeply to be compiled"
        raise CompileError((Diagnostic(Kind.SYNTAX, message, span),)) from None


def _source(path_or_text: str, read: FileReader) -> tuple[str, str]:
    if "\n" in path_or_text:
        return "<text>", path_or_text
    text = read(path_or_text)
    if text is None:
        span = ir.Span(path_or_text, 1, 1, 1, 2)
        raise CompileError((Diagnostic(Kind.PREPROCESSOR, "there is no such file, or it cannot be read", span),))
    if not text.strip() or any(byte in text for byte in NO_TEXT):
        what = "the file is empty" if not text.strip() else "this is not P4 source: it has bytes that no text has"
        raise CompileError((Diagnostic(Kind.PREPROCESSOR, what, ir.Span(path_or_text, 1, 1, 1, 2)),))
    return path_or_text, text


def _with_own_files(read: FileReader | None, architecture: Architecture) -> FileReader:
    """The given reader for the program's files, the disk for the include files that come with us."""
    if read is None:
        return read_from_disk
    own = (*architecture.include_folders, CORE_FOLDER)

    def chosen(path: str) -> str | None:
        # normalised, so that FOLDER/../../etc/passwd from a package that a controller sent is none of ours
        if any(os.path.dirname(os.path.normpath(path)) == os.path.normpath(folder) for folder in own):
            return read_from_disk(path)
        return read(path)

    return chosen
