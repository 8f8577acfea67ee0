"""A leaf of a tree of aggregators (PROTOCOL.md, section 12): its sums go up, the parent's results come down.

Workers that are not below the leaf are children with the parent's port and addresses, whose bits are in the job's
``elsewhere`` and not in ``full``; so messages find their way, and each of them leads to the parent.
"""

from __future__ import annotations

from typing import Any

from emulator.native.arithmetic import trailing_zeros
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_be16, load_be32, load_u8, store_be16
from hostagent.protocol.counters import Verdict
from hostagent.protocol.wire import FLAG_NO_DATA, LANES_AT
from hostagent.protocol.worker.header import (
    CHILD_AT,
    CHUNK_AT,
    FLAGS_AT,
    KIND_AT,
    OPERATION_AT,
    OPERATOR_AT,
    is_marked,
)
from hostagent.rackserver import compiled_calls
from hostagent.rackserver.compiled_calls import OPERATOR_SHIFT, TO_ALL
from hostagent.rackserver.frames.answers import ERROR, RESULT, WAITING, begin_answer, end_answer
from hostagent.rackserver.frames.forward import forward_to
from hostagent.rackserver.frames.loops import (
    FORWARDED,
    OUTSIDE_WINDOW,
    answer_result,
    count,
    set_index,
    wide,
    write_error,
)
from hostagent.rackserver.frames.validate import CONTRIBUTION, row_of
from hostagent.rackserver.records import JOB_BYTES, SET_BYTES, job_at, server_at, set_at

FROM_PARENT = int(Verdict.FROM_PARENT)


@njit
def send_up(server_address: int, job_address: int, index: int, what: int, child: int) -> int:
    """A full set's sum, to the parent, in the name of the worker with the number ``child``. ``what``: IS_MARKED and the
    core."""
    server, job = server_at(server_address), job_at(job_address)
    held = set_at(server.sets + index * SET_BYTES)
    bit = trailing_zeros(job.elsewhere)
    what |= CONTRIBUTION | wide(held.operator) << OPERATOR_SHIFT
    cell = begin_answer(server, job, bit, what, wide(held.chunk) | wide(held.operation) << 32, False)
    if cell != 0:
        store_be16(cell + CHILD_AT, child)
        lanes = server.sums + index * 4 * server.lanes if held.has_data else 0
        end_answer(server, job, bit, cell, False, lanes)
    return 0


@njit
def take_parent_frame(server_address: int, core: int, frame: int, length: int, bit: int) -> int:
    """A result, an error, or who is missing: the first two for a set whose sum has gone up and that waits for them, the
    last for the worker that the frame names."""
    server = server_at(server_address)
    job = job_at(server.jobs + row_of(server, frame, length) * JOB_BYTES)
    counters = server.counters + core * server.counter_bytes
    kind, chunk = load_u8(frame + KIND_AT, 0), load_be32(frame + CHUNK_AT)
    if kind == WAITING:
        count(counters, job, bit, FORWARDED, length)
        forward_to(server, job, core, frame, length, bit)
        return 0
    index = set_index(job, chunk)
    held = set_at(server.sets + index * SET_BYTES)
    same = held.operation == load_be32(frame + OPERATION_AT) and held.operator == load_u8(frame + OPERATOR_AT, 0)
    fits = same if kind == RESULT else length > LANES_AT
    is_awaited = held.epoch == job.epoch and held.chunk == chunk and held.partial != 0 and held.failed == 0
    if not is_awaited or not fits:
        count(counters, job, bit, OUTSIDE_WINDOW, length)
        return 0
    count(counters, job, bit, FROM_PARENT, length)
    held.partial = 0
    if kind == RESULT:
        take_result(server, job, core, held, index, frame)
    else:
        take_error(server, job, core, held, frame)
    return 0


@njit
def take_result(server: Any, job: Any, core: int, held: Any, index: int, frame: int) -> None:
    """The result takes the sum's place; one without data, of a server of weights, goes down as it is."""
    no_data = load_u8(frame + FLAGS_AT, 0) & FLAG_NO_DATA
    held.has_data, held.short_result, held.complete = 1 - no_data, no_data, 1
    if no_data == 0:
        copy_bytes(server.sums + index * 4 * server.lanes, frame + LANES_AT, 4 * server.lanes)
    answer_result(server, job, core, held, index, TO_ALL, is_marked(frame))


@njit
def take_error(server: Any, job: Any, core: int, held: Any, frame: int) -> None:
    """The chunk has failed above: it has here too, for the present and later contributors."""
    held.failed = 1
    held.operation, held.other_operation = load_be32(frame + LANES_AT), load_be32(frame + LANES_AT + 4)
    held.first_child, held.other_child = load_be16(frame + LANES_AT + 10), load_be16(frame + LANES_AT + 14)
    words, operator = server.scratch + core * server.scratch_bytes, wide(held.operator)
    write_error(words, held)
    chunk, operation = wide(held.chunk), load_be32(frame + OPERATION_AT)
    compiled_calls.answer(server, job, core, ERROR, TO_ALL, operator, chunk, operation, words, False, is_marked(frame))
