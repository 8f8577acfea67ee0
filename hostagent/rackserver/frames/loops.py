"""A contribution's way through the server: owned by one core, classified, added to its set, answered.

The slot rule is the protocol's, as in `hostagent.protocol.reference`. Each core looks at all frames of a batch and
takes those that it owns: a set belongs to one core for good (tall aggregation), so nothing here locks.

What every frame passes is compiled into its caller (``forceinline``): calls were an eighth of a sum's instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.arithmetic import trailing_zeros
from emulator.native.jit import njit
from emulator.native.memory import (
    load_be16,
    load_be32,
    load_i64,
    load_u8,
    load_u32,
    prefetch,
    store_be32,
    store_i64,
    store_u32,
)
from emulator.native.pages import CACHE_LINE_BYTES
from emulator.native.syscalls import monotonic_ns
from hostagent.protocol.counters import VERDICT_COLUMNS, Verdict
from hostagent.protocol.wire import FLAG_NO_DATA, FLAG_SHORT_RESULT, LANES_AT
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
from hostagent.rackserver.compiled_calls import TO_ALL
from hostagent.rackserver.frames.answers import ERROR, RESULT, WAITING
from hostagent.rackserver.frames.forward import forward
from hostagent.rackserver.frames.validate import ANNOUNCE, CONTRIBUTION, MAX, MESSAGE, SERVED, row_of, sender
from hostagent.rackserver.records import (
    CHILD_BYTES,
    COUNTERS,
    JOB_BYTES,
    MAX_CHILDREN,
    MAX_JOBS,
    MOST_PENDING,
    MOST_PICKED,
    PENDING,
    PENDING_ENTRY_BYTES,
    SET_BYTES,
    TOGETHER,
    child_at,
    job_at,
    pending_at,
    server_at,
    set_at,
)
from hostagent.rackserver.tenants.fair_queueing import count_frame

assert COUNTERS.fields is not None
assert PENDING.fields is not None
TABLE, ENTRIES, ENTRY_BYTES = PENDING.fields["together"][1], PENDING.itemsize, PENDING_ENTRY_BYTES
VERDICTS, VERDICT_BYTES = COUNTERS.fields["verdicts"][1], COUNTERS.fields["verdict_bytes"][1]
DROPS, FRAMES = COUNTERS.fields["drops"][1], COUNTERS.fields["frames"][1]
STEPS_NS, STEPS_DONE = COUNTERS.fields["steps_ns"][1], COUNTERS.fields["steps"][1]
LANE_BYTES, BUSY = COUNTERS.fields["lane_bytes"][1], COUNTERS.fields["busy_ns"][1]

ACCEPTED, ACCEPTED_NO_DATA = int(Verdict.ACCEPTED), int(Verdict.ACCEPTED_NO_DATA)
COMPLETED, SERVED_AGAIN, WAITED = int(Verdict.COMPLETED), int(Verdict.SERVED_AGAIN), int(Verdict.WAITING)
FAILED, OUTSIDE_WINDOW, MISMATCH = int(Verdict.ERROR), int(Verdict.OUTSIDE_WINDOW), int(Verdict.MISMATCH)
FORWARDED, PARTIAL_AGAIN = int(Verdict.FORWARDED), int(Verdict.PARTIAL_AGAIN)
MASK = 0xFFFFFFFF

AHEAD, LINES = 6, 2
"""How many frames ahead, and how many of their cache lines, are prefetched: the head, and as much as the hardware
prefetcher needs to load the rest. With 8 or all 17 lines of 1 KiB a sum took 5 to 10 % more CPU time, with 2 frames as
much."""
HEADS_AHEAD = 16
"""How many frames ahead a core prefetches the line that identifies a frame's owner."""
SETS_AHEAD = 4
"""When a set gets its first contribution one line of the lanes of the set this far ahead is prefetched; the hardware
prefetcher loads the rest. Prefetching all lines of the set itself cost eight tenants 8 % more CPU time."""
NOBODY = -1
ANSWER, WITHHOLD = 0, 1
"""A service's decision on a complete set: answer it; answer it later."""


@njit(forceinline=True)
def add_to(address: int, amount: int) -> None:
    """Add to one of this core's counters."""
    store_i64(address, load_i64(address) + amount)


@njit(forceinline=True)
def count(counters: int, job: Any, bit: int, verdict: int, length: int) -> None:
    """Count a contribution that reached the slot rule, or a frame for another child. Those of other racks are counted
    there."""
    if job.tier and job.full >> bit & 1 == 0:
        return
    add_to(counters + VERDICTS + 8 * ((job.row * MAX_CHILDREN + bit) * VERDICT_COLUMNS + verdict), 1)
    add_to(counters + VERDICT_BYTES + 8 * (job.row * VERDICT_COLUMNS + verdict), length)


@njit
def owner_of(server: Any, frame: int, length: int) -> Any:
    """The core that a frame belongs to. What is of no job is core 0's."""
    row = row_of(server, frame, length)
    if row < 0:
        return 0
    job = job_at(server.jobs + row * JOB_BYTES)
    if job.service:
        if load_u8(frame + OPERATOR_AT, 0) != SERVED:
            return job.home
        return compiled_calls.data_owner(server, job, frame)
    slot = job.first_slot + (load_be32(frame + CHUNK_AT) & (job.window - 1))
    return (slot >> job.block_log2) % server.cores


@njit
def serve(address: int, core: int, addresses: int, lengths: int, ports: int, frames: int) -> None:
    """One core's part of a batch."""
    server = server_at(address)
    counters = server.counters + core * server.counter_bytes
    started_ns = monotonic_ns()
    queues = server.fair_queues if core == 0 else 0
    mine, first = 0, 0
    while first < frames:
        end, picked, count = frames, 0, frames
        if server.cores > 1:
            end, picked = min(first + MOST_PICKED, frames), picked_by(server, core)
            count = pick(server, core, queues, addresses, lengths, ports, first, end)
        first_of_port, served = 0, 0
        for place in range(count):
            index = place if picked == 0 else load_u32(picked + 4 * place)
            frame, length = load_i64(addresses + 8 * index), load_u32(lengths + 4 * index)
            if place + AHEAD < count:
                ahead = index + AHEAD if picked == 0 else load_u32(picked + 4 * (place + AHEAD))
                later = load_i64(addresses + 8 * ahead)
                for line in range(LINES):
                    prefetch(later + CACHE_LINE_BYTES * line)
            if queues and picked == 0:
                first_of_port, served = count_frame(queues, ports, index, end, frame, length, first_of_port, served)
            take_frame(server, core, frame, length, load_u32(ports + 4 * index))
        mine, first = mine + count, end
    settle_all(server, core)
    add_to(counters + FRAMES, mine)
    add_to(counters + BUSY, monotonic_ns() - started_ns)


@njit(forceinline=True)
def picked_by(server: Any, core: int) -> Any:
    """Where `pick` notes the numbers of a core's frames."""
    return server.picked + 4 * MOST_PICKED * core


@njit
def pick(server: Any, core: int, queues: int, addresses: int, lengths: int, ports: int, first: int, end: int) -> Any:
    """List the frames from ``first`` to ``end`` that a core owns; returns their number. Of other frames it reads only
    the line that identifies the owner. ``queues``: as in SERVER if this core counts the frames, otherwise 0."""
    count, first_of_port, served = 0, first, 0
    for index in range(first, end):
        if index + HEADS_AHEAD < end:
            prefetch(load_i64(addresses + 8 * (index + HEADS_AHEAD)) + CHUNK_AT)
        frame, length = load_i64(addresses + 8 * index), load_u32(lengths + 4 * index)
        if queues:
            first_of_port, served = count_frame(queues, ports, index, end, frame, length, first_of_port, served)
        if owner_of(server, frame, length) == core:
            store_u32(picked_by(server, core) + 4 * count, index)
            count += 1
    return count


@njit(forceinline=True)
def take_frame(server: Any, core: int, frame: int, length: int, port: int) -> None:
    """A frame of this core's: a contribution, one child's for another, what another rack or a parent says, or none
    of ours."""
    row = row_of(server, frame, length)
    bit = sender(server, core, row, frame, length, port)
    if bit < 0:
        add_to(server.counters + core * server.counter_bytes + DROPS + 8 * ~bit, 1)
        return
    kind = load_u8(frame + KIND_AT, 0)
    if kind == CONTRIBUTION:
        contribute(server, core, row, bit, frame, length)
    elif kind >= MESSAGE:
        job = job_at(server.jobs + row * JOB_BYTES)
        count(server.counters + core * server.counter_bytes, job, bit, FORWARDED, length)
        forward(server, job, core, frame, length)
    elif job_at(server.jobs + row * JOB_BYTES).elsewhere:
        compiled_calls.take_parent_frame(server, core, frame, length, bit)
    else:
        compiled_calls.take_rack_frame(server, core, frame, length, bit)


@njit
def finish(address: int, core: int) -> None:
    """After a batch in which a service has decided: answer what it withheld in the blocks that this core owns."""
    server = server_at(address)
    for row in range(MAX_JOBS):
        job = job_at(server.jobs + row * JOB_BYTES)
        if job.service:
            compiled_calls.release_core(server, job, core)


@njit(forceinline=True)
def contribute(server: Any, core: int, row: int, bit: int, frame: int, length: int) -> None:
    """Which set the chunk belongs to, and whether that set is or may become this chunk's."""
    counters = server.counters + core * server.counter_bytes
    job = job_at(server.jobs + row * JOB_BYTES)
    chunk = load_be32(frame + CHUNK_AT)
    index = set_index(job, chunk)
    held = set_at(server.sets + index * SET_BYTES)
    accepts, fresh = takes(job, held, chunk)
    if accepts and fresh and job.tier and job.service and held.operator == MAX and held.epoch == job.epoch:
        accepts = compiled_calls.may_be_replaced(server, job, index)
    if not accepts:
        count(counters, job, bit, OUTSIDE_WINDOW, length)
        return
    if fresh:
        open_set(held, job, chunk, frame)
    enter(server, core, job, held, index, bit, frame, length)


@njit(forceinline=True)
def set_index(holder: Any, chunk: int) -> Any:
    """The set of a chunk, of a job or its service: two to a slot. Sets that follow each other have neighbours' lanes,
    which the processor fetches ahead."""
    return 2 * holder.first_slot + (chunk & (2 * holder.window - 1))


@njit(forceinline=True)
def takes(job: Any, held: Any, chunk: int) -> tuple[bool, bool]:
    """Whether the chunk may be the set's, and whether the set is another chunk's until now."""
    if held.epoch != job.epoch:
        return ((chunk - job.base) & MASK) < 2 * job.window, True
    if held.chunk == chunk:
        return True, False
    is_over = held.complete != 0 and held.failed == 0
    return is_over and chunk == (held.chunk + 2 * job.window) & MASK, True


@njit(forceinline=True)
def open_set(held: Any, job: Any, chunk: int, frame: int) -> None:
    """The set is this chunk's from here on."""
    held.came = 0
    held.epoch = job.epoch
    held.chunk = chunk
    held.operation = load_be32(frame + OPERATION_AT)
    held.first_child = load_be16(frame + CHILD_AT)
    held.operator = load_u8(frame + OPERATOR_AT, 0)
    held.failed = 0
    held.has_data = 0
    held.complete = 0
    held.withheld = 0
    held.short_result = 0
    held.begun = 0
    held.marked = 0
    held.pending = 0
    held.partial, held.total, held.total_has_data, held.above, held.asked = 0, 0, 0, 0, 0


@njit(forceinline=True)
def enter(server: Any, core: int, job: Any, held: Any, index: int, bit: int, frame: int, length: int) -> None:
    """A contribution to the set that it belongs to."""
    counters = server.counters + core * server.counter_bytes
    operation, operator = load_be32(frame + OPERATION_AT), wide(load_u8(frame + OPERATOR_AT, 0))
    words, marked = server.scratch + core * server.scratch_bytes, is_marked(frame)
    if held.failed:
        count(counters, job, bit, FAILED, length)
        write_error(words, held)
        compiled_calls.answer(server, job, core, ERROR, bit, operator, held.chunk, operation, words, False, marked)
    elif operation != held.operation or operator != held.operator:
        held.failed = 1
        held.other_operation = operation
        held.other_child = load_be16(frame + CHILD_AT)
        count(counters, job, bit, MISMATCH, length)
        write_error(words, held)
        compiled_calls.answer(server, job, core, ERROR, TO_ALL, operator, held.chunk, operation, words, False, marked)
        if job.tier:
            compiled_calls.propagate_error(server, job, index, core, NOBODY)
    elif held.came >> bit & 1 == 0:
        take(server, core, job, held, index, bit, frame, length)
    elif job.tier:
        count(counters, job, bit, SERVED_AGAIN if held.complete else WAITED, length)
        compiled_calls.answer_duplicate(server, job, index, core, bit)
    elif held.partial:
        count(counters, job, bit, PARTIAL_AGAIN, length)
        compiled_calls.send_up(server, job, index, core, load_be16(frame + CHILD_AT), marked)
    elif held.complete:
        count(counters, job, bit, SERVED_AGAIN, length)
        answer_result(server, job, core, held, index, bit, marked)
    else:
        count(counters, job, bit, WAITED, length)
        known = held.came | job.elsewhere
        write_words(words, known >> 32, known, 0, 0)
        compiled_calls.answer(server, job, core, WAITING, bit, operator, held.chunk, operation, words, False, marked)


@njit
def wide(value: int) -> Any:
    """A narrow field as a 64-bit integer."""
    return np.int64(value)


@njit
def write_words(words: int, first: int, second: int, third: int, fourth: int) -> None:
    """Lanes 0 to 3 of an answer; those behind them are zeros for ever."""
    store_be32(words, first)
    store_be32(words + 4, second)
    store_be32(words + 8, third)
    store_be32(words + 12, fourth)


@njit
def write_error(words: int, held: Any) -> None:
    """Description of a failed set for an error message."""
    write_words(words, wide(held.operation), wide(held.other_operation), wide(held.first_child), wide(held.other_child))


@njit(forceinline=True)
def mask_of(server: Any, job: Any, bit: int) -> Any:
    """The bits that a child's contributions set."""
    return child_at(server.children + (job.row * MAX_CHILDREN + bit) * CHILD_BYTES).mask


@njit(forceinline=True)
def take(server: Any, core: int, job: Any, held: Any, index: int, bit: int, frame: int, length: int) -> None:
    """A first copy."""
    counters = server.counters + core * server.counter_bytes
    flags = load_u8(frame + FLAGS_AT, 0)
    no_data = flags & FLAG_NO_DATA != 0
    count(counters, job, bit, ACCEPTED_NO_DATA if no_data else ACCEPTED, length)
    mask = mask_of(server, job, bit)
    held.came |= mask
    if flags & FLAG_SHORT_RESULT and job.tier == 0:
        held.asked |= mask
    full = compiled_calls.full_bitmap(server, job, wide(held.chunk)) if job.tier else job.full
    is_last = held.came == full
    if is_marked(frame):
        held.marked = 1
    if not no_data:
        held.has_data = 1
        note(server, core, held, index, frame + LANES_AT)
    if not is_last:
        return
    settle(server, core, held, index, True)
    if job.tier:
        compiled_calls.forward_full_set(server, job, index, core)
        return
    count(counters, job, bit, COMPLETED, length)
    if job.elsewhere:
        held.partial = 1
        compiled_calls.send_up(server, job, index, core, load_be16(frame + CHILD_AT), held.marked)
    else:
        conclude(server, core, job, held, index)


@njit
def conclude(server: Any, core: int, job: Any, held: Any, index: int) -> None:
    """All contributions are in: answer, or let the service say when."""
    if job.service:
        if held.operator == SERVED:
            verdict = compiled_calls.complete_data(server, job, index, core)
        else:
            verdict = compiled_calls.complete_control(server, job, index, core)
        if verdict == WITHHOLD:
            held.withheld = 1
            return
    held.complete = 1
    answer_result(server, job, core, held, index, TO_ALL, held.marked)


@njit(forceinline=True)
def note(server: Any, core: int, held: Any, index: int, lanes: int) -> None:
    """A contribution's lanes, to be added when the set is complete or the batch is over: frames stay until then."""
    pending = pending_at(server.pending + core * server.pending_bytes)
    if pending.count == MOST_PENDING:
        settle_all(server, core)
    entry = pending.address + ENTRIES + ENTRY_BYTES * pending.count
    store_i64(entry, lanes)
    store_i64(entry + 8, index)
    store_i64(entry + 16, wide(held.pending))
    if held.pending == 0:
        pending.open += 1
        prefetch(server.sums + (index + SETS_AHEAD) * 4 * server.lanes)
    pending.count += 1
    held.pending = pending.count


@njit
def settle(server: Any, core: int, held: Any, index: int, is_last: Any) -> None:
    """Add a set's contributions of this batch to its lanes, several per pass; ``is_last``: into network order."""
    pending = pending_at(server.pending + core * server.pending_bytes)
    is_maximum = held.operator == MAX or held.operator == ANNOUNCE
    lanes, number = server.sums + index * 4 * server.lanes, wide(held.pending)
    while True:
        count = 0
        while number != 0 and count < TOGETHER:
            entry = pending.address + ENTRIES + ENTRY_BYTES * (number - 1)
            store_i64(pending.address + TABLE + 8 * count, load_i64(entry))
            number = load_i64(entry + 16)
            count += 1
        table, ends = pending.address + TABLE, is_last and number == 0
        compiled_calls.combine(server, lanes, table, count, held.begun, ends, is_maximum)
        if count > 0:
            held.begun = 1
        if number == 0:
            break
    if held.pending != 0:
        held.pending = 0
        pending.open -= 1


@njit
def settle_all(server: Any, core: int) -> None:
    """Add what a batch has brought to sets that are not complete."""
    pending = pending_at(server.pending + core * server.pending_bytes)
    for number in range(pending.count if pending.open != 0 else 0):
        index = load_i64(pending.address + ENTRIES + ENTRY_BYTES * number + 8)
        held = set_at(server.sets + index * SET_BYTES)
        if held.pending != 0:
            settle(server, core, held, index, False)
    add_to(server.counters + core * server.counter_bytes + LANE_BYTES, 4 * server.lanes * pending.count)
    pending.count = 0


@njit
def answer_result(server: Any, job: Any, core: int, held: Any, index: int, receiver: int, marked: Any) -> None:
    """A complete set's lanes, to the child with the bit ``receiver``, or TO_ALL; ``marked``: with a mark (ECN)."""
    lanes = server.sums + index * 4 * server.lanes if held.has_data else 0
    short, asked = held.short_result, 0 if job.tier else held.asked
    about = held.operator, held.chunk, held.operation
    left = job.copies if receiver == TO_ALL else wide(1) << receiver
    while left != 0:
        bit = trailing_zeros(left)
        is_asked = asked & mask_of(server, job, bit) != 0
        compiled_calls.answer(server, job, core, RESULT, bit, *about, lanes, short, marked, is_asked)
        left &= left - 1
