"""What a core does with a frame from the aggregator.

A frame is trusted only when everything about it fits a chunk in flight; anything else is counted by reason and
otherwise without effect, whoever sent it. A result frame of an old epoch is dropped and counted (``REJECT_EPOCH``).
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_be16, load_be32, load_i64, load_u8, store_i64
from hostagent.protocol.wire import FLAG_NO_DATA, FLAG_SHORT_RESULT, LANES_AT, Kind
from hostagent.protocol.worker import compiled_calls
from hostagent.protocol.worker.congestion import note_mark
from hostagent.protocol.worker.header import (
    CHILD_AT,
    CHUNK_AT,
    EPOCH_AT,
    FLAGS_AT,
    JOB_AT,
    KIND_AT,
    OPERATION_AT,
    OPERATOR_AT,
    PEER_AT,
    check_frame,
    is_marked,
)
from hostagent.protocol.worker.lists import chunk_of, leave_list, move_to
from hostagent.protocol.worker.operations import finish_if_stored, is_served, number_operations, operation_in, report
from hostagent.protocol.worker.records import (
    ANNOUNCED,
    EXPONENT,
    FAILED,
    FAILED_MISMATCH,
    FAILED_REFUSED,
    FRESH,
    HIGH,
    NO_LIST,
    OPERATION_BYTES,
    REJECT,
    REJECTED_AT,
    REPEATED,
    RUNNING,
    TAIL_EXPONENT,
    WAITED,
    core_at,
)
from hostagent.protocol.worker.retransmission import (
    note_answer,
    note_nearby,
    note_result,
)
from hostagent.protocol.worker.served_lanes import brings_weights
from hostagent.protocol.worker.transmit import clear_blocked, set_ready

RESULT, WAITING, ERROR = int(Kind.RESULT), int(Kind.WAITING), int(Kind.ERROR)
REJECT_JOB, REJECT_EPOCH, REJECT_CHILD, REJECT_KIND = (REJECT[name] for name in ("job", "epoch", "child", "kind"))
REJECT_OPERATOR, REJECT_OPERATION, REJECT_LENGTH = (REJECT[name] for name in ("operator", "operation", "length"))
REJECT_NOT_IN_FLIGHT, REJECT_NOT_RUNNING = REJECT["not_in_flight"], REJECT["not_running"]
CHUNK_MASK = 0xFFFFFFFF


@njit
def core_receive(address: int, frame: int, length: int, now_ns: int) -> Any:
    """Take one frame, which is only read, and only during the call.

    Returns 0 when it was used, else 1 + the reason's place in REASONS.
    """
    core = core_at(address)
    reason = validate(core, frame, length)
    if reason == 0:
        kind = load_u8(frame + KIND_AT, 0)
        if kind != ERROR:
            reason = take_answer(core, kind, frame, length, now_ns)
        elif length != LANES_AT:
            core.unused_bytes += length
            take_error(core, frame)
        else:
            reason = REJECT_LENGTH
    if reason != 0:
        core.unused_bytes += length
        count_rejected(address, reason)
    return reason


@njit
def validate(core: Any, frame: int, length: int) -> Any:
    """Is the frame whole, unharmed, and for this rank in this epoch?"""
    reason = check_frame(frame, length, core.lanes, core.checksum != 0)
    if reason != 0:
        return reason
    if load_be16(frame + JOB_AT) != core.job:
        return REJECT_JOB
    if core.state != RUNNING:
        return REJECT_NOT_RUNNING
    if load_be32(frame + EPOCH_AT) != core.epoch:
        return REJECT_EPOCH
    if load_be16(frame + CHILD_AT) != core.child:
        return REJECT_CHILD
    kind = load_u8(frame + KIND_AT, 0)
    return 0 if kind in (RESULT, WAITING, ERROR) else REJECT_KIND


@njit
def take_answer(core: Any, kind: int, frame: int, length: int, now_ns: int) -> Any:
    """A result or a `waiting`: find its chunk among those in flight."""
    number = core.floor + ((load_be32(frame + CHUNK_AT) - core.floor) & CHUNK_MASK)
    if number >= core.floor + core.ahead * core.window:
        if kind == RESULT and number - (CHUNK_MASK + 1) >= core.base:
            core.duplicate_results += 1  # of a chunk below the lowest unfinished
        return REJECT_NOT_IN_FLIGHT
    chunk = chunk_of(core, number)
    if chunk.number != number or chunk.list == NO_LIST:
        if kind == RESULT and chunk.number == number and chunk.seen_epoch == core.epoch:
            core.duplicate_results += 1
        return REJECT_NOT_IN_FLIGHT
    if (
        load_be16(frame + FLAGS_AT) != chunk.operator or length == LANES_AT
    ):  # the operator follows the flags, which are 0
        reason = judge_unusual(core, chunk, kind, frame, length)
        if reason != 0:
            return reason
    if kind == RESULT and load_be32(frame + OPERATION_AT) != chunk.operation_hash:
        return REJECT_OPERATION
    if is_marked(frame):
        note_mark(core, chunk.sent_ns, now_ns)
    if kind == WAITING:
        core.unused_bytes += length
        take_waiting(core, number, frame, now_ns)
        return 0
    take_result(core, number, frame, length, now_ns)
    return 0


@njit
def judge_unusual(core: Any, chunk: Any, kind: int, frame: int, length: int) -> Any:
    """An answer of another operator, with flags, or without lanes: a result that this rank needs no lanes of, or one of
    a server of weights, without data."""
    if load_u8(frame + OPERATOR_AT, 0) != chunk.operator:
        return REJECT_OPERATOR
    flags = load_u8(frame + FLAGS_AT, 0)
    if length != LANES_AT and flags & FLAG_NO_DATA == 0:
        return 0
    if kind == RESULT and flags == FLAG_SHORT_RESULT and chunk.short_result:
        return 0
    operation = operation_in(core, chunk.operation_slot)
    is_needed = not is_served(operation) or brings_weights(operation, chunk.part, chunk.index)
    return REJECT_LENGTH if kind != RESULT or (is_needed and chunk.stored == 0) else 0


@njit
def take_waiting(core: Any, number: int, frame: int, now_ns: int) -> None:
    """The aggregator has this rank's contribution, and lists the ranks that have contributed."""
    chunk = chunk_of(core, number)
    note_answer(core, chunk, True, now_ns)
    if number <= core.waiting_chunk or core.waiting_chunk < core.floor:
        core.waiting_chunk = number
        core.waiting_children = (load_be32(frame + LANES_AT) << 32) | load_be32(frame + LANES_AT + 4)
    core.waiting_received += 1  # another thread that sees it finds who is waited for
    if chunk.list in (FRESH, REPEATED):
        move_to(core, number & (core.ring - 1), WAITED)


@njit
def take_result(core: Any, number: int, frame: int, length: int, now_ns: int) -> None:
    """Store a chunk's result if it is the first, and open the window by one chunk."""
    chunk = chunk_of(core, number)
    core.results_received += 1
    note_answer(core, chunk, False, now_ns)
    leave_list(core, number & (core.ring - 1))
    chunk.seen_epoch = core.epoch
    note_result(core, chunk, now_ns)
    note_nearby(core, chunk, load_be16(frame + PEER_AT), now_ns)
    set_ready(core, number + core.window)
    if chunk.stored == 0:
        is_short = chunk.short_result and length == LANES_AT
        store_first(core, chunk, 0 if is_short else frame + LANES_AT)
    while is_seen(core, core.floor):
        core.floor += 1


@njit
def is_seen(core: Any, number: int) -> Any:
    """Has the chunk's result come in this epoch?"""
    chunk = chunk_of(core, number)
    return chunk.number == number and chunk.seen_epoch == core.epoch


@njit
def store_first(core: Any, chunk: Any, lanes: int) -> None:
    """A result that this rank has not had in any epoch; ``lanes`` is 0 where it has none."""
    operation = operation_in(core, chunk.operation_slot)
    chunk.stored = 1
    core.chunks_stored += 1
    operation.stored += 1
    place = core.operations + chunk.operation_slot * OPERATION_BYTES
    status = compiled_calls.store_lanes(core, is_served(operation), place, chunk.part, chunk.index, lanes)
    if status != 0:
        refuse(core, operation.sequence, status)
    if chunk.part == EXPONENT and (operation.exponents_stored == operation.groups or operation.exact):
        number_operations(core)
    low = core.low
    while chunk_of(core, core.low).number == core.low and chunk_of(core, core.low).stored:
        core.low += 1
    if chunk.part in (EXPONENT, TAIL_EXPONENT, HIGH, ANNOUNCED) or (core.tails > 0 and core.low != low):
        clear_blocked(core)
    finish_if_stored(core, operation)


@njit
def refuse(core: Any, sequence: int, status: int) -> None:
    """The server does not do an operation: the job has failed."""
    core.refused_operation = sequence
    core.refused_status = status
    fail(core, FAILED_REFUSED)


@njit
def take_error(core: Any, frame: int) -> None:
    """Two children disagree: the job has failed."""
    core.errors_received += 1
    lanes = frame + LANES_AT
    core.first_hash = load_be32(lanes)
    core.other_hash = load_be32(lanes + 4)
    core.first_child = load_be32(lanes + 8)
    core.other_child = load_be32(lanes + 12)
    core.failed_chunk = load_be32(frame + CHUNK_AT)
    fail(core, FAILED_MISMATCH)


@njit
def fail(core: Any, code: int) -> None:
    """End the job: unfinished operations complete with this code, nothing is sent any more. The first cause stays."""
    if core.state == FAILED:
        return
    core.state = FAILED
    core.failure = code
    for sequence in range(core.first_operation, core.submitted_operations):
        operation = operation_in(core, sequence & (core.operation_ring - 1))
        if not operation.finished:
            operation.finished = 1
            report(core, sequence, code)


@njit
def core_fail(address: int, code: int) -> None:
    """End the job for the caller's own cause (16 and above)."""
    fail(core_at(address), code)


@njit
def count_rejected(address: int, reason: int) -> None:
    """Count a frame that was left aside, in the core's ``rejected_`` fields."""
    counter = address + REJECTED_AT + 8 * (reason - 1)
    store_i64(counter, 0, load_i64(counter, 0) + 1)
