"""Compiled loops as one object file: loaded by LLVM's linker alone, in milliseconds, without numba.

A function in it is called by its name with int64 arguments and returns one: 0 and 1 for False and True, 0 for None.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

_kept: list[Any] = []
"""LLVM's engines: machine code goes with its engine, and nobody knows who still has an address."""


class ObjectCodeError(Exception):
    """The loops can't be had as an object file; they run as numba compiles them."""


def symbol_of(function: Any) -> str:
    """The name of a function in an object file."""
    return f"{function.__module__}.{function.__name__}"


class ObjectCode:
    """A loaded object file; its code stays for as long as the process."""

    def __init__(self, data: bytes) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()
        _kept.append(self._engine)

    def address(self, function: Any) -> int:
        """Where a function begins. Raises ObjectCodeError where the file does not have it."""
        found = int(self._engine.get_function_address(symbol_of(function)))
        if not found:
            raise ObjectCodeError(f"{symbol_of(function)} is not in the object file")
        return found

    def adopt(self, function: Any, arity: int) -> None:
        """Let Python's calls of a deferred function come here. They leave the GIL."""
        address = self.address(function)
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *([ctypes.c_int64] * arity))
        call = kind(address)
        call.argtypes = [ctypes.c_int64] * arity
        function.adopt(call, address)


def release_linker() -> None:
    """Give back the memory of LLVM's own code, some 30 MB that only loading and linking needed.

    Its pages are clean and of a file, so the kernel maps them again where LLVM is called once more.
    """
    library = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "libllvmlite" in line and " r-xp " in line:
            start, end = (int(address, 16) for address in line.split()[0].split("-"))
            library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), mmap.MADV_DONTNEED)


def build(functions: Iterable[tuple[Any, int]]) -> bytes:
    """An object file of njit functions, each with its number of int64 arguments. Raises ObjectCodeError."""
    from numba.core import types

    module, names = None, []
    for function, arity in functions:
        signature = (types.int64,) * arity
        function.compile(signature)
        compiled = function.overloads[signature]
        name = symbol_of(function)
        # the entry first: a linker takes of numba's code only what something refers to already
        parts = (llvm.parse_assembly(_entry(compiled, name, arity)), _linkable(compiled.library))
        names.append(name)
        for part in parts:
            if module is None:
                module = part
            else:
                module.link_in(part)
    if module is None:
        raise ObjectCodeError("there are no functions")
    _keep_only(module, names)
    return _emitted(module)


def _linkable(library: Any) -> Any:
    """A copy of a library's optimized code with all that it calls; numba makes it for callers in other libraries."""
    try:
        return llvm.parse_bitcode(library._get_module_for_linking().as_bitcode())
    except AttributeError as error:
        raise ObjectCodeError(f"this numba keeps its code elsewhere: {error}") from error


def _entry(compiled: Any, name: str, arity: int) -> str:
    """LLVM text of a function of that name as C would call it. None of ours raises; one that did would trap."""
    from llvmlite import ir
    from numba.core import types

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
        raise ObjectCodeError(f"{name} returns {returned}")
    return str(module)


def _keep_only(module: Any, names: list[str]) -> None:
    """Make everything else private, and drop what is not needed then: numba's wrappers for Python first of all."""
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in names:
            value.linkage = "internal"
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(_machine(), options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    library = ctypes.CDLL(None)
    for function in module.functions:
        if function.is_declaration and not function.name.startswith("llvm.") and not hasattr(library, function.name):
            raise ObjectCodeError(f"{function.name} is not in this process without numba")


@functools.cache
def _machine() -> Any:
    """As numba has it: for this very CPU."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3, reloc="pic", jit=True)


def _emitted(module: Any) -> bytes:
    module.verify()
    return bytes(_machine().emit_object(module))
