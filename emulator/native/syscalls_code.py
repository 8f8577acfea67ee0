"""Calls of libc and the kernel. libc is reached by symbol name, resolved when the machine code is loaded; a ctypes
address would be baked into the code and make it uncacheable.

Failing calls return ``-errno``, never -1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from emulator.native.intrinsic import I32, I64, MACHINE, cgutils, of_integers

FUTEX_WAIT, FUTEX_WAKE = 0, 1
"""linux/futex.h; without FUTEX_PRIVATE_FLAG, for the words are shared between processes."""

CLOCK_MONOTONIC = 1

SYSTEM_CALLS = {"x86_64": {"futex": 202}, "aarch64": {"futex": 98}}
"""asm/unistd.h of the two machines we build for."""


def _checked(builder: Any, result: Any) -> Any:
    """The result of a libc call as int64, with -1 replaced by ``-errno`` of this thread."""
    wide = result if result.type == I64 else builder.sext(result, I64)
    slot = cgutils.alloca_once_value(builder, wide)
    with builder.if_then(builder.icmp_signed("==", wide, I64(-1)), likely=False):
        locate = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(I32.as_pointer(), []), "__errno_location"
        )
        number = builder.sext(builder.load(builder.call(locate, [])), I64)
        builder.store(builder.neg(number), slot)
    return builder.load(slot)


def _libc(symbol: str, fixed: int | None = None, *, returns: Any = I32) -> Callable[..., Any]:
    """A call of ``symbol`` with int64 arguments; ``fixed`` counts the named ones of a variadic function."""

    def generate(builder: Any, *values: Any) -> Any:
        named = values if fixed is None else values[:fixed]
        function_type = ir.FunctionType(returns, [I64] * len(named), var_arg=fixed is not None)
        function = cgutils.get_or_insert_function(builder.module, function_type, symbol)
        return _checked(builder, builder.call(function, values))

    return generate


recvmmsg = of_integers(
    "recvmmsg", 5, "recvmmsg(fd, messages, count, flags, timeout): count received or -errno.", _libc("recvmmsg")
)
sendmmsg = of_integers("sendmmsg", 4, "sendmmsg(fd, messages, count, flags): count sent or -errno.", _libc("sendmmsg"))
read_descriptor = of_integers(
    "read_descriptor", 3, "read(fd, buffer, size): bytes or -errno.", _libc("read", returns=I64)
)
write_descriptor = of_integers(
    "write_descriptor", 3, "write(fd, buffer, size): bytes or -errno.", _libc("write", returns=I64)
)
open_path = of_integers(
    "open_path", 2, "open(path, flags): descriptor or -errno; path is the address of a C string.", _libc("open", 2)
)
close_descriptor = of_integers("close_descriptor", 1, "close(fd).", _libc("close"))
seek_end = of_integers("seek_end", 3, "lseek(fd, offset, whence): position or -errno.", _libc("lseek", returns=I64))
map_memory = of_integers(
    "map_memory",
    6,
    "mmap(address, size, protection, flags, fd, offset): address or -errno.",
    _libc("mmap", returns=I64),
)
unmap_memory = of_integers("unmap_memory", 2, "munmap(address, size).", _libc("munmap"))
shut_down = of_integers("shut_down", 2, "shutdown(fd, how).", _libc("shutdown"))
epoll_control = of_integers(
    "epoll_control", 4, "epoll_ctl(poller, operation, fd, struct epoll_event*): 0 or -errno.", _libc("epoll_ctl")
)


def _timespec(builder: Any) -> Any:
    return cgutils.alloca_once(builder, ir.ArrayType(I64, 2))


def _store_timespec(builder: Any, timeout_ns: Any) -> Any:
    """Fill a timespec; returns its address as int64, 0 (for ever) when the timeout is negative."""
    slot = _timespec(builder)
    billion = I64(1_000_000_000)
    builder.store(builder.sdiv(timeout_ns, billion), cgutils.gep_inbounds(builder, slot, 0, 0))
    builder.store(builder.srem(timeout_ns, billion), cgutils.gep_inbounds(builder, slot, 0, 1))
    return builder.select(builder.icmp_signed("<", timeout_ns, I64(0)), I64(0), builder.ptrtoint(slot, I64))


def _futex(builder: Any, address: Any, operation: Any, value: Any, timeout: Any) -> Any:
    function_type = ir.FunctionType(I64, [I64], var_arg=True)
    function = cgutils.get_or_insert_function(builder.module, function_type, "syscall")
    number = I64(SYSTEM_CALLS[MACHINE]["futex"])
    return _checked(builder, builder.call(function, [number, address, operation, value, timeout, I64(0), I64(0)]))


def _futex_wait(builder: Any, address: Any, expected: Any, timeout_ns: Any) -> Any:
    return _futex(builder, address, I64(FUTEX_WAIT), expected, _store_timespec(builder, timeout_ns))


def _futex_wake(builder: Any, address: Any, waiters: Any) -> Any:
    return _futex(builder, address, I64(FUTEX_WAKE), waiters, I64(0))


futex_wait = of_integers(
    "futex_wait",
    3,
    "Sleep on a 32-bit word (address, expected, timeout_ns; negative: for ever). 0, or -errno.",
    _futex_wait,
)
futex_wake = of_integers(
    "futex_wake", 2, "Wake at most ``waiters`` sleepers on a word (address, waiters); returns how many.", _futex_wake
)


def _ppoll(builder: Any, descriptors: Any, count: Any, timeout_ns: Any) -> Any:
    return _libc("ppoll")(builder, descriptors, count, _store_timespec(builder, timeout_ns), I64(0))


ppoll = of_integers(
    "ppoll", 3, "ppoll(struct pollfd*, count, timeout_ns; negative: for ever): how many are ready.", _ppoll
)


def _monotonic_ns(builder: Any) -> Any:
    slot = _timespec(builder)
    _libc("clock_gettime")(builder, I64(CLOCK_MONOTONIC), builder.ptrtoint(slot, I64))
    seconds = builder.load(cgutils.gep_inbounds(builder, slot, 0, 0))
    rest = builder.load(cgutils.gep_inbounds(builder, slot, 0, 1))
    return builder.add(builder.mul(seconds, I64(1_000_000_000)), rest)


monotonic_ns = of_integers(
    "monotonic_ns", 0, "CLOCK_MONOTONIC in nanoseconds: time.monotonic_ns() without Python.", _monotonic_ns
)
