"""Calls of machine code by its address.

The code is in ``calls_code``, which needs the compiler; it is loaded when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from emulator.native.deferred import Deferred


def _code(name: str) -> Any:
    def make() -> Any:
        from emulator.native import calls_code

        return getattr(calls_code, name)

    return Deferred(make)


Integer: TypeAlias = Callable[..., int]

call_address: Integer = _code("call_address")
call_compiled: Integer = _code("call_compiled")


def entry_address(function: Any) -> int:
    """Address of a compiled function of int64 that returns one, for ``call_compiled``.

    Calling by address keeps large loops out of the machine code of their callers: numba compiles a function again
    as part of every function that calls it, at every level.
    """
    if getattr(function, "address", 0):
        return int(function.address)
    from emulator.native import calls_code

    return calls_code.entry_address(function)
