"""MIN and MAX of floats as a maximum of int32: a map that keeps the order, with NaN above everything.

A float32's bits, read as an integer, grow with its value when it is positive and fall when it is negative; flipping the
lower 31 bits of the negative ones makes one order of both, -0 below +0. MIN is MAX of the complement.
"""

from __future__ import annotations

from emulator.native.jit import njit
from emulator.native.memory import load_i32, load_lane, store_i32, store_lane
from hostagent.protocol.quantizer.floats import INFINITY_BITS, NAN_BITS

LEAST = -(2**31)
"""The lane of a child without a value there: loses every MAX."""
NAN_LANE = 2**31 - 1
"""No number maps here, complemented or not: it would be a NaN's bits."""


@njit
def order_floats(values: int, lanes: int, count: int, complement: int) -> None:
    """float32 to lanes; ``complement`` is 0 for MAX, -1 for MIN."""
    for i in range(count):
        bits = load_i32(values, i)
        ordered = (bits ^ ((bits >> 31) & 0x7FFFFFFF)) ^ complement
        is_nan = (bits & 0x7FFFFFFF) > INFINITY_BITS
        store_lane(lanes, i, NAN_LANE if is_nan else ordered)


@njit
def unorder_floats(lanes: int, values: int, count: int, complement: int) -> None:
    """The inverse of ``order_floats``."""
    for i in range(count):
        lane = load_lane(lanes, i)
        ordered = lane ^ complement
        bits = ordered ^ ((ordered >> 31) & 0x7FFFFFFF)
        store_i32(values, i, NAN_BITS if lane == NAN_LANE else bits)
