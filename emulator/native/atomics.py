"""Atomics on 32-bit and 64-bit words, fences, and the spinning hint.

The code is in ``atomics_code``, which needs the compiler; it is loaded when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from emulator.native.deferred import Deferred


def _code(name: str) -> Any:
    def make() -> Any:
        from emulator.native import atomics_code

        return getattr(atomics_code, name)

    return Deferred(make)


Integer: TypeAlias = Callable[..., int]

load_acquire32: Integer = _code("load_acquire32")
load_acquire64: Integer = _code("load_acquire64")
load_once32: Integer = _code("load_once32")
load_once64: Integer = _code("load_once64")
store_release32: Integer = _code("store_release32")
store_release64: Integer = _code("store_release64")
atomic_add32: Integer = _code("atomic_add32")
atomic_add64: Integer = _code("atomic_add64")
exchange64: Integer = _code("exchange64")
compare_exchange32: Integer = _code("compare_exchange32")
compare_exchange64: Integer = _code("compare_exchange64")
fence: Integer = _code("fence")
pause: Integer = _code("pause")
