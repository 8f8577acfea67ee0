"""Block floating point: a chunk of float32 as int32 lanes under one power-of-two scale, and back.

All ranks of a job of n workers agree on E, the least number with max |x| < 2^E over the chunk on all of them, by a MAX
chunk. The scale is 2^(30 - ceil(log2 n) - E): no lane exceeds 2^(30 - ceil(log2 n)) and no sum 2^30, in any order.
Multiplying by a power of two is exact, so a value is rounded once, to nearest even, where it becomes an integer, and a
sum once more, where it becomes a float again. Within the chunk the error of a sum is therefore at most

    n * 2^(E + ceil(log2 n) - 31)  +  half a unit in the last place of the result

(``error_bound``): the first term is zero when every value is a multiple of 2^(E + ceil(log2 n) - 30), as integers below
2^24 are for up to 64 workers.

Scales beyond float32's range (chunks of values near the smallest) take a slower loop through float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.arithmetic import (
    bits_of_f32,
    f32_of_bits,
    f32_of_f64,
    f32_of_i32,
    f64_of_bits,
    larger_magnitude,
    nearest_i32,
    nearest_i32_of_f64,
    odd_of_24_bits,
)
from emulator.native.jit import njit
from emulator.native.memory import load_f32, load_lane, store_f32, store_lane

EXPONENT_ZERO = -(2**31)
"""Exponent of a chunk of zeros: loses every MAX."""
EXPONENT_NOT_FINITE = 2**31 - 1
"""Exponent of a chunk with a NaN or an infinity: wins every MAX."""
LEAD_BITS = 30
"""A sum stays within 2^30: one bit below int32's sign, spent so that rounding up can't overflow."""
LARGEST_FAST_SHIFT = 126
"""2^-126 is float32's smallest normal number: up to here a lane times 2^-shift is exact in float32."""


def log2_ceiling(workers: int) -> int:
    """ceil(log2 n): the bits a sum of n numbers needs beyond those of one."""
    return (workers - 1).bit_length()


def error_bound(workers: int, exponent: int) -> float:
    """The most a sum of ``workers`` finite values below 2^exponent can be off before its last rounding."""
    return workers * 2.0 ** (exponent + log2_ceiling(workers) - LEAD_BITS - 1)


@njit
def largest_magnitude_bits(values: int, count: int) -> Any:
    """Largest bit pattern without its sign: as an integer it orders float32 magnitudes, Inf and NaN last."""
    largest = np.int32(0)
    for i in range(count):
        largest = larger_magnitude(largest, values, i)
    return largest


@njit
def exponent_of_bits(bits: int) -> int:
    """The least E with that magnitude below 2^E; the two special exponents for zero and for Inf or NaN."""
    if bits >= 0x7F800000:
        return EXPONENT_NOT_FINITE
    if bits == 0:
        return EXPONENT_ZERO
    if bits >= 0x00800000:
        return (bits >> 23) - 126
    exponent = -149  # a subnormal is bits * 2^-149
    while bits:
        bits >>= 1
        exponent += 1
    return exponent


@njit
def exponent_of(values: int, count: int) -> Any:
    """Exponent of ``count`` float32 at an address."""
    return exponent_of_bits(largest_magnitude_bits(values, count))


@njit
def shift_of(exponent: int, workers_log2: int) -> int:
    """The scale's power of two."""
    return LEAD_BITS - workers_log2 - exponent


@njit
def power_of_two(exponent: int) -> Any:
    """2^exponent as float64, for exponents of normal numbers."""
    return f64_of_bits((exponent + 1023) << 52)


@njit
def quantize(values: int, lanes: int, count: int, exponent: int, workers_log2: int) -> None:
    """float32 to lanes, at most 2^exponent in magnitude each. A chunk of zeros everywhere needs no scale."""
    if exponent == EXPONENT_ZERO:
        for i in range(count):
            store_lane(lanes, i, 0)
        return
    shift = shift_of(exponent, workers_log2)
    if shift <= LARGEST_FAST_SHIFT:
        scale = f32_of_bits((shift + 127) << 23)
        for i in range(count):
            store_lane(lanes, i, nearest_i32(load_f32(values, i) * scale))
    else:
        wide_scale = power_of_two(shift)
        for i in range(count):
            store_lane(lanes, i, nearest_i32_of_f64(load_f32(values, i) * wide_scale))


@njit
def halvings_of(divisor: int) -> int:
    """log2 of a power of two, else -1."""
    if divisor & (divisor - 1):
        return -1
    halvings = 0
    while divisor > 1:
        divisor >>= 1
        halvings += 1
    return halvings


@njit
def dequantize(lanes: int, values: int, count: int, exponent: int, workers_log2: int, divisor: int) -> None:
    """Lanes to float32, divided by ``divisor`` and rounded once."""
    if exponent == EXPONENT_ZERO:
        for i in range(count):
            store_f32(values, i, 0.0)
        return
    shift = shift_of(exponent, workers_log2)
    halvings = halvings_of(divisor)
    if halvings >= 0 and shift + halvings <= LARGEST_FAST_SHIFT:
        unit = f32_of_bits((127 - shift - halvings) << 23)
        for i in range(count):
            store_f32(values, i, f32_of_i32(load_lane(lanes, i)) * unit)
    else:
        wide_unit = power_of_two(-shift)
        for i in range(count):
            store_f32(values, i, f32_of_f64(load_lane(lanes, i) * wide_unit / divisor))


@njit
def dequantize_to_odd(lanes: int, values: int, count: int, exponent: int, workers_log2: int, divisor: int) -> None:
    """As ``dequantize``, but rounded to odd: for values that are rounded again, to a narrower type."""
    if exponent == EXPONENT_ZERO:
        for i in range(count):
            store_f32(values, i, 0.0)
        return
    shift = shift_of(exponent, workers_log2)
    halvings = halvings_of(divisor)
    if halvings >= 0 and shift + halvings <= LARGEST_FAST_SHIFT:
        unit = f32_of_bits((127 - shift - halvings) << 23)
        for i in range(count):
            store_f32(values, i, f32_of_i32(odd_of_24_bits(load_lane(lanes, i))) * unit)
    else:
        wide_unit = power_of_two(-shift)
        for i in range(count):
            store_f32(values, i, odd_f32_of_f64(load_lane(lanes, i) * wide_unit / divisor))


@njit
def odd_f32_of_f64(value: float) -> Any:
    """float64 to float32, rounded to odd."""
    nearest = f32_of_f64(value)
    if np.float64(nearest) == value:
        return nearest
    bits = bits_of_f32(nearest)
    if abs(np.float64(nearest)) > abs(value):
        bits -= 1  # towards zero: the pattern below has the next smaller magnitude
    return f32_of_bits(bits | 1)
