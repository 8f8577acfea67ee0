"""64-bit numbers in 32-bit lanes.

SUM of integers: three limbs of 22 bits, so that 1,024 workers' limbs add up below 2^32. The chunk holds all low limbs,
then all middle ones, then all high ones, each run ``stride`` lanes long.

MIN and MAX, of float64 too: two passes, one on high words, one on low words, of *ordered* numbers: int64 with the order
of the elements, complemented for MIN. Of float64 they are its bits with the lower 63 inverted if it is negative, and
``NAN_LONG`` for NaN, which so wins. Between the passes the output memory holds ordered numbers: the winning high word,
with this rank's low word where its own high word won, else the least low word. So the second pass reads its
contribution from there, and no memory is needed beside input and output, which may be the same.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_lane, store_i64, store_lane
from hostagent.protocol.dtypes import DType
from hostagent.protocol.quantizer.formats import F64_INFINITY, F64_MAGNITUDE, nan_bits

FLOAT64 = int(DType.FLOAT64)

LIMB_BITS = 22
LIMB_MASK = (1 << LIMB_BITS) - 1
TOP_MASK = (1 << 20) - 1
LOW_MASK = 0xFFFFFFFF
LOW_BIAS = 0x80000000
"""Turns an unsigned low word into a signed lane of the same order."""
NAN_LONG = 2**63 - 1
"""No float64 maps here, complemented or not: it would be a NaN's bits."""


@njit
def long_to_limbs(source: int, lanes: int, count: int, stride: int) -> None:
    """``count`` int64 to limbs."""
    for i in range(count):
        store_lane(lanes, i, load_i64(source, i) & LIMB_MASK)
    for i in range(count):
        store_lane(lanes, stride + i, (load_i64(source, i) >> LIMB_BITS) & LIMB_MASK)
    for i in range(count):
        store_lane(lanes, 2 * stride + i, (load_i64(source, i) >> (2 * LIMB_BITS)) & TOP_MASK)


@njit
def limbs_to_long(lanes: int, target: int, count: int, stride: int) -> None:
    """Summed limbs to int64, modulo 2^64."""
    for i in range(count):
        low, middle = load_lane(lanes, i) & LOW_MASK, load_lane(lanes, stride + i) & LOW_MASK
        high = load_lane(lanes, 2 * stride + i) & LOW_MASK
        store_i64(target, i, low + (middle << LIMB_BITS) + (high << (2 * LIMB_BITS)))


@njit
def ordered(dtype: int, bits: int, complement: int) -> Any:
    """An element's bits to its ordered number."""
    if dtype != FLOAT64:
        return bits ^ complement
    number = (bits ^ ((bits >> 63) & F64_MAGNITUDE)) ^ complement
    return NAN_LONG if bits & F64_MAGNITUDE > F64_INFINITY else number


@njit
def unordered(dtype: int, number: int, complement: int) -> Any:
    """The inverse of ``ordered``."""
    bits = number ^ complement
    if dtype != FLOAT64:
        return bits
    return nan_bits(FLOAT64) if number == NAN_LONG else bits ^ ((bits >> 63) & F64_MAGNITUDE)


@njit
def high_words(dtype: int, source: int, lanes: int, count: int, complement: int) -> None:
    """First pass: elements to lanes."""
    for i in range(count):
        store_lane(lanes, i, ordered(dtype, load_i64(source, i), complement) >> 32)


@njit
def settle_high_words(dtype: int, lanes: int, source: int, target: int, count: int, complement: int) -> None:
    """Result of the first pass: leave the second's state in ``target``; ``source`` (0: none) is the own input."""
    for i in range(count):
        winner = load_lane(lanes, i) << 32
        low = 0
        if source:
            own = ordered(dtype, load_i64(source, i), complement)
            if own >> 32 == winner >> 32:
                low = own & LOW_MASK
        store_i64(target, i, winner | low)


@njit
def low_words(state: int, lanes: int, count: int) -> None:
    """Second pass: the state that the first left to lanes."""
    for i in range(count):
        store_lane(lanes, i, (load_i64(state, i) & LOW_MASK) ^ LOW_BIAS)


@njit
def settle_low_words(dtype: int, lanes: int, target: int, count: int, complement: int) -> None:
    """Result of the second pass over the state of the first: elements."""
    for i in range(count):
        number = (load_i64(target, i) & ~LOW_MASK) | ((load_lane(lanes, i) ^ LOW_BIAS) & LOW_MASK)
        store_i64(target, i, unordered(dtype, number, complement))
