"""Binary floating point formats by element type, and one rounding from integers of any size to each of them."""

from __future__ import annotations

from typing import Any

from emulator.native.arithmetic import (
    bits_of_f64,
    f32_of_bfloat16,
    f32_of_half,
    leading_zeros,
)
from emulator.native.jit import njit
from emulator.native.memory import load_f32, load_i64, load_u16, load_u32, store_i32, store_i64, store_u16
from hostagent.protocol.dtypes import DType

FLOAT32, FLOAT16 = int(DType.FLOAT32), int(DType.FLOAT16)
BFLOAT16, FLOAT64 = int(DType.BFLOAT16), int(DType.FLOAT64)

MANTISSA_BITS = 62
"""What ``round_to_format`` takes: room for the 53 bits of float64, a bit to round by, and doubling."""

F64_INFINITY = 0x7FF << 52
F64_MAGNITUDE = (1 << 63) - 1


@njit
def is_float(dtype: int) -> Any:
    """Is it a floating point type?"""
    return dtype <= FLOAT64


@njit
def precision_of(dtype: int) -> int:
    """Bits of a mantissa, the leading one included."""
    if dtype == FLOAT32:
        return 24
    if dtype == FLOAT64:
        return 53
    return 11 if dtype == FLOAT16 else 8


@njit
def unit_exponent_of(dtype: int) -> int:
    """All finite values are multiples of 2 to this."""
    if dtype == FLOAT32:
        return -149
    if dtype == FLOAT64:
        return -1074
    return -24 if dtype == FLOAT16 else -133


@njit
def top_exponent_of(dtype: int) -> int:
    """All finite magnitudes are below 2 to this."""
    if dtype == FLOAT64:
        return 1024
    return 16 if dtype == FLOAT16 else 128


@njit
def infinity_field_of(dtype: int) -> Any:
    """The exponent field of infinities and NaN: all ones."""
    return top_exponent_of(dtype) - unit_exponent_of(dtype) - precision_of(dtype) + 2


@njit
def element_bits(dtype: int, source: int, i: int) -> Any:
    """Bits of element i, as a number without sign for types below 64 bits."""
    if dtype == FLOAT32:
        return load_u32(source, i)
    if dtype == FLOAT64:
        return load_i64(source, i)
    return load_u16(source, i)


@njit
def store_bits(dtype: int, target: int, i: int, bits: int) -> None:
    """Write an element by its bits."""
    if dtype == FLOAT32:
        store_i32(target, i, bits)
    elif dtype == FLOAT64:
        store_i64(target, i, bits)
    else:
        store_u16(target, i, bits)


@njit
def f64_bits(dtype: int, source: int, i: int) -> Any:
    """Element i widened to float64, exactly, as bits."""
    if dtype == FLOAT32:
        return bits_of_f64(load_f32(source, i))
    if dtype == FLOAT64:
        return load_i64(source, i)
    if dtype == FLOAT16:
        return bits_of_f64(f32_of_half(load_u16(source, i)))
    return bits_of_f64(f32_of_bfloat16(load_u16(source, i)))


@njit
def exponent_of_magnitude(dtype: int, magnitude: int) -> Any:
    """The least E with a value below 2^E, of the bits without the sign of a finite value that is not 0."""
    precision, unit = precision_of(dtype), unit_exponent_of(dtype)
    field = magnitude >> (precision - 1)
    if field > 0:
        return field + unit + precision - 1
    return 64 - leading_zeros(magnitude) + unit


@njit
def nan_bits(dtype: int) -> Any:
    """The NaN that results carry: quiet, positive, without a payload."""
    mantissa = precision_of(dtype) - 1
    return (infinity_field_of(dtype) << mantissa) | (1 << (mantissa - 1))


@njit
def infinity_bits(dtype: int, negative: int) -> Any:
    """An infinity."""
    return signed_bits(dtype, infinity_field_of(dtype) << (precision_of(dtype) - 1), negative)


@njit
def signed_bits(dtype: int, magnitude: int, negative: int) -> Any:
    """A magnitude's bits with a sign."""
    if not negative:
        return magnitude
    if dtype == FLOAT64:
        return magnitude | (-1 << 63)
    return magnitude | (1 << (31 if dtype == FLOAT32 else 15))


@njit
def round_to_format(dtype: int, negative: int, mantissa: int, exponent: int, sticky: int) -> Any:
    """Bits of mantissa * 2^exponent, rounded to nearest, ties to even, with overflow to infinity.

    ``mantissa`` has at most 62 bits. ``sticky``: the value is larger by less than one of its units; the mantissa then
    has more bits than the format. Zero is positive if it is exact.
    """
    if mantissa == 0:
        return signed_bits(dtype, 0, negative and sticky)
    precision, unit = precision_of(dtype), unit_exponent_of(dtype)
    last = max(exponent + 64 - leading_zeros(mantissa) - precision, unit)
    shift = last - exponent
    if shift <= 0:
        mantissa <<= -shift
    elif shift > MANTISSA_BITS + 1:
        mantissa = 0  # less than half of the smallest number
    else:
        rest, half = mantissa & ((1 << shift) - 1), 1 << (shift - 1)
        mantissa >>= shift
        if rest > half or (rest == half and (sticky or mantissa & 1)):
            mantissa += 1  # a carry out of the mantissa goes into the exponent field, as it should
    # compared before the shift: beyond 2^1025 the bits of a float64 would not fit into 63
    if last - unit + (mantissa >> (precision - 1)) >= infinity_field_of(dtype):
        return infinity_bits(dtype, negative)
    return signed_bits(dtype, ((last - unit) << (precision - 1)) + mantissa, negative)
