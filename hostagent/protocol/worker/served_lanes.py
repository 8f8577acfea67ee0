"""Lanes of served operations that are words, not numbers of a sum: announcements, answers, weights, state.

Words are float32 whatever the type of the rank's own memory: half precision is widened on the way out and rounded to
nearest even on the way in.
"""

from __future__ import annotations

from typing import Any

from emulator.ports.jit import njit
from hostagent.protocol.quantizer.floats import narrow, widen
from hostagent.protocol.quantizer.machine import (
    load_i16,
    load_i32,
    load_lane,
    store_i32,
    store_lane,
    zero_bytes,
)
from hostagent.protocol.served import ANNOUNCEMENT_LANES
from hostagent.protocol.worker.operations import FLAGGED, PUSH, PUSH_PULL
from hostagent.protocol.worker.records import ANNOUNCED, DATA, EXPONENT, TAIL_EXPONENT
from hostagent.protocol.worker.spans import (
    FLOAT32,
    chunk_span,
    input_of,
    input_overlap,
    output_of,
    output_overlap,
)


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
