"""What a core sends: due retransmissions, then new chunks as far as the window, their inputs and frame memory allow.

Chunk c + W may go when result c has come (a bit in ``ready``), up to ``ahead`` windows beyond the lowest unfinished
one. Some wait for another result of the same operation (a data chunk for its exponents); they are marked in
``blocked`` until any result of that kind arrives. Both are bitmaps over the chunk ring.
"""

from __future__ import annotations

from typing import Any

from emulator.native.arithmetic import trailing_zeros
from emulator.native.jit import njit
from emulator.native.memory import load_i32, load_i64, store_be16, store_be32, store_i32, store_i64, zero_bytes
from hostagent.protocol.wire import FLAG_NO_DATA, FLAG_SHORT_RESULT, LANES_AT
from hostagent.protocol.worker import compiled_calls
from hostagent.protocol.worker.congestion import may_send, note_loss
from hostagent.protocol.worker.header import CHECKSUM_AT, EPOCH_AT, write_checksum, write_header
from hostagent.protocol.worker.lists import NONE, chunk_in, chunk_of, enter_list, head, leave_list
from hostagent.protocol.worker.operations import (
    flagged_list,
    has_result,
    is_served,
    operation_at_number,
    operation_of,
    operator_of,
    part_of,
)
from hostagent.protocol.worker.plan import data_position, exponent_position
from hostagent.protocol.worker.records import (
    DATA,
    DUE,
    FRESH,
    LOW,
    NO_LIST,
    OPERATION_BYTES,
    REPEATED,
    RUNNING,
    TAIL_DATA,
    TAIL_EXPONENT,
    TRANSMIT_BYTES,
    core_at,
    transmit_at,
)
from hostagent.protocol.worker.retransmission import (
    is_in_flight,
    newest_sent,
    note_overtaken,
    patient_until_ns,
    timer_ns,
)
from hostagent.protocol.worker.spans import needs_result

WORD_BITS = 64
MOST_PROBES = 2
"""Frames after a silence."""
EARLY_GROUPS = 2
"""Exponent chunks that may be sent before a served operation has been accepted."""


@njit
def set_ready(core: Any, number: int) -> None:
    """The window allows this chunk now."""
    place = number & (core.ring - 1)
    word = place // WORD_BITS
    store_i64(core.ready, word, load_i64(core.ready, word) | (1 << (place % WORD_BITS)))


@njit
def clear_ready(core: Any, number: int) -> None:
    """It has been sent."""
    place = number & (core.ring - 1)
    word = place // WORD_BITS
    store_i64(core.ready, word, load_i64(core.ready, word) & ~(1 << (place % WORD_BITS)))


@njit
def set_blocked(core: Any, number: int) -> None:
    """It waits for another chunk's result."""
    place = number & (core.ring - 1)
    word = place // WORD_BITS
    store_i64(core.blocked, word, load_i64(core.blocked, word) | (1 << (place % WORD_BITS)))


@njit
def clear_blocked(core: Any) -> None:
    """Something that chunks wait for has come: look at all of them again."""
    zero_bytes(core.blocked, core.ring // 8)


@njit
def has_inputs(core: Any, operation: Any, part: int, index: int) -> Any:
    """Have the results come that this chunk's contribution is made with?"""
    if operation.exact:
        return True  # an exact sum's data are numbered when their exponents have come
    if part == LOW:
        return has_result(core, operation.first + index)
    group, grouped_first = operation.group_chunks, operation.first + operation.lead
    if operation.lead and (part == DATA or index >= EARLY_GROUPS) and not has_result(core, operation.first):
        return False
    if part == DATA:
        return operation.groups == 0 or has_result(core, grouped_first + exponent_position(index // group, group))
    tail_first = grouped_first + operation.chunks + operation.groups
    if part == TAIL_DATA:
        return has_result(core, tail_first + exponent_position(index // group, group))
    if part == TAIL_EXPONENT:
        # its chunks' first rounds must be settled; waiting for all before the last of them is simpler and never wrong
        last = min((index + 1) * group, operation.tail) - 1
        chunk = load_i32(flagged_list(operation), last)
        return core.low > grouped_first + data_position(chunk, operation.chunks, group)
    return True


@njit
def frame_address(core: Any, chunk: Any) -> Any:
    """Where a chunk's frame is."""
    return core.pool + chunk.frame * core.stride_bytes


@njit
def release_frames(core: Any) -> None:
    """Take back the frames of chunks that nobody can ask for any more. A restart goes back by no more than a window:
    while a rank lacks a chunk's result, it has not contributed to the one a window beyond, so no rank has that one's.
    What this epoch has yet to answer is kept though all ranks have it from an earlier one: its slot goes on with this
    rank's contribution. The last that came back is used first: it is in the cache."""
    end = min(core.low - core.largest_window, core.floor)
    while core.retained < end:
        store_i32(core.unused_frames, core.unused, chunk_of(core, core.retained).frame)
        core.unused += 1
        core.retained += 1


@njit
def take_frame(core: Any, chunk: Any, consumed: int) -> bool:
    """Give a chunk a frame; False while whoever reads its last posting has not finished."""
    release_frames(core)
    frame = load_i32(core.unused_frames, core.unused - 1)
    if load_i64(core.posted, frame) > consumed:
        return False
    core.unused -= 1
    chunk.frame = frame
    return True


@njit
def build(core: Any, number: int, sequence: int, part: int, index: int) -> None:
    """Write a chunk's contribution into its frame and fill in its record."""
    operation = operation_of(core, sequence)
    chunk = chunk_of(core, number)
    frame = frame_address(core, chunk)
    lanes = frame + LANES_AT
    slot = sequence & (core.operation_ring - 1)
    operation_address = core.operations + slot * OPERATION_BYTES
    has_data = compiled_calls.fill_lanes(core, is_served(operation), operation_address, part, index, lanes) != 0
    is_short = not has_data and core.short_no_data != 0
    if not has_data and not is_short:
        zero_bytes(lanes, 4 * core.lanes)
    operator = operator_of(operation, part)
    chunk.short_result = 0 if needs_result(core, operation, part, index) else 1
    flags = FLAG_SHORT_RESULT * chunk.short_result + (0 if has_data else FLAG_NO_DATA)
    write_header(core, frame, is_short, flags, operator, number, operation.hash)
    length = LANES_AT if is_short else LANES_AT + 4 * core.lanes
    if core.checksum:
        write_checksum(frame, length)
    chunk.number = number
    chunk.built_epoch = core.epoch
    chunk.seen_epoch = 0
    chunk.operation_hash = operation.hash
    chunk.operation_slot = slot
    chunk.part = part
    chunk.index = index
    chunk.operator = operator
    chunk.stored = 0
    chunk.length = length
    core.top = max(core.top, number + 1)


@njit
def readdress(core: Any, chunk: Any) -> None:
    """Bring a kept frame into the current epoch; its lanes stay as they were."""
    frame = frame_address(core, chunk)
    store_be32(frame + EPOCH_AT, core.epoch)
    if core.checksum:
        store_be16(frame + CHECKSUM_AT, 0)
        write_checksum(frame, chunk.length)
    chunk.built_epoch = core.epoch


@njit
def emit(core: Any, out: int, count: int, place: int, now_ns: int) -> None:
    """Hand a frame over for posting, and start to wait for its answer."""
    chunk, order = chunk_in(core, place), transmit_at(out + count * TRANSMIT_BYTES)
    order.address = frame_address(core, chunk)
    order.length = chunk.length
    order.frame = chunk.frame
    leave_list(core, place)
    chunk.sent_ns = now_ns
    chunk.is_lost = 0
    chunk.reported_ns = 0
    if chunk.tries == 0:
        chunk.first_sent_ns = now_ns
    else:
        core.retransmissions_sent += 1
        core.retransmitted_bytes += chunk.length
    enter_list(core, place, REPEATED if chunk.tries > 0 else FRESH)
    chunk.tries += 1
    core.frames_sent += 1
    core.bytes_sent += chunk.length


@njit
def prepare(core: Any, number: int, consumed: int) -> bool:
    """Make a ready chunk's frame, or find that it has to wait."""
    chunk = chunk_of(core, number)
    if chunk.number == number:
        if load_i64(core.posted, chunk.frame) > consumed:
            return False
        readdress(core, chunk)  # sent in an earlier epoch: a replay has the same bits
    else:
        sequence = operation_at_number(core, number)
        part, index = part_of(operation_of(core, sequence), number)
        if not has_inputs(core, operation_of(core, sequence), part, index):
            set_blocked(core, number)
            return False
        if not take_frame(core, chunk, consumed):
            return False
        build(core, number, sequence, part, index)
    chunk.tries = 0
    chunk.list = NO_LIST
    return True


@njit
def core_poll_transmit(address: int, out: int, capacity: int, consumed: int, now_ns: int) -> Any:
    """Frames to post now, in order, as TRANSMIT records at ``out``; returns how many (at most ``capacity``).

    All of them count as sent: the caller posts each and writes the posting's sequence number to ``posted[frame]``.
    ``consumed`` is the last sequence number whose reader has finished. Also does what the timer is for. Call it after
    receiving, after submitting, when ``core_next_timer`` is due, and when there is room again after a full ``out``.
    """
    core = core_at(address)
    if core.state != RUNNING:
        return 0
    note_overtaken(core, now_ns)
    count = send_probes(core, out, capacity, now_ns)
    end = min(core.floor + core.ahead * core.window, core.numbered_end)
    count = send_due(core, out, capacity, count, True, now_ns)
    count = send_new(core, out, capacity, count, consumed, end, now_ns)
    return send_due(core, out, capacity, count, False, now_ns)


@njit
def send_probes(core: Any, out: int, capacity: int, now_ns: int) -> int:
    """After too long a silence, whatever the congestion window: the chunk sent last, and the lowest unfinished.

    Where only the latter is in flight it goes twice: two frames are lost less easily than one.
    """
    if capacity < MOST_PROBES or now_ns < timer_ns(core):
        return 0
    core.backoff += 1
    count, place, lowest = 0, newest_sent(core), core.floor & (core.ring - 1)
    if place != NONE and place != lowest:
        emit(core, out, count, place, now_ns)
        count += 1
    if is_in_flight(core, core.floor):
        while count < MOST_PROBES:
            emit(core, out, count, lowest, now_ns)
            count += 1
    core.timer_began_ns = now_ns
    core.retransmissions_by_timeout += count
    return count


@njit
def send_due(core: Any, out: int, capacity: int, count: int, only_lost: bool, now_ns: int) -> int:
    """Lost chunks, or also overtaken ones whose turn it is, as far as the congestion window allows."""
    place = head(core, DUE)
    while place != NONE and count < capacity:
        chunk = chunk_in(core, place)
        following = chunk.next
        is_due = chunk.is_lost or (not only_lost and now_ns >= patient_until_ns(core, chunk))
        if is_due and may_send(core, chunk.number):
            emit(core, out, count, place, now_ns)
            core.retransmissions_by_overtaking += 1
            note_loss(core)
            count += 1
        place = following
    return count


@njit
def send_new(core: Any, out: int, capacity: int, count: int, consumed: int, end: int, now_ns: int) -> int:
    """Ready chunks from the lowest unfinished up to ``end``, 64 at a time, as the congestion window allows."""
    base = core.floor - (core.floor & (WORD_BITS - 1))
    while base < end and count < capacity:
        word = (base & (core.ring - 1)) // WORD_BITS
        candidates = load_i64(core.ready, word) & ~load_i64(core.blocked, word)
        while candidates != 0 and count < capacity:
            number = base + trailing_zeros(candidates)
            candidates &= candidates - 1
            if number < core.floor or number >= end:
                continue
            if not may_send(core, number):
                core.limited = 1
                return count
            if prepare(core, number, consumed):
                clear_ready(core, number)
                emit(core, out, count, number & (core.ring - 1), now_ns)
                count += 1
        base += WORD_BITS
    return count
