"""Atomics, fences and the spinning hint. Each word has one width and is naturally aligned.

Narrow words are zero-extended to int64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from emulator.native.intrinsic import I32, I64, MACHINE, cgutils, narrow, of_integers, pointer_to, widen

PAUSE = {"x86_64": ("llvm.x86.sse2.pause", ()), "aarch64": ("llvm.aarch64.hint", (I32(1),))}
"""LLVM's names for the spinning hint; inline assembly is not available, for numba links no assembler."""


def _atomic_load(width: Any, ordering: str) -> Callable[..., Any]:
    def generate(builder: Any, address: Any) -> Any:
        return widen(builder, builder.load_atomic(pointer_to(builder, address, width), ordering, width.width // 8))

    return generate


def _atomic_store(width: Any, ordering: str) -> Callable[..., Any]:
    def generate(builder: Any, address: Any, value: Any) -> None:
        pointer = pointer_to(builder, address, width)
        builder.store_atomic(narrow(builder, value, width), pointer, ordering, width.width // 8)

    return generate


def _atomic_update(width: Any, operation: str) -> Callable[..., Any]:
    def generate(builder: Any, address: Any, value: Any) -> Any:
        pointer = pointer_to(builder, address, width)
        return widen(builder, builder.atomic_rmw(operation, pointer, narrow(builder, value, width), "seq_cst"))

    return generate


def _compare_exchange(width: Any) -> Callable[..., Any]:
    def generate(builder: Any, address: Any, expected: Any, value: Any) -> Any:
        pointer = pointer_to(builder, address, width)
        old, new = narrow(builder, expected, width), narrow(builder, value, width)
        pair = builder.cmpxchg(pointer, old, new, "seq_cst", "seq_cst")
        return widen(builder, builder.extract_value(pair, 0))

    return generate


load_acquire32 = of_integers(
    "load_acquire32", 1, "Atomic load; what follows is not moved before it.", _atomic_load(I32, "acquire")
)
load_acquire64 = of_integers(
    "load_acquire64", 1, "Atomic load; what follows is not moved before it.", _atomic_load(I64, "acquire")
)
load_once32 = of_integers(
    "load_once32", 1, "Atomic load without order: read exactly once.", _atomic_load(I32, "monotonic")
)
load_once64 = of_integers(
    "load_once64", 1, "Atomic load without order: read exactly once.", _atomic_load(I64, "monotonic")
)
store_release32 = of_integers(
    "store_release32",
    2,
    "Atomic store; what precedes is not moved after it.",
    _atomic_store(I32, "release"),
    returns=types.none,
)
store_release64 = of_integers(
    "store_release64",
    2,
    "Atomic store; what precedes is not moved after it.",
    _atomic_store(I64, "release"),
    returns=types.none,
)
atomic_add32 = of_integers("atomic_add32", 2, "Add in one step; returns the old value.", _atomic_update(I32, "add"))
atomic_add64 = of_integers("atomic_add64", 2, "Add in one step; returns the old value.", _atomic_update(I64, "add"))
exchange64 = of_integers("exchange64", 2, "Swap in one step; returns the old value.", _atomic_update(I64, "xchg"))
compare_exchange32 = of_integers(
    "compare_exchange32",
    3,
    "(address, expected, value): store value if expected is there; returns what was there.",
    _compare_exchange(I32),
)
compare_exchange64 = of_integers(
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


fence = of_integers(
    "fence", 0, "Every load and store before it comes before every one after it.", _fence, returns=types.none
)
pause = of_integers("pause", 0, "Tell the core that this is a spinning loop.", _pause, returns=types.none)
