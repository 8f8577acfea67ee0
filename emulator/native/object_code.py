"""Compiled loops as one object file: loaded by LLVM's linker alone, in milliseconds, without numba.

A function in it is called by its name with int64 arguments and returns one: 0 and 1 for False and True, 0 for None.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

SYMBOL_ERROR = 3
"""Exit status of ``whole_program`` when a function cannot be compiled; its reason is on stdout."""

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


def build(functions: Iterable[tuple[Any, int]], file: Path) -> None:
    """Write an object file of njit functions, each with its number of int64 arguments. Raises ObjectCodeError."""
    words = [f"{function.__module__}:{function.__name__}:{arity}" for function, arity in functions]
    program = [sys.executable, "-m", "emulator.native.whole_program", str(file), *words]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, env=os.environ | paths)
    if done.returncode == SYMBOL_ERROR:
        raise ObjectCodeError(done.stdout.strip())
    if done.returncode != 0:
        raise ObjectCodeError(f"the compiler ended with status {done.returncode}")
