"""Two 16-bit numbers in a lane: sums of float16 and bfloat16 in half the frames, with 16 bits for a sum instead of 31.

A chunk has twice as many elements as lanes, L. Lane i is the number 2^16 * (element L + i) + (element i), modulo 2^32,
where both are signed; what aggregators add are then both sums, as long as neither leaves 16 bits. The quantizer works
on 2 L lanes of one number each ("wide" below), as without packing, under a scale that is 2^15 times smaller: no number
exceeds 2^(15 - ceil(log2 n)) - 1, and no sum 2^15 - n. Counts of the classes of values that are not finite
(``classes``) take 5 bits each instead of 10, hence LARGEST_JOB.
"""

from __future__ import annotations

import numpy as np

from emulator.native.arithmetic import (
    bfloat16_of_finite,
    f32_of_bfloat16,
    f32_of_bits,
    f32_of_half,
    f32_of_i32,
    half_of_f32,
    lower_of_lane,
    nearest_i32,
    two_in_lane,
    upper_of_lane,
)
from emulator.native.jit import njit
from emulator.native.memory import load_lane, load_u16, store_lane, store_u16
from hostagent.protocol.quantizer.blocks import (
    EXPONENT_ZERO,
    LARGEST_FAST_SHIFT,
    halvings_of,
    log2_ceiling,
    shift_of,
)
from hostagent.protocol.quantizer.classes import FIELD_BITS
from hostagent.protocol.quantizer.floats import FLOAT16

SUM_BITS = 15
SCALE_BITS = 15
"""Bits that the scale is smaller by: ``blocks.LEAD_BITS`` less SUM_BITS."""
LARGEST_JOB = 31
"""Ranks: a class has a count of 5 bits, and of each number 10 bits and a sign are left."""
NARROW_BITS = 5
NARROW_MASK = (1 << NARROW_BITS) - 1


def error_bound(workers: int, exponent: int) -> float:
    """The most a sum of ``workers`` finite values below 2^exponent can be off before its last rounding: a unit of the
    scale for a value at the power of two, half a unit for any other."""
    return workers * 2.0 ** (exponent + log2_ceiling(workers) - SUM_BITS)


@njit
def packed_exponent(exponent: int) -> int:
    """What ``blocks`` is to be given for a chunk's exponent."""
    return exponent if exponent == EXPONENT_ZERO else exponent + SCALE_BITS


@njit
def largest_number(workers_log2: int) -> int:
    """What a rank's number is at most, so that no sum leaves 16 bits."""
    return (1 << (SUM_BITS - workers_log2)) - 1


@njit
def pack_halves(
    dtype: int, source: int, lanes: int, count: int, per_frame: int, exponent: int, workers_log2: int
) -> bool:
    """``halves.quantize_halves`` and ``pack`` in one pass, of a whole frame, and to the same bits; False where nothing
    is done: for less than a frame, and where the scale is beyond float32's range."""
    shift = shift_of(exponent, workers_log2)
    if exponent == EXPONENT_ZERO or shift > LARGEST_FAST_SHIFT or count != 2 * per_frame:
        return False
    scale, most = f32_of_bits((shift + 127) << 23), np.int32(largest_number(workers_log2))
    second = source + 2 * per_frame
    if dtype == FLOAT16:
        for i in range(per_frame):
            upper = nearest_i32(f32_of_half(load_u16(second, i)) * scale)
            store_lane(lanes, i, two_in_lane(upper, nearest_i32(f32_of_half(load_u16(source, i)) * scale), most))
    else:
        for i in range(per_frame):
            upper = nearest_i32(f32_of_bfloat16(load_u16(second, i)) * scale)
            store_lane(lanes, i, two_in_lane(upper, nearest_i32(f32_of_bfloat16(load_u16(source, i)) * scale), most))
    return True


@njit
def unpack_halves(
    dtype: int, lanes: int, target: int, count: int, per_frame: int, exponent: int, workers_log2: int, divisor: int
) -> bool:
    """``unpack`` and ``halves.dequantize_halves`` in one pass, of a whole frame, and to the same bits; False where
    nothing is done, see there. A sum has 16 bits, so float32 holds it, and it is rounded once."""
    shift, halvings = shift_of(exponent, workers_log2), halvings_of(divisor)
    if exponent == EXPONENT_ZERO or halvings < 0 or shift + halvings > LARGEST_FAST_SHIFT or count != 2 * per_frame:
        return False
    unit = f32_of_bits((127 - shift - halvings) << 23)
    second = target + 2 * per_frame
    if dtype == FLOAT16:
        for i in range(per_frame):
            lane = load_lane(lanes, i)
            lower = lower_of_lane(lane)
            store_u16(target, i, half_of_f32(f32_of_i32(lower) * unit))
            store_u16(second, i, half_of_f32(f32_of_i32(upper_of_lane(lane, lower)) * unit))
    else:
        for i in range(per_frame):
            lane = load_lane(lanes, i)
            lower = lower_of_lane(lane)
            store_u16(target, i, bfloat16_of_finite(f32_of_i32(lower) * unit))
            store_u16(second, i, bfloat16_of_finite(f32_of_i32(upper_of_lane(lane, lower)) * unit))
    return True


@njit
def pack(wide: int, lanes: int, count: int, per_frame: int, workers_log2: int) -> None:
    """``count`` wide lanes into all ``per_frame`` lanes of a frame. A number that rounding has taken to the power of
    two is lowered by 1."""
    most = np.int32(largest_number(workers_log2))
    low = min(count, per_frame)
    high = count - low
    for i in range(high):
        store_lane(lanes, i, two_in_lane(load_lane(wide, per_frame + i), load_lane(wide, i), most))
    for i in range(high, low):
        store_lane(lanes, i, min(load_lane(wide, i), most))
    for i in range(low, per_frame):
        store_lane(lanes, i, 0)


@njit
def unpack(lanes: int, wide: int, count: int, per_frame: int) -> None:
    """The sums of a frame's lanes, as ``count`` wide lanes."""
    low = min(count, per_frame)
    for i in range(low):
        store_lane(wide, i, lower_of_lane(load_lane(lanes, i)))
    for i in range(count - low):
        lane = load_lane(lanes, i)
        store_lane(wide, per_frame + i, upper_of_lane(lane, lower_of_lane(lane)))


@njit
def narrow_classes(wide: int, count: int) -> None:
    """Wide lanes of class counts, in place, to fields of NARROW_BITS. A rank counts 1 at most."""
    for i in range(count):
        counts = load_lane(wide, i)
        nan, plus, minus = counts, counts >> FIELD_BITS, counts >> (2 * FIELD_BITS)
        store_lane(wide, i, (nan & 1) | (plus & 1) << NARROW_BITS | (minus & 1) << (2 * NARROW_BITS))


@njit
def widen_classes(wide: int, count: int) -> None:
    """The sums of such lanes, in place, to fields as ``classes`` has them."""
    for i in range(count):
        counts = load_lane(wide, i)
        nan, plus, minus = counts, counts >> NARROW_BITS, counts >> (2 * NARROW_BITS)
        fields = (nan & NARROW_MASK) | (plus & NARROW_MASK) << FIELD_BITS
        store_lane(wide, i, fields | (minus & NARROW_MASK) << (2 * FIELD_BITS))
