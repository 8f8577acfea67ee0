"""A contribution's lanes: from the input tensor, through the quantizer, straight into frame memory."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i16, load_i32, store_lane, zero_bytes
from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, EXPONENT_ZERO, exponent_of, quantize
from hostagent.protocol.quantizer.classes import count_classes
from hostagent.protocol.quantizer.integers import integers_to_lanes
from hostagent.protocol.quantizer.long_integers import high_words, long_to_limbs, low_words
from hostagent.protocol.quantizer.ordered import LEAST, order_floats
from hostagent.protocol.quantizer.packed import narrow_classes, pack, packed_exponent
from hostagent.protocol.worker.exact_lanes import fill_exact
from hostagent.protocol.worker.operations import (
    BARRIER,
    FLAGGED,
    INT64,
    LAST_SMALL_FLOAT,
    MIN,
    RAW,
    flagged_list,
    tail_exponents,
    takes_maximum,
)
from hostagent.protocol.worker.records import EXPONENT, HIGH, LOW, TAIL_DATA, TAIL_EXPONENT, core_at, operation_at
from hostagent.protocol.worker.spans import (
    chunk_span,
    input_floats,
    input_of,
    input_overlap,
    output_of,
    output_overlap,
    tail_floats,
)

STORED_ZERO = -32768
"""A chunk of zeros' exponent in 16 bits."""


@njit
def unpacked_exponent(stored: int) -> int:
    """An exponent from its 16 bits of scratch memory."""
    if stored == FLAGGED:
        return EXPONENT_NOT_FINITE
    return EXPONENT_ZERO if stored == STORED_ZERO else stored


@njit
def complement_of(operation: Any) -> int:
    """-1 for MIN, which is MAX of the complement, else 0."""
    return -1 if operation.kind == MIN else 0


@njit
def fill_lanes(core_address: int, operation_address: int, part: int, index: int, lanes: int) -> Any:
    """Write all of the frame's lanes. Called through ``compiled_calls``.

    Returns 0 when there is nothing to add; the lanes are then left as they were.
    """
    core, operation = core_at(core_address), operation_at(operation_address)
    if operation.exact:
        return fill_exact(core, operation, part, index, lanes)
    if part == EXPONENT:
        fill_exponents(core, operation, index, lanes)
    elif part == TAIL_EXPONENT:
        fill_tail_exponents(core, operation, index, lanes)
    elif part == TAIL_DATA:
        fill_tail_data(core, operation, index, lanes)
    elif operation.kind == BARRIER:
        return 0
    elif takes_maximum(operation, part):
        fill_extremes(core, operation, part, index, lanes)
    else:
        return fill_sum(core, operation, index, lanes)
    return 1


@njit
def fill_sum(core: Any, operation: Any, index: int, lanes: int) -> Any:
    """A data chunk that is summed; 0 when this rank has nothing of it."""
    first, count = chunk_span(operation, index)
    start, given = input_overlap(operation, first, count)
    if given == 0:
        return 0
    if operation.kind == RAW:
        pad(lanes, 0, 4 * core.lanes, start - first, given)
        copy_bytes(lanes + start - first, input_of(operation, start), given)
    elif operation.dtype <= LAST_SMALL_FLOAT:
        stored = load_i16(operation.scratch_address, index)
        values = input_floats(core, operation, first, count)
        if stored != FLAGGED:
            fill_numbers(core, operation, values, count, unpacked_exponent(stored), lanes)
        elif operation.packed:
            count_classes(values, core.scratch_two, count)
            narrow_classes(core.scratch_two, count)
            pack(core.scratch_two, lanes, count, core.lanes, 0)
        else:
            pad(lanes, 0, 4 * core.lanes, 0, 4 * count)
            count_classes(values, lanes, count)
    elif operation.dtype == INT64:
        if given < operation.per_chunk or 3 * given < core.lanes:
            zero_bytes(lanes, 4 * core.lanes)
        long_to_limbs(input_of(operation, start), lanes + 4 * (start - first), given, operation.per_chunk)
    else:
        pad(lanes, 0, 4 * core.lanes, 4 * (start - first), 4 * given)
        integers_to_lanes(operation.dtype, input_of(operation, start), lanes + 4 * (start - first), given, 0)
    return 1


@njit
def fill_numbers(core: Any, operation: Any, values: int, count: int, exponent: int, lanes: int) -> None:
    """All of a frame's lanes, from a chunk's float32."""
    if operation.packed:
        quantize(values, core.scratch_two, count, packed_exponent(exponent), core.workers_log2)
        pack(core.scratch_two, lanes, count, core.lanes, core.workers_log2)
    else:
        pad(lanes, 0, 4 * core.lanes, 0, 4 * count)
        quantize(values, lanes, count, exponent, core.workers_log2)


@njit
def pad(lanes: int, begin: int, end: int, first: int, length: int) -> None:
    """Zero the bytes from begin to end around those about to be written."""
    zero_bytes(lanes + begin, first - begin)
    zero_bytes(lanes + first + length, end - first - length)


@njit
def fill_exponents(core: Any, operation: Any, group: int, lanes: int) -> None:
    """Lane i: the exponent of the group's i-th chunk."""
    begin = group * operation.group_chunks
    end = min(begin + operation.group_chunks, operation.chunks)
    for index in range(begin, end):
        first, count = chunk_span(operation, index)
        exponent = EXPONENT_ZERO
        if input_overlap(operation, first, count)[1] > 0:
            exponent = exponent_of(input_floats(core, operation, first, count), count)
        store_lane(lanes, index - begin, exponent)
    zero_bytes(lanes + 4 * (end - begin), 4 * (core.lanes - (end - begin)))


@njit
def fill_tail_exponents(core: Any, operation: Any, group: int, lanes: int) -> None:
    """Lane i: the exponent of the group's i-th flagged chunk, without its NaN and Inf."""
    begin = group * operation.group_chunks
    end = min(begin + operation.group_chunks, operation.tail)
    for place in range(begin, end):
        first, count = chunk_span(operation, load_i32(flagged_list(operation), place))
        store_lane(lanes, place - begin, exponent_of(tail_floats(core, operation, first, count), count))
    zero_bytes(lanes + 4 * (end - begin), 4 * (core.lanes - (end - begin)))


@njit
def fill_tail_data(core: Any, operation: Any, place: int, lanes: int) -> None:
    """A flagged chunk without its NaN and Inf."""
    first, count = chunk_span(operation, load_i32(flagged_list(operation), place))
    exponent = unpacked_exponent(load_i16(tail_exponents(operation), place))
    fill_numbers(core, operation, tail_floats(core, operation, first, count), count, exponent, lanes)


@njit
def fill_extremes(core: Any, operation: Any, part: int, index: int, lanes: int) -> None:
    """MIN and MAX: a place without a value holds the number that loses every comparison."""
    first, count = chunk_span(operation, index)
    start, given = input_overlap(operation, first, count)
    if part == LOW:
        start, given = output_overlap(operation, first, count)
    for i in range(start - first if given else core.lanes):
        store_lane(lanes, i, LEAST)
    if given == 0:
        return
    for i in range(start - first + given, core.lanes):
        store_lane(lanes, i, LEAST)
    place, complement = lanes + 4 * (start - first), complement_of(operation)
    if part == HIGH:
        high_words(operation.dtype, input_of(operation, start), place, given, complement)
    elif part == LOW:
        low_words(output_of(operation, start), place, given)
    elif operation.dtype <= LAST_SMALL_FLOAT:
        order_floats(input_floats(core, operation, start, given), place, given, complement)
    else:
        integers_to_lanes(operation.dtype, input_of(operation, start), place, given, complement)
