"""What compiled loops need from the machine and from libc, and numba does not offer. The only place for it.

Strategy: every function here is a numba intrinsic, so that it disappears into its caller and the caller can be cached
on disk. libc is reached by symbol name, resolved when the machine code is loaded; a ctypes address would be baked into
the code and make it uncacheable. Addresses are plain int64: numba turns uint64 + int64 into a float, so nothing here
speaks uint64.

Failing libc calls return ``-errno``, never -1. Loads of narrow integers are zero-extended to int64.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils as untyped_cgutils
from numba.core import types
from numba.extending import intrinsic

cgutils: Any = untyped_cgutils

I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))

FUTEX_WAIT, FUTEX_WAKE = 0, 1
"""linux/futex.h; without FUTEX_PRIVATE_FLAG, for the words are shared between processes."""

CLOCK_MONOTONIC = 1

SYSTEM_CALLS = {"x86_64": {"futex": 202}, "aarch64": {"futex": 98}}
"""asm/unistd.h of the two machines we build for."""

PAUSE = {"x86_64": ("llvm.x86.sse2.pause", ()), "aarch64": ("llvm.aarch64.hint", (I32(1),))}
"""LLVM's names for the spinning hint; inline assembly is not available, for numba links no assembler."""

MACHINE = platform.machine() if platform.machine() in SYSTEM_CALLS else "x86_64"


def _make(
    name: str, arity: int, document: str, generate: Callable[..., Any], *, returns: Any = types.int64
) -> Callable[..., int]:
    """An intrinsic of ``arity`` int64 arguments whose code ``generate(builder, *values)`` emits."""

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        result = generate(builder, *values)
        return context.get_dummy_value() if returns is types.none else result

    signature = returns(*([types.int64] * arity))
    names = ", ".join(f"argument{index}" for index in range(arity))
    namespace: dict[str, Any] = {"signature": signature, "lower": lower}
    # numba insists on a function with exactly the arguments of the intrinsic
    exec(f"def {name}(context{', ' if names else ''}{names}):\n    return signature, lower\n", namespace)
    function = namespace[name]
    function.__doc__ = document
    function.__module__ = __name__
    compiled: Callable[..., int] = intrinsic(function)
    return compiled


def _pointer(builder: Any, address: Any, width: Any) -> Any:
    return builder.inttoptr(address, width.as_pointer())


def _widen(builder: Any, value: Any) -> Any:
    return value if value.type == I64 else builder.zext(value, I64)


def _narrow(builder: Any, value: Any, width: Any) -> Any:
    return value if width == I64 else builder.trunc(value, width)


# --- plain memory ---------------------------------------------------------------------------------------------------


def _reader(width: Any) -> Callable[..., Any]:
    def generate(builder: Any, address: Any) -> Any:
        return _widen(builder, builder.load(_pointer(builder, address, width), align=1))

    return generate


def _writer(width: Any) -> Callable[..., Any]:
    def generate(builder: Any, address: Any, value: Any) -> None:
        builder.store(_narrow(builder, value, width), _pointer(builder, address, width), align=1)

    return generate


read8 = _make("read8", 1, "The byte at an address.", _reader(I8))
read16 = _make("read16", 1, "The 16-bit integer at an address, which need not be aligned.", _reader(I16))
read32 = _make("read32", 1, "The 32-bit integer at an address, which need not be aligned.", _reader(I32))
read64 = _make("read64", 1, "The 64-bit integer at an address, which need not be aligned.", _reader(I64))
write8 = _make("write8", 2, "Store the low byte of a value at an address.", _writer(I8), returns=types.none)
write16 = _make("write16", 2, "Store the low 16 bits of a value at an address.", _writer(I16), returns=types.none)
write32 = _make("write32", 2, "Store the low 32 bits of a value at an address.", _writer(I32), returns=types.none)
write64 = _make("write64", 2, "Store a value at an address.", _writer(I64), returns=types.none)


def _copy(builder: Any, target: Any, source: Any, length_bytes: Any) -> None:
    cgutils.raw_memcpy(
        builder, _pointer(builder, target, I8), _pointer(builder, source, I8), length_bytes, itemsize=1, align=1
    )


copy_memory = _make(
    "copy_memory", 3, "memcpy(target, source, length_bytes): the two must not overlap.", _copy, returns=types.none
)

# --- shared memory: each word has one width and is naturally aligned -------------------------------------------------


def _atomic_load(width: Any, ordering: str) -> Callable[..., Any]:
    def generate(builder: Any, address: Any) -> Any:
        return _widen(builder, builder.load_atomic(_pointer(builder, address, width), ordering, width.width // 8))

    return generate


def _atomic_store(width: Any, ordering: str) -> Callable[..., Any]:
    def generate(builder: Any, address: Any, value: Any) -> None:
        pointer = _pointer(builder, address, width)
        builder.store_atomic(_narrow(builder, value, width), pointer, ordering, width.width // 8)

    return generate


def _atomic_update(width: Any, operation: str) -> Callable[..., Any]:
    def generate(builder: Any, address: Any, value: Any) -> Any:
        pointer = _pointer(builder, address, width)
        return _widen(builder, builder.atomic_rmw(operation, pointer, _narrow(builder, value, width), "seq_cst"))

    return generate


def _compare_exchange(width: Any) -> Callable[..., Any]:
    def generate(builder: Any, address: Any, expected: Any, value: Any) -> Any:
        pointer = _pointer(builder, address, width)
        old, new = _narrow(builder, expected, width), _narrow(builder, value, width)
        pair = builder.cmpxchg(pointer, old, new, "seq_cst", "seq_cst")
        return _widen(builder, builder.extract_value(pair, 0))

    return generate


load_acquire32 = _make(
    "load_acquire32", 1, "Atomic load; what follows is not moved before it.", _atomic_load(I32, "acquire")
)
load_acquire64 = _make(
    "load_acquire64", 1, "Atomic load; what follows is not moved before it.", _atomic_load(I64, "acquire")
)
load_once32 = _make("load_once32", 1, "Atomic load without order: read exactly once.", _atomic_load(I32, "monotonic"))
load_once64 = _make("load_once64", 1, "Atomic load without order: read exactly once.", _atomic_load(I64, "monotonic"))
store_release32 = _make(
    "store_release32",
    2,
    "Atomic store; what precedes is not moved after it.",
    _atomic_store(I32, "release"),
    returns=types.none,
)
store_release64 = _make(
    "store_release64",
    2,
    "Atomic store; what precedes is not moved after it.",
    _atomic_store(I64, "release"),
    returns=types.none,
)
atomic_add32 = _make("atomic_add32", 2, "Add in one step; returns the old value.", _atomic_update(I32, "add"))
atomic_add64 = _make("atomic_add64", 2, "Add in one step; returns the old value.", _atomic_update(I64, "add"))
exchange64 = _make("exchange64", 2, "Swap in one step; returns the old value.", _atomic_update(I64, "xchg"))
compare_exchange32 = _make(
    "compare_exchange32",
    3,
    "(address, expected, value): store value if expected is there; returns what was there.",
    _compare_exchange(I32),
)
compare_exchange64 = _make(
    "compare_exchange64",
    3,
    "(address, expected, value): store value if expected is there; returns what was there.",
    _compare_exchange(I64),
)


def _fence(builder: Any) -> None:
    builder.fence("seq_cst")


def _pause(builder: Any) -> None:
    name, values = PAUSE[MACHINE]
    function_type = ir.FunctionType(ir.VoidType(), [value.type for value in values])
    builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), values)


def _prefetch(builder: Any, address: Any) -> None:
    function_type = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [I8.as_pointer()], function_type)
    builder.call(function, [_pointer(builder, address, I8), I32(0), I32(3), I32(1)])


prefetch = _make(
    "prefetch", 1, "Begin to fetch the cache line of an address; any address will do.", _prefetch, returns=types.none
)
fence = _make("fence", 0, "Every load and store before it comes before every one after it.", _fence, returns=types.none)
pause = _make("pause", 0, "Tell the core that this is a spinning loop.", _pause, returns=types.none)

# --- libc -----------------------------------------------------------------------------------------------------------


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


recvmmsg = _make(
    "recvmmsg", 5, "recvmmsg(fd, messages, count, flags, timeout): count received or -errno.", _libc("recvmmsg")
)
sendmmsg = _make("sendmmsg", 4, "sendmmsg(fd, messages, count, flags): count sent or -errno.", _libc("sendmmsg"))
read_descriptor = _make("read_descriptor", 3, "read(fd, buffer, size): bytes or -errno.", _libc("read", returns=I64))
write_descriptor = _make(
    "write_descriptor", 3, "write(fd, buffer, size): bytes or -errno.", _libc("write", returns=I64)
)
open_path = _make(
    "open_path", 2, "open(path, flags): descriptor or -errno; path is the address of a C string.", _libc("open", 2)
)
close_descriptor = _make("close_descriptor", 1, "close(fd).", _libc("close"))
seek_end = _make("seek_end", 3, "lseek(fd, offset, whence): position or -errno.", _libc("lseek", returns=I64))
map_memory = _make(
    "map_memory",
    6,
    "mmap(address, size, protection, flags, fd, offset): address or -errno.",
    _libc("mmap", returns=I64),
)
unmap_memory = _make("unmap_memory", 2, "munmap(address, size).", _libc("munmap"))
shut_down = _make("shut_down", 2, "shutdown(fd, how).", _libc("shutdown"))
epoll_control = _make(
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


futex_wait = _make(
    "futex_wait",
    3,
    "Sleep on a 32-bit word (address, expected, timeout_ns; negative: for ever). 0, or -errno.",
    _futex_wait,
)
futex_wake = _make(
    "futex_wake", 2, "Wake up to so many sleepers on a word (address, waiters); returns how many.", _futex_wake
)


def _ppoll(builder: Any, descriptors: Any, count: Any, timeout_ns: Any) -> Any:
    return _libc("ppoll")(builder, descriptors, count, _store_timespec(builder, timeout_ns), I64(0))


ppoll = _make("ppoll", 3, "ppoll(struct pollfd*, count, timeout_ns; negative: for ever): how many are ready.", _ppoll)


def _monotonic_ns(builder: Any) -> Any:
    slot = _timespec(builder)
    _libc("clock_gettime")(builder, I64(CLOCK_MONOTONIC), builder.ptrtoint(slot, I64))
    seconds = builder.load(cgutils.gep_inbounds(builder, slot, 0, 0))
    rest = builder.load(cgutils.gep_inbounds(builder, slot, 0, 1))
    return builder.add(builder.mul(seconds, I64(1_000_000_000)), rest)


monotonic_ns = _make(
    "monotonic_ns", 0, "CLOCK_MONOTONIC in nanoseconds: time.monotonic_ns() without Python.", _monotonic_ns
)

# --- machine code known only at run time -----------------------------------------------------------------------------


def _call(builder: Any, function: Any, *values: Any) -> Any:
    function_type = ir.FunctionType(I64, [I64] * len(values))
    return builder.call(builder.inttoptr(function, function_type.as_pointer()), values)


call_address = _make(
    "call_address",
    7,
    "Call a program's process(): (its address, context, addresses, lengths, ports, count, now_ns); returns its int64.",
    _call,
)
