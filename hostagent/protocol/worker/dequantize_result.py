"""A result's lanes: from the received frame, through the quantizer, straight into the output tensor."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i16, load_i32, load_lane, store_i16
from hostagent.protocol.quantizer.blocks import (
    EXPONENT_NOT_FINITE,
    EXPONENT_ZERO,
    dequantize,
    dequantize_to_odd,
)
from hostagent.protocol.quantizer.classes import settle_classes
from hostagent.protocol.quantizer.floats import keep_not_finite, narrow, widen
from hostagent.protocol.quantizer.halves import dequantize_halves
from hostagent.protocol.quantizer.integers import divide_integers, lanes_to_integers
from hostagent.protocol.quantizer.long_integers import limbs_to_long, settle_high_words, settle_low_words
from hostagent.protocol.quantizer.ordered import unorder_floats
from hostagent.protocol.quantizer.packed import unpack, unpack_halves, widen_classes
from hostagent.protocol.worker.exact_lanes import store_exact
from hostagent.protocol.worker.operations import (
    BARRIER,
    FLAGGED,
    INT64,
    LAST_SMALL_FLOAT,
    RAW,
    flagged_list,
    tail_exponents,
    takes_maximum,
)
from hostagent.protocol.worker.quantize_contribution import (
    STORED_ZERO,
    complement_of,
    scale_exponent,
    unpacked_exponent,
)
from hostagent.protocol.worker.records import EXPONENT, HIGH, LOW, TAIL_DATA, TAIL_EXPONENT, core_at, operation_at
from hostagent.protocol.worker.spans import (
    FLOAT32,
    chunk_span,
    input_of,
    input_overlap,
    output_of,
    output_overlap,
    tail_floats,
)

LEAST_EXPONENT, LARGEST_EXPONENT = -148, 128
"""2^-149 is the smallest float32, the largest is just below 2^128."""


@njit
def store_lanes(core_address: int, operation_address: int, part: int, index: int, lanes: int) -> int:
    """Take a chunk's result, once. Called through ``compiled_calls``.

    ``lanes`` is 0 of a result without lanes: what this rank wants of it, it has itself.
    """
    core, operation = core_at(core_address), operation_at(operation_address)
    if lanes == 0:
        keep_own(operation, index)
    elif operation.exact:
        store_exact(core, operation, part, index, lanes)
    elif part == EXPONENT:
        store_exponents(core, operation, index, lanes)
    elif part == TAIL_EXPONENT:
        count = min(operation.group_chunks, operation.tail - index * operation.group_chunks)
        pack_exponents(lanes, tail_exponents(operation), index * operation.group_chunks, count)
    elif part == TAIL_DATA:
        place = load_i32(flagged_list(operation), index)
        store_sums(core, operation, place, load_i16(tail_exponents(operation), index), True, lanes)
    elif operation.kind != BARRIER:
        store_data(core, operation, part, index, lanes)
    return 0


@njit
def keep_own(operation: Any, index: int) -> None:
    """Copy a chunk that is all this rank's own from input to output, unless both are the same memory."""
    if operation.kind != RAW:
        return
    first, count = chunk_span(operation, index)
    start, wanted = output_overlap(operation, first, count)
    if input_of(operation, start) != output_of(operation, start):
        copy_bytes(output_of(operation, start), input_of(operation, start), wanted)


@njit
def store_data(core: Any, operation: Any, part: int, index: int, lanes: int) -> None:
    """Everything that ends in the output tensor, but for tails."""
    first, count = chunk_span(operation, index)
    start, wanted = output_overlap(operation, first, count)
    if wanted == 0:
        return
    target = output_of(operation, start)
    place, complement = lanes + 4 * (start - first), complement_of(operation)
    if operation.kind == RAW:
        copy_bytes(target, lanes + start - first, wanted)
    elif part == HIGH:
        store_high_words(operation, start, wanted, place, complement)
    elif part == LOW:
        settle_low_words(operation.dtype, place, target, wanted, complement)
    elif takes_maximum(operation, part) and operation.dtype <= LAST_SMALL_FLOAT:
        values = target if operation.dtype == FLOAT32 else core.scratch
        unorder_floats(place, values, wanted, complement)
        if operation.dtype != FLOAT32:
            narrow(operation.dtype, values, target, wanted)
    elif operation.dtype <= LAST_SMALL_FLOAT:
        exponent = load_i16(operation.scratch_address, index)
        if exponent == FLAGGED:
            store_classes(core, operation, first, count, lanes)
        else:
            store_sums(core, operation, index, exponent, False, lanes)
    else:
        if operation.dtype == INT64:
            limbs_to_long(place, target, wanted, operation.per_chunk)
        else:
            lanes_to_integers(operation.dtype, place, target, wanted, complement)
        if operation.average:
            divide_integers(operation.dtype, target, wanted, core.workers)


@njit
def store_exponents(core: Any, operation: Any, group: int, lanes: int) -> None:
    """Exponents of a group. With the last of them the operation's length is known."""
    begin = group * operation.group_chunks
    count = min(operation.group_chunks, operation.chunks - begin)
    operation.flagged += pack_exponents(lanes, operation.scratch_address, begin, count)
    operation.exponents_stored += 1


@njit
def pack_exponents(lanes: int, target: int, begin: int, count: int) -> int:
    """Lanes to 16 bits each; returns how many are of chunks that are not finite.

    A lane that is no exponent is taken as the nearest that is.
    """
    flagged = 0
    for i in range(count):
        exponent = load_lane(lanes, i)
        if exponent == EXPONENT_NOT_FINITE:
            flagged += 1
            store_i16(target, begin + i, FLAGGED)
        elif exponent == EXPONENT_ZERO:
            store_i16(target, begin + i, STORED_ZERO)
        else:
            store_i16(target, begin + i, min(max(exponent, LEAST_EXPONENT), LARGEST_EXPONENT))
    return flagged


@njit
def store_sums(core: Any, operation: Any, index: int, exponent: int, is_tail: bool, lanes: int) -> None:
    """Sums of floats. In a tail, what the class counts have settled as NaN or Inf stays."""
    first, count = chunk_span(operation, index)
    start, wanted = output_overlap(operation, first, count)
    if wanted == 0:
        return
    exponent = scale_exponent(operation, unpacked_exponent(exponent))
    target, divisor = output_of(operation, start), core.workers if operation.average else 1
    if operation.packed:
        if (
            wanted == count
            and not is_tail
            and unpack_halves(operation.dtype, lanes, target, count, core.lanes, exponent, core.workers_log2, divisor)
        ):
            return
        unpack(lanes, core.scratch_two, count, core.lanes)
        lanes = core.scratch_two
    place = lanes + 4 * (start - first)
    if operation.dtype == FLOAT32 and not is_tail:
        dequantize(place, target, wanted, exponent, core.workers_log2, divisor)
        return
    is_half = operation.dtype != FLOAT32 and not is_tail
    if is_half and dequantize_halves(operation.dtype, place, target, wanted, exponent, core.workers_log2, divisor):
        return
    if operation.dtype == FLOAT32:
        dequantize(place, core.scratch, wanted, exponent, core.workers_log2, divisor)
    else:
        dequantize_to_odd(place, core.scratch, wanted, exponent, core.workers_log2, divisor)
    if is_tail:
        widen(operation.dtype, target, core.scratch_two, wanted)
        keep_not_finite(core.scratch_two, core.scratch, wanted)
    narrow(operation.dtype, core.scratch, target, wanted)


@njit
def store_classes(core: Any, operation: Any, first: int, count: int, lanes: int) -> None:
    """A flagged chunk's first round, to the output: NaN and Inf where they are the result, else the own input."""
    start, wanted = output_overlap(operation, first, count)
    if operation.packed:
        unpack(lanes, core.scratch_two, count, core.lanes)
        widen_classes(core.scratch_two, count)
        lanes = core.scratch_two
    values = first_round_floats(core, operation, first, count) + 4 * (start - first)
    settle_classes(lanes + 4 * (start - first), values, wanted)
    narrow(operation.dtype, values, output_of(operation, start), wanted)


@njit
def first_round_floats(core: Any, operation: Any, first: int, count: int) -> Any:
    """The own input in scratch memory, 0 where there is none or it is not finite."""
    held = operation.output_count
    operation.output_count = 0  # nothing is settled yet: the output memory means nothing
    values = tail_floats(core, operation, first, count)
    operation.output_count = held
    return values


@njit
def store_high_words(operation: Any, start: int, wanted: int, lanes: int, complement: int) -> None:
    """The first pass of a 64-bit MIN or MAX, with this rank's own numbers where it has any."""
    own, given = input_overlap(operation, start, wanted)
    if given == 0:
        own = start + wanted
    end = own + given
    dtype, target = operation.dtype, output_of(operation, own)
    settle_high_words(dtype, lanes, 0, output_of(operation, start), own - start, complement)
    settle_high_words(dtype, lanes + 4 * (own - start), input_of(operation, own), target, given, complement)
    target = output_of(operation, end)
    settle_high_words(dtype, lanes + 4 * (end - start), 0, target, start + wanted - end, complement)
