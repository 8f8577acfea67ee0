"""Passes from the front end's result to the input of code generation, in small steps.

Each pass is a pure function ``(Program, Target) -> Program`` with its precondition and its result in the docstring. The
interpreter runs a program after any of them with the same outcome, and ``verify`` accepts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from emulator.p4 import ir
from emulator.p4.passes.dead import remove_dead
from emulator.p4.passes.field_runs import merge_field_runs
from emulator.p4.passes.fold import fold_constants
from emulator.p4.passes.lower_stacks import lower_stacks
from emulator.p4.passes.lower_varbits import lower_varbits
from emulator.p4.passes.registers import group_registers
from emulator.p4.passes.reroll import reroll
from emulator.p4.target import Target

Pass: TypeAlias = Callable[[ir.Program, Target], ir.Program]

PIPELINE: tuple[Pass, ...] = (
    reroll,
    group_registers,
    merge_field_runs,
    lower_stacks,
    fold_constants,
    remove_dead,
    lower_varbits,
)
"""Passes in the order in which they run."""


def run_passes(
    program: ir.Program, target: Target, *, after: Callable[[str, ir.Program], None] | None = None
) -> ir.Program:
    """Run the pipeline; ``after`` is called with each pass's name and result (for dumps and for verification)."""
    for step in PIPELINE:
        program = step(program, target)
        if after is not None:
            after(step.__name__, program)
    return program
