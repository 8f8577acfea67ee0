"""Functions and all that they call, compiled as one LLVM module into an object file: `python -m` with the file's name
and ``MODULE:FUNCTION:ARITY`` for each function.

By itself numba optimizes a function and emits its machine code again in each of its callers, together with wrappers
for Python. Here each function is only lowered, and all of them are linked, optimized and emitted once, which takes a
third of the time. It has a process of its own because numba's dispatchers then refer to code that was never emitted.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from emulator.native import jit
from emulator.native.object_code import SYMBOL_ERROR, symbol_of


class Refused(Exception):
    """A function that cannot be compiled into an object file; the text names it and says why."""


class OwnCode(JITCodeLibrary):
    """A function's own code as it was lowered: without what it calls, and without machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def modules(self, seen: set[OwnCode]) -> Iterator[Any]:
        """The code of this library and of all that it calls, each once."""
        if self not in seen:
            seen.add(self)
            yield self._final_module
            for library in self._linking_libraries:
                yield from library.modules(seen)


def compile_object(functions: Iterable[tuple[Any, int]]) -> bytes:
    """An object file of njit functions, each with its number of int64 arguments. Raises Refused."""
    context = cpu_target.target_context
    codegen = context.codegen()
    codegen._library_class = OwnCode
    context.create_cpython_wrapper = context.create_cfunc_wrapper = _no_wrapper
    context.get_executable = _no_executable
    jit.whole_program = True
    module = llvm.parse_assembly("")
    names, seen = [], set[OwnCode]()
    for function, arity in functions:
        signature = (types.int64,) * arity
        function.compile(signature)
        compiled = function.overloads[signature]
        names.append(symbol_of(function))
        module.link_in(llvm.parse_assembly(_entry(compiled, names[-1], arity)))
        for part in compiled.library.modules(seen):
            module.link_in(part)
    _optimize(codegen, module, names)
    return bytes(codegen._tm.emit_object(module))


def _no_wrapper(*_: Any, **__: Any) -> None:
    """No function is called from Python here."""


def _no_executable(library: Any, *_: Any) -> Any:
    """numba's dispatchers want a builtin function, a different one for each overload."""
    library._ensure_finalized()
    return [].append


def _entry(compiled: Any, name: str, arity: int) -> str:
    """LLVM text of a function of that name as C would call it. None of ours raises; one that did would trap."""
    context, descriptor = compiled.target_context, compiled.fndesc
    number = ir.IntType(64)
    module = context.create_module(name)
    entry = ir.Function(module, ir.FunctionType(number, [number] * arity), name)
    builder = ir.IRBuilder(entry.append_basic_block())
    native = context.declare_function(module, descriptor)
    status, value = context.call_conv.call_function(
        builder, native, descriptor.restype, descriptor.argtypes, entry.args
    )
    with builder.if_then(status.is_error, likely=False):
        builder.call(module.declare_intrinsic("llvm.trap", (), ir.FunctionType(ir.VoidType(), [])), [])
    returned = descriptor.restype
    if returned in (types.none, types.void):
        builder.ret(number(0))
    elif isinstance(returned, types.Integer | types.Boolean):
        builder.ret(context.cast(builder, value, returned, types.int64))
    else:
        raise Refused(f"{name} returns {returned}")
    return str(module)


def _optimize(codegen: Any, module: Any, names: list[str]) -> None:
    """Everything but the entries is private. The passes are numba's: cheap ones that rotate loops, then all."""
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in names:
            value.linkage = "internal"
    module.verify()
    for settings in ({"loop_vectorize": False, "slp_vectorize": False, "opt": 0, "cost": "cheap"}, {}):
        passes, builder = codegen._module_pass_manager(**settings)
        passes.run(module, builder)
    library = ctypes.CDLL(None)
    for function in module.functions:
        if function.is_declaration and not function.name.startswith("llvm.") and not hasattr(library, function.name):
            raise Refused(f"{function.name} is not in this process without numba")


def main(words: list[str]) -> int:
    """Write the file; the exit status, with the reason on stdout where it is `SYMBOL_ERROR`."""
    file, *wanted = words
    functions = []
    for word in wanted:
        module, name, arity = word.split(":")
        functions.append((getattr(importlib.import_module(module), name), int(arity)))
    try:
        Path(file).write_bytes(compile_object(functions))
    except Refused as error:
        print(error)
        return SYMBOL_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
