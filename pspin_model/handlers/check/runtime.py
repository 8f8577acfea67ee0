"""Guards that run with a handler, called where `guards` inserts them.

Turns of loops and sizes of arrays are counted against the limit on loops before the work begins, so that no handler
runs forever or allocates all memory of the host. Operands must fit the view that they are written into: numba does not
check that, and would write beyond its end, or read again what it has just written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from emulator.native.jit import njit
from pspin_model.handlers.core import turns
from pspin_model.handlers.errors import HandlerError
from pspin_model.handlers.overloads import defined, overloaded

ELEMENTS = 64
"""Elements of a whole-array operation that count as one turn of a loop: what a host does in the time of one."""
MOST_TURNS = 2.0**62


@overloaded
def gone_over(h: Any, over: Any) -> Any:
    """``over``, each element of which costs a turn."""
    if isinstance(over, types.BaseTuple):
        return lambda h, over: over
    if not isinstance(over, types.Array | types.RangeType):
        raise HandlerError(f"no loops over {over}: go over a range, a view, a tuple, or enumerate or zip of them")
    if isinstance(over, types.Array) and over.ndim == 0:
        raise HandlerError("no loops over an array without axes")

    def implement(h: Any, over: Any) -> Any:
        turns(h, len(over))
        return over

    return implement


@overloaded
def worked(h: Any, value: Any) -> Any:
    """``value``, every `ELEMENTS` elements of which cost a turn: something is done with them."""
    if not isinstance(value, types.Array):
        return lambda h, value: value

    def implement(h: Any, value: Any) -> Any:
        turns(h, value.size // ELEMENTS)
        return value

    return implement


@overloaded
def room(h: Any, shape: Any) -> Any:
    """``shape``, each element of which costs a turn."""
    if isinstance(shape, types.Integer):

        def one(h: Any, shape: Any) -> Any:
            turns(h, shape)
            return shape

        return one
    if not isinstance(shape, types.UniTuple) or not isinstance(shape.dtype, types.Integer):
        raise HandlerError(f"a shape is whole numbers, not {shape}")

    def several(h: Any, shape: Any) -> Any:
        size = 1.0
        for each in shape:
            size *= each
        turns(h, int(min(max(size, 0.0), MOST_TURNS)))
        return shape

    return several


@overloaded
def arange(h: Any, start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """numpy's; each element costs a turn."""
    first, last, by, arguments = "float(start)", "float(stop)", "float(step)", "start, stop, step"
    if _absent(stop):
        first, last, by, arguments = "0.0", "float(start)", "1.0", "start"
    elif _absent(step):
        by, arguments = "1.0", "start, stop"
    if not _absent(dtype):
        arguments += ", dtype=dtype"
    text = "def implement(h, start, stop, step, dtype):\n"
    text += f"    turns(h, int(min(max(({last} - {first}) / {by}, 0.0), MOST_TURNS)))\n"
    text += f"    return np.arange({arguments})\n"
    return defined(text, {"np": np, "turns": turns, "MOST_TURNS": MOST_TURNS})


def _absent(kind: Any) -> bool:
    return isinstance(kind, types.NoneType | types.Omitted)


@njit(internal=True)
def _ends(array: Any) -> tuple[int, int]:
    """Addresses of its first byte and behind its last."""
    low = high = array.ctypes.data
    for axis in range(array.ndim):
        extent = (array.shape[axis] - 1) * array.strides[axis]
        low, high = low + min(extent, 0), high + max(extent, 0)
    return low, high + array.itemsize


@njit(internal=True)
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


@overloaded
def fits(target: Any, operand: Any) -> Any:
    """``operand``, which is written into ``target`` next, element by element; a copy where they share memory."""
    if not (isinstance(target, types.Array) and isinstance(operand, types.Array)):
        return lambda target, operand: operand
    before, mutable = target.ndim - operand.ndim, operand.mutable

    def implement(target: Any, operand: Any) -> Any:
        if before < 0:
            raise ValueError(MISFIT)
        for axis in range(operand.ndim):
            if operand.shape[axis] != 1 and operand.shape[axis] != target.shape[before + axis]:
                raise ValueError(MISFIT)
        return operand.copy() if mutable and _overlap(target, operand) else operand

    return implement


@overloaded
def into1(ufunc: Any, x: Any, out: Any) -> Any:
    """``ufunc(x, out)``, if it fits."""
    return lambda ufunc, x, out: ufunc(fits(out, x), out)


@overloaded
def into2(ufunc: Any, x: Any, y: Any, out: Any) -> Any:
    """``ufunc(x, y, out)``, if both fit."""
    return lambda ufunc, x, y, out: ufunc(fits(out, x), fits(out, y), out)
