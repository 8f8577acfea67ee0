"""Rounding to nearest even, float formats, bits. 32 bits throughout where loops are vectorized: numba would widen."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from emulator.native.intrinsic import DOUBLE, FLOAT, I16, I32, I64, element_of, inlined

I1 = ir.IntType(1)


@inlined
def f32_of_bfloat16(typing_context: Any, bits: Any) -> Any:
    """bfloat16 bits to float32, exactly: they are its upper half."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.shl(builder.zext(arguments[0], I32), I32(16)), FLOAT)

    return types.float32(types.uint16), generate


@inlined
def bfloat16_of_f32(typing_context: Any, value: Any) -> Any:
    """float32 to bfloat16 bits, to nearest even; NaN becomes the quiet one. 32 bits throughout, to stay in vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rounded = _upper_half(builder, arguments[0])
        is_nan = builder.fcmp_unordered("uno", arguments[0], arguments[0])
        return builder.trunc(builder.select(is_nan, I32(0x7FC0), rounded), I16)

    return types.uint16(types.float32), generate


def _upper_half(builder: Any, value: Any) -> Any:
    """The upper 16 bits of a float32, rounded to nearest even, as an int32."""
    bits = builder.bitcast(value, I32)
    half = builder.add(I32(0x7FFF), builder.and_(builder.lshr(bits, I32(16)), I32(1)))
    return builder.lshr(builder.add(bits, half), I32(16))


@inlined
def bfloat16_of_finite(typing_context: Any, value: Any) -> Any:
    """As ``bfloat16_of_f32``, of a value that is no NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.trunc(_upper_half(builder, arguments[0]), I16)

    return types.uint16(types.float32), generate


@inlined
def two_in_lane(typing_context: Any, upper: Any, lower: Any, most: Any) -> Any:
    """2^16 * ``upper`` + ``lower`` modulo 2^32, each of them at most ``most``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        upper, lower, most = arguments
        upper = builder.select(builder.icmp_signed("<", upper, most), upper, most)
        lower = builder.select(builder.icmp_signed("<", lower, most), lower, most)
        return builder.add(builder.shl(upper, I32(16)), lower)

    return types.int32(types.int32, types.int32, types.int32), generate


@inlined
def lower_of_lane(typing_context: Any, lane: Any) -> Any:
    """The 16-bit number in the lower half of what ``two_in_lane`` makes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ashr(builder.shl(arguments[0], I32(16)), I32(16))

    return types.int32(types.int32), generate


@inlined
def upper_of_lane(typing_context: Any, lane: Any, lower: Any) -> Any:
    """The other one: what is left without ``lower``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ashr(builder.sub(arguments[0], arguments[1]), I32(16))

    return types.int32(types.int32, types.int32), generate


def _rounder(number: types.Type, element: ir.Type) -> Any:
    @inlined
    def to_nearest(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rint = builder.module.declare_intrinsic("llvm.rint", [element])
            return builder.fptosi(builder.call(rint, [arguments[0]]), I32)

        return types.int32(number), generate

    return to_nearest


nearest_i32 = _rounder(types.float32, FLOAT)
"""float32 to the nearest int32, ties to even. The value must fit."""
nearest_i32_of_f64 = _rounder(types.float64, DOUBLE)


def _reinterpreter(source: types.Type, target: types.Type, element: ir.Type) -> Any:
    @inlined
    def reinterpret(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], element)

        return target(source), generate

    return reinterpret


f32_of_bits = _reinterpreter(types.int32, types.float32, FLOAT)
bits_of_f32 = _reinterpreter(types.float32, types.int32, I32)
f64_of_bits = _reinterpreter(types.int64, types.float64, DOUBLE)
bits_of_f64 = _reinterpreter(types.float64, types.int64, I64)


@inlined
def f32_of_half(typing_context: Any, bits: Any) -> Any:
    """IEEE half precision bits to float32, exactly."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), FLOAT)

    return types.float32(types.uint16), generate


@inlined
def half_of_f32(typing_context: Any, value: Any) -> Any:
    """float32 to IEEE half precision bits, to nearest even."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), I16)

    return types.uint16(types.float32), generate


@inlined
def trailing_zeros(typing_context: Any, value: Any) -> Any:
    """Number of the lowest bit set in an int64 that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], I1(1))

    return types.int64(types.int64), generate


@inlined
def leading_zeros(typing_context: Any, value: Any) -> Any:
    """Zero bits above the highest bit set in an int64 that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], I1(1))

    return types.int64(types.int64), generate


@inlined
def larger_magnitude(typing_context: Any, largest: Any, address: Any, index: Any) -> Any:
    """The larger of ``largest`` and float32 ``index`` without its sign, as int32 bit patterns (numba would widen)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(element_of(builder, arguments[1], arguments[2], I32))
        value.align = 1
        magnitude = builder.and_(value, I32(0x7FFFFFFF))
        return builder.select(builder.icmp_signed(">", magnitude, arguments[0]), magnitude, arguments[0])

    return types.int32(types.int32, types.int64, types.int64), generate


@inlined
def larger_half(typing_context: Any, largest: Any, address: Any, index: Any) -> Any:
    """The larger of ``largest`` and the 16-bit float ``index`` without its sign, as bit patterns."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(element_of(builder, arguments[1], arguments[2], I16))
        value.align = 1
        magnitude = builder.and_(builder.zext(value, I32), I32(0x7FFF))
        return builder.select(builder.icmp_signed(">", magnitude, arguments[0]), magnitude, arguments[0])

    return types.int32(types.int32, types.int64, types.int64), generate


@inlined
def odd_of_24_bits(typing_context: Any, value: Any) -> Any:
    """An int32 that float32 holds exactly: one beyond 24 bits is rounded to odd.

    A later rounding is then as good as the only one: it keeps which side of every coarser midpoint the value lay on
    (Boldo and Melquiond, "When double rounding is odd", 2005).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = arguments[0]
        floor = builder.and_(value, I32(~127 & 0xFFFFFFFF))
        inexact = builder.icmp_signed("!=", floor, value)
        odd = builder.or_(floor, builder.select(inexact, I32(128), I32(0)))
        # -2^24 <= value < 2^24, by one unsigned comparison
        fits = builder.icmp_unsigned("<", builder.add(value, I32(1 << 24)), I32(1 << 25))
        return builder.select(fits, value, odd)

    return types.int32(types.int32), generate


def _converter(source: types.Type, generate_cast: Any) -> Any:
    @inlined
    def convert(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return generate_cast(builder, arguments[0])

        return types.float32(source), generate

    return convert


f32_of_i32 = _converter(types.int32, lambda builder, value: builder.sitofp(value, FLOAT))
"""int32 to the nearest float32, ties to even."""
f32_of_f64 = _converter(types.float64, lambda builder, value: builder.fptrunc(value, FLOAT))


@inlined
def fused_multiply_add(typing_context: Any, factor: Any, other: Any, summand: Any) -> Any:
    """float32 ``factor * other + summand``, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), generate
