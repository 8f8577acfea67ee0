"""float16 and bfloat16 to lanes and back in one pass: the bits are those of ``floats.widen`` and ``blocks.quantize``,
and of ``blocks.dequantize_to_odd`` and ``floats.narrow``.

Scales beyond float32's range, and results divided by a number that is no power of two, are left to those.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.arithmetic import (
    bfloat16_of_finite,
    bits_of_f32,
    f32_of_bfloat16,
    f32_of_bits,
    f32_of_half,
    f32_of_i32,
    half_of_f32,
    larger_half,
    nearest_i32,
    odd_of_24_bits,
)
from emulator.native.jit import njit
from emulator.native.memory import load_lane, load_u16, store_lane, store_u16
from hostagent.protocol.quantizer.blocks import (
    EXPONENT_ZERO,
    LARGEST_FAST_SHIFT,
    exponent_of_bits,
    halvings_of,
    shift_of,
)
from hostagent.protocol.quantizer.floats import FLOAT16


@njit
def half_exponent_of(dtype: int, source: int, count: int) -> Any:
    """Exponent of ``count`` elements, as ``blocks.exponent_of`` gives it of their float32."""
    largest = np.int32(0)
    for i in range(count):
        largest = larger_half(largest, source, i)
    if dtype == FLOAT16:
        return exponent_of_bits(bits_of_f32(f32_of_half(largest)))
    return exponent_of_bits(bits_of_f32(f32_of_bfloat16(largest)))


@njit
def quantize_halves(dtype: int, source: int, lanes: int, count: int, exponent: int, workers_log2: int) -> bool:
    """Elements to lanes; False where the scale is beyond float32's range, and nothing is done."""
    shift = shift_of(exponent, workers_log2)
    if exponent == EXPONENT_ZERO or shift > LARGEST_FAST_SHIFT:
        return False
    scale = f32_of_bits((shift + 127) << 23)
    if dtype == FLOAT16:
        for i in range(count):
            store_lane(lanes, i, nearest_i32(f32_of_half(load_u16(source, i)) * scale))
    else:
        for i in range(count):
            store_lane(lanes, i, nearest_i32(f32_of_bfloat16(load_u16(source, i)) * scale))
    return True


@njit
def dequantize_halves(
    dtype: int, lanes: int, target: int, count: int, exponent: int, workers_log2: int, divisor: int
) -> bool:
    """Summed lanes to elements, divided by ``divisor`` and rounded once; False where nothing is done, see above."""
    shift, halvings = shift_of(exponent, workers_log2), halvings_of(divisor)
    if exponent == EXPONENT_ZERO or halvings < 0 or shift + halvings > LARGEST_FAST_SHIFT:
        return False
    unit = f32_of_bits((127 - shift - halvings) << 23)
    if dtype == FLOAT16:
        for i in range(count):
            store_u16(target, i, half_of_f32(f32_of_i32(odd_of_24_bits(load_lane(lanes, i))) * unit))
    else:
        for i in range(count):
            store_u16(target, i, bfloat16_of_finite(f32_of_i32(odd_of_24_bits(load_lane(lanes, i))) * unit))
    return True
