"""The few machine operations that numba has no words for: typed loads and stores at an address, byte swap, rounding
to nearest even, half precision, block copies. Everything inlines into the loop that uses it.

Addresses are int64 and need no alignment. ``load_f32(address, i)`` reads element i of an array at ``address``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import numpy_support


def _inlined(function: Any) -> Any:
    """``numba.extending.intrinsic``, with a type that lets callers in typed code call what it makes."""
    return intrinsic(function)


BYTE = ir.IntType(8)
WORD = ir.IntType(32)
FLOAT = ir.FloatType()
DOUBLE = ir.DoubleType()


def _element(builder: Any, address: Any, index: Any, element: ir.Type) -> Any:
    return builder.gep(builder.inttoptr(address, element.as_pointer()), [index])


def _loader(number: types.Type, element: ir.Type) -> Any:
    @_inlined
    def load(typing_context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(_element(builder, arguments[0], arguments[1], element))
            value.align = 1
            return value

        return number(types.int64, types.int64), generate

    return load


def _storer(number: types.Type, element: ir.Type) -> Any:
    @_inlined
    def store(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _element(builder, arguments[0], arguments[1], element)
            builder.store(arguments[2], place).align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, number), generate

    return store


load_u8 = _loader(types.uint8, BYTE)
load_i8 = _loader(types.int8, BYTE)
load_u16 = _loader(types.uint16, ir.IntType(16))
load_i16 = _loader(types.int16, ir.IntType(16))
load_u32 = _loader(types.uint32, WORD)
load_i32 = _loader(types.int32, WORD)
load_i64 = _loader(types.int64, ir.IntType(64))
load_f32 = _loader(types.float32, FLOAT)
load_f64 = _loader(types.float64, DOUBLE)
store_u8 = _storer(types.uint8, BYTE)
store_i8 = _storer(types.int8, BYTE)
store_u16 = _storer(types.uint16, ir.IntType(16))
store_i16 = _storer(types.int16, ir.IntType(16))
store_i32 = _storer(types.int32, WORD)
store_i64 = _storer(types.int64, ir.IntType(64))
store_f32 = _storer(types.float32, FLOAT)
store_f64 = _storer(types.float64, DOUBLE)


@_inlined
def store_lane(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
    """Store an int32 as big-endian lane ``index``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _element(builder, arguments[0], arguments[1], WORD)
        builder.store(builder.bswap(arguments[2]), place).align = 1
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int32), generate


@_inlined
def load_lane(typing_context: Any, address: Any, index: Any) -> Any:
    """Big-endian lane ``index`` as an int32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_element(builder, arguments[0], arguments[1], WORD))
        value.align = 1
        return builder.bswap(value)

    return types.int32(types.int64, types.int64), generate


@_inlined
def f32_of_bfloat16(typing_context: Any, bits: Any) -> Any:
    """bfloat16 bits to float32, exactly: they are its upper half."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.shl(builder.zext(arguments[0], WORD), WORD(16)), FLOAT)

    return types.float32(types.uint16), generate


@_inlined
def bfloat16_of_f32(typing_context: Any, value: Any) -> Any:
    """float32 to bfloat16 bits, to nearest even; NaN becomes the quiet one. 32 bits throughout, to stay in vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], WORD)
        half = builder.add(WORD(0x7FFF), builder.and_(builder.lshr(bits, WORD(16)), WORD(1)))
        rounded = builder.lshr(builder.add(bits, half), WORD(16))
        is_nan = builder.fcmp_unordered("uno", arguments[0], arguments[0])
        return builder.trunc(builder.select(is_nan, WORD(0x7FC0), rounded), ir.IntType(16))

    return types.uint16(types.float32), generate


def _big_endian_loader(element: ir.Type) -> Any:
    @_inlined
    def load(typing_context: Any, address: Any, offset: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(builder.add(arguments[0], arguments[1]), element.as_pointer())
            value = builder.load(place)
            value.align = 1
            return builder.zext(builder.bswap(value), ir.IntType(64))

        return types.int64(types.int64, types.int64), generate

    return load


def _big_endian_storer(element: ir.Type) -> Any:
    @_inlined
    def store(typing_context: Any, address: Any, offset: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(builder.add(arguments[0], arguments[1]), element.as_pointer())
            builder.store(builder.bswap(builder.trunc(arguments[2], element)), place).align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return store


read16 = _big_endian_loader(ir.IntType(16))
"""Big-endian unsigned 16 bits at ``address`` plus a byte ``offset``, as int64."""
read32 = _big_endian_loader(WORD)
write16 = _big_endian_storer(ir.IntType(16))
"""The low 16 bits of an int64, big-endian, to ``address`` plus a byte ``offset``."""
write32 = _big_endian_storer(WORD)


@_inlined
def swap16(typing_context: Any, value: Any) -> Any:
    """The two low bytes of an int64, exchanged, without the rest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        low = builder.trunc(arguments[0], ir.IntType(16))
        return builder.zext(builder.bswap(low), ir.IntType(64))

    return types.int64(types.int64), generate


@_inlined
def call_compiled(
    typing_context: Any, function: Any, first: Any, second: Any, third: Any, fourth: Any, fifth: Any
) -> Any:
    """Call machine code, int64 of five int64, by its address (see ``entry_address``)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(64)
        pointer = builder.inttoptr(arguments[0], ir.FunctionType(number, [number] * 5).as_pointer())
        return builder.call(pointer, arguments[1:])

    return types.int64(*([types.int64] * 6)), generate


def entry_address(function: Any) -> int:
    """Address of a compiled function of five int64 that returns one, for ``call_compiled``.

    Calling by address keeps large loops out of the machine code of their callers: numba compiles a function again
    as part of every function that calls it, at every level.
    """
    arguments = (types.int64,) * 5
    function.compile(types.int64(*arguments))
    result = function.overloads[arguments]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))


def _rounder(number: types.Type, element: ir.Type) -> Any:
    @_inlined
    def to_nearest(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rint = builder.module.declare_intrinsic("llvm.rint", [element])
            return builder.fptosi(builder.call(rint, [arguments[0]]), WORD)

        return types.int32(number), generate

    return to_nearest


nearest_i32 = _rounder(types.float32, FLOAT)
"""float32 to the nearest int32, ties to even. The value must fit."""
nearest_i32_of_f64 = _rounder(types.float64, DOUBLE)


def _reinterpreter(source: types.Type, target: types.Type, element: ir.Type) -> Any:
    @_inlined
    def reinterpret(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], element)

        return target(source), generate

    return reinterpret


f32_of_bits = _reinterpreter(types.int32, types.float32, FLOAT)
bits_of_f32 = _reinterpreter(types.float32, types.int32, WORD)
f64_of_bits = _reinterpreter(types.int64, types.float64, DOUBLE)


@_inlined
def f32_of_half(typing_context: Any, bits: Any) -> Any:
    """IEEE half precision bits to float32, exactly."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), FLOAT)

    return types.float32(types.uint16), generate


@_inlined
def half_of_f32(typing_context: Any, value: Any) -> Any:
    """float32 to IEEE half precision bits, to nearest even."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), generate


@_inlined
def trailing_zeros(typing_context: Any, value: Any) -> Any:
    """Number of the lowest bit set in an int64 that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.int64), generate


@_inlined
def copy_bytes(typing_context: Any, target: Any, source: Any, length_bytes: Any) -> Any:
    """``memcpy``: the two ranges may not overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [builder.inttoptr(address, BYTE.as_pointer()) for address in arguments[:2]]
        copy: Any = cgutils.raw_memcpy
        copy(builder, pointers[0], pointers[1], arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@_inlined
def zero_bytes(typing_context: Any, target: Any, length_bytes: Any) -> Any:
    """``memset`` to zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], BYTE.as_pointer())
        fill: Any = cgutils.memset
        fill(builder, pointer, arguments[1], 0)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@_inlined
def larger_magnitude(typing_context: Any, largest: Any, address: Any, index: Any) -> Any:
    """The larger of ``largest`` and float32 ``index`` without its sign, as int32 bit patterns (numba would widen)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_element(builder, arguments[1], arguments[2], WORD))
        value.align = 1
        magnitude = builder.and_(value, WORD(0x7FFFFFFF))
        return builder.select(builder.icmp_signed(">", magnitude, arguments[0]), magnitude, arguments[0])

    return types.int32(types.int32, types.int64, types.int64), generate


@_inlined
def odd_of_24_bits(typing_context: Any, value: Any) -> Any:
    """An int32 that float32 holds exactly: one beyond 24 bits is rounded to odd.

    A later rounding is then as good as the only one: it keeps which side of every coarser midpoint the value lay on
    (Boldo and Melquiond, "When double rounding is odd", 2005).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = arguments[0]
        floor = builder.and_(value, WORD(~127 & 0xFFFFFFFF))
        inexact = builder.icmp_signed("!=", floor, value)
        odd = builder.or_(floor, builder.select(inexact, WORD(128), WORD(0)))
        # -2^24 <= value < 2^24, by one unsigned comparison
        fits = builder.icmp_unsigned("<", builder.add(value, WORD(1 << 24)), WORD(1 << 25))
        return builder.select(fits, value, odd)

    return types.int32(types.int32), generate


def _converter(source: types.Type, generate_cast: Any) -> Any:
    @_inlined
    def convert(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return generate_cast(builder, arguments[0])

        return types.float32(source), generate

    return convert


f32_of_i32 = _converter(types.int32, lambda builder, value: builder.sitofp(value, FLOAT))
"""int32 to the nearest float32, ties to even."""
f32_of_f64 = _converter(types.float64, lambda builder, value: builder.fptrunc(value, FLOAT))


@_inlined
def fused_multiply_add(typing_context: Any, factor: Any, other: Any, summand: Any) -> Any:
    """float32 ``factor * other + summand``, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), generate


def record_at(dtype: np.dtype[Any]) -> Any:
    """A compiled function of one address that returns the record of that (aligned) dtype there, fields writable."""
    record = numpy_support.from_dtype(dtype)

    @_inlined
    def view(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(record))

        return record(types.int64), generate

    return view
