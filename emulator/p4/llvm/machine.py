"""LLVM as a machine: optimise a module, make an object file of it, load one."""

from __future__ import annotations

import functools
from typing import Any

import llvmlite.binding as binding


class CodeError(Exception):
    """LLVM refused what we wrote: a fault of this compiler, not of the program compiled."""


@functools.cache
def _initialize() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def _target_machine() -> Any:
    _initialize()
    features = binding.get_host_cpu_features().flatten()
    target = binding.Target.from_triple(binding.get_process_triple())
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="default"
    )


def make_object(module_text: str, *, optimise: bool = True) -> bytes:
    """Machine code for this computer, as an object file. Raises `CodeError` with LLVM's words."""
    machine = _target_machine()
    module = _parse(module_text, machine)
    if optimise:
        _optimise(module, machine)
    return bytes(machine.emit_object(module))


def optimised_text(module_text: str) -> str:
    """What LLVM makes of the module, as text; for people."""
    machine = _target_machine()
    module = _parse(module_text, machine)
    _optimise(module, machine)
    return str(module)


def _parse(module_text: str, machine: Any) -> Any:
    """The module, told what machine it is for: passes reason about byte order and alignment."""
    try:
        module = binding.parse_assembly(module_text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CodeError(f"LLVM rejects the generated code: {error}") from error
    return module


def _optimise(module: Any, machine: Any) -> None:
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_unrolling = False
    options.slp_vectorization = False
    options.loop_vectorization = False
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


class LoadedCode:
    """An object file in memory; ``address`` is its function's. The code lives as long as this object."""

    def __init__(self, object_file: bytes, symbol: str) -> None:
        self._compiler = binding.create_lljit_compiler(_target_machine())
        library = binding.JITLibraryBuilder().add_object_img(object_file).add_current_process().export_symbol(symbol)
        self._tracker = library.link(self._compiler, symbol)
        self.address = int(self._tracker[symbol])
