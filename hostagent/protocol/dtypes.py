"""Element types and operation kinds, by the numbers that compiled code and hashes use."""

from __future__ import annotations

from enum import IntEnum


class OperationKind(IntEnum):
    """What an operation does with the elements of its virtual tensor."""

    SUM = 0
    MAX = 1
    MIN = 2
    RAW = 3
    """Every byte comes from at most one rank and is moved unchanged."""
    BARRIER = 4
    """One chunk without data."""
    PUSH_PULL = 5
    """The first of those that only a server of weights answers (see ``served``); the types are of the rank's memory."""
    PUSH = 6
    WRITE = 7
    PULL = 8
    QUERY = 9


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
FLOATS = frozenset({DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16})
"""Types summed in block floating point."""
RAW_ONLY = frozenset({DType.FLOAT64, DType.BOOL})
"""Types that can be moved but not calculated with."""
