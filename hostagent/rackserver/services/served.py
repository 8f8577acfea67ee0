"""Served operations: what a service does with complete chunks.

Exponent chunks and announcements belong to the home core, a data chunk to the core that owns its block. What one core
writes for another (exponents, terms) is complete before a worker can send the chunks that need it.
"""

from __future__ import annotations

from typing import Any

from emulator.native.atomics import atomic_add64
from emulator.native.jit import njit
from emulator.native.memory import (
    copy_bytes,
    load_be32,
    load_i16,
    load_i32,
    load_i64,
    load_lane,
    load_u8,
    store_f64,
    store_i32,
    store_i64,
    store_lane,
    zero_bytes,
)
from emulator.native.syscalls import monotonic_ns
from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, dequantize
from hostagent.protocol.quantizer.classes import value_of_classes
from hostagent.protocol.worker.dequantize_result import pack_exponents
from hostagent.protocol.worker.header import CHUNK_AT, OPERATION_AT
from hostagent.protocol.worker.operations import FLAGGED
from hostagent.protocol.worker.plan import exponent_position, group_count, grouped_part
from hostagent.protocol.worker.quantize_contribution import unpacked_exponent
from hostagent.rackserver import compiled_calls
from hostagent.rackserver.compiled_calls import TO_ALL
from hostagent.rackserver.frames.lane_codec import MASK
from hostagent.rackserver.frames.loops import ANSWER, STEPS_DONE, STEPS_NS, WITHHOLD, answer_result, set_index
from hostagent.rackserver.frames.validate import ANNOUNCE, MAX, SERVED
from hostagent.rackserver.hierarchy.resync import add_state
from hostagent.rackserver.hierarchy.state_transfer import mark_transferred
from hostagent.rackserver.records import SET_BYTES, job_at, server_at, set_at
from hostagent.rackserver.services.describe import (
    LEFT,
    PULL,
    PUSH,
    PUSH_PULL,
    WRITE,
    announce,
    find,
    finish_write,
)
from hostagent.rackserver.services.optimizer_step import (
    chunk_of,
    key_of,
    note_applied,
    note_pushed,
    side_at,
    squares_of,
)
from hostagent.rackserver.services.records import (
    ALONE,
    GIVES,
    STEPS,
    TAKES,
    UNDECIDED,
    key_at,
    operation_at,
    service_at,
)

NOT_DATA = -1


@njit
def place_of(key: Any, operation: Any, chunk: int) -> tuple[int, int]:
    """(index of the data chunk or NOT_DATA, place in the tail or -1) of a chunk number of an operation."""
    position = ((chunk - operation.first) & MASK) - 1
    if operation.action == WRITE or operation.action == PULL:
        return (position, -1) if 0 <= position < key.chunks else (NOT_DATA, -1)
    if position < 0:
        return NOT_DATA, -1
    if position < key.chunks + key.groups:
        is_data, index = grouped_part(position, key.chunks, key.group)
        return (index if is_data else NOT_DATA), -1
    position -= key.chunks + key.groups
    if key.tail <= 0 or position >= key.tail + key.tail_groups:
        return NOT_DATA, -1
    is_data, place = grouped_part(position, key.tail, key.group)
    return (load_i32(flagged_of(key), place), place) if is_data else (NOT_DATA, -1)


@njit
def flagged_of(key: Any) -> Any:
    """Address of the numbers of the key's flagged chunks, behind two rows of exponents."""
    return key.exponents + 4 * key.chunks


@njit
def owner(service: Any, operation_hash: int, chunk: int) -> Any:
    """The core of a data chunk; the home core's where it is of no open operation."""
    place = find(service, operation_hash)
    if place == 0:
        return service.home
    operation = operation_at(place)
    key = key_at(key_of(service, operation.key))
    index = place_of(key, operation, chunk)[0]
    return load_u8(key.owners, index >> key.block_log2) if index >= 0 else service.home


@njit
def take_exponents(service: Any, held: Any, lanes: int) -> None:
    """A complete MAX chunk: exponents, if it is one of an open push's."""
    place = find(service, held.operation)
    if place == 0:
        return
    operation = operation_at(place)
    if operation.action != PUSH and operation.action != PUSH_PULL:
        return
    key = key_at(key_of(service, operation.key))
    position = ((held.chunk - operation.first) & MASK) - 1
    if position >= 0 and position < key.chunks + key.groups:
        is_data, group = grouped_part(position, key.chunks, key.group)
        if not is_data:
            take_group(service, key, group, lanes)
        return
    position -= key.chunks + key.groups
    if key.tail > 0 and 0 <= position < key.tail + key.tail_groups:
        is_data, group = grouped_part(position, key.tail, key.group)
        if not is_data:
            count = min(key.group, key.tail - group * key.group)
            pack_exponents(lanes, key.exponents + 2 * key.chunks, group * key.group, count)


@njit
def take_group(service: Any, key: Any, group: int, lanes: int) -> None:
    """Exponents of a group of data chunks. With the last the flagged chunks are known."""
    begin = group * key.group
    flagged = pack_exponents(lanes, key.exponents, begin, min(key.group, key.chunks - begin))
    service.open_not_finite += flagged
    key.groups_done += 1
    if key.groups_done < key.groups:
        return
    found = 0
    for index in range(key.chunks):
        if load_i16(key.exponents, index) == FLAGGED:
            store_i32(flagged_of(key), found, index)
            found += 1
    key.tail_groups = group_count(found, key.group)
    key.tail = found


@njit
def take_announcement(server: Any, service: Any, held: Any, lanes: int) -> None:
    """Open the operation; exponents that were complete before it are its first two groups'."""
    place = announce(service, held.chunk, held.operation, lanes)
    if place == 0:
        return
    operation = operation_at(place)
    if operation.action != PUSH and operation.action != PUSH_PULL:
        return
    key = key_at(key_of(service, operation.key))
    for group in range(min(2, key.groups)):
        chunk = (operation.first + 1 + exponent_position(group, key.group)) & MASK
        index = set_index(service, chunk)
        early = set_at(server.sets + index * SET_BYTES)
        is_it = early.epoch == held.epoch and early.chunk == chunk and early.operation == held.operation
        if is_it and early.complete and early.operator == MAX and early.failed == 0:
            take_exponents(service, early, server.sums + index * 4 * server.lanes)


@njit
def take_data(server: Any, service: Any, held: Any, index: int, core: int) -> Any:
    """A complete data chunk: ANSWER or WITHHOLD."""
    place = find(service, held.operation)
    if place == 0:
        return WITHHOLD
    operation = operation_at(place)
    key_address = key_of(service, operation.key)
    key = key_at(key_address)
    part, tail = place_of(key, operation, held.chunk)
    if part < 0:
        return WITHHOLD
    lanes = server.sums + index * 4 * server.lanes
    count = min(service.lanes, key.elements - part * service.lanes)
    if operation.action == WRITE:
        return take_words(service, key, operation, part, held, lanes, count)
    if operation.action == PULL:
        return give_words(server, service, operation, key_address, part, held, lanes, count, core)
    return take_gradient(server, service, operation, key_address, part, tail, held, lanes, count, core)


@njit
def write_version(service: Any, key: Any, buffer: int, side: int, part: int, lanes: int, count: int) -> None:
    """A chunk's words, from a contribution's lanes."""
    words = chunk_of(key, buffer, side, part, service.lanes)
    for i in range(count):
        store_i32(words, i, load_lane(lanes, i))


@njit
def take_words(service: Any, key: Any, operation: Any, part: int, held: Any, lanes: int, count: int) -> int:
    """Words of a WRITE, into both versions; the newest stays that, for other buffers of it have not been written. Where
    what is here shall stay whole until the last of them: into the other version."""
    if held.has_data == 0 and operation.part != ALONE:
        return WITHHOLD  # an operation that the giver no longer knew
    if held.has_data == 0:
        zero_bytes(lanes, 4 * service.lanes)
        held.has_data = 1
    newest = side_at(key, part, service.step)
    if operation.part <= TAKES:
        write_version(service, key, operation.buffer, 1 - newest, part, lanes, count)
    if operation.part <= TAKES and service.receives:
        if operation.buffer == 0:
            mark_transferred(key, 1 - newest, part)
    elif operation.part <= TAKES:
        write_version(service, key, operation.buffer, newest, part, lanes, count)
        if operation.buffer == 0:
            store_i64(key.versions, newest * key.chunks + part, operation.step)
            store_i64(key.versions, (1 - newest) * key.chunks + part, -1)
    if atomic_add64(operation.address + LEFT, -1) == 1:
        finish_write(service, key, operation)
    return ANSWER


@njit
def answer_chunk(service: Any, key: Any, buffer: int, side: int, part: int, held: Any, lanes: int, count: int) -> None:
    """A version's words, as the result's lanes."""
    words = chunk_of(key, buffer, side, part, service.lanes)
    for i in range(count):
        store_lane(lanes, i, load_i32(words, i))
    zero_bytes(lanes + 4 * count, 4 * (service.lanes - count))
    held.has_data = 1


@njit
def give_words(
    server: Any,
    service: Any,
    operation: Any,
    key_address: int,
    part: int,
    held: Any,
    lanes: int,
    count: int,
    core: int,
) -> int:
    """A chunk of a PULL, stepped now if it is of a step that was decided and it has not been."""
    key = key_at(key_address)
    applies = False
    if operation.step > service.step:
        if operation.step != service.open_step or service.split == 0 or service.decision != STEPS:
            return WITHHOLD
        applies = key.pushed_step == operation.step
    side = side_at(key, part, operation.step)
    if applies and load_i64(key.versions, side * key.chunks + part) != operation.step:
        gradient = server.scratch + core * server.scratch_bytes + 4 * server.lanes
        copy_bytes(gradient, key.gradient + part * service.lanes * 4, 4 * count)
        side = step(server, service, key_address, part, gradient, count, core)
        answer_chunk(service, key, operation.buffer, side, part, held, lanes, count)
        note_applied(service, key_address)
    else:
        answer_chunk(service, key, operation.buffer, side, part, held, lanes, count)
    atomic_add64(operation.address + LEFT, -1)
    return ANSWER


@njit
def step(server: Any, service: Any, key_address: int, part: int, gradient: int, count: int, core: int) -> Any:
    """The optimizer on a chunk, timed; the new version."""
    started_ns = monotonic_ns()
    side = compiled_calls.step_chunk(server, service, key_address, part, gradient, count)
    counters = server.counters + core * server.counter_bytes
    store_i64(counters + STEPS_NS, load_i64(counters + STEPS_NS) + monotonic_ns() - started_ns)
    store_i64(counters + STEPS_DONE, load_i64(counters + STEPS_DONE) + 1)
    return side


@njit
def take_gradient(
    server: Any,
    service: Any,
    operation: Any,
    key_address: int,
    part: int,
    tail: int,
    held: Any,
    lanes: int,
    count: int,
    core: int,
) -> int:
    """A chunk of gradients: dequantized once, then stepped, or kept until the step is decided."""
    key = key_at(key_address)
    stored = load_i16(key.exponents, part) if tail < 0 else load_i16(key.exponents + 2 * key.chunks, tail)
    if held.has_data == 0:
        zero_bytes(lanes, 4 * service.lanes)
    if tail < 0 and stored == FLAGGED:
        settle(kept_of(service, key, operation, part), lanes, count)
        held.short_result = 1
        return ANSWER
    exponent = unpacked_exponent(stored)
    if exponent == EXPONENT_NOT_FINITE:
        return WITHHOLD
    gradient = server.scratch + core * server.scratch_bytes + 4 * server.lanes
    dequantize(lanes, gradient, count, exponent, service.workers_log2, key.divisor)
    if tail >= 0:
        keep_settled(kept_of(service, key, operation, part), gradient, count)
    is_new = load_i64(key.pushes, part) != operation.step
    store_i64(key.pushes, part, operation.step)
    if is_new:
        atomic_add64(operation.address + LEFT, -1)
    if operation.action == PUSH:
        if is_new:
            copy_bytes(key.gradient + part * service.lanes * 4, gradient, 4 * count)
        store_f64(key.squares, part, squares_of(gradient, count, key.rescale))
        held.short_result = 1
        if is_new:
            note_pushed(service, key_address)
        return ANSWER
    if is_new:
        side = step(server, service, key_address, part, gradient, count, core)
        answer_chunk(service, key, 0, side, part, held, lanes, count)
        note_applied(service, key_address)
    else:
        answer_chunk(service, key, 0, side_at(key, part, operation.step), part, held, lanes, count)
    return ANSWER


@njit
def kept_of(service: Any, key: Any, operation: Any, part: int) -> Any:
    """Where a flagged chunk's first round is kept until its tail: with the gradient of a split step; else in the
    version of the weights that the step will write, which is not read until then."""
    if operation.action == PUSH:
        return key.gradient + part * service.lanes * 4
    return chunk_of(key, 0, 1 - side_at(key, part, service.step), part, service.lanes)


@njit
def settle(kept: int, lanes: int, count: int) -> None:
    """What class counts decide, for the tail; 0 for what is finite."""
    for i in range(count):
        store_i32(kept, i, value_of_classes(load_lane(lanes, i)))


@njit
def keep_settled(kept: int, gradient: int, count: int) -> None:
    """NaN and infinities that the first round has settled."""
    for i in range(count):
        bits = load_i32(kept, i)
        if bits:
            store_i32(gradient, i, bits)


@njit
def data_owner(service_address: int, frame: int, tier: int) -> Any:
    """The core of a data frame. Called through ``compiled_calls``, as the next ones.

    Another rack's partial sum may arrive before this rack knows the operation: then it has no owner, and is
    retransmitted.
    """
    service, operation = service_at(service_address), load_be32(frame + OPERATION_AT)
    if tier and find(service, operation) == 0:
        return -1
    return owner(service, operation, load_be32(frame + CHUNK_AT))


@njit
def pass_release(server: Any, service: Any) -> None:
    """After the decision on a step: have all cores look for withheld results."""
    if service.release:
        service.release = 0
        server.release = 1


@njit
def complete_data(server_address: int, job_address: int, index: int, core: int) -> Any:
    """A complete data chunk, by its set: ANSWER or WITHHOLD."""
    server = server_at(server_address)
    service = service_at(job_at(job_address).service)
    verdict = take_data(server, service, set_at(server.sets + index * SET_BYTES), index, core)
    pass_release(server, service)
    return verdict


@njit
def complete_control(server_address: int, job_address: int, index: int, core: int) -> int:
    """A complete announcement or exponent chunk: ANSWER."""
    server = server_at(server_address)
    service = service_at(job_at(job_address).service)
    held = set_at(server.sets + index * SET_BYTES)
    lanes = server.sums + index * 4 * server.lanes
    if held.operator == ANNOUNCE:
        take_announcement(server, service, held, lanes)
    elif held.operator == MAX:
        take_exponents(service, held, lanes)
    pass_release(server, service)
    return ANSWER


@njit
def release_core(server_address: int, job_address: int, core: int) -> int:
    """Answer what was withheld of the blocks that a core owns, if a decision has been made."""
    server, job = server_at(server_address), job_at(job_address)
    service = service_at(job.service)
    if service.decision == UNDECIDED:
        return 0
    for place in range(2 * job.window):
        index = 2 * job.first_slot + place
        held = set_at(server.sets + index * SET_BYTES)
        if held.withheld == 0 or held.epoch != job.epoch or held.operator != SERVED or held.failed:
            continue
        if owner(service, held.operation, held.chunk) != core:
            continue
        if compiled_calls.complete_data(server, job, index, core) == ANSWER:
            held.withheld, held.complete = 0, 1
            answer_result(server, job, core, held, index, TO_ALL, held.marked)
    return 0


# --- jobs of several racks: what this rack adds to a full set before it goes to the next rack ---


@njit
def add_resync_state(server_address: int, job_address: int, index: int) -> int:
    """A full set of an announcement: add this rack's resynchronization state."""
    server = server_at(server_address)
    add_state(service_at(job_at(job_address).service), server.sums + index * 4 * server.lanes)
    return 0


@njit
def add_transferred_state(server_address: int, job_address: int, index: int) -> int:
    """A full set of data, if this rack sends its weights and optimizer state to others: put in those of the chunk."""
    server = server_at(server_address)
    service = service_at(job_at(job_address).service)
    held = set_at(server.sets + index * SET_BYTES)
    place = find(service, held.operation)
    if place == 0 or operation_at(place).part != GIVES:
        return 0
    operation = operation_at(place)
    key = key_at(key_of(service, operation.key))
    part = place_of(key, operation, held.chunk)[0]
    if part >= 0:
        lanes, count = server.sums + index * 4 * server.lanes, min(service.lanes, key.elements - part * service.lanes)
        answer_chunk(service, key, operation.buffer, side_at(key, part, service.step), part, held, lanes, count)
    return 0
