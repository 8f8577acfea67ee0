"""The result of any stage of the front end or any pass, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from emulator.p4 import ir
from emulator.p4.dump import stage_text
from emulator.p4.frontend import STAGES, run_stages
from emulator.p4.ir.printer import print_program
from emulator.p4.passes import PIPELINE, run_passes
from emulator.v1model.architecture import V1MODEL
from emulator.v1model.target import V1MODEL_TARGET

PASSES = (*STAGES, *(step.__name__ for step in PIPELINE))
"""Names that ``--dump-after`` takes, in the order they run."""


def dump(path: str, name: str, defines: Mapping[str, str] | None, include_paths: Sequence[str], output: TextIO) -> None:
    """Write what the stage or pass of that name (one of `PASSES`) leaves. Raises `CompileError`."""
    until = name if name in STAGES else STAGES[-1]
    stages, _ = run_stages(path, architecture=V1MODEL, defines=defines, include_paths=include_paths, until=until)
    if name in STAGES:
        output.write(stage_text(stages, name))
        return
    assert stages.lowered is not None
    output.write(print_program(after_pass(stages.lowered.program, name)))


def after_pass(program: ir.Program, name: str) -> ir.Program:
    """The program as the pass of that name leaves it."""
    results: dict[str, ir.Program] = {}
    run_passes(program, V1MODEL_TARGET, after=results.__setitem__)
    return results[name]
