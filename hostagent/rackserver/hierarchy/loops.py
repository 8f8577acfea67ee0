"""States of a set in a job of several racks: filling, partial (its sum has been sent up), final.

For a chunk the racks are a tree (see ``routes``). A rack below is a child like any other: its partial sum is a
contribution. A set that is full sends its own sum up and is *partial* until the total comes from there; the root's is
the total. The total goes down to the racks below, and to this rack's children, through the service if there is one:
every rack steps the same totals, so all have the same weights.

There are no timers here. Losses are repaired by the workers' retransmissions. One to a final set is answered from the
set. The second of one worker to a partial set retransmits the partial sum to the rack above, where it is a duplicate as
well; the first does not: a chunk that is finished in another rack takes longer than its neighbours that are finished
here, and to a worker, which knows of no racks, seems to be overtaken by them, hence lost. A rack's retransmission is
passed on at once, so that what is lost several racks away takes no longer. The bitmap
of contributors that a rack above reports is passed on to waiting children.

Functions that take addresses are called through ``rackserver.compiled_calls``, for sets of jobs with a TIER.
"""

from __future__ import annotations

from typing import Any

from emulator.native.arithmetic import trailing_zeros
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_be16, load_be32, load_i64, load_u8, store_i64
from hostagent.protocol.counters import Verdict
from hostagent.protocol.wire import FLAG_NO_DATA, LANES_AT, Kind
from hostagent.protocol.worker.header import CHUNK_AT, FLAGS_AT, KIND_AT, OPERATION_AT, OPERATOR_AT, is_marked
from hostagent.rackserver import compiled_calls
from hostagent.rackserver.compiled_calls import TO_ALL
from hostagent.rackserver.frames.loops import (
    MASK,
    answer_result,
    conclude,
    count,
    open_set,
    set_index,
    takes,
    wide,
    write_error,
    write_words,
)
from hostagent.rackserver.frames.validate import ANNOUNCE, SERVED, row_of
from hostagent.rackserver.hierarchy.records import ROUTE_BYTES, TRAFFIC, TRAFFIC_BYTES, route_record, tier_at
from hostagent.rackserver.records import JOB_BYTES, SET_BYTES, job_at, server_at, set_at
from hostagent.rackserver.services.records import service_at

assert TRAFFIC.fields is not None
PART_BYTES, TOTAL_BYTES = TRAFFIC.fields["part_bytes"][1], TRAFFIC.fields["total_bytes"][1]
AGAIN_BYTES, FRAMES = TRAFFIC.fields["again_bytes"][1], TRAFFIC.fields["frames"][1]
DROPPED = TRAFFIC.fields["dropped"][1]
CONTRIBUTION, RESULT = int(Kind.CONTRIBUTION), int(Kind.RESULT)
WAITING, ERROR = int(Kind.WAITING), int(Kind.ERROR)
COMPLETED = int(Verdict.COMPLETED)
NOBODY = -1
EARLY_GROUPS = 2
"""Groups of exponents that may be sent with an announcement: the chunks behind it."""


@njit
def route_of(job: Any, chunk: int) -> Any:
    """This rack's part in the chunk's tree."""
    tier = tier_at(job.tier)
    return route_record(tier.routes + (wide(chunk) % tier.racks) * ROUTE_BYTES)


@njit
def full_bitmap(job_address: int, chunk: int) -> Any:
    """The bitmap of the chunk's set when it is full."""
    return route_of(job_at(job_address), chunk).full


@njit
def note(job: Any, core: int, field: int, amount: int) -> None:
    """Add to this core's traffic."""
    address = tier_at(job.tier).traffic + core * TRAFFIC_BYTES + field
    store_i64(address, load_i64(address) + amount)


@njit
def post(server: Any, job: Any, core: int, bit: int, kind: int, held: Any, lanes: int, field: int) -> None:
    """Send a sum to another rack; ``lanes`` 0: no child contributed data."""
    note(job, core, FRAMES, 1)
    if lanes != 0:
        note(job, core, field, 4 * server.lanes)
    about = held.operator, held.chunk, held.operation
    compiled_calls.answer(server, job, core, kind, bit, *about, lanes, lanes == 0, held.marked)


@njit
def send_up(server: Any, job: Any, core: int, held: Any, index: int, field: int) -> None:
    """This rack's sum, and that of those below, to the rack above."""
    lanes = server.sums + index * 4 * server.lanes if held.has_data else 0
    post(server, job, core, route_of(job, held.chunk).up, CONTRIBUTION, held, lanes, field)


@njit
def send_down(server: Any, job: Any, core: int, bit: int, held: Any, index: int, field: int) -> None:
    """The total, to a rack below."""
    totals = tier_at(job.tier).totals
    lanes = (totals if totals else server.sums) + index * 4 * server.lanes
    post(server, job, core, bit, RESULT, held, lanes if held.total_has_data else 0, field)


@njit
def forward_full_set(server_address: int, job_address: int, index: int, core: int) -> int:
    """A set is full: send its sum up, or take it as the total."""
    server, job = server_at(server_address), job_at(job_address)
    held = set_at(server.sets + index * SET_BYTES)
    if job.service and held.operator == ANNOUNCE:
        compiled_calls.add_resync_state(server, job, index)
    elif job.service and service_at(job.service).gives and held.operator == SERVED:
        compiled_calls.add_transferred_state(server, job, index)
    if route_of(job, held.chunk).up == NOBODY:
        take_total(server, job, core, held, index)
    else:
        held.partial = 1
        send_up(server, job, core, held, index, PART_BYTES)
    return 0


@njit
def take_total(server: Any, job: Any, core: int, held: Any, index: int) -> None:
    """The set's lanes are the total: pass it down, and answer this rack's children."""
    held.partial, held.total, held.total_has_data = 0, 1, held.has_data
    left, totals = route_of(job, held.chunk).below, tier_at(job.tier).totals
    if left != 0 and totals != 0 and held.has_data:
        at = index * 4 * server.lanes
        copy_bytes(totals + at, server.sums + at, 4 * server.lanes)
    while left != 0:
        send_down(server, job, core, trailing_zeros(left), held, index, TOTAL_BYTES)
        left &= left - 1
    length = LANES_AT + (4 * server.lanes if held.has_data else 0)
    count(server.counters + core * server.counter_bytes, job, trailing_zeros(job.full), COMPLETED, length)
    conclude(server, core, job, held, index)


@njit
def answer_duplicate(server_address: int, job_address: int, index: int, core: int, bit: int) -> int:
    """A duplicate contribution, of a child of this rack or of a rack below."""
    server, job = server_at(server_address), job_at(job_address)
    held = set_at(server.sets + index * SET_BYTES)
    is_rack = job.full >> bit & 1 == 0
    if is_rack and held.total:
        send_down(server, job, core, bit, held, index, AGAIN_BYTES)
    elif not is_rack and held.complete:
        answer_result(server, job, core, held, index, bit, held.marked)
    else:
        words, come = server.scratch + core * server.scratch_bytes, who_came(job, held)
        write_words(words, come >> 32, come, 0, 0)
        answer_frame(server, job, core, WAITING, bit, held, words)
    if held.partial:
        if is_rack or held.asked >> bit & 1:
            held.asked = 0
            send_up(server, job, core, held, index, AGAIN_BYTES)
        else:
            held.asked |= wide(1) << bit
    return 0


@njit
def answer_frame(server: Any, job: Any, core: int, kind: int, receiver: int, held: Any, words: int) -> None:
    """``waiting`` or an error, to a child or TO_ALL."""
    about = held.operator, held.chunk, held.operation
    compiled_calls.answer(server, job, core, kind, receiver, *about, words, False, held.marked)


@njit
def who_came(job: Any, held: Any) -> Any:
    """The bits of all workers that have contributed, as far as this rack knows."""
    if held.total:
        return tier_at(job.tier).everyone
    come, left = wide(held.above), wide(held.came)
    while left != 0:
        come |= tier_at(job.tier).stands_for[trailing_zeros(left)]
        left &= left - 1
    return come


@njit
def propagate_error(server_address: int, job_address: int, index: int, core: int, sender: int) -> int:
    """A set has failed: send the error to the adjacent racks of its tree, except the one that reported it."""
    server, job = server_at(server_address), job_at(job_address)
    held = set_at(server.sets + index * SET_BYTES)
    route, words = route_of(job, held.chunk), server.scratch + core * server.scratch_bytes
    left = route.below
    if route.up != NOBODY:
        left |= wide(1) << route.up
    write_error(words, held)
    while left != 0:
        bit = trailing_zeros(left)
        if bit != sender:
            note(job, core, FRAMES, 1)
            answer_frame(server, job, core, ERROR, bit, held, words)
        left &= left - 1
    return 0


@njit
def may_be_replaced(server_address: int, job_address: int, index: int) -> int:
    """Whether a complete MAX set may make room for its successor.

    Exponents of a push may be total before its announcement is, and are read when that is (`take_announcement`). Other
    racks may then know the announcement already, and their workers be two windows further.
    """
    server, job = server_at(server_address), job_at(job_address)
    held = set_at(server.sets + index * SET_BYTES)
    for before in range(1, 1 + EARLY_GROUPS):
        chunk = (wide(held.chunk) - before) & MASK
        at = set_index(job, chunk)
        other = set_at(server.sets + at * SET_BYTES)
        is_of_it = other.epoch == held.epoch and other.chunk == chunk and other.operation == held.operation
        if is_of_it and other.operator == ANNOUNCE and other.partial:
            return 0
    return 1


@njit
def take_rack_frame(server_address: int, core: int, frame: int, length: int, bit: int) -> int:
    """A frame of another rack that is not a contribution: a total, a bitmap of contributors, or an error."""
    server = server_at(server_address)
    job = job_at(server.jobs + row_of(server, frame, length) * JOB_BYTES)
    chunk, kind = load_be32(frame + CHUNK_AT), load_u8(frame + KIND_AT, 0)
    index = set_index(job, chunk)
    held, route = set_at(server.sets + index * SET_BYTES), route_of(job, chunk)
    ours = held.epoch == job.epoch and held.chunk == chunk
    is_above = bit == route.up and ours and held.partial != 0 and held.failed == 0
    same = held.operation == load_be32(frame + OPERATION_AT) and held.operator == load_u8(frame + OPERATOR_AT, 0)
    if kind == RESULT and is_above and same:
        if is_marked(frame):
            held.marked = 1
        held.has_data = 0 if load_u8(frame + FLAGS_AT, 0) & FLAG_NO_DATA else 1
        if held.has_data:
            copy_bytes(server.sums + index * 4 * server.lanes, frame + LANES_AT, 4 * server.lanes)
        take_total(server, job, core, held, index)
    elif kind == WAITING and is_above and length > LANES_AT:
        held.above = load_be32(frame + LANES_AT) << 32 | load_be32(frame + LANES_AT + 4)
    elif kind == ERROR and (bit == route.up or route.below >> bit & 1) and length > LANES_AT:
        fail(server, job, core, held, index, frame, bit)
    else:
        note(job, core, DROPPED, 1)
    return 0


@njit
def fail(server: Any, job: Any, core: int, held: Any, index: int, frame: int, bit: int) -> None:
    """The chunk has failed at another rack: it fails here too, for present and later contributors."""
    chunk = load_be32(frame + CHUNK_AT)
    accepts, fresh = takes(job, held, chunk)
    if not accepts or (not fresh and (held.failed != 0 or held.total != 0)):
        note(job, core, DROPPED, 1)
        return
    if fresh:
        open_set(held, job, chunk, frame)
    held.failed, held.partial = 1, 0
    held.operation, held.other_operation = load_be32(frame + LANES_AT), load_be32(frame + LANES_AT + 4)
    held.first_child, held.other_child = load_be16(frame + LANES_AT + 10), load_be16(frame + LANES_AT + 14)
    words = server.scratch + core * server.scratch_bytes
    write_error(words, held)
    answer_frame(server, job, core, ERROR, TO_ALL, held, words)
    propagate_error(server.address, job.address, index, core, bit)
