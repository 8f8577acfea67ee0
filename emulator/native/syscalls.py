"""Calls of libc and the kernel; a failing one returns ``-errno``.

The code is in ``syscalls_code``, which needs the compiler; it is loaded when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from emulator.native.deferred import Deferred


def _code(name: str) -> Any:
    def make() -> Any:
        from emulator.native import syscalls_code

        return getattr(syscalls_code, name)

    return Deferred(make)


Integer: TypeAlias = Callable[..., int]

recvmmsg: Integer = _code("recvmmsg")
sendmmsg: Integer = _code("sendmmsg")
read_descriptor: Integer = _code("read_descriptor")
write_descriptor: Integer = _code("write_descriptor")
open_path: Integer = _code("open_path")
close_descriptor: Integer = _code("close_descriptor")
seek_end: Integer = _code("seek_end")
map_memory: Integer = _code("map_memory")
unmap_memory: Integer = _code("unmap_memory")
shut_down: Integer = _code("shut_down")
epoll_control: Integer = _code("epoll_control")
futex_wait: Integer = _code("futex_wait")
futex_wake: Integer = _code("futex_wake")
ppoll: Integer = _code("ppoll")
monotonic_ns: Integer = _code("monotonic_ns")
