"""Integers up to 32 bits in lanes: one element a lane, extended by its own sign, cut to its own width on the way back.

Sums wrap as two's complement does; an average is that sum, divided without a remainder (as NCCL's ncclAvg).
``complement`` is -1 for MIN, which is MAX of the complement, else 0.
"""

from __future__ import annotations

from emulator.native.jit import njit
from emulator.native.memory import (
    load_i8,
    load_i16,
    load_i32,
    load_i64,
    load_lane,
    load_u8,
    store_i8,
    store_i16,
    store_i32,
    store_i64,
    store_lane,
)
from hostagent.protocol.dtypes import DType

INT8 = int(DType.INT8)
UINT8, BOOL = int(DType.UINT8), int(DType.BOOL)
INT16 = int(DType.INT16)
INT32 = int(DType.INT32)


@njit
def integers_to_lanes(dtype: int, source: int, lanes: int, count: int, complement: int) -> None:
    """``count`` integers of a type to lanes."""
    if dtype == INT8:
        for i in range(count):
            store_lane(lanes, i, load_i8(source, i) ^ complement)
    elif dtype in (UINT8, BOOL):
        for i in range(count):
            store_lane(lanes, i, load_u8(source, i) ^ complement)
    elif dtype == INT16:
        for i in range(count):
            store_lane(lanes, i, load_i16(source, i) ^ complement)
    else:
        for i in range(count):
            store_lane(lanes, i, load_i32(source, i) ^ complement)


@njit
def lanes_to_integers(dtype: int, lanes: int, target: int, count: int, complement: int) -> None:
    """``count`` lanes to integers of a type."""
    if dtype in (INT8, UINT8, BOOL):
        for i in range(count):
            store_i8(target, i, load_lane(lanes, i) ^ complement)
    elif dtype == INT16:
        for i in range(count):
            store_i16(target, i, load_lane(lanes, i) ^ complement)
    else:
        for i in range(count):
            store_i32(target, i, load_lane(lanes, i) ^ complement)


@njit
def divide_integers(dtype: int, values: int, count: int, divisor: int) -> None:
    """Divide ``count`` integers of a type, INT64 included, in place; quotients are truncated towards zero."""
    if dtype == INT8:
        for i in range(count):
            store_i8(values, i, truncated(load_i8(values, i), divisor))
    elif dtype == UINT8:
        for i in range(count):
            store_i8(values, i, load_u8(values, i) // divisor)
    elif dtype == INT16:
        for i in range(count):
            store_i16(values, i, truncated(load_i16(values, i), divisor))
    elif dtype == INT32:
        for i in range(count):
            store_i32(values, i, truncated(load_i32(values, i), divisor))
    else:
        for i in range(count):
            store_i64(values, i, truncated(load_i64(values, i), divisor))


@njit
def truncated(value: int, divisor: int) -> int:
    """The quotient by a positive divisor, rounded towards zero: Python's ``//`` rounds down."""
    quotient = value // divisor
    return quotient + 1 if value < 0 and quotient * divisor != value else quotient
