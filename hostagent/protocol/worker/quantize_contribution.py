"""A contribution's lanes: from the input tensor, through the quantizer, straight into frame memory."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i16, load_i32, store_lane, zero_bytes
from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, EXPONENT_ZERO, exponent_of, quantize
from hostagent.protocol.quantizer.classes import count_classes
from hostagent.protocol.quantizer.halves import half_exponent_of, quantize_halves
from hostagent.protocol.quantizer.integers import integers_to_lanes
from hostagent.protocol.quantizer.long_integers import high_words, long_to_limbs, low_words
from hostagent.protocol.quantizer.ordered import LEAST, order_floats
from hostagent.protocol.quantizer.packed import narrow_classes, pack, pack_halves, packed_exponent
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
    FLOAT32,
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
        fill_floats(core, operation, index, first, count, lanes)
    elif operation.dtype == INT64:
        if given < operation.per_chunk or 3 * given < core.lanes:
            zero_bytes(lanes, 4 * core.lanes)
        long_to_limbs(input_of(operation, start), lanes + 4 * (start - first), given, operation.per_chunk)
    else:
        pad(lanes, 0, 4 * core.lanes, 4 * (start - first), 4 * given)
        integers_to_lanes(operation.dtype, input_of(operation, start), lanes + 4 * (start - first), given, 0)
    return 1


@njit
def fill_floats(core: Any, operation: Any, index: int, first: int, count: int, lanes: int) -> None:
    """A chunk of block floating point, or of class counts."""
    stored = load_i16(operation.scratch_address, index)
    wide = begin_wide(core, operation, count, lanes)
    if stored == FLAGGED:
        count_classes(input_floats(core, operation, first, count), wide, count)
        if operation.packed:
            narrow_classes(wide, count)
            pack(wide, lanes, count, core.lanes, 0)
        return
    exponent = scale_exponent(operation, unpacked_exponent(stored))
    has_all, source = has_all_halves(operation, first, count), input_of(operation, first)
    if (
        operation.packed
        and has_all
        and pack_halves(operation.dtype, source, lanes, count, core.lanes, exponent, core.workers_log2)
    ):
        return
    if not (has_all and quantize_halves(operation.dtype, source, wide, count, exponent, core.workers_log2)):
        quantize(input_floats(core, operation, first, count), wide, count, exponent, core.workers_log2)
    if operation.packed:
        pack(wide, lanes, count, core.lanes, core.workers_log2)


@njit
def has_all_halves(operation: Any, first: int, count: int) -> Any:
    """Whether a range is of 16-bit floats that are all here."""
    return operation.dtype != FLOAT32 and input_overlap(operation, first, count)[1] == count


@njit
def begin_wide(core: Any, operation: Any, count: int, lanes: int) -> Any:
    """Where a chunk's numbers are to be written: into the frame, of which the rest is zeroed, or to be packed."""
    if operation.packed:
        return core.scratch_two
    pad(lanes, 0, 4 * core.lanes, 0, 4 * count)
    return lanes


@njit
def scale_exponent(operation: Any, exponent: int) -> int:
    """What the quantizer is given for a chunk's exponent."""
    return packed_exponent(exponent) if operation.packed else exponent


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
        if has_all_halves(operation, first, count):
            exponent = half_exponent_of(operation.dtype, input_of(operation, first), count)
        elif input_overlap(operation, first, count)[1] > 0:
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
    wide, exponent = begin_wide(core, operation, count, lanes), scale_exponent(operation, exponent)
    quantize(tail_floats(core, operation, first, count), wide, count, exponent, core.workers_log2)
    if operation.packed:
        pack(wide, lanes, count, core.lanes, core.workers_log2)


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
