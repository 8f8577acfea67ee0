"""Announcements: what an operation is, whether the service allows it, and what it needs to be there before data come.

Run by the home core of the service's job, which alone writes keys' records and opens operations.
"""

from __future__ import annotations

from typing import Any

from emulator.native.arithmetic import f64_of_bits
from emulator.native.atomics import load_once64, store_release64
from emulator.native.jit import njit
from emulator.native.memory import load_i64, store_lane, zero_bytes
from hostagent.protocol.served import ANNOUNCEMENT_VERSION, Action, ServedFlag, Status
from hostagent.rackserver.frames.lane_codec import pair, word, write_pair
from hostagent.rackserver.hierarchy.resync import (
    AGE_AT,
    AGREE,
    ELDER_AT,
    LEAST_AT,
    SHARE,
    agree,
    answer_of_age,
    part_in_transfer,
    refusal_of_transfer,
)
from hostagent.rackserver.hierarchy.state_transfer import can_receive, commit_transfer, discard_transfer
from hostagent.rackserver.hierarchy.training_lineage import adopt_lineage, note_age, note_job, put_root
from hostagent.rackserver.services.key_memory import (
    LIMIT,
    TAKEN,
    forget_keys,
    give_back,
    make_key,
    provide,
    take_memory,
)
from hostagent.rackserver.services.optimizer_step import key_of, note_key_applied, note_key_pushed
from hostagent.rackserver.services.optimizers import ADAM, ADAMW, set_terms, state_tensors
from hostagent.rackserver.services.records import (
    ALONE,
    BUFFERS_AT,
    CONFLICT,
    MAX_BUFFERS,
    MAX_KEYS,
    OPERATION,
    OPERATION_BYTES,
    OPERATIONS,
    PROBES,
    TAKES,
    UNDECIDED,
    key_at,
    operation_at,
)

assert OPERATION.fields is not None
HASH, LEFT, NUMBER = (OPERATION.fields[name][1] for name in ("hash", "left", "number"))
QUERY, WRITE, PUSH_PULL = int(Action.QUERY), int(Action.WRITE), int(Action.PUSH_PULL)
PUSH, PULL = int(Action.PUSH), int(Action.PULL)
ANEW, MORE = int(ServedFlag.ANEW), int(ServedFlag.MORE)
CLIP_OR_SKIP = int(ServedFlag.CLIP | ServedFlag.SKIP)
OK, UNKNOWN_KEY, SHAPE, QUOTA = int(Status.OK), int(Status.UNKNOWN_KEY), int(Status.SHAPE), int(Status.QUOTA)
STEP, TWICE, OPTIMIZER = int(Status.STEP), int(Status.TWICE), int(Status.OPTIMIZER)
LAYOUT, BUSY, KEYS = int(Status.LAYOUT), int(Status.BUSY), int(Status.KEYS)
RACKS = int(Status.RACKS)
LARGEST_KEY = 1 << 40
"""Elements: beyond any model, and the size in bytes still fits in 64 bits."""


@njit
def find(service: Any, operation_hash: int) -> Any:
    """Address of the operation that frames with this hash are of; 0 for none."""
    for probe in range(PROBES):
        place = service.operations + ((operation_hash + probe) & (OPERATIONS - 1)) * OPERATION_BYTES
        if load_i64(place + HASH, 0) == operation_hash:
            return place
    return 0


@njit
def free_place(service: Any, operation_hash: int) -> Any:
    """The entry for an operation with this hash; 0 if open operations occupy all of its entries. It replaces the oldest
    finished one, as a worker may retransmit to the others."""
    found = 0
    for probe in range(PROBES):
        place = service.operations + ((operation_hash + probe) & (OPERATIONS - 1)) * OPERATION_BYTES
        if load_i64(place + LEFT, 0) > 0:
            continue
        if found == 0 or load_i64(place + NUMBER, 0) < load_i64(found + NUMBER, 0):
            found = place
    return found


@njit
def refusal(service: Any, lanes: int) -> Any:
    """Why an announcement is refused, but for what it would need to be there; OK for a good one."""
    action, number, elements = word(lanes, 1), word(lanes, 2), pair(lanes, 3)
    if word(lanes, 0) != ANNOUNCEMENT_VERSION or action > PULL or number >= MAX_KEYS:
        return LAYOUT
    if action == QUERY:
        return OK
    if elements < 0 or elements > LARGEST_KEY or word(lanes, 5) >= MAX_BUFFERS:
        return LAYOUT if word(lanes, 5) < MAX_BUFFERS else OPTIMIZER
    key = key_at(key_of(service, number))
    if service.apart == CONFLICT:
        return RACKS
    if action == WRITE and word(lanes, 10) & SHARE:
        return refusal_of_transfer(service, key, lanes)
    if action == WRITE and word(lanes, 10) & ANEW:
        return OK if service.step == 0 and service.open_step < 0 and word(lanes, 5) == 0 else STEP
    if key.written == 0 and (action != WRITE or word(lanes, 5) != 0):
        return UNKNOWN_KEY
    if key.written and key.elements != elements:
        return SHAPE
    step = pair(lanes, 6)
    if service.apart and action != WRITE:
        return RACKS
    if action in (PUSH_PULL, PUSH):
        return refusal_of_push(service, key, lanes, step)
    if action == PULL:
        if step != service.step and step != service.step + 1:
            return STEP
        return OPTIMIZER if word(lanes, 5) > key.states else OK
    return OK


@njit
def refusal_of_push(service: Any, key: Any, lanes: int, step: int) -> Any:
    """The same for gradients."""
    optimizer, flags, split = word(lanes, 9), word(lanes, 10), word(lanes, 1) == PUSH
    if step != service.step + 1:
        return STEP
    if optimizer < 1 or optimizer > ADAMW or (flags & CLIP_OR_SKIP and not split):
        return OPTIMIZER
    if key.updates > 0 and key.states > 0 and (optimizer >= ADAM) != (key.states > 1):
        return OPTIMIZER  # the state is another optimizer's
    if word(lanes, 8) == 0 or word(lanes, 11) == 0:
        return LAYOUT
    if service.open_step == step:
        if key.pushed_step == step:
            return TWICE
        if service.keys_of_step != word(lanes, 8) or (service.split != 0) != split:
            return KEYS
    return OK


@njit
def announce(service: Any, chunk: int, operation_hash: int, lanes: int) -> Any:
    """Take an announcement's lanes and leave the answer there; the operation's address, 0 where no data will come.

    After a restart of the job's epoch an announcement may come again: the operation is open, and goes on.
    """
    status, place, action = OK, find(service, operation_hash), word(lanes, 1)
    if action == QUERY and word(lanes, AGE_AT):
        answer_of_age(service, lanes)
        return 0
    if action == QUERY and word(lanes, 10) & AGREE and not begin_job(service, lanes):
        return 0
    if place == 0 or operation_at(place).first != chunk:
        status, place = refusal(service, lanes), 0
        if status == OK and action != QUERY:
            status, place = begin(service, chunk, operation_hash, lanes)
    if status == QUOTA:
        service.over_quota += 1
    number = word(lanes, 2)
    zero_bytes(lanes, 4 * service.lanes)
    store_lane(lanes, 0, status)
    write_pair(lanes, 1, service.step)
    store_lane(lanes, 3, service.keys_known)
    if number < MAX_KEYS:
        key = key_at(key_of(service, number))
        if key.written:
            write_pair(lanes, 4, key.elements)
            store_lane(lanes, 6, key.states)
            write_pair(lanes, 9, key.updates)
    store_lane(lanes, 7, service.skipped)
    store_lane(lanes, 8, service.not_finite)
    store_lane(lanes, 11, service.incomplete)
    if status == QUOTA:
        write_room(service, lanes)
    return place


@njit
def write_room(service: Any, lanes: int) -> None:
    """What the operation would have taken, and of what: of the service's quota, or of what all services share."""
    limit, taken = load_once64(service.common + LIMIT), load_once64(service.common + TAKEN)
    is_own = service.arena_bytes < limit and service.wanted > service.arena_bytes - service.arena_used
    write_pair(lanes, 13, service.wanted)
    write_pair(lanes, 15, service.arena_used if is_own else taken)
    write_pair(lanes, 17, service.arena_bytes if is_own else limit)
    store_lane(lanes, 19, 0 if is_own else 1)


@njit
def begin_job(service: Any, lanes: int) -> Any:
    """Whether the answer to a job's first QUERY is the service's own; see ``agree``."""
    if word(lanes, LEAST_AT) != 0:
        return agree(service, lanes)
    note_job(service, service.own_draw, service.age + 1)  # of one rack alone
    return True


@njit
def begin(service: Any, chunk: int, operation_hash: int, lanes: int) -> Any:
    """(status, address of the operation): make room, then open it."""
    action, number = word(lanes, 1), word(lanes, 2)
    place = free_place(service, operation_hash)
    if place == 0:
        return BUSY, 0
    key = key_at(key_of(service, number))
    key.address_of_buffers = key_of(service, number) + BUFFERS_AT
    part = part_in_transfer(service, lanes) if action == WRITE and word(lanes, 10) & SHARE else ALONE
    writes = action == WRITE and part <= TAKES
    if writes:
        begin_words(service, key, part, lanes)
    used, service.wanted = service.arena_used, 0
    if not (begin_write(service, key, lanes) if action == WRITE else action == PULL or begin_push(service, key, lanes)):
        give_back(service, key, used)
        return QUOTA, 0
    if writes and not service.receives:
        service.incomplete = 1
    operation = operation_at(place)
    service.begun += 1
    operation.address, operation.number = place, service.begun
    operation.first, operation.action, operation.key = chunk, action, number
    operation.buffer, operation.step, operation.updates = word(lanes, 5), pair(lanes, 6), pair(lanes, 26)
    operation.left, operation.more, operation.part = key.chunks, word(lanes, 10) & MORE, part
    operation.age = max(service.age, word(lanes, ELDER_AT)) + 1
    store_release64(place + HASH, operation_hash)
    if key.chunks == 0:
        finish_empty(service, key, operation)
    return OK, place


@njit
def begin_words(service: Any, key: Any, part: int, lanes: int) -> None:
    """A WRITE begins here: into a new service, over its content, or into the versions that are not valid."""
    is_anew = word(lanes, 10) & ANEW
    if part == TAKES and is_anew and can_receive(service, key, word(lanes, 8), pair(lanes, 3)):
        service.receives = 1
    elif is_anew:
        forget_keys(service)
    if part == ALONE:
        if is_anew:
            put_root(service, 0)
        if service.receives:
            discard_transfer(service)


@njit
def begin_write(service: Any, key: Any, lanes: int) -> Any:
    """Room for the key and the buffer; False when there is none."""
    if key.written == 0 and not make_key(service, key, word(lanes, 2), pair(lanes, 3)):
        return False
    states, buffer = key.states, word(lanes, 5)
    if not provide(service, key, max(states, buffer)):
        return False
    if service.receives:
        key.states, key.next_states = states, buffer
    return True


@njit
def begin_push(service: Any, key: Any, lanes: int) -> Any:
    """The key's part in the step, and the step itself if this is its first key; False when there is no room."""
    step, split = pair(lanes, 6), word(lanes, 1) == PUSH
    momentum = f64_of_bits(pair(lanes, 14))
    states = state_tensors(word(lanes, 9), word(lanes, 10), momentum)
    if key.updates == 0:
        key.states = 0  # what was begun with another optimizer and undone
    if states > 0 and key.states == 0:
        key.born = step
    fits, gradient = provide(service, key, max(key.states, states)), key.gradient
    if split and gradient == 0:
        gradient = take_memory(service, key.chunks * service.lanes * 4 + 1)
        fits = fits and gradient != 0
    if not fits:
        return False
    key.gradient = gradient
    if service.open_step != step:
        service.keys_of_step, service.split = word(lanes, 8), 1 if split else 0
        service.pushed_keys, service.applied_keys, service.decision = 0, 0, UNDECIDED
        service.open_step, service.revertible, service.open_not_finite = step, 0, 0
    key.pushed_step, key.pushed_chunks, key.applied_chunks = step, 0, 0
    key.groups_done, key.tail, key.tail_groups = 0, -1, 0
    key.optimizer, key.flags, key.divisor = word(lanes, 9), word(lanes, 10), word(lanes, 11)
    numbers = (
        f64_of_bits(pair(lanes, 12)),
        momentum,
        f64_of_bits(pair(lanes, 16)),
        f64_of_bits(pair(lanes, 18)),
        f64_of_bits(pair(lanes, 20)),
        f64_of_bits(pair(lanes, 22)),
        f64_of_bits(pair(lanes, 24)),
    )
    set_terms(key, numbers, key.updates + 1, key.born == step)
    return True


@njit
def finish_empty(service: Any, key: Any, operation: Any) -> None:
    """A key without elements has no data to wait for."""
    if operation.action == WRITE:
        finish_write(service, key, operation)
    elif operation.action == PUSH_PULL:
        note_key_applied(service)
    elif operation.action == PUSH:
        note_key_pushed(service)


@njit
def finish_write(service: Any, key: Any, operation: Any) -> None:
    """All data of a WRITE have arrived. The last WRITE of a run advances the service's age, on all racks."""
    service.open_step, service.revertible = -1, 0
    if operation.part <= TAKES and service.receives:
        key.next_updates = operation.updates
    elif operation.part <= TAKES:
        key.updates = operation.updates
        key.written = 1
        service.incomplete = 1 if operation.more else 0
        service.step = operation.step
    if not operation.more:
        if operation.part == TAKES:
            take_over(service, operation.step)
        service.apart = 0
        note_age(service, operation.age)


@njit
def take_over(service: Any, step: int) -> None:
    """All data of another rack have arrived: take over its counters and lineage too."""
    if service.receives:
        commit_transfer(service, step)
    service.skipped, service.not_finite = service.next_skipped, service.next_not_finite
    adopt_lineage(service)
