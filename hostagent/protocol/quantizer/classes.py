"""Chunks with a NaN or an infinity: lanes count what kinds of values a place holds, so that the result is exact.

10 bits each for NaN, +Inf and -Inf: a sum over up to 1,023 workers stays inside its field.
"""

from __future__ import annotations

from emulator.native.jit import njit
from emulator.native.memory import load_i32, load_lane, store_i32, store_lane
from hostagent.protocol.quantizer.floats import INFINITY_BITS, NAN_BITS

FIELD_BITS = 10
FIELD_MASK = (1 << FIELD_BITS) - 1
ONE_NAN = 1
ONE_PLUS = 1 << FIELD_BITS
ONE_MINUS = 1 << (2 * FIELD_BITS)
SIGN_BIT = 1 << 31


@njit
def class_of_bits(bits: int) -> int:
    """A lane that counts one float32: 0 when it is finite."""
    magnitude = bits & 0x7FFFFFFF
    if magnitude < INFINITY_BITS:
        return 0
    if magnitude > INFINITY_BITS:
        return ONE_NAN
    return ONE_PLUS if bits >= 0 else ONE_MINUS


@njit
def value_of_classes(counts: int) -> int:
    """Bits of the sum that the counts prove, as floating point adds: 0 when every value was finite."""
    plus, minus = (counts >> FIELD_BITS) & FIELD_MASK, (counts >> (2 * FIELD_BITS)) & FIELD_MASK
    if (counts & FIELD_MASK) or (plus and minus):
        return NAN_BITS
    if plus:
        return INFINITY_BITS
    return (INFINITY_BITS | SIGN_BIT) if minus else 0


@njit
def count_classes(values: int, lanes: int, count: int) -> None:
    """float32 to lanes of class counts."""
    for i in range(count):
        store_lane(lanes, i, class_of_bits(load_i32(values, i)))


@njit
def settle_classes(lanes: int, values: int, count: int) -> None:
    """Write the results that summed class counts decide over ``values``; leave the others, which are finite.

    A value that is finite as a sum is finite on every rank, so what stays is this rank's own finite number.
    """
    for i in range(count):
        bits = value_of_classes(load_lane(lanes, i))
        if bits:
            store_i32(values, i, bits)
