"""Whether what an operation reads fits the view it writes: numba does not look, and would go on behind the end."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import overload

MISFIT = "operands could not be broadcast together with the array that the result is written into"


def fits(target: Any, operand: Any) -> Any:
    """``operand``, which is written into ``target`` next, element by element."""
    raise NotImplementedError


@overload(fits)
def _fits(target, operand):  # type: ignore[no-untyped-def]  # numba compares signatures with the lambda's
    if not (isinstance(target, types.Array) and isinstance(operand, types.Array)):
        return lambda target, operand: operand
    before = target.ndim - operand.ndim

    def implement(target, operand):  # type: ignore[no-untyped-def]
        if before < 0:
            raise ValueError(MISFIT)
        for axis in range(operand.ndim):
            if operand.shape[axis] != 1 and operand.shape[axis] != target.shape[before + axis]:
                raise ValueError(MISFIT)
        return operand

    return implement


def into1(ufunc: Any, x: Any, out: Any) -> Any:
    """``ufunc(x, out)``, if it fits."""
    raise NotImplementedError


@overload(into1)
def _into1(ufunc, x, out):  # type: ignore[no-untyped-def]
    return lambda ufunc, x, out: ufunc(fits(out, x), out)


def into2(ufunc: Any, x: Any, y: Any, out: Any) -> Any:
    """``ufunc(x, y, out)``, if both fit."""
    raise NotImplementedError


@overload(into2)
def _into2(ufunc, x, y, out):  # type: ignore[no-untyped-def]
    return lambda ufunc, x, y, out: ufunc(fits(out, x), fits(out, y), out)
