"""Resynchronization of a service's servers on several racks: agreement on a step, and transfer of the newest state.

A service's *age* counts its changes: a step completed, a run of WRITEs ended, a step was rolled back on all racks.
Servers of the same age have the same weights and state; the highest age is the newest. During a run of WRITEs a server
is *incomplete*: its age does not count.

A new job begins with a QUERY in which the racks agree. Where the newest servers are one completed step ahead of the
others they roll it back, and all servers take the next age. Otherwise the servers are *apart*: gradients are refused,
and the ranks run WRITEs over all keys whose data come from one of the newest servers (flag SHARE). These do not change
servers of that age. The others keep their state until all data have arrived, and then switch to the new state at once;
a server without complete state is incomplete until then. So a job, and any server, may end at any moment: the next job
finds the servers that are complete.

Servers that hold different trainings (see ``training_lineage``) are left as they are, and the job is refused.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import store_lane, zero_bytes
from hostagent.protocol.served import Action, ServedFlag, Status
from hostagent.rackserver.frames.lane_codec import MOST, halves, pair, raise_halves, raise_lane, word, write_pair
from hostagent.rackserver.hierarchy.training_lineage import (
    CONFLICT_AT,
    CONFLICTING_AT,
    DRAW_AT,
    GIVER_AT,
    MAKER_AT,
    NOT_READY_AT,
    RACK_BITS,
    ROOT,
    ROOT_AT,
    add_lineage,
    add_maker,
    add_makers,
    conflict_among,
    conflict_at,
    is_same_training,
    kept_word,
    may_overwrite,
    note_age,
    note_job,
    put_root,
    stage_lineage,
)
from hostagent.rackserver.services.optimizer_step import key_of, step_back
from hostagent.rackserver.services.records import APART, CONFLICT, GIVES, HAS, MAX_KEYS, TAKES, key_at

QUERY, WRITE = int(Action.QUERY), int(Action.WRITE)
AGREE, SHARE, LINEAGE = int(ServedFlag.AGREE), int(ServedFlag.SHARE), int(ServedFlag.LINEAGE)
OK, SHAPE, STEP = int(Status.OK), int(Status.SHAPE), int(Status.STEP)
UNKNOWN_KEY, RACKS = int(Status.UNKNOWN_KEY), int(Status.RACKS)

LEAST_AT, OLDEST_AT, STUCK_AT, STEP_AT, INCOMPLETE_AT, KEYS_AT = 12, 13, 14, 15, 16, 17
"""Lanes of a QUERY with AGREE, each the maximum over the racks: MOST less the age (age 0 if incomplete); the age if
complete; one more than the age if complete and unable to roll back its last change; the last completed step; whether
the server is incomplete; its number of keys."""
SUMMARY_AT = 12
"""First lane of the answer of servers of the age in a QUERY, see ``add_summary``."""
AGE_AT = 28
"""Lane of a QUERY: the age of the servers that answer. Of a WRITE with SHARE: the age of those that have the data."""
ELDER_AT, SOURCE_AT = 29, 30
"""Lanes of a WRITE, filled by racks: the highest age; BITS less the lowest child's bit of a rack that has the data, so
that the maximum identifies the first of these racks, which sends them."""
SKIPPED_AT, NOT_FINITE_AT = 24, 25
"""Lanes of a WRITE with SHARE, filled by servers that have the data."""
NEWEST_AT = 12
"""Lane of an answer: the newest age, if the servers are apart."""
BITS = 64
MOST_RACK = (1 << RACK_BITS) - 1


@njit
def has_age(service: Any, age: int) -> Any:
    """Whether the server is complete and of that age."""
    return service.incomplete == 0 and service.age == age and age > 0


@njit
def add_state(service: Any, lanes: int) -> None:
    """Add this rack's state to an announcement that goes to the other racks."""
    action, flags, age = word(lanes, 1), word(lanes, 10), word(lanes, AGE_AT)
    if word(lanes, 2) >= MAX_KEYS:
        return
    if action == QUERY and flags & AGREE:
        whole_age = 0 if service.incomplete else min(service.age, MOST - 2)
        add_makers(service, lanes, whole_age)
        raise_lane(lanes, LEAST_AT, MOST - whole_age)
        raise_lane(lanes, OLDEST_AT, whole_age)
        raise_lane(lanes, STUCK_AT, 0 if service.revertible else whole_age + 1)
        raise_lane(lanes, STEP_AT, service.step)
        raise_lane(lanes, INCOMPLETE_AT, service.incomplete)
        raise_lane(lanes, KEYS_AT, service.keys_known)
    elif action == QUERY and flags & LINEAGE:
        if has_age(service, age) and service.elected == BITS - service.own_bit:
            add_lineage(service, lanes)
    elif action == QUERY and has_age(service, age):
        add_summary(service, lanes)
        add_maker(lanes, MAKER_AT, service.maker, service.rack)
        raise_lane(lanes, GIVER_AT, BITS - service.own_bit)
    elif action == QUERY and age > 0 and service.staged_age == age and not is_same_training(service):
        raise_lane(lanes, CONFLICTING_AT, 1 + service.rack)
    elif action == WRITE:
        raise_lane(lanes, ELDER_AT, service.age)
        if flags & SHARE:
            add_transfer(service, lanes, age)


@njit
def add_transfer(service: Any, lanes: int, age: int) -> None:
    """Add this rack's state to a WRITE with SHARE."""
    if has_age(service, age):
        raise_lane(lanes, SOURCE_AT, BITS - service.own_bit)
        raise_lane(lanes, SKIPPED_AT, service.skipped)
        raise_lane(lanes, NOT_FINITE_AT, service.not_finite)
    elif not may_overwrite(service, age):
        raise_lane(lanes, NOT_READY_AT, 1 + service.rack)


@njit
def add_summary(service: Any, lanes: int) -> None:
    """Add this server's answer, as lanes that are combined by maximum."""
    key = key_at(key_of(service, word(lanes, 2)))
    raise_halves(lanes, SUMMARY_AT, service.step)
    raise_lane(lanes, SUMMARY_AT + 2, service.keys_known)
    raise_lane(lanes, SUMMARY_AT + 3, service.skipped)
    raise_lane(lanes, SUMMARY_AT + 4, service.not_finite)
    if key.written:
        raise_halves(lanes, SUMMARY_AT + 5, key.elements)
        raise_halves(lanes, SUMMARY_AT + 7, key.updates)
        raise_lane(lanes, SUMMARY_AT + 9, key.states)


@njit
def answer_of_age(service: Any, lanes: int) -> None:
    """Write the answer to a QUERY with an age, from the lanes that servers of that age have filled in."""
    age, giver, conflicting = word(lanes, AGE_AT), word(lanes, GIVER_AT), word(lanes, CONFLICTING_AT)
    if word(lanes, 10) & LINEAGE:
        if not has_age(service, age):
            stage_lineage(service, lanes, age)
        zero_bytes(lanes, 4 * service.lanes)
        return
    one, other = conflict_at(lanes, MAKER_AT)
    if one == 0 and conflicting != 0:
        one, other = 1 + (word(lanes, MAKER_AT) & MOST_RACK), conflicting
    service.elected = giver
    write_summary(service, lanes)
    report_conflict(service, lanes, one, other)


@njit
def report_conflict(service: Any, lanes: int, one: int, other: int) -> None:
    """Write racks with different trainings into the answer, if any; the service then refuses the job's operations."""
    store_lane(lanes, CONFLICT_AT, one)
    store_lane(lanes, CONFLICT_AT + 1, other)
    if one != 0:
        service.apart = CONFLICT


@njit
def write_summary(service: Any, lanes: int) -> None:
    """Move the summary of servers of the age to the lanes of an answer."""
    step, elements, updates = halves(lanes, SUMMARY_AT), halves(lanes, SUMMARY_AT + 5), halves(lanes, SUMMARY_AT + 7)
    keys, skipped, not_finite = word(lanes, SUMMARY_AT + 2), word(lanes, SUMMARY_AT + 3), word(lanes, SUMMARY_AT + 4)
    states = word(lanes, SUMMARY_AT + 9)
    zero_bytes(lanes, 4 * service.lanes)
    write_pair(lanes, 1, step)
    store_lane(lanes, 3, keys)
    write_pair(lanes, 4, elements)
    store_lane(lanes, 6, states)
    store_lane(lanes, 7, skipped)
    store_lane(lanes, 8, not_finite)
    write_pair(lanes, 9, updates)


@njit
def agree(service: Any, lanes: int) -> Any:
    """Decide, from the state of all racks, whether the servers agree on a step or are apart.

    True: the caller writes the service's own answer. False: the answer, the same on all racks, has been written.
    """
    least, oldest = MOST - word(lanes, LEAST_AT), word(lanes, OLDEST_AT)
    are_even = oldest == least and oldest > 0
    can_go_back = least > 0 and oldest == least + 1 and word(lanes, STUCK_AT) <= oldest
    one, other = conflict_among(lanes, least, oldest) if are_even or can_go_back else (0, 0)
    service.apart = 0
    if one == 0:
        note_job(service, word(lanes, DRAW_AT), max(oldest, service.age) + 1)
        if are_even or can_go_back:
            if kept_word(service, ROOT) == 0:
                put_root(service, word(lanes, ROOT_AT))
            if can_go_back:
                go_back(service, oldest)
            return True
    service.apart = APART if oldest > 0 else 0
    step, keys, incomplete = word(lanes, STEP_AT), word(lanes, KEYS_AT), word(lanes, INCOMPLETE_AT)
    zero_bytes(lanes, 4 * service.lanes)
    write_pair(lanes, 1, step)
    store_lane(lanes, 3, keys)
    store_lane(lanes, 11, incomplete)
    store_lane(lanes, NEWEST_AT, oldest)
    report_conflict(service, lanes, one, other)
    return False


@njit
def go_back(service: Any, oldest: int) -> None:
    """Roll back to the step that all racks have completed, if this server is ahead."""
    if service.age == oldest and service.revertible:
        step_back(service)
    service.revertible = 0
    note_age(service, oldest + 1)


@njit
def refusal_of_transfer(service: Any, key: Any, lanes: int) -> Any:
    """Why a WRITE with SHARE is refused; OK if it is not."""
    if word(lanes, SOURCE_AT) == 0 or word(lanes, NOT_READY_AT) != 0:
        return RACKS
    if not has_age(service, word(lanes, AGE_AT)):
        fits = not service.receives or (key.written != 0 and key.elements == pair(lanes, 3))
        return OK if fits else SHAPE
    if key.written == 0:
        return UNKNOWN_KEY
    if key.elements != pair(lanes, 3):
        return SHAPE
    return OK if service.step == pair(lanes, 6) else STEP


@njit
def part_in_transfer(service: Any, lanes: int) -> Any:
    """This rack's part in a WRITE with SHARE: TAKES, HAS or GIVES."""
    if not has_age(service, word(lanes, AGE_AT)):
        service.next_skipped, service.next_not_finite = word(lanes, SKIPPED_AT), word(lanes, NOT_FINITE_AT)
        return TAKES
    if word(lanes, SOURCE_AT) != BITS - service.own_bit:
        return HAS
    service.gives = 1
    return GIVES
