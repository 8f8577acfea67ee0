"""Lanes of served operations that are words, not numbers of a sum: announcements, answers, weights, state.

Words are float32 whatever the type of the rank's own memory: half precision is widened on the way out and rounded to
nearest even on the way in. What a push has in common with a float SUM is done by the functions for sums, called by
address, so that these stay as small as they are without us.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_i16, load_i32, load_lane, store_i32, store_lane, zero_bytes
from hostagent.protocol.quantizer.floats import narrow, widen
from hostagent.protocol.served import ANNOUNCEMENT_LANES
from hostagent.protocol.worker import compiled_calls
from hostagent.protocol.worker.operations import FLAGGED, PUSH, PUSH_PULL, WRITE, flagged_list
from hostagent.protocol.worker.records import (
    ANNOUNCED,
    DATA,
    EXPONENT,
    TAIL_DATA,
    TAIL_EXPONENT,
    core_at,
    operation_at,
)
from hostagent.protocol.worker.spans import (
    FLOAT32,
    chunk_span,
    input_of,
    input_overlap,
    output_of,
    output_overlap,
)


@njit
def fill_served(core_address: int, operation_address: int, part: int, index: int, lanes: int) -> Any:
    """As ``quantize_contribution.fill_lanes``, of a served operation."""
    core, operation = core_at(core_address), operation_at(operation_address)
    if part == ANNOUNCED:
        return fill_announcement(core, operation, lanes)
    if operation.kind >= WRITE:
        return fill_write(core, operation, index, lanes)
    return compiled_calls.fill_lanes(core, False, operation_address, part, index, lanes)


@njit
def store_served(core_address: int, operation_address: int, part: int, index: int, lanes: int) -> Any:
    """As ``dequantize_result.store_lanes``, of a served operation; returns the server's reason to refuse it."""
    core, operation = core_at(core_address), operation_at(operation_address)
    if part == ANNOUNCED:
        return store_answer(operation, lanes)
    if part in (EXPONENT, TAIL_EXPONENT):
        return compiled_calls.store_lanes(core, False, operation_address, part, index, lanes)
    if brings_weights(operation, part, index):
        place = load_i32(flagged_list(operation), index) if part == TAIL_DATA else index
        store_weights(core, operation, place, lanes)
    return 0


@njit
def fill_announcement(core: Any, operation: Any, lanes: int) -> int:
    """What the operation is."""
    for i in range(ANNOUNCEMENT_LANES):
        store_lane(lanes, i, load_i32(operation.announcement, i))
    zero_bytes(lanes + 4 * ANNOUNCEMENT_LANES, 4 * (core.lanes - ANNOUNCEMENT_LANES))
    return 1


@njit
def store_answer(operation: Any, lanes: int) -> Any:
    """The server's answer, behind the announcement; returns its status."""
    for i in range(ANNOUNCEMENT_LANES):
        store_i32(operation.announcement, ANNOUNCEMENT_LANES + i, load_lane(lanes, i))
    return load_lane(lanes, 0)


@njit
def fill_write(core: Any, operation: Any, index: int, lanes: int) -> int:
    """This rank's words of a chunk; 0 when it has none."""
    first, count = chunk_span(operation, index)
    start, given = input_overlap(operation, first, count)
    if given == 0:
        return 0
    zero_bytes(lanes, 4 * core.lanes)
    words = input_of(operation, start)
    if operation.dtype != FLOAT32:
        widen(operation.dtype, words, core.scratch, given)
        words = core.scratch
    for i in range(given):
        store_lane(lanes, start - first + i, load_i32(words, i))
    return 1


@njit
def store_weights(core: Any, operation: Any, index: int, lanes: int) -> None:
    """The server's words of a chunk, into the rank's memory."""
    first, count = chunk_span(operation, index)
    start, wanted = output_overlap(operation, first, count)
    words = output_of(operation, start) if operation.dtype == FLOAT32 else core.scratch
    for i in range(wanted):
        store_i32(words, i, load_lane(lanes, start - first + i))
    if operation.dtype != FLOAT32:
        narrow(operation.dtype, words, output_of(operation, start), wanted)


@njit
def brings_weights(operation: Any, part: int, index: int) -> Any:
    """Does the result of a served operation's chunk have lanes that this rank must take?"""
    if part in (EXPONENT, TAIL_EXPONENT, ANNOUNCED):
        return True
    if operation.kind == PUSH:
        return False
    # the weights of a chunk with a NaN or an infinity come with its second round
    is_first_round = operation.kind == PUSH_PULL and part == DATA
    return not is_first_round or load_i16(operation.scratch_address, index) != FLAGGED
