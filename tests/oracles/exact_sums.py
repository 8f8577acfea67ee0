"""Sums and averages of floats rounded once, by fractions: slow, and independent of what they are compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from hostagent.protocol.dtypes import DType

FORMATS = {
    DType.FLOAT32: (24, -149, 128),
    DType.FLOAT16: (11, -24, 16),
    DType.BFLOAT16: (8, -133, 128),
    DType.FLOAT64: (53, -1074, 1024),
}
"""Bits of the mantissa, exponent of the smallest number, exponent that all finite numbers are below (IEEE 754, 3.3)."""


def rounded(value: Fraction, dtype: DType) -> float:
    """To the nearest number of a type, ties to even, with overflow to infinity; as a Python float, which holds all."""
    precision, unit, top = FORMATS[dtype]
    if value == 0:
        return 0.0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent += magnitude >= Fraction(2) ** exponent  # now 2^(exponent - 1) <= magnitude < 2^exponent
    step = Fraction(2) ** max(exponent - precision, unit)
    nearest = round(magnitude / step) * step
    result = math.inf if nearest >= Fraction(2) ** top else float(nearest)
    return -result if value < 0 else result


def rounded_sum(values: Sequence[float], dtype: DType, divisor: int = 1) -> float:
    """The sum as IEEE 754 adds NaN and infinities, divided, rounded once; +0 for a sum of 0."""
    if any(math.isnan(value) for value in values) or {math.inf, -math.inf} <= set(values):
        return math.nan
    infinite = [value for value in values if math.isinf(value)]
    return infinite[0] if infinite else rounded(sum(map(Fraction, values), Fraction(0)) / divisor, dtype)


def same(left: float, right: float) -> bool:
    """Equal, with the same sign if zero; or both NaN."""
    return (left == right and math.copysign(1, left) == math.copysign(1, right)) or (left != left and right != right)
