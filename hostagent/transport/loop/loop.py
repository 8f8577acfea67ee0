"""A turn of the transport loop: everything that happens to frames between a process' port and its worker cores.

It obeys commands, takes submitted operations and received frames to their cores, posts what the cores want to send,
reports what has finished, and sends heartbeats to the controller. Who takes the turns, and when: ``turns``.
"""

from __future__ import annotations

from typing import Any

from emulator.native.atomics import atomic_add64, fence, load_acquire64, store_release64
from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u8, load_u32, store_i64, store_u8
from emulator.native.syscalls import futex_wake, monotonic_ns, write_descriptor
from emulator.ports.batch import batch_at
from emulator.ports.host import (
    host_consumed,
    host_flush,
    host_post,
    host_posted,
    host_receive,
    host_release,
)
from hostagent.protocol.messages import REQUEST as MESSAGE_REQUEST
from hostagent.protocol.messages import core_at as message_core_at
from hostagent.protocol.messages import (
    is_forwarded,
    message_fail,
    message_freeze,
    message_needs_left,
    message_next_timer,
    message_peer_left,
    message_poll_transmit,
    message_receive,
    message_resume,
    message_submit,
    message_take_completion,
)
from hostagent.protocol.operation import REQUEST
from hostagent.protocol.worker import (
    FAILED,
    FAILED_BY_CALLER,
    JOB_FAILED,
    NEVER_NS,
    QUEUE_FULL,
    REFUSED,
    TRANSMIT_BYTES,
    core_at,
    core_fail,
    core_freeze,
    core_next_timer,
    core_poll_transmit,
    core_receive,
    core_resume,
    core_submit,
    core_take_completion,
    frame_job,
    transmit_at,
)
from hostagent.transport.loop.records import (
    DETACH,
    DONE_SHIFT,
    ENGINE_SLOTS_USED,
    FAIL,
    FREEZE,
    IN_TRANSIT,
    JOB_COMMAND_DONE,
    JOB_COMPLETIONS,
    JOB_LIMIT,
    JOB_MESSAGE_TAIL,
    JOB_MESSAGE_TRANSMIT_QUEUE,
    JOB_REQUEST_TAIL,
    JOB_TICKET,
    JOB_TRANSMIT_QUEUE,
    JOB_WAITERS,
    LEAST_STALL_NS,
    MESSAGE_NUMBERS,
    PEER_LEFT,
    RECEIVE_MOST,
    RESUME,
    TRANSMIT_CAPACITY,
    engine_at,
    job_at,
    transmit_queue_at,
)
from hostagent.transport.session.terms import HEARTBEAT, HEARTBEAT_INTERVAL_NS

REQUEST_BYTES = REQUEST.itemsize
MESSAGE_REQUEST_BYTES = MESSAGE_REQUEST.itemsize
HEARTBEAT_BYTES = HEARTBEAT.size
HEARTBEAT_COUNTER_AT = HEARTBEAT_BYTES - 8

FAILED_REFUSED = FAILED_BY_CALLER + 8
FAILED_PEER_LEFT = FAILED_BY_CALLER + 9
"""The loop's own causes: a request that the core does not take, which is a bug of the caller; an operation that needs a
rank which has left. Causes from FAILED_BY_CALLER up to these are parameters of the command FAIL."""

ALL_WAITERS = 2**30


@njit
def turn(engine_address: int, now_ns: int) -> Any:
    """One turn of all jobs; how much was done. Notes in the record when the next is due if nothing happens."""
    engine = engine_at(engine_address)
    engine.turns += 1
    worked = take_frames(engine, now_ns)
    due_ns, starved = NEVER_NS, 0
    for slot in range(load_acquire64(engine_address + ENGINE_SLOTS_USED)):
        address = load_acquire64(engine.jobs + 8 * slot)
        if address != 0:
            worked += serve(engine, address, slot, now_ns)
            due_ns = min(due_ns, job_at(address).due_ns)
            starved |= job_at(address).starved
    host_flush(engine.port)
    beat(engine, now_ns)
    if engine.heartbeat_socket >= 0:
        due_ns = min(due_ns, engine.next_heartbeat_ns)
    engine.due_ns, engine.starved = due_ns, starved
    if worked > 0:
        engine.active_ns = now_ns
    return worked


@njit
def take_frames(engine: Any, now_ns: int) -> Any:
    """Give received frames to the cores of their jobs; how many there were."""
    batch = engine.batch
    batch_at(batch).count = 0
    host_receive(engine.port, batch, RECEIVE_MOST)
    count = batch_at(batch).count
    addresses, lengths = batch_at(batch).addresses, batch_at(batch).lengths
    for index in range(count):
        frame, length = load_i64(addresses + 8 * index), load_u32(lengths + 4 * index)
        address = job_of_frame(engine, frame, length)
        if address == 0:
            engine.frames_for_no_job += 1
            continue
        job = job_at(address)
        if not is_forwarded(frame, length):
            core_receive(job.core, frame, length, now_ns)
        elif job.messages != 0:
            message_receive(job.messages, frame, length, now_ns)
        job.busy = 1
    if count > 0:
        host_release(engine.port)
        engine.frames_received += count
        engine.stall_ns = LEAST_STALL_NS
    return count


@njit
def job_of_frame(engine: Any, frame: int, length: int) -> Any:
    """The JOB record of the job that a frame says it is for; 0 if it is none of ours. The core checks
    everything else."""
    number = frame_job(frame, length)
    slot = load_u8(engine.slot_of_job + number) if number >= 0 else 0
    return 0 if slot == 0 else load_acquire64(engine.jobs + 8 * (slot - 1))


@njit
def serve(engine: Any, address: int, slot: int, now_ns: int) -> Any:
    """One turn of one job; how much was done."""
    job = job_at(address)
    worked = 0
    if load_acquire64(address + JOB_TICKET) != job.command_done:
        worked += 1
        if obey(engine, address, slot, now_ns) == DETACH:
            return worked
    worked += submit_requests(address)
    if job.messages != 0:
        worked += submit_messages(address)
    check_limit(address)
    if job.busy != 0 or job.starved != 0 or worked > 0 or now_ns >= job.due_ns:
        job.busy = 0
        worked += transmit(engine, address, now_ns)
        job.due_ns = core_next_timer(job.core)
        if job.messages != 0:
            worked += transmit_messages(engine, address, now_ns)
            job.due_ns = min(job.due_ns, message_next_timer(job.messages), check_left(address, now_ns))
    return worked + report_finished(address)


@njit
def obey(engine: Any, address: int, slot: int, now_ns: int) -> Any:
    """Carry out the job's pending command, and say so."""
    job = job_at(address)
    ticket, command = load_acquire64(address + JOB_TICKET), job.command
    result = 0
    if command == FREEZE:
        empty_queue(engine, transmit_queue_at(address + JOB_TRANSMIT_QUEUE))
        empty_queue(engine, transmit_queue_at(address + JOB_MESSAGE_TRANSMIT_QUEUE))
        result = core_freeze(job.core)
        if job.messages != 0:
            message_freeze(job.messages)
    elif command == RESUME:
        result = 1 if core_resume(job.core, job.command_epoch, job.command_base, now_ns) else 0
        if job.messages != 0:
            message_resume(job.messages, job.command_epoch, now_ns)
    elif command == PEER_LEFT:
        if job.messages != 0:
            message_peer_left(job.messages, job.command_code, now_ns)
    elif command == FAIL:
        fail_cores(address)
    elif command == DETACH:
        fail_cores(address)
        submit_requests(address)
        if job.messages != 0:
            submit_messages(address)
        report_finished(address)
        store_u8(engine.slot_of_job + job.number, 0)
        store_release64(engine.jobs + 8 * slot, 0)
    job.command_result = result
    job.busy = 1
    store_release64(address + JOB_COMMAND_DONE, ticket)
    wake_waiters(address)
    return command


@njit
def fail_cores(address: int) -> None:
    """End the job here."""
    job = job_at(address)
    core_fail(job.core, job.command_code)
    if job.messages != 0:
        message_fail(job.messages, job.command_code)


@njit
def submit_requests(address: int) -> Any:
    """Hand submitted operations to the core, as many as it takes."""
    job = job_at(address)
    tail = load_acquire64(address + JOB_REQUEST_TAIL)
    head = job.request_head
    while head != tail:
        request = job.requests + (head & job.request_mask) * REQUEST_BYTES
        taken = core_submit(job.core, request)
        if taken == QUEUE_FULL:
            break
        if taken == REFUSED:
            core_fail(job.core, FAILED_REFUSED)
        if taken in (REFUSED, JOB_FAILED):
            mark_done(address, head, core_at(job.core).failure)
        head += 1
    count = head - job.request_head
    if count > 0:
        job.request_head = head
        wake_waiters(address)
    return count


@njit
def submit_messages(address: int) -> Any:
    """Hand submitted sends and receives to the message core."""
    job = job_at(address)
    tail = load_acquire64(address + JOB_MESSAGE_TAIL)
    head = job.message_head
    while head != tail:
        request = job.message_requests + (head & job.message_mask) * MESSAGE_REQUEST_BYTES
        taken = message_submit(job.messages, request)
        if taken == QUEUE_FULL:
            break
        if taken == REFUSED:
            message_fail(job.messages, FAILED_REFUSED)
        if taken in (REFUSED, JOB_FAILED):
            mark_done(address, load_i64(request, 0), message_core_at(job.messages).failure)
        head += 1
    count = head - job.message_head
    if count > 0:
        job.message_head = head
        wake_waiters(address)
    return count


@njit
def check_left(address: int, now_ns: int) -> Any:
    """Fail the job's messages where one needs a rank that has left; returns when to look again."""
    job = job_at(address)
    needed, when_ns = message_needs_left(job.messages, now_ns)
    if needed >= 0:
        message_fail(job.messages, FAILED_PEER_LEFT)
    return when_ns


@njit
def check_limit(address: int) -> None:
    """Fail the job once nothing is left but operations that need a rank which has left."""
    job = job_at(address)
    limit = load_acquire64(address + JOB_LIMIT)
    core = core_at(job.core)
    if core.low >= limit and core.numbered_end > limit and core.state != FAILED:
        core_fail(job.core, FAILED_PEER_LEFT)


@njit
def transmit(engine: Any, address: int, now_ns: int) -> Any:
    """Post what the worker core wants to send, until it wants nothing more or the port is full; how many frames."""
    job = job_at(address)
    queue = transmit_queue_at(address + JOB_TRANSMIT_QUEUE)
    sent = 0
    while True:
        if queue.count == 0:
            consumed = host_consumed(engine.port)
            job.starved = 1 if consumed != host_posted(engine.port) else 0
            fill_queue(queue, core_poll_transmit(job.core, queue.frames, TRANSMIT_CAPACITY, consumed, now_ns))
            if queue.count == 0:
                return sent
        sent += post_queue(engine, queue)
        if queue.count > 0:
            job.starved = 1
            return sent


@njit
def transmit_messages(engine: Any, address: int, now_ns: int) -> Any:
    """As ``transmit``, of the message core. Runs after it in a turn, so it only adds to ``starved``."""
    job = job_at(address)
    queue = transmit_queue_at(address + JOB_MESSAGE_TRANSMIT_QUEUE)
    sent = 0
    while True:
        if queue.count == 0:
            consumed = host_consumed(engine.port)
            if consumed != host_posted(engine.port):
                job.starved = 1
            count = message_poll_transmit(job.messages, queue.frames, TRANSMIT_CAPACITY, consumed, now_ns)
            fill_queue(queue, count)
            if count == 0:
                return sent
        sent += post_queue(engine, queue)
        if queue.count > 0:
            job.starved = 1
            return sent


@njit
def fill_queue(queue: Any, count: int) -> None:
    """Take over the ``count`` frames that a core has written to its empty queue."""
    queue.first = 0
    queue.count = count
    for index in range(count):
        store_i64(queue.posted + 8 * transmit_at(queue.frames + index * TRANSMIT_BYTES).frame, IN_TRANSIT)


@njit
def post_queue(engine: Any, queue: Any) -> Any:
    """Post the frames of a queue, as many as the port takes; how many."""
    sent = 0
    while queue.count > 0:
        order = transmit_at(queue.frames + queue.first * TRANSMIT_BYTES)
        if host_post(engine.port, order.address, order.length) == 0:
            return sent
        store_i64(queue.posted + 8 * order.frame, host_posted(engine.port))
        queue.first += 1
        queue.count -= 1
        sent += 1
    return sent


@njit
def empty_queue(engine: Any, queue: Any) -> None:
    """Forget frames that the port has not taken; the core will ask for them again when it resumes."""
    for index in range(queue.first, queue.first + queue.count):
        order = transmit_at(queue.frames + index * TRANSMIT_BYTES)
        store_i64(queue.posted + 8 * order.frame, host_posted(engine.port))
    queue.count = 0


@njit
def report_finished(address: int) -> int:
    """Tell the waiting threads what the core has finished; how many operations."""
    job = job_at(address)
    count = 0
    while True:
        number, status = core_take_completion(job.core)
        if number < 0:
            break
        mark_done(address, number, status)
        count += 1
    while job.messages != 0:
        number, status = message_take_completion(job.messages)
        if number < 0:
            break
        mark_done(address, number, status)
        count += 1
    if count > 0:
        job.busy = 1  # room for operations that waited because the core's queue was full
        wake_waiters(address)
    return count


@njit
def mark_done(address: int, number: int, status: int) -> None:
    """Note an operation's end where ``is_done`` looks."""
    job = job_at(address)
    word = ((number + 1) << DONE_SHIFT) | status
    if number >= MESSAGE_NUMBERS:
        store_release64(job.message_done + 8 * (number & job.message_mask), word)
    else:
        store_i64(job.ended_ns, number & job.done_mask, monotonic_ns())
        store_release64(job.done + 8 * (number & job.done_mask), word)


@njit
def wake_waiters(address: int) -> None:
    """Wake the threads that wait for a completion, a command or free queue space of this job."""
    atomic_add64(address + JOB_COMPLETIONS, 1)
    fence()
    if load_acquire64(address + JOB_WAITERS) != 0:
        futex_wake(address + JOB_COMPLETIONS, ALL_WAITERS)


@njit
def beat(engine: Any, now_ns: int) -> None:
    """Tell the controller that this process lives, every HEARTBEAT_INTERVAL_NS. Nobody may be listening."""
    if engine.heartbeat_socket < 0 or now_ns < engine.next_heartbeat_ns:
        return
    engine.heartbeats += 1
    counter = engine.heartbeats
    for index in range(8):
        store_u8(engine.heartbeat_frame + HEARTBEAT_COUNTER_AT + index, (counter >> (56 - 8 * index)) & 0xFF)
    write_descriptor(engine.heartbeat_socket, engine.heartbeat_frame, HEARTBEAT_BYTES)
    engine.next_heartbeat_ns = now_ns + HEARTBEAT_INTERVAL_NS
