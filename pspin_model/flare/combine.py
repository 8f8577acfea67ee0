"""Adding rows in handlers: compiled loops over the element types and operators, on rows given as bytes.

float16 is computed as the cores' vector unit does: each result is rounded to nearest even from the exact one, which
going through float32 gives for sums and products of two halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from emulator.ports.jit import njit
from pspin_model.flare.elements import ElementError
from pspin_model.flare.records import FLOAT16, FLOAT32, INT8, INT16, INT32, MAX, MIN, PRODUCT, SUM
from pspin_model.handlers.core import charge_elements
from pspin_model.handlers.memory import address_of, view

# numba reads these types' names as constants
_I8, _I16, _I32, _U16, _F32 = np.int8, np.int16, np.int32, np.uint16, np.float32


@njit
def _loops(operator, out, left, right):  # type: ignore[no-untyped-def]
    if operator == SUM:
        for i in range(out.size):
            out[i] = left[i] + right[i]
    elif operator == MIN:
        for i in range(out.size):
            out[i] = left[i] if left[i] < right[i] or left[i] != left[i] else right[i]
    elif operator == MAX:
        for i in range(out.size):
            out[i] = left[i] if left[i] > right[i] or left[i] != left[i] else right[i]
    else:
        for i in range(out.size):
            out[i] = left[i] * right[i]


@njit
def half_to_single(bits):  # type: ignore[no-untyped-def]
    """A half's 16 bits to a float32."""
    sign = np.float32(-1.0) if bits & 0x8000 else np.float32(1.0)
    exponent, fraction = np.int32((bits >> 10) & 31), np.float32(bits & 1023)
    if exponent == 31:
        return sign * np.float32(np.inf) if bits & 1023 == 0 else np.float32(np.nan)
    if exponent == 0:
        return sign * fraction * np.float32(2.0**-24)
    return sign * np.float32(1024 + fraction) * np.float32(2.0) ** np.int32(exponent - 25)


@njit
def single_to_half(value):  # type: ignore[no-untyped-def]
    """A float32 to a half's 16 bits, to nearest even; NaN is the quiet one."""
    sign = np.uint16(0x8000) if np.signbit(value) else np.uint16(0)
    size = abs(value)
    if value != value:
        return np.uint16(0x7E00)
    if size >= np.float32(65520.0):
        return np.uint16(sign | 0x7C00)
    if size < np.float32(2.0**-14):
        return np.uint16(sign | np.uint16(np.rint(size * np.float32(2.0**24))))
    mantissa, exponent = math.frexp(size)  # size = mantissa * 2^exponent, mantissa in 1/2 .. 1
    fraction = np.int32(np.rint(mantissa * np.float32(2048.0)))  # 1024 .. 2048
    return np.uint16(sign | np.uint16(((exponent + 13) << 10) + fraction))


@njit
def _half_loop(operator, out, left, right):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        a, b = half_to_single(left[i]), half_to_single(right[i])
        if operator == SUM:
            value = a + b
        elif operator == MIN:
            value = a if a < b or a != a else b
        elif operator == MAX:
            value = a if a > b or a != a else b
        else:
            value = a * b
        out[i] = single_to_half(value)


def _calls_rows(typing_context, address, out, left, right, size):  # type: ignore[no-untyped-def]
    """Call ``void f(int64 out, int64 left, int64 right, int64 size)`` at an address."""
    word = ir.IntType(64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = ir.FunctionType(ir.VoidType(), [word] * 4)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return numba.types.none(*[numba.types.int64] * 5), generate


_call_rows: Any = intrinsic(_calls_rows)


def compile_operator(function: Callable[[Any, Any], Any], dtype: np.dtype[Any]) -> Any:
    """A user's function of two elements (their own, or `operator.or_`, `math.hypot`, `numpy.maximum`, ...) as machine
    code for rows; its ``address`` goes into the handlers' parameters.

    Raises ElementError where numba cannot compile it. The caller keeps it alive.
    """
    scalar = numba.njit(function if isinstance(function, FunctionType) else lambda a, b: function(a, b))
    half = dtype == np.float16
    kind = np.uint16 if half else dtype.type

    def rows(out: Any, left: Any, right: Any, size: Any) -> None:
        o, a, b = view(out, size, kind), view(left, size, kind), view(right, size, kind)
        for i in range(o.size):
            if half:
                o[i] = single_to_half(np.float32(scalar(half_to_single(a[i]), half_to_single(b[i]))))
            else:
                o[i] = scalar(a[i], b[i])

    try:
        return numba.cfunc("void(int64, int64, int64, int64)")(rows)
    except (numba.core.errors.NumbaError, AssertionError) as error:
        told = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Failed in nopython")]
        name = getattr(function, "__name__", str(function))
        why = told[0].strip() if told else "it is no function of two elements that numba knows"
        raise ElementError(f"{name} does not compile for {dtype}: {why}") from error


@njit
def _charge(h, kind, size):  # type: ignore[no-untyped-def]
    if kind == FLOAT32:
        charge_elements(h, _F32, size // 4)
    elif kind == INT32:
        charge_elements(h, _I32, size // 4)
    elif kind == INT16:
        charge_elements(h, _I16, size // 2)
    elif kind == INT8:
        charge_elements(h, _I8, size)
    else:
        charge_elements(h, np.float16, size // 2)


@njit
def combine(h, kind, operator, out, left, right):  # type: ignore[no-untyped-def]
    """out = left op right, element by element; charged as the cost table says for the type. See `apply`."""
    _charge(h, kind, out.size)
    apply(kind, operator, out, left, right)


@njit
def apply(kind, operator, out, left, right):  # type: ignore[no-untyped-def]
    """out = left op right, element by element, at no charge. All rows are bytes of one length; ``out`` may be one of
    the others. An operator that is none of ours is the address of a compiled one."""
    if operator > PRODUCT:
        _call_rows(operator, address_of(out), address_of(left), address_of(right), out.size)
    elif kind == FLOAT32:
        _loops(operator, out.view(_F32), left.view(_F32), right.view(_F32))
    elif kind == INT32:
        _loops(operator, out.view(_I32), left.view(_I32), right.view(_I32))
    elif kind == INT16:
        _loops(operator, out.view(_I16), left.view(_I16), right.view(_I16))
    elif kind == INT8:
        _loops(operator, out.view(_I8), left.view(_I8), right.view(_I8))
    elif kind == FLOAT16:
        _half_loop(operator, out.view(_U16), left.view(_U16), right.view(_U16))
