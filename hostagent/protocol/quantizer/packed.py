"""Two 16-bit numbers in a lane: sums of float16 and bfloat16 in half the frames, with 16 bits for a sum instead of 31.

A chunk has twice as many elements as lanes, L. Lane i is the number 2^16 * (element L + i) + (element i), modulo 2^32,
where both are signed; what aggregators add are then both sums, as long as neither leaves 16 bits. The quantizer works
on 2 L lanes of one number each ("wide" below), as without packing, under a scale that is 2^15 times smaller: no number
exceeds 2^(15 - ceil(log2 n)) - 1, and no sum 2^15 - n. Counts of the classes of values that are not finite
(``classes``) take 5 bits each instead of 10, hence LARGEST_JOB.
"""

from __future__ import annotations

from emulator.native.jit import njit
from emulator.native.memory import load_lane, store_lane
from hostagent.protocol.quantizer.blocks import EXPONENT_ZERO, log2_ceiling
from hostagent.protocol.quantizer.classes import FIELD_BITS

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
def pack(wide: int, lanes: int, count: int, per_frame: int, workers_log2: int) -> None:
    """``count`` wide lanes into all ``per_frame`` lanes of a frame. A number that rounding has taken to the power of
    two is lowered by 1."""
    most = (1 << (SUM_BITS - workers_log2)) - 1
    low = min(count, per_frame)
    high = count - low
    for i in range(high):
        upper = min(load_lane(wide, per_frame + i), most)
        store_lane(lanes, i, (upper << 16) + min(load_lane(wide, i), most))
    for i in range(high, low):
        store_lane(lanes, i, min(load_lane(wide, i), most))
    for i in range(low, per_frame):
        store_lane(lanes, i, 0)


@njit
def unpack(lanes: int, wide: int, count: int, per_frame: int) -> None:
    """The sums of a frame's lanes, as ``count`` wide lanes."""
    low = min(count, per_frame)
    for i in range(low):
        store_lane(wide, i, ((load_lane(lanes, i) & 0xFFFF) ^ 0x8000) - 0x8000)
    for i in range(count - low):
        lane = load_lane(lanes, i)
        store_lane(wide, per_frame + i, (lane - (((lane & 0xFFFF) ^ 0x8000) - 0x8000)) >> 16)


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
