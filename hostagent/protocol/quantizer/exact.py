"""Exact sums of floats: every result is the sum of all ranks' numbers, rounded once to nearest, ties to even.

Two encodings, both free of rounding until the result is stored; n is the number of workers, k = ceil(log2 n):

- *Limbs*: x is an integer times 2^least, its magnitude cut into m digits of b = 31 - k bits, each with the sign of x.
  The n digits of a place add up within int32. Digits of 0 stand for a value that is not finite; a further lane of
  class counts (``classes``) then says what the sum is.
- *Words*: each rank has lanes of its own for the bits of its elements, one or (float64) two an element, and 0 in the
  others'. The receivers add the n numbers themselves.

Limbs take m lanes an element, words n or 2n: a chunk takes what is shorter. m follows from the largest and the least
exponent in the chunk, or from the type's whole range.

A sum that is 0 is +0. An average is the exact sum divided by n, rounded once; it does not overflow on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.arithmetic import (
    bits_of_f64,
    f32_of_bfloat16,
    f32_of_bits,
    f32_of_f64,
    f32_of_half,
    f64_of_bits,
    leading_zeros,
)
from emulator.native.jit import njit
from emulator.native.memory import (
    load_i64,
    load_lane,
    load_u16,
    load_u32,
    store_f32,
    store_f64,
    store_i64,
    store_lane,
    zero_bytes,
)
from hostagent.protocol.quantizer.blocks import EXPONENT_ZERO, halvings_of
from hostagent.protocol.quantizer.classes import ONE_MINUS, ONE_NAN, ONE_PLUS, value_of_classes
from hostagent.protocol.quantizer.floats import NAN_BITS
from hostagent.protocol.quantizer.formats import (
    BFLOAT16,
    F64_INFINITY,
    F64_MAGNITUDE,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    MANTISSA_BITS,
    element_bits,
    exponent_of_magnitude,
    f64_bits,
    infinity_bits,
    infinity_field_of,
    nan_bits,
    precision_of,
    round_to_format,
    store_bits,
    top_exponent_of,
    unit_exponent_of,
)

LIMB_LEAD_BITS = 31
"""A limb of n workers has 31 - ceil(log2 n) bits."""
DIGIT_BITS = 30
"""Bits of a digit of the accumulator that adds words."""
DIGITS_BYTES = 1024
"""Scratch memory for the digits of one sum: of float64 and 1,023 workers at most 108, 8 bytes each."""
QUOTIENT_DIGITS = 3
"""Digits added below a sum before it is divided: 63 bits or more."""
SPECIAL = 1024
"""Added to the number of limbs in a form: there is a lane of class counts."""
WORDS = 0
"""The form of a chunk that is sent as words."""


# --- how many lanes ---


@njit
def limb_bits(workers_log2: int) -> int:
    """Bits of a limb."""
    return LIMB_LEAD_BITS - workers_log2


@njit
def limbs_of(top: int, least: int, bits: int) -> Any:
    """Limbs for multiples of 2^least below 2^top; 1 for zeros."""
    return max(1, (top - least + bits - 1) // bits)


@njit
def words_of(dtype: int, workers: int) -> int:
    """Lanes an element takes as words."""
    return 2 * workers if dtype == FLOAT64 else workers


@njit
def shorter_form(dtype: int, limbs: int, special: int, workers: int) -> Any:
    """WORDS, or the number of limbs, with SPECIAL where a lane of class counts follows them."""
    if words_of(dtype, workers) < limbs + special:
        return WORDS
    return limbs + SPECIAL * special


@njit
def whole_range_form(dtype: int, workers: int, workers_log2: int) -> Any:
    """The form in which any number of the type can be sent."""
    limbs = limbs_of(top_exponent_of(dtype), unit_exponent_of(dtype), limb_bits(workers_log2))
    return shorter_form(dtype, limbs, 1, workers)


@njit
def width_of(dtype: int, form: int, workers: int) -> Any:
    """Lanes an element takes in a form."""
    if form == WORDS:
        return words_of(dtype, workers)
    return form % SPECIAL + form // SPECIAL


@njit
def magnitude_range(dtype: int, source: int, count: int) -> Any:
    """(largest, least, is any not finite): exponents of the finite numbers that are not 0.

    Both exponents are EXPONENT_ZERO (the least one negated, so that it loses every MAX) where there is none.
    """
    infinity = infinity_field_of(dtype) << (precision_of(dtype) - 1)
    sign = F64_MAGNITUDE if dtype == FLOAT64 else (0x7FFFFFFF if dtype == FLOAT32 else 0x7FFF)
    largest, least, special = 0, infinity, 0
    for i in range(count):
        magnitude = element_bits(dtype, source, i) & sign
        finite = 0 if magnitude >= infinity else magnitude
        special |= 1 if magnitude >= infinity else 0
        largest = max(largest, finite)
        least = min(least, infinity if finite == 0 else finite)
    if largest == 0:
        return EXPONENT_ZERO, EXPONENT_ZERO, special
    return exponent_of_magnitude(dtype, largest), exponent_of_magnitude(dtype, least), special


@njit
def least_unit(dtype: int, least: int) -> Any:
    """The power of two of which numbers of at least that exponent are multiples."""
    return max(least - precision_of(dtype), unit_exponent_of(dtype))


# --- numbers to lanes ---


@njit
def write_limbs(dtype: int, source: int, lanes: int, stride: int, count: int, form: int, least: int, bits: int) -> None:
    """``count`` floats to runs of limbs, ``stride`` lanes apart, and their classes where the form has them."""
    limbs = form % SPECIAL
    for limb in range(limbs):
        write_limb(dtype, source, lanes + 4 * limb * stride, count, limb * bits + least, bits)
    if form >= SPECIAL:
        for i in range(count):
            store_lane(lanes, limbs * stride + i, class_of_f64(f64_bits(dtype, source, i)))


@njit
def write_limb(dtype: int, source: int, lanes: int, count: int, position: int, bits: int) -> None:
    """The digits whose unit is 2^position."""
    if dtype == FLOAT32:
        for i in range(count):
            store_lane(lanes, i, digit_of(f64_bits(FLOAT32, source, i), position, bits))
    elif dtype == FLOAT64:
        for i in range(count):
            store_lane(lanes, i, digit_of(f64_bits(FLOAT64, source, i), position, bits))
    elif dtype == FLOAT16:
        for i in range(count):
            store_lane(lanes, i, digit_of(f64_bits(FLOAT16, source, i), position, bits))
    else:
        for i in range(count):
            store_lane(lanes, i, digit_of(f64_bits(BFLOAT16, source, i), position, bits))


@njit
def digit_of(number: int, position: int, bits: int) -> Any:
    """The digit of a float64's magnitude whose unit is 2^position, with its sign; 0 of one that is not finite."""
    field = (number >> 52) & 0x7FF
    mantissa = (number & ((1 << 52) - 1)) | (min(field, 1) << 52)
    right = position - (max(field, 1) - 1075)
    digit = ((mantissa >> min(max(right, 0), 63)) << min(max(-right, 0), 63)) & ((1 << bits) - 1)
    sign = number >> 63
    return 0 if field == 0x7FF else (digit ^ sign) - sign


@njit
def class_of_f64(number: int) -> int:
    """The class count of a float64's bits."""
    magnitude = number & F64_MAGNITUDE
    if magnitude < F64_INFINITY:
        return 0
    if magnitude > F64_INFINITY:
        return ONE_NAN
    return ONE_PLUS if number >= 0 else ONE_MINUS


@njit
def write_words(dtype: int, source: int, lanes: int, stride: int, count: int, rank: int) -> None:
    """``count`` floats to the rank's own runs of lanes, ``stride`` lanes long each."""
    if dtype == FLOAT64:
        high, low = lanes + 8 * rank * stride, lanes + 4 * (2 * rank + 1) * stride
        for i in range(count):
            bits = load_i64(source, i)
            store_lane(high, i, bits >> 32)
            store_lane(low, i, bits)
        return
    own = lanes + 4 * rank * stride
    if dtype == FLOAT32:
        for i in range(count):
            store_lane(own, i, load_u32(source, i))
    else:
        for i in range(count):
            store_lane(own, i, load_u16(source, i))


# --- lanes to sums ---


@njit
def sum_limbs(
    dtype: int,
    lanes: int,
    stride: int,
    target: int,
    count: int,
    form: int,
    least: int,
    bits: int,
    divisor: int,
    digits: int,
) -> None:
    """Summed limbs to ``count`` floats. ``digits``: DIGITS_BYTES of scratch memory."""
    limbs = form % SPECIAL
    if limbs <= 2 and divisor == 1 and form < SPECIAL and dtype in (FLOAT32, FLOAT64):
        sum_two_limbs(dtype, lanes, stride if limbs == 2 else 0, target, count, least, bits if limbs == 2 else 0)
        return
    for i in range(count):
        if form >= SPECIAL:
            decided = value_of_classes(load_lane(lanes, limbs * stride + i))
            if decided:
                store_bits(dtype, target, i, special_bits(dtype, decided))
                continue
        for limb in range(limbs):
            store_i64(digits, limb, load_lane(lanes, limb * stride + i))
        store_bits(dtype, target, i, round_digits(dtype, digits, limbs, bits, least, divisor))


@njit
def sum_two_limbs(dtype: int, lanes: int, stride: int, target: int, count: int, least: int, bits: int) -> None:
    """The usual case: the sum is an int64 (below 2^61), which the processor rounds. A scale by a power of two is exact,
    since what is below the normal numbers has few bits. One limb is two of 0 bits, the second one to be left out."""
    unit = power_of_two(least)
    both = 1 if stride else 0
    if dtype == FLOAT32:
        narrow_unit = f32_of_f64(unit)
        for i in range(count):
            total = load_lane(lanes, i) + ((load_lane(lanes, stride + i) * both) << bits)
            store_f32(target, i, np.float32(total) * narrow_unit)
    else:
        for i in range(count):
            total = load_lane(lanes, i) + ((load_lane(lanes, stride + i) * both) << bits)
            store_f64(target, i, np.float64(total) * unit)


@njit
def power_of_two(exponent: int) -> Any:
    """2^exponent as float64, from the smallest on."""
    if exponent < -1022:
        return f64_of_bits(1 << (exponent + 1074))
    return f64_of_bits((exponent + 1023) << 52)


@njit
def special_bits(dtype: int, decided: int) -> Any:
    """What class counts decided, as float32 bits, in the element's type."""
    if decided == NAN_BITS:
        return nan_bits(dtype)
    return infinity_bits(dtype, decided >> 31 & 1)


@njit
def sum_words(
    dtype: int, lanes: int, stride: int, workers: int, target: int, count: int, divisor: int, digits: int
) -> None:
    """All ranks' words to ``count`` sums. ``digits``: DIGITS_BYTES of scratch memory."""
    if dtype == FLOAT32 and divisor == 1 and workers == 2:
        for i in range(count):
            # IEEE addition of two numbers rounds once; the 0 turns -0 into +0
            total = f32_of_bits(load_lane(lanes, i)) + f32_of_bits(load_lane(lanes, stride + i)) + np.float32(0)
            store_f32(target, i, total if total == total else f32_of_bits(NAN_BITS))
        return
    for i in range(count):
        total, exact = 0.0, True
        for rank in range(workers):
            value = f64_of_bits(word_of(dtype, lanes, stride, rank, i))
            # Knuth's two-sum: was the addition exact? Not if anything is not finite.
            larger = total + value
            part = larger - total
            exact &= (total - (larger - part)) + (value - part) == 0
            total = larger
        if exact and divisor == 1 and dtype in (FLOAT32, FLOAT64):
            if dtype == FLOAT32:
                store_f32(target, i, f32_of_f64(total))
            else:
                store_f64(target, i, total)
        else:
            store_bits(dtype, target, i, add_words(dtype, lanes, stride, workers, i, divisor, digits))


@njit
def word_of(dtype: int, lanes: int, stride: int, rank: int, i: int) -> Any:
    """A rank's element i, as float64 bits."""
    if dtype == FLOAT64:
        low = load_lane(lanes, (2 * rank + 1) * stride + i) & 0xFFFFFFFF
        return (load_lane(lanes, 2 * rank * stride + i) << 32) | low
    word = load_lane(lanes, rank * stride + i)
    if dtype == FLOAT32:
        return bits_of_f64(f32_of_bits(word))
    return bits_of_f64(f32_of_half(word) if dtype == FLOAT16 else f32_of_bfloat16(word))


@njit
def add_words(dtype: int, lanes: int, stride: int, workers: int, i: int, divisor: int, digits: int) -> Any:
    """Bits of the sum of all ranks' elements i, digit by digit."""
    unit = unit_exponent_of(dtype)
    count = (top_exponent_of(dtype) - unit) // DIGIT_BITS + 3
    zero_bytes(digits, 8 * count)
    counts = 0
    for rank in range(workers):
        number = word_of(dtype, lanes, stride, rank, i)
        if number & F64_MAGNITUDE >= F64_INFINITY:
            counts += class_of_f64(number)
        else:
            add_to_digits(number, unit, digits)
    decided = value_of_classes(counts)
    if decided:
        return special_bits(dtype, decided)
    return round_digits(dtype, digits, count, DIGIT_BITS, unit, divisor)


@njit
def add_to_digits(number: int, unit: int, digits: int) -> None:
    """Add a finite float64 to digits of DIGIT_BITS whose lowest has the unit 2^unit."""
    field = (number >> 52) & 0x7FF
    mantissa = (number & ((1 << 52) - 1)) | (min(field, 1) << 52)
    shift = max(field, 1) - 1075 - unit
    if shift < 0:  # a multiple of the unit: only zeros are lost
        mantissa >>= min(-shift, 63)
        shift = 0
    sign = -1 if number < 0 else 1
    first, within, mask = shift // DIGIT_BITS, shift % DIGIT_BITS, (1 << DIGIT_BITS) - 1
    for step in range(3):
        right = step * DIGIT_BITS - within
        digit = (mantissa >> right) & mask if right >= 0 else (mantissa << -right) & mask
        store_i64(digits, first + step, load_i64(digits, first + step) + sign * digit)


# --- digits to a float ---


@njit
def round_digits(dtype: int, digits: int, count: int, bits: int, least: int, divisor: int) -> Any:
    """Bits of (the sum of digit_j * 2^(j * bits + least)) / divisor, rounded once. Digits are int64 of either sign, in
    magnitude below 2^60; they are overwritten, two more than ``count`` and QUOTIENT_DIGITS."""
    carry = carry_through(digits, count, bits, 1)
    negative = carry < 0
    if negative:
        carry = carry_through(digits, count, bits, -1) - carry
    store_i64(digits, count, carry)
    count += 1
    sticky = 0
    halvings = halvings_of(divisor)
    if halvings >= 0:
        least -= halvings
    else:
        for j in range(count - 1, -1, -1):
            store_i64(digits, j + QUOTIENT_DIGITS, load_i64(digits, j))
        zero_bytes(digits, 8 * QUOTIENT_DIGITS)
        count += QUOTIENT_DIGITS
        least -= QUOTIENT_DIGITS * bits
        for j in range(count - 1, -1, -1):
            dividend = (sticky << bits) | load_i64(digits, j)
            store_i64(digits, j, dividend // divisor)
            sticky = dividend % divisor
    mantissa, exponent = 0, least
    for j in range(count - 1, -1, -1):
        digit = load_i64(digits, j)
        room = bits if mantissa == 0 else min(bits, leading_zeros(mantissa) - (64 - MANTISSA_BITS))
        mantissa = (mantissa << room) | (digit >> (bits - room))
        sticky |= digit & ((1 << (bits - room)) - 1)
        exponent += bits - room
    return round_to_format(dtype, negative, mantissa, exponent, sticky)


@njit
def carry_through(digits: int, count: int, bits: int, sign: int) -> int:
    """Make each digit, times ``sign``, one of 0 to 2^bits - 1; returns what is carried out of the last."""
    carry = 0
    for j in range(count):
        value = sign * load_i64(digits, j) + carry
        store_i64(digits, j, value & ((1 << bits) - 1))
        carry = value >> bits
    return carry
