"""What compiled loops need from the machine and from libc, and numba does not offer, by name.

The code is in ``intrinsics_code``, which needs the compiler; it is loaded when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from emulator.native.deferred import Deferred


def _code(name: str) -> Callable[..., int]:
    def make() -> object:
        from emulator.native import intrinsics_code

        return getattr(intrinsics_code, name)

    return cast(Callable[..., int], Deferred(make))


read8 = _code("read8")
read16 = _code("read16")
read32 = _code("read32")
read64 = _code("read64")
write8 = _code("write8")
write16 = _code("write16")
write32 = _code("write32")
write64 = _code("write64")
copy_memory = _code("copy_memory")
load_acquire32 = _code("load_acquire32")
load_acquire64 = _code("load_acquire64")
load_once32 = _code("load_once32")
load_once64 = _code("load_once64")
store_release32 = _code("store_release32")
store_release64 = _code("store_release64")
atomic_add32 = _code("atomic_add32")
atomic_add64 = _code("atomic_add64")
exchange64 = _code("exchange64")
compare_exchange32 = _code("compare_exchange32")
compare_exchange64 = _code("compare_exchange64")
prefetch = _code("prefetch")
fence = _code("fence")
pause = _code("pause")
recvmmsg = _code("recvmmsg")
sendmmsg = _code("sendmmsg")
read_descriptor = _code("read_descriptor")
write_descriptor = _code("write_descriptor")
open_path = _code("open_path")
close_descriptor = _code("close_descriptor")
seek_end = _code("seek_end")
map_memory = _code("map_memory")
unmap_memory = _code("unmap_memory")
shut_down = _code("shut_down")
epoll_control = _code("epoll_control")
futex_wait = _code("futex_wait")
futex_wake = _code("futex_wake")
ppoll = _code("ppoll")
monotonic_ns = _code("monotonic_ns")
call_address = _code("call_address")
