"""The few machine operations that numba has no words for, by name, and what reaches machine code by its address.

The code is in ``machine_code``, which needs the compiler; it is loaded when something is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.deferred import Deferred


def _code(name: str) -> Any:
    def make() -> Any:
        from emulator.native import memory_code

        return getattr(memory_code, name)

    return Deferred(make)


load_u8 = _code("load_u8")
load_i8 = _code("load_i8")
load_u16 = _code("load_u16")
load_i16 = _code("load_i16")
load_u32 = _code("load_u32")
load_i32 = _code("load_i32")
load_i64 = _code("load_i64")
load_f32 = _code("load_f32")
load_f64 = _code("load_f64")
store_u8 = _code("store_u8")
store_i8 = _code("store_i8")
store_u16 = _code("store_u16")
store_i16 = _code("store_i16")
store_i32 = _code("store_i32")
store_i64 = _code("store_i64")
store_f32 = _code("store_f32")
store_f64 = _code("store_f64")
read16 = _code("read16")
read32 = _code("read32")
write16 = _code("write16")
write32 = _code("write32")
nearest_i32 = _code("nearest_i32")
nearest_i32_of_f64 = _code("nearest_i32_of_f64")
f32_of_bits = _code("f32_of_bits")
bits_of_f32 = _code("bits_of_f32")
f64_of_bits = _code("f64_of_bits")
f32_of_i32 = _code("f32_of_i32")
f32_of_f64 = _code("f32_of_f64")
store_lane = _code("store_lane")
load_lane = _code("load_lane")
f32_of_bfloat16 = _code("f32_of_bfloat16")
bfloat16_of_f32 = _code("bfloat16_of_f32")
swap16 = _code("swap16")
call_compiled = _code("call_compiled")
f32_of_half = _code("f32_of_half")
half_of_f32 = _code("half_of_f32")
trailing_zeros = _code("trailing_zeros")
copy_bytes = _code("copy_bytes")
zero_bytes = _code("zero_bytes")
larger_magnitude = _code("larger_magnitude")
odd_of_24_bits = _code("odd_of_24_bits")
fused_multiply_add = _code("fused_multiply_add")


def record_at(dtype: np.dtype[Any]) -> Any:
    """A compiled function of one address that returns the record of that (aligned) dtype there, fields writable."""

    def make() -> Any:
        from emulator.native import memory_code

        return memory_code.record_at(dtype)

    return Deferred(make)


def entry_address(function: Any) -> int:
    """Address of a compiled function of five int64 that returns one, for ``call_compiled``.

    Calling by address keeps large loops out of the machine code of their callers: numba compiles a function again
    as part of every function that calls it, at every level.
    """
    if getattr(function, "address", 0):
        return int(function.address)
    from emulator.native import memory_code

    return memory_code.entry_address(function)
