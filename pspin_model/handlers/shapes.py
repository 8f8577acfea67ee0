"""Whether what an operation reads fits the view it writes: numba does not look, and would go on behind the end, or read
again what it has just written."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import overload

from pspin_model.handlers.jit import njit


@njit
def _ends(array: Any) -> tuple[int, int]:
    """Addresses of its first byte and behind its last."""
    low = high = array.ctypes.data
    for axis in range(array.ndim):
        extent = (array.shape[axis] - 1) * array.strides[axis]
        low, high = low + min(extent, 0), high + max(extent, 0)
    return low, high + array.itemsize


@njit
def _overlap(target: Any, operand: Any) -> bool:
    """Whether two views share memory, but are not the same."""
    ends, others = _ends(target), _ends(operand)
    apart = ends[1] <= others[0] or others[1] <= ends[0]
    same = target.ctypes.data == operand.ctypes.data and target.ndim == operand.ndim
    if same:
        for axis in range(operand.ndim):
            same = same and target.strides[axis] == operand.strides[axis] and target.shape[axis] == operand.shape[axis]
    return bool(not apart and not same)


MISFIT = "operands could not be broadcast together with the array that the result is written into"


def fits(target: Any, operand: Any) -> Any:
    """``operand``, which is written into ``target`` next, element by element; a copy where they share memory."""
    raise NotImplementedError


@overload(fits)
def _fits(target, operand):  # type: ignore[no-untyped-def]  # numba compares signatures with the lambda's
    if not (isinstance(target, types.Array) and isinstance(operand, types.Array)):
        return lambda target, operand: operand
    before, mutable = target.ndim - operand.ndim, operand.mutable

    def implement(target, operand):  # type: ignore[no-untyped-def]
        if before < 0:
            raise ValueError(MISFIT)
        for axis in range(operand.ndim):
            if operand.shape[axis] != 1 and operand.shape[axis] != target.shape[before + axis]:
                raise ValueError(MISFIT)
        return operand.copy() if mutable and _overlap(target, operand) else operand

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
