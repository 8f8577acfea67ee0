"""Element types, by the numbers that compiled code and hashes use."""

from __future__ import annotations

from enum import IntEnum


class DType(IntEnum):
    """Element types, named as torch names them."""

    FLOAT32 = 0
    FLOAT16 = 1
    BFLOAT16 = 2
    FLOAT64 = 3
    INT8 = 4
    UINT8 = 5
    INT16 = 6
    INT32 = 7
    INT64 = 8
    BOOL = 9


ELEMENT_BYTES = {
    DType.FLOAT32: 4,
    DType.FLOAT16: 2,
    DType.BFLOAT16: 2,
    DType.FLOAT64: 8,
    DType.INT8: 1,
    DType.UINT8: 1,
    DType.INT16: 2,
    DType.INT32: 4,
    DType.INT64: 8,
    DType.BOOL: 1,
}
