"""How the functions of this folder that numba has no words for are made: as intrinsics, which disappear into their
callers, so that these can be cached on disk.

Addresses are plain int64: numba turns uint64 + int64 into a float, so nothing here speaks uint64.
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
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()

MACHINE = platform.machine() if platform.machine() in ("x86_64", "aarch64") else "x86_64"
"""One of the two that we know the names and numbers of."""


def inlined(function: Any) -> Any:
    """``numba.extending.intrinsic``, with a type that lets callers in typed code call what it makes."""
    return intrinsic(function)


def of_integers(
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
    function.__module__ = generate.__module__
    compiled: Callable[..., int] = intrinsic(function)
    return compiled


def pointer_to(builder: Any, address: Any, element: ir.Type) -> Any:
    return builder.inttoptr(address, element.as_pointer())


def widen(builder: Any, value: Any) -> Any:
    return value if value.type == I64 else builder.zext(value, I64)


def narrow(builder: Any, value: Any, width: Any) -> Any:
    return value if width == I64 else builder.trunc(value, width)


def element_of(builder: Any, address: Any, index: Any, element: ir.Type) -> Any:
    """A pointer to an element of the array at an address."""
    return builder.gep(builder.inttoptr(address, element.as_pointer()), [index])
