"""Loads and stores at an address, in the machine's byte order and in the network's; records; block copies.

The code is in ``memory_code``, which needs the compiler; it is loaded when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from emulator.native.deferred import Deferred


def _code(name: str) -> Any:
    def make() -> Any:
        from emulator.native import memory_code

        return getattr(memory_code, name)

    return Deferred(make)


Integer: TypeAlias = Callable[..., int]
Real: TypeAlias = Callable[..., float]
Nothing: TypeAlias = Callable[..., None]

# The machine's byte order: load_T(address), or load_T(array, index); store_T(address, value), or store_T(array, index,
# value). No alignment is needed. Unsigned integers are loaded as int64.
load_u8: Integer = _code("load_u8")
load_u16: Integer = _code("load_u16")
load_u32: Integer = _code("load_u32")
load_i8: Integer = _code("load_i8")
load_i16: Integer = _code("load_i16")
load_i32: Integer = _code("load_i32")
load_i64: Integer = _code("load_i64")
load_f32: Real = _code("load_f32")
load_f64: Real = _code("load_f64")
store_u8: Nothing = _code("store_u8")
store_u16: Nothing = _code("store_u16")
store_u32: Nothing = _code("store_u32")
store_i8: Nothing = _code("store_i8")
store_i16: Nothing = _code("store_i16")
store_i32: Nothing = _code("store_i32")
store_i64: Nothing = _code("store_i64")
store_f32: Nothing = _code("store_f32")
store_f64: Nothing = _code("store_f64")

# The network's byte order: load(address), store(address, value); a lane is a signed 32-bit element of an array.
load_be16: Integer = _code("load_be16")
load_be32: Integer = _code("load_be32")
store_be16: Nothing = _code("store_be16")
store_be32: Nothing = _code("store_be32")
load_lane: Integer = _code("load_lane")
store_lane: Nothing = _code("store_lane")
swap16: Integer = _code("swap16")

copy_bytes: Nothing = _code("copy_bytes")
zero_bytes: Nothing = _code("zero_bytes")
prefetch: Nothing = _code("prefetch")


def record_at(dtype: np.dtype[Any]) -> Any:
    """A compiled function of one address that returns the record of that (aligned) dtype there, fields writable."""

    def make() -> Any:
        from emulator.native import memory_code

        return memory_code.record_at(dtype)

    return Deferred(make)


def offset_of(record: np.dtype[Any], field: str) -> int:
    """Byte offset of a field, where its address is needed: for atomic accesses, and in machine code made from P4. Other
    compiled code reads fields by `record_at`."""
    assert record.fields is not None
    return int(record.fields[field][1])
