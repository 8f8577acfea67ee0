"""Loads and stores at an address, in the machine's byte order and in the network's; records; block copies.

Addresses are int64 and need no alignment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.np import numpy_support

from emulator.native.intrinsic import (
    DOUBLE,
    FLOAT,
    I8,
    I16,
    I32,
    I64,
    cgutils,
    element_of,
    inlined,
    of_integers,
    pointer_to,
)

# --- the machine's byte order ----------------------------------------------------------------------------------------


def _loader(number: types.Type, element: ir.Type) -> Any:
    """``load(address)``, or ``load(array, index)``: an element of the array at an address."""

    @inlined
    def load(typing_context: Any, address: Any, index: Any = None) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(_place(builder, arguments, index is not None, element))
            value.align = 1
            return builder.zext(value, I64) if number == types.int64 and element != I64 else value

        return number(types.int64, types.none if index is None else types.int64), generate

    return load


def _storer(number: types.Type, element: ir.Type) -> Any:
    """``store(address, value)``, or ``store(array, index, value)``."""

    @inlined
    def store(typing_context: Any, address: Any, index: Any, value: Any = None) -> Any:
        indexed = value is not None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(builder, arguments, indexed, element)
            builder.store(arguments[2 if indexed else 1], place).align = 1
            return context.get_dummy_value()

        if indexed:
            return types.void(types.int64, types.int64, number), generate
        return types.void(types.int64, number, types.none), generate

    return store


def _place(builder: Any, arguments: Any, indexed: bool, element: ir.Type) -> Any:
    if indexed:
        return element_of(builder, arguments[0], arguments[1], element)
    return pointer_to(builder, arguments[0], element)


# Unsigned integers are zero-extended to int64: numba makes uint64 of the sum of two narrower ones.
load_u8 = _loader(types.int64, I8)
load_u16 = _loader(types.int64, I16)
load_u32 = _loader(types.int64, I32)
load_i8 = _loader(types.int8, I8)
load_i16 = _loader(types.int16, I16)
load_i32 = _loader(types.int32, I32)
load_i64 = _loader(types.int64, I64)
load_f32 = _loader(types.float32, FLOAT)
load_f64 = _loader(types.float64, DOUBLE)

store_u8 = _storer(types.uint8, I8)
store_u16 = _storer(types.uint16, I16)
store_u32 = _storer(types.uint32, I32)
store_i8 = _storer(types.int8, I8)
store_i16 = _storer(types.int16, I16)
store_i32 = _storer(types.int32, I32)
store_i64 = _storer(types.int64, I64)
store_f32 = _storer(types.float32, FLOAT)
store_f64 = _storer(types.float64, DOUBLE)

# --- the network's byte order ----------------------------------------------------------------------------------------


def _big_endian_loader(element: ir.Type) -> Any:
    @inlined
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(pointer_to(builder, arguments[0], element))
            value.align = 1
            return builder.zext(builder.bswap(value), I64)

        return types.int64(types.int64), generate

    return load


def _big_endian_storer(element: ir.Type) -> Any:
    @inlined
    def store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = pointer_to(builder, arguments[0], element)
            builder.store(builder.bswap(builder.trunc(arguments[1], element)), place).align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


load_be16 = _big_endian_loader(I16)
"""The big-endian unsigned 16 bits at an address, as int64."""
load_be32 = _big_endian_loader(I32)
store_be16 = _big_endian_storer(I16)
"""``store_be16(address, value)``: the low 16 bits of an int64, big-endian."""
store_be32 = _big_endian_storer(I32)


@inlined
def store_lane(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
    """Store an int32 as big-endian lane ``index``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = element_of(builder, arguments[0], arguments[1], I32)
        builder.store(builder.bswap(arguments[2]), place).align = 1
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int32), generate


@inlined
def load_lane(typing_context: Any, address: Any, index: Any) -> Any:
    """Big-endian lane ``index`` as an int32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(element_of(builder, arguments[0], arguments[1], I32))
        value.align = 1
        return builder.bswap(value)

    return types.int32(types.int64, types.int64), generate


@inlined
def swap16(typing_context: Any, value: Any) -> Any:
    """The two low bytes of an int64, exchanged, without the rest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        low = builder.trunc(arguments[0], I16)
        return builder.zext(builder.bswap(low), I64)

    return types.int64(types.int64), generate


# --- records, blocks, cache lines -------------------------------------------------------------------------------------


def record_at(dtype: np.dtype[Any]) -> Any:
    """A compiled function of one address that returns the record of that (aligned) dtype there, fields writable."""
    record = numpy_support.from_dtype(dtype)

    @inlined
    def view(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(record))

        return record(types.int64), generate

    return view


@inlined
def copy_bytes(typing_context: Any, target: Any, source: Any, length_bytes: Any) -> Any:
    """``memcpy``: the two ranges may not overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [builder.inttoptr(address, I8.as_pointer()) for address in arguments[:2]]
        copy: Any = cgutils.raw_memcpy
        copy(builder, pointers[0], pointers[1], arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@inlined
def zero_bytes(typing_context: Any, target: Any, length_bytes: Any) -> Any:
    """``memset`` to zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], I8.as_pointer())
        fill: Any = cgutils.memset
        fill(builder, pointer, arguments[1], 0)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _prefetch(builder: Any, address: Any) -> None:
    function_type = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [I8.as_pointer()], function_type)
    builder.call(function, [pointer_to(builder, address, I8), I32(0), I32(3), I32(1)])


prefetch = of_integers(
    "prefetch", 1, "Begin to fetch the cache line of an address; any address will do.", _prefetch, returns=types.none
)
