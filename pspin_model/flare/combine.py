"""Adding rows in handlers: compiled loops over the element types and operators, on rows given as bytes.

float16 is computed as the cores' vector unit does: each result is rounded to nearest even from the exact one, which
going through float32 gives for sums and products of two halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from emulator.native.jit import njit
from pspin_model.flare.elements import ElementError, Operator, Values
from pspin_model.flare.records import (
    A_ELEMENT_CYCLES,
    A_ELEMENT_INSTRUCTIONS,
    A_ITEM_BYTES,
    A_OPERATOR,
    A_ROWS,
    MAX,
    MIN,
    SUM,
    USERS,
)
from pspin_model.flare.user_objects import MOST_TURNS, bounded
from pspin_model.handlers import charge_cycles, helper
from pspin_model.handlers.memory import address_of, view
from pspin_model.machine.costs import ELEMENT_UNIT

FAILED = f"raises an error, or its loops take more than {MOST_TURNS:,} turns for a pair of elements"
HAS_FAILED = f"the reduction's operator {FAILED}"

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


def _calls_rows(typing_context, address, operator, out, left, right, size):  # type: ignore[no-untyped-def]
    """Call ``int64 f(int64 operator, int64 out, int64 left, int64 right, int64 size)`` at an address; 0: it is done."""
    word = ir.IntType(64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = ir.FunctionType(word, [word] * 5)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return numba.types.int64(*[numba.types.int64] * 6), generate


_call_rows: Any = intrinsic(_calls_rows)


@njit
def _rows_int8(operator, out, left, right, size):  # type: ignore[no-untyped-def]
    _loops(operator, view(out, size, _I8), view(left, size, _I8), view(right, size, _I8))
    return 0


@njit
def _rows_int16(operator, out, left, right, size):  # type: ignore[no-untyped-def]
    _loops(operator, view(out, size, _I16), view(left, size, _I16), view(right, size, _I16))
    return 0


@njit
def _rows_int32(operator, out, left, right, size):  # type: ignore[no-untyped-def]
    _loops(operator, view(out, size, _I32), view(left, size, _I32), view(right, size, _I32))
    return 0


@njit
def _rows_float16(operator, out, left, right, size):  # type: ignore[no-untyped-def]
    _half_loop(operator, view(out, size, _U16), view(left, size, _U16), view(right, size, _U16))
    return 0


@njit
def _rows_float32(operator, out, left, right, size):  # type: ignore[no-untyped-def]
    _loops(operator, view(out, size, _F32), view(left, size, _F32), view(right, size, _F32))
    return 0


_ROWS = {
    "int8": _rows_int8,
    "int16": _rows_int16,
    "int32": _rows_int32,
    "float16": _rows_float16,
    "float32": _rows_float32,
}
ROWS_SIGNATURE = numba.types.int64(*[numba.types.int64] * 5)


def rows_address(dtype: str) -> int:
    """Address of the machine code of our operators for rows of a type. Handlers call it by address: else numba would
    compile it for all types into every handler that adds anything."""
    function = _ROWS[dtype]
    function.compile(ROWS_SIGNATURE)
    found = function.overloads[ROWS_SIGNATURE.args]
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_cfunc_wrapper_name))


@lru_cache(64)
def compile_operator(function: Callable[[Any, Any], Any], dtype: np.dtype[Any], name: str) -> Any:
    """A user's function of two elements (their own, or `operator.or_`, `math.hypot`, `numpy.maximum`, ...) as machine
    code for rows; its ``address`` goes into the handlers' parameters. Of a structure it gets tuples, and returns one.

    ``name`` is what errors call it. Raises ElementError where numba cannot compile it. The caller keeps it alive.
    """
    scalar = numba.njit(bounded(function) if isinstance(function, FunctionType) else lambda a, b: function(a, b))
    rows = numba.njit(_rows_of(scalar, dtype))

    def whether_failed(operator: Any, out: Any, left: Any, right: Any, size: Any) -> int:
        try:
            rows(operator, out, left, right, size)
        except Exception:
            return 1
        return 0

    try:
        return numba.cfunc(ROWS_SIGNATURE)(whether_failed)
    except (numba.core.errors.NumbaError, AssertionError) as error:
        messages = [
            line for line in str(error).splitlines() if line.strip() and not line.startswith("Failed in nopython")
        ]
        why = messages[0].strip() if messages else "it is not a function of two elements that numba knows"
        if "setitem" in why:  # of the row that results are written to
            why = "it returns no such element, or never"
        raise ElementError(f"operator {name} does not compile for {dtype}: {why}") from error


def _rows_of(scalar: Any, dtype: np.dtype[Any]) -> Callable[..., int]:
    """A loop over rows that calls a function of two elements."""
    if dtype.names:
        return _structured(scalar, dtype)
    half = dtype == np.float16
    kind = np.uint16 if half else dtype.type

    def rows(_operator: Any, out: Any, left: Any, right: Any, size: Any) -> int:
        o, a, b = view(out, size, kind), view(left, size, kind), view(right, size, kind)
        for i in range(o.size):
            if half:
                o[i] = single_to_half(np.float32(scalar(half_to_single(a[i]), half_to_single(b[i]))))
            else:
                o[i] = scalar(a[i], b[i])
        return 0

    return rows


def _structured(scalar: Any, dtype: np.dtype[Any]) -> Callable[..., int]:
    """The same for elements of several fields, which numba's records do not turn into tuples."""
    names = [repr(name) for name in dtype.names or ()]
    a, b = (f"({', '.join(f'{row}[i][{name}]' for name in names)},)" for row in ("a", "b"))
    text = "def rows(_operator, out, left, right, size):\n"
    text += "    o, a, b = view(out, size, kind), view(left, size, kind), view(right, size, kind)\n"
    text += f"    for i in range(o.size):\n        made = scalar({a}, {b})\n"
    text += "".join(f"        o[i][{name}] = made[{place}]\n" for place, name in enumerate(names))
    space: dict[str, Any] = {"view": view, "kind": dtype, "scalar": scalar}
    exec(text + "    return 0\n", space)
    made: Callable[..., int] = space["rows"]
    return made


def compiled_rows(compiled: Any, name: str) -> Operator:
    """Machine code for rows as an operator outside of the machine."""

    def combine(left: Values, right: Values) -> Values:
        one, other = np.ascontiguousarray(left), np.ascontiguousarray(right)
        out = np.empty_like(one)
        if compiled.ctypes(USERS, out.ctypes.data, one.ctypes.data, other.ctypes.data, out.nbytes):
            raise ElementError(f"operator {name} {FAILED}")
        return out

    return Operator(name, combine)


@helper
def apply(p, out, left, right):  # type: ignore[no-untyped-def]
    """out = left op right, element by element, at no charge: the reduction's own type and operator. All rows are bytes
    of one length; ``out`` may be one of the others."""
    if _call_rows(p[A_ROWS], p[A_OPERATOR], address_of(out), address_of(left), address_of(right), out.size) != 0:
        raise RuntimeError(HAS_FAILED)


@helper
def combine(h, p, out, left, right):  # type: ignore[no-untyped-def]
    """The same, charged by the price of an element."""
    elements = out.size // p[A_ITEM_BYTES]
    charge_cycles(
        h,
        (elements * p[A_ELEMENT_CYCLES] + ELEMENT_UNIT - 1) // ELEMENT_UNIT,
        (elements * p[A_ELEMENT_INSTRUCTIONS] + ELEMENT_UNIT - 1) // ELEMENT_UNIT,
    )
    apply(p, out, left, right)
