"""LLVM's passes and code generator: optimise a module, make an object file of it, load one.

LLVM's time grows faster than a program: its standard pipeline takes half a second for a module of 5,600 lines, 1.5 s
for 12,800 (a P4 program of 2,200 lines) and 17 s for 96,000. So the effort depends on the module's size: a program that
is loaded within seconds is worth more than the last tenth of its speed.

It grows faster still with what is alive where many ways join: 200 headers, each extracted in a separate state, are
a million values that meet, and would occupy the register allocator for minutes. Such a program's stack slots stay in
memory.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Any

import llvmlite.binding as binding


class CodeError(Exception):
    """LLVM refused the generated code: a fault of this compiler, not of the program."""


class Effort(Enum):
    """How hard LLVM tries; the value is its code generator's level."""

    FULL = 2
    """The standard pipeline."""
    LIGHT = 1
    """Stack slots to registers, simpler branches and instructions: 0.15 s for 12,800 lines, code as small as FULL's."""
    LEAST = 0
    """The same, and the fast instruction selector: for 96,000 lines 1 s where the good one takes 8; twice the code."""


MOST_LINES = {Effort.FULL: 10_000, Effort.LIGHT: 60_000}
"""Longest module, in lines of LLVM IR."""
_COMBINE = ("instruction_combine", "simplify_cfg")
PROMOTION = ("always_inliner", "simplify_cfg", "sroa")
"""Stack slots become values."""
LIGHT_PASSES = ("sccp", "simplify_cfg", *_COMBINE, "new_gvn", *_COMBINE)
"""Behind PROMOTION. Value numbering gets what is left when constants have cut branches away: for 104,000 lines it takes
0.5 s and 0.02 GB then, and 22 s and 4.6 GB before. So does the combining: assignments of stacks of 64 headers take it
0.2 s, and 24 s before."""
MEMORY_PASSES = ("always_inliner", "simplify_cfg", *_COMBINE)
MOST_WAYS_IN = 900
"""Branches to one block; parsers of 200 states have 404. LLVM simplifies those in a row one at a time, and ends the
process after 1,000."""
CAREFUL_PASSES = ("always_inliner", "sroa", "instruction_combine", "new_gvn", "instruction_combine")
MOST_MERGED = 50_000
"""Values that enter phi nodes: with 40,000 LLVM takes 2 s, with 60,000 4 s, with 160,000 16 s."""
SURELY_FEW = 100_000
"""Slots times blocks; below it, phi nodes are not counted."""

_BRANCH_TARGET = re.compile(r'label %("[^"]*"|[\w$.-]+)')


def effort_for(module_text: str) -> Effort:
    lines = module_text.count("\n")
    return next((effort for effort, most in MOST_LINES.items() if lines <= most), Effort.LEAST)


@functools.cache
def _initialize() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def _target_machine(level: int = 2) -> Any:
    _initialize()
    features = binding.get_host_cpu_features().flatten()
    target = binding.Target.from_triple(binding.get_process_triple())
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features, opt=level, reloc="pic", codemodel="default"
    )


def make_object(module_text: str, *, optimise: bool = True) -> bytes:
    """Machine code for this computer, as an object file. Raises `CodeError` with LLVM's words."""
    effort = effort_for(module_text)
    machine = _target_machine(effort.value)
    module = _parse(module_text, machine)
    if optimise and _ways_in(module_text) > MOST_WAYS_IN:
        _run(CAREFUL_PASSES, module, machine)
    elif optimise:
        is_promoted = module_text.count(" alloca ") * module_text.count(":\n") >= SURELY_FEW
        if is_promoted:
            _run(PROMOTION, module, machine)
        if is_promoted and _merged(module) > MOST_MERGED:
            module = _parse(module_text, machine)
            _run(MEMORY_PASSES, module, machine)
        else:
            _optimise(module, machine, effort, is_promoted)
    return bytes(machine.emit_object(module))


def _ways_in(module_text: str) -> int:
    """The most branches that one block of a function has."""
    functions = module_text.split("\ndefine ")
    return max(max(Counter(_BRANCH_TARGET.findall(text)).values(), default=0) for text in functions)


def _merged(module: Any) -> int:
    """Number of values that enter phi nodes."""
    return sum(line.count("[ ") for line in str(module).splitlines() if " = phi " in line)


def _parse(module_text: str, machine: Any) -> Any:
    """The module, with the machine that it is for: passes reason about byte order and alignment."""
    try:
        module = binding.parse_assembly(module_text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CodeError(f"LLVM rejects the generated code: {error}") from error
    return module


def _optimise(module: Any, machine: Any, effort: Effort, is_promoted: bool) -> None:
    """``is_promoted``: stack slots are values already."""
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_unrolling = False
    options.slp_vectorization = False
    options.loop_vectorization = False
    builder = binding.create_pass_builder(machine, options)
    if effort is Effort.FULL:
        builder.getModulePassManager().run(module, builder)
    else:
        _run(LIGHT_PASSES if is_promoted else (*PROMOTION, *LIGHT_PASSES), module, machine)


def _run(names: Sequence[str], module: Any, machine: Any) -> None:
    passes = binding.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=2)))


class LoadedCode:
    """An object file in memory; ``address`` is its function's. The code lives as long as this object."""

    def __init__(self, object_file: bytes, symbol: str) -> None:
        # LLVM's older linker maps each section where there is room, and aborts the process where two are 2 GiB apart
        self._compiler = binding.create_lljit_compiler(_target_machine(), use_jit_link=True)
        library = binding.JITLibraryBuilder().add_object_img(object_file).add_current_process().export_symbol(symbol)
        self._tracker = library.link(self._compiler, symbol)
        self.address = int(self._tracker[symbol])
