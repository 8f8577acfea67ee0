"""The elements of one chunk, and where this rank's input and output meet them.

A rank holds part of an operation's virtual tensor in its input memory and wants part of it in its output memory. Both
may start or end within a chunk, be empty, or be the same memory.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_i32, zero_bytes
from hostagent.protocol.dtypes import DType
from hostagent.protocol.quantizer.floats import widen, zero_not_finite
from hostagent.protocol.worker.exact_plan import data_frame
from hostagent.protocol.worker.operations import RAW, SUM, flagged_list, is_served
from hostagent.protocol.worker.records import DATA, TAIL_DATA

FLOAT32 = int(DType.FLOAT32)


@njit
def chunk_span(operation: Any, index: int) -> tuple[int, int]:
    """(first element, count) of a data chunk."""
    first = index * operation.per_chunk
    return first, min(operation.per_chunk, operation.elements - first)


@njit
def overlap(first: int, count: int, other_first: int, other_count: int) -> tuple[int, int]:
    """(first, count) of what two ranges share; a count of 0 when nothing."""
    start = max(first, other_first)
    return start, max(0, min(first + count, other_first + other_count) - start)


@njit
def input_overlap(operation: Any, first: int, count: int) -> Any:
    """What of a range this rank has to give."""
    return overlap(first, count, operation.input_first, operation.input_count)


@njit
def output_overlap(operation: Any, first: int, count: int) -> Any:
    """What of a range this rank wants."""
    return overlap(first, count, operation.output_first, operation.output_count)


@njit
def needs_result(core: Any, operation: Any, part: int, index: int) -> Any:
    """Is there anything in a chunk's result for this rank that it has not itself?"""
    if part not in (DATA, TAIL_DATA) or is_served(operation):
        return True
    if operation.exact:
        first, count, _, _ = data_frame(core, operation, index)
    else:
        first, count = chunk_span(operation, load_i32(flagged_list(operation), index) if part == TAIL_DATA else index)
    if operation.kind == RAW and input_overlap(operation, first, count)[1] == count:
        return False
    return output_overlap(operation, first, count)[1] > 0


@njit
def input_of(operation: Any, element: int) -> Any:
    """Address of an element of the input."""
    return operation.input_address + (element - operation.input_first) * operation.element_bytes


@njit
def output_of(operation: Any, element: int) -> Any:
    """Address of an element of the output."""
    return operation.output_address + (element - operation.output_first) * operation.element_bytes


@njit
def input_floats(core: Any, operation: Any, first: int, count: int) -> Any:
    """Address of this rank's values in a range as float32, 0 where it has none: the input itself, or scratch memory."""
    start, given = input_overlap(operation, first, count)
    if given == count and operation.dtype == FLOAT32:
        return input_of(operation, first)
    if given < count:
        zero_bytes(core.scratch, 4 * count)
    widen(operation.dtype, input_of(operation, start), core.scratch + 4 * (start - first), given)
    return core.scratch


@njit
def tail_floats(core: Any, operation: Any, first: int, count: int) -> Any:
    """As ``input_floats`` for a flagged chunk's second round: NaN and Inf as 0.

    What the first round of a SUM settled is read from the output, so that the answer does not depend on whether input
    and output are the same memory. A push's output is not of its numbers.
    """
    zero_bytes(core.scratch, 4 * count)
    start, given = input_overlap(operation, first, count)
    widen(operation.dtype, input_of(operation, start), core.scratch + 4 * (start - first), given)
    if operation.kind == SUM:
        start, wanted = output_overlap(operation, first, count)
        widen(operation.dtype, output_of(operation, start), core.scratch + 4 * (start - first), wanted)
    zero_not_finite(core.scratch, count)
    return core.scratch
