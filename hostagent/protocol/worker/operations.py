"""Submitted operations: what they cut into, when they get their chunk numbers, when they are finished.

Numbers run on through the operations in submission order. The tail of a float SUM, and an exact one's data, are as long
as the exponent results say, so the operation after it is numbered only when all of those have come.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_i16, store_i32
from hostagent.protocol.dtypes import DType
from hostagent.protocol.operation import LEGAL, OperationKind, legality, operation_hash, request_at
from hostagent.protocol.quantizer.packed import LARGEST_JOB
from hostagent.protocol.served import ANNOUNCEMENT_LANES
from hostagent.protocol.wire import Operator
from hostagent.protocol.worker.exact_plan import (
    BLOCK_BYTES,
    BY_RANGE,
    ONE_ROUND,
    ONE_ROUND_FRAMES,
    ROUNDED,
    block_elements,
    exact_part,
    group_blocks,
    number_group,
    one_round_elements,
    range_position,
)
from hostagent.protocol.worker.lists import chunk_of
from hostagent.protocol.worker.plan import group_count, group_size, grouped_part, moved_index
from hostagent.protocol.worker.records import (
    ANNOUNCED,
    COMPLETION_BYTES,
    DATA,
    EXPONENT,
    FAILED,
    HIGH,
    LOW,
    OPERATION_BYTES,
    TAIL_DATA,
    TAIL_EXPONENT,
    completion_at,
    core_at,
    operation_at,
)

SUM = int(OperationKind.SUM)
MIN = int(OperationKind.MIN)
RAW = int(OperationKind.RAW)
BARRIER = int(OperationKind.BARRIER)
PUSH_PULL, PUSH = int(OperationKind.PUSH_PULL), int(OperationKind.PUSH)
WRITE, PULL, QUERY = int(OperationKind.WRITE), int(OperationKind.PULL), int(OperationKind.QUERY)
SUM_OPERATOR, MAX_OPERATOR = int(Operator.SUM), int(Operator.MAX)
SERVED_OPERATOR, ANNOUNCE_OPERATOR = int(Operator.SERVED), int(Operator.ANNOUNCE)
FLOAT16, BFLOAT16 = int(DType.FLOAT16), int(DType.BFLOAT16)
LAST_SMALL_FLOAT = BFLOAT16
FLOAT64, INT8, UINT8, BOOL = int(DType.FLOAT64), int(DType.INT8), int(DType.UINT8), int(DType.BOOL)
INT16, INT32, INT64 = int(DType.INT16), int(DType.INT32), int(DType.INT64)

QUEUE_FULL, REFUSED, JOB_FAILED = -1, -2, -3
"""What ``core_submit`` returns instead of a sequence number."""

FLAGGED = 32767
"""Exponent, as stored in 16 bits, of a chunk with a NaN or an infinity."""


@njit
def operation_in(core: Any, slot: int) -> Any:
    """Record at a place of the operation ring."""
    return operation_at(core.operations + slot * OPERATION_BYTES)


@njit
def operation_of(core: Any, sequence: int) -> Any:
    """Record of an unfinished operation by its sequence number."""
    return operation_in(core, sequence & (core.operation_ring - 1))


@njit
def is_float_sum(operation: Any) -> Any:
    """Does it take exponents?"""
    return operation.kind in (SUM, PUSH_PULL, PUSH) and operation.dtype <= LAST_SMALL_FLOAT


@njit
def is_served(operation: Any) -> Any:
    """Does only a server of weights answer it?"""
    return operation.kind > BARRIER


@njit
def is_long_extreme(operation: Any) -> Any:
    """Does it take two passes?"""
    return operation.dtype in (INT64, FLOAT64) and operation.kind != SUM and operation.kind < RAW


@njit
def takes_maximum(operation: Any, part: int) -> Any:
    """Is the chunk's operator MAX, else SUM?"""
    if part in (EXPONENT, TAIL_EXPONENT):
        return True
    return operation.kind != SUM and operation.kind < RAW


@njit
def operator_of(operation: Any, part: int) -> int:
    """The header's operator of a chunk."""
    if takes_maximum(operation, part):
        return MAX_OPERATOR
    if not is_served(operation):
        return SUM_OPERATOR
    return ANNOUNCE_OPERATOR if part == ANNOUNCED else SERVED_OPERATOR


@njit
def element_bytes_of(dtype: int) -> int:
    """Bytes of one element."""
    if dtype in (INT8, UINT8, BOOL):
        return 1
    if dtype in (FLOAT16, BFLOAT16, INT16):
        return 2
    return 8 if dtype in (FLOAT64, INT64) else 4


@njit
def core_submit(address: int, request_address: int) -> Any:
    """Queue the operation of a REQUEST record; its memory must stay valid until its completion.

    Returns the sequence number (0, 1, ...), or QUEUE_FULL, REFUSED (see ``operation.legality``) or JOB_FAILED.
    """
    core = core_at(address)
    request = request_at(request_address)
    if core.state == FAILED:
        return JOB_FAILED
    if legality(request, core.lanes, core.workers) != LEGAL:
        return REFUSED
    sequence = core.submitted_operations
    if sequence - min(core.completions_taken, core.first_operation) >= core.operation_ring:
        return QUEUE_FULL
    operation = operation_of(core, sequence)
    copy_request(operation, request)
    operation.sequence = sequence
    operation.hash = operation_hash(
        *(request.kind, request.dtype, request.elements),
        *(request.average, request.exact, request.packed),
        *(request.tag, sequence),
    )
    cut(core, operation)
    core.submitted_operations = sequence + 1
    number_operations(core)
    return sequence


@njit
def copy_request(operation: Any, request: Any) -> None:
    """The caller's fields; raw operations count bytes from here on."""
    unit = element_bytes_of(request.dtype) if request.kind == RAW else 1
    operation.kind = request.kind
    operation.dtype = request.dtype
    operation.average = request.average
    operation.exact = request.exact
    operation.packed = request.packed
    operation.tag = request.tag
    operation.announcement = request.announcement
    operation.elements = request.elements * unit
    operation.input_address = request.input_address
    operation.input_first = request.input_first * unit
    operation.input_count = request.input_count * unit
    operation.output_address = request.output_address
    operation.output_first = request.output_first * unit
    operation.output_count = request.output_count * unit
    operation.scratch_address = request.scratch_address
    operation.element_bytes = 1 if request.kind == RAW else element_bytes_of(request.dtype)


@njit
def cut(core: Any, operation: Any) -> None:
    """How many elements a chunk holds, how many chunks there are."""
    per_chunk = core.lanes
    if operation.kind == RAW:
        per_chunk = 4 * core.lanes
    elif operation.dtype == INT64 and operation.kind == SUM:
        per_chunk = core.lanes // 3
    elif operation.kind == SUM and operation.dtype <= FLOAT64:
        per_chunk = choose_encoding(core, operation)
        operation.packed = int(operation.packed and operation.exact == ROUNDED and core.workers <= LARGEST_JOB)
        if operation.packed:
            per_chunk = 2 * core.lanes
    operation.per_chunk = per_chunk
    operation.chunks = (operation.elements + per_chunk - 1) // per_chunk
    if operation.kind == BARRIER:
        operation.chunks = 1
    elif operation.kind == QUERY:
        operation.chunks = 0
    operation.lead = 1 if is_served(operation) else 0
    operation.group_chunks = group_size(core.lanes, core.largest_window)
    if operation.exact == BY_RANGE:
        operation.group_chunks = group_blocks(core.lanes)
    elif operation.kind == RAW:
        operation.group_chunks = group_count(operation.chunks, core.workers)
    has_exponents = operation.exact == BY_RANGE or (is_float_sum(operation) and operation.exact == ROUNDED)
    operation.groups = group_count(operation.chunks, operation.group_chunks) if has_exponents else 0
    operation.count = operation.lead + operation.chunks + operation.groups
    if operation.exact == BY_RANGE:
        operation.count = min(2, operation.groups)
    elif is_long_extreme(operation):
        operation.count = 2 * operation.chunks
    operation.numbered = 0
    operation.numbered_groups = 0
    operation.data_frames = 0
    operation.tail = 0
    operation.tail_groups = 0
    operation.stored = 0
    operation.exponents_stored = 0
    operation.flagged = 0
    operation.finished = 0


@njit
def choose_encoding(core: Any, operation: Any) -> Any:
    """How a SUM of floats is encoded (``exact``): the same on all ranks. Returns the elements of a chunk or block."""
    is_exact = operation.exact or operation.dtype == FLOAT64
    one_round = one_round_elements(operation.dtype, core.lanes, core.workers, core.workers_log2)
    if 0 < operation.elements <= one_round * ONE_ROUND_FRAMES:
        operation.exact = ONE_ROUND
        return one_round
    operation.exact = BY_RANGE if is_exact else ROUNDED
    return block_elements(core.lanes) if is_exact else core.lanes


@njit
def number_operations(core: Any) -> None:
    """Give chunk numbers to as many submitted operations as can have them."""
    while core.numbered_operations < core.submitted_operations:
        operation = operation_of(core, core.numbered_operations)
        if operation.numbered == 0:
            operation.first = core.numbered_end
            operation.numbered = 1
            core.numbered_end += operation.count
        if operation.exact == BY_RANGE:
            number_groups(core, operation)
        if operation.exponents_stored < operation.groups:
            return
        if operation.flagged > 0:
            add_tail(operation)
            core.tails += 1
            core.numbered_end += operation.tail + operation.tail_groups
        core.numbered_operations += 1
        finish_if_stored(core, operation)


@njit
def number_groups(core: Any, operation: Any) -> None:
    """Number the data of an exact SUM as far as its ranges have come, in order."""
    while operation.numbered_groups < operation.groups and has_result(
        core, operation.first + range_position(operation, operation.numbered_groups)
    ):
        core.numbered_end += number_group(core, operation)


@njit
def add_tail(operation: Any) -> None:
    """Number the flagged chunks once more, and list which they are."""
    found = 0
    for index in range(operation.chunks):
        if load_i16(operation.scratch_address, index) == FLAGGED:
            store_i32(flagged_list(operation), found, index)
            found += 1
    if is_served(operation):
        store_i32(operation.announcement, 2 * ANNOUNCEMENT_LANES, found)
    operation.tail = found
    operation.tail_groups = group_count(found, operation.group_chunks)
    operation.count += operation.tail + operation.tail_groups


# The scratch memory of a float SUM of C chunks: int16[C] exponents, int16[C] exponents of the tail, int32[C] flagged
# chunks; the last two are touched only when there is a tail. An exact one has 8 bytes a block, too: ``exact_plan``.


def scratch_bytes(kind: int, dtype: int, exact: bool, elements: int, lanes: int) -> int:
    """Bytes of scratch memory an operation needs until it is finished."""
    if kind not in (SUM, PUSH_PULL, PUSH) or dtype > FLOAT64:
        return 0
    chunk = block_elements(lanes) if exact or dtype == FLOAT64 else lanes
    return BLOCK_BYTES * int((elements + chunk - 1) // chunk)


@njit
def tail_exponents(operation: Any) -> Any:
    """Address of the tail's exponents."""
    return operation.scratch_address + 2 * operation.chunks


@njit
def flagged_list(operation: Any) -> Any:
    """Address of the numbers of the flagged chunks."""
    return operation.scratch_address + 4 * operation.chunks


@njit
def part_of(operation: Any, number: int) -> tuple[int, int]:
    """(part, index) of one of the operation's chunk numbers; see ``plan``."""
    position = number - operation.first - operation.lead
    if position < 0:
        return ANNOUNCED, 0
    if operation.exact == BY_RANGE:
        is_data, index = exact_part(operation, position)
        return (DATA if is_data else EXPONENT), index
    if operation.kind == RAW:
        return DATA, moved_index(position, operation.chunks, operation.group_chunks)
    if operation.groups == 0:
        if not is_long_extreme(operation):
            return DATA, position
        return (HIGH, position) if position < operation.chunks else (LOW, position - operation.chunks)
    if position < operation.chunks + operation.groups:
        is_data, index = grouped_part(position, operation.chunks, operation.group_chunks)
        return (DATA if is_data else EXPONENT), index
    position -= operation.chunks + operation.groups
    is_data, index = grouped_part(position, operation.tail, operation.group_chunks)
    return (TAIL_DATA if is_data else TAIL_EXPONENT), index


@njit
def operation_at_number(core: Any, number: int) -> Any:
    """Sequence number of the operation that a numbered, unfinished chunk belongs to. Remembers where it looked last."""
    sequence = max(core.sending_operation, core.first_operation)
    while number >= operation_of(core, sequence).first + operation_of(core, sequence).count:
        sequence += 1
    while number < operation_of(core, sequence).first:
        sequence -= 1
    core.sending_operation = sequence
    return sequence


@njit
def has_result(core: Any, number: int) -> Any:
    """Has this chunk's result come, in whatever epoch?"""
    if number < core.low:
        return True
    chunk = chunk_of(core, number)
    return chunk.number == number and chunk.stored != 0


@njit
def finish_if_stored(core: Any, operation: Any) -> None:
    """Report an operation when all of its chunks have arrived, and free its record and all finished ones before it."""
    is_numbered = core.numbered_operations > operation.sequence
    if operation.finished or not is_numbered or operation.stored < operation.count:
        return
    operation.finished = 1
    core.operations_finished += 1
    if operation.tail > 0:
        core.tails -= 1
    report(core, operation.sequence, 0)
    while core.first_operation < core.numbered_operations and operation_of(core, core.first_operation).finished:
        core.first_operation += 1


@njit
def report(core: Any, sequence: int, status: int) -> None:
    """Append a completion; ``core_submit`` keeps the ring from overflowing."""
    place = core.completed & (core.operation_ring - 1)
    completion = completion_at(core.completions + place * COMPLETION_BYTES)
    completion.sequence = sequence
    completion.status = status
    core.completed += 1


@njit
def core_take_completion(address: int) -> tuple[int, int]:
    """The next finished operation as (sequence, status), in the order they finished; (-1, 0) when there is none."""
    core = core_at(address)
    if core.completions_taken == core.completed:
        return -1, 0
    place = core.completions_taken & (core.operation_ring - 1)
    completion = completion_at(core.completions + place * COMPLETION_BYTES)
    core.completions_taken += 1
    return completion.sequence, completion.status
