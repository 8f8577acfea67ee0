"""Conversion between the float types of tensors and the float32 that the other loops work on."""

from __future__ import annotations

from emulator.native.arithmetic import bfloat16_of_f32, f32_of_bfloat16, f32_of_bits, f32_of_half, half_of_f32
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_f32, load_i32, load_u16, store_f32, store_i32, store_u16
from hostagent.protocol.dtypes import DType

FLOAT16 = int(DType.FLOAT16)
BFLOAT16 = int(DType.BFLOAT16)

INFINITY_BITS = 0x7F800000
NAN_BITS = 0x7FC00000
"""The NaN that results carry: quiet, positive, without a payload."""


@njit
def widen(dtype: int, source: int, values: int, count: int) -> None:
    """``count`` elements of a float type to float32, exactly. The ranges may not overlap."""
    if dtype == FLOAT16:
        for i in range(count):
            store_f32(values, i, f32_of_half(load_u16(source, i)))
    elif dtype == BFLOAT16:
        for i in range(count):
            store_f32(values, i, f32_of_bfloat16(load_u16(source, i)))
    else:
        copy_bytes(values, source, 4 * count)


@njit
def narrow(dtype: int, values: int, target: int, count: int) -> None:
    """``count`` float32 to elements of a float type, to nearest even. The ranges may not overlap."""
    if dtype == FLOAT16:
        for i in range(count):
            store_u16(target, i, half_of_f32(load_f32(values, i)))
    elif dtype == BFLOAT16:
        for i in range(count):
            store_u16(target, i, bfloat16_of_f32(load_f32(values, i)))
    else:
        copy_bytes(target, values, 4 * count)


@njit
def zero_not_finite(values: int, count: int) -> None:
    """Replace every NaN and infinity by 0, in place."""
    for i in range(count):
        if (load_i32(values, i) & 0x7FFFFFFF) >= INFINITY_BITS:
            store_i32(values, i, 0)


@njit
def keep_not_finite(held: int, values: int, count: int) -> None:
    """Where ``held`` is NaN or infinite, put it over ``values``."""
    for i in range(count):
        if (load_i32(held, i) & 0x7FFFFFFF) >= INFINITY_BITS:
            store_f32(values, i, f32_of_bits(load_i32(held, i)))
