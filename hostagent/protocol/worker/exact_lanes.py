"""Lanes of exact float SUMs: contributions from the input, results to the output; see ``exact_plan``."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_lane, store_lane, zero_bytes
from hostagent.protocol.quantizer.blocks import EXPONENT_ZERO
from hostagent.protocol.quantizer.exact import (
    WORDS,
    least_unit,
    limb_bits,
    limbs_of,
    magnitude_range,
    shorter_form,
    sum_limbs,
    sum_words,
    width_of,
    write_limbs,
    write_words,
)
from hostagent.protocol.quantizer.formats import top_exponent_of, unit_exponent_of
from hostagent.protocol.worker.exact_plan import RANGE_LANES, block_span, data_frame, pack_block
from hostagent.protocol.worker.records import EXPONENT
from hostagent.protocol.worker.spans import input_of, input_overlap, output_of, output_overlap


@njit
def fill_exact(core: Any, operation: Any, part: int, index: int, lanes: int) -> int:
    """Write all of the frame's lanes; 0 when there is nothing to add."""
    if part == EXPONENT:
        fill_ranges(core, operation, index, lanes)
        return 1
    first, count, form, unit = data_frame(core, operation, index)
    start, given = input_overlap(operation, first, count)
    if given == 0:
        return 0
    used = 4 * count * width_of(operation.dtype, form, core.workers)
    if form == WORDS or given < count:
        zero_bytes(lanes, used)
    zero_bytes(lanes + used, 4 * core.lanes - used)
    source, place = input_of(operation, start), lanes + 4 * (start - first)
    if form == WORDS:
        write_words(operation.dtype, source, place, count, given, core.child)
    else:
        write_limbs(operation.dtype, source, place, count, given, form, unit, limb_bits(core.workers_log2))
    return 1


@njit
def fill_ranges(core: Any, operation: Any, group: int, lanes: int) -> None:
    """Three lanes for each block of the group."""
    begin = group * operation.group_chunks
    end = min(begin + operation.group_chunks, operation.chunks)
    for block in range(begin, end):
        first, count = block_span(operation, block)
        start, given = input_overlap(operation, first, count)
        largest, least, special = magnitude_range(operation.dtype, input_of(operation, start), given)
        place = RANGE_LANES * (block - begin)
        store_lane(lanes, place, largest)
        store_lane(lanes, place + 1, EXPONENT_ZERO if least == EXPONENT_ZERO else -least)
        store_lane(lanes, place + 2, special)
    used = RANGE_LANES * (end - begin)
    zero_bytes(lanes + 4 * used, 4 * (core.lanes - used))


@njit
def store_exact(core: Any, operation: Any, part: int, index: int, lanes: int) -> None:
    """Take a result, once."""
    if part == EXPONENT:
        store_ranges(core, operation, index, lanes)
        return
    first, count, form, unit = data_frame(core, operation, index)
    start, wanted = output_overlap(operation, first, count)
    if wanted == 0:
        return
    target, place = output_of(operation, start), lanes + 4 * (start - first)
    divisor = core.workers if operation.average else 1
    if form == WORDS:
        sum_words(operation.dtype, place, count, core.workers, target, wanted, divisor, core.digits)
    else:
        bits = limb_bits(core.workers_log2)
        sum_limbs(operation.dtype, place, count, target, wanted, form, unit, bits, divisor, core.digits)


@njit
def store_ranges(core: Any, operation: Any, group: int, lanes: int) -> None:
    """Choose the forms of a group's blocks. A number that is no exponent of the type is taken as the nearest."""
    begin = group * operation.group_chunks
    dtype, count = operation.dtype, min(operation.group_chunks, operation.chunks - begin)
    top, bottom = top_exponent_of(dtype), unit_exponent_of(dtype)
    for i in range(count):
        largest, negated = load_lane(lanes, RANGE_LANES * i), load_lane(lanes, RANGE_LANES * i + 1)
        special = 1 if load_lane(lanes, RANGE_LANES * i + 2) > 0 else 0
        unit, limbs = bottom, 1
        if largest != EXPONENT_ZERO:
            largest = min(max(largest, bottom + 1), top)
            unit = least_unit(dtype, min(max(-negated, bottom + 1), largest))
            limbs = limbs_of(largest, unit, limb_bits(core.workers_log2))
        pack_block(operation, begin + i, unit, shorter_form(dtype, limbs, special, core.workers))
    operation.exponents_stored += 1
