"""Rounding to nearest even, float formats and bits, which numba has no words for.

The code is in ``arithmetic_code``, which needs the compiler; it is loaded when something is compiled.
"""

from __future__ import annotations

from typing import Any

from emulator.native.deferred import Deferred


def _code(name: str) -> Any:
    def make() -> Any:
        from emulator.native import arithmetic_code

        return getattr(arithmetic_code, name)

    return Deferred(make)


nearest_i32 = _code("nearest_i32")
nearest_i32_of_f64 = _code("nearest_i32_of_f64")
f32_of_bits = _code("f32_of_bits")
bits_of_f32 = _code("bits_of_f32")
f64_of_bits = _code("f64_of_bits")
bits_of_f64 = _code("bits_of_f64")
f32_of_i32 = _code("f32_of_i32")
f32_of_f64 = _code("f32_of_f64")
f32_of_half = _code("f32_of_half")
half_of_f32 = _code("half_of_f32")
f32_of_bfloat16 = _code("f32_of_bfloat16")
bfloat16_of_f32 = _code("bfloat16_of_f32")
bfloat16_of_finite = _code("bfloat16_of_finite")
two_in_lane = _code("two_in_lane")
lower_of_lane = _code("lower_of_lane")
upper_of_lane = _code("upper_of_lane")
larger_magnitude = _code("larger_magnitude")
larger_half = _code("larger_half")
odd_of_24_bits = _code("odd_of_24_bits")
fused_multiply_add = _code("fused_multiply_add")
trailing_zeros = _code("trailing_zeros")
leading_zeros = _code("leading_zeros")
