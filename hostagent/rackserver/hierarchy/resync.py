"""Where a service stands on each of its racks, and how those that are behind are brought to where the newest stands.

A service's *age* counts what has happened to it: a step became whole, a run of WRITEs ended, a step was undone on all
racks. Servers of one age have the same weights and state; the oldest is the newest. A server in a run of WRITEs that
has not ended is *torn*: it has no age that counts.

A new job begins with a QUERY under which the racks agree. Where the oldest are one whole step further than the others,
they undo it, and all take a further age. Otherwise the servers are *apart*: no gradients are taken, and the ranks run
WRITEs over all keys whose words are a server's, one of the oldest (flag SHARE). To those that have that age nothing
happens. The others keep what they have until the last of these words is there, and become what the oldest are by one
change; those that have nothing whole are torn until then. So a job may end at any moment, and any server with it: the
next one finds who is whole.

Servers that are not of one training (see ``lineage``) are left as they are, and the job may do nothing.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import store_lane, zero_bytes
from hostagent.protocol.served import Action, ServedFlag, Status
from hostagent.rackserver.frames.lane_codec import MOST, halves, pair, raise_halves, raise_lane, word, write_pair
from hostagent.rackserver.hierarchy.lineage import (
    DRAW_AT,
    GIVER_AT,
    MAKER_AT,
    RACK_BITS,
    ROOT,
    ROOT_AT,
    STRANGER_AT,
    STRANGERS_AT,
    UNTOLD_AT,
    is_kin,
    is_told,
    kept_word,
    note_age,
    note_job,
    put_root,
    stage_lineage,
    strangers_among,
    strangers_at,
    tell_lineage,
    tell_maker,
    tell_makers,
)
from hostagent.rackserver.services.optimizer_step import key_of, step_back
from hostagent.rackserver.services.records import APART, GIVES, HAS, MAX_KEYS, STRANGERS, TAKES, key_at

QUERY, WRITE = int(Action.QUERY), int(Action.WRITE)
AGREE, SHARE, LINEAGE = int(ServedFlag.AGREE), int(ServedFlag.SHARE), int(ServedFlag.LINEAGE)
OK, SHAPE, STEP = int(Status.OK), int(Status.SHAPE), int(Status.STEP)
UNKNOWN_KEY, RACKS = int(Status.UNKNOWN_KEY), int(Status.RACKS)

LEAST_AT, OLDEST_AT, STUCK_AT, STEP_AT, TORN_AT, KEYS_AT = 12, 13, 14, 15, 16, 17
"""Lanes of a QUERY with AGREE that racks fill on its way, each the most of any: MOST less the age (0 of a torn one);
the age of a whole one; one more than the age of a whole one that can't undo its last change; the last whole step;
whether one is torn; how many keys one has."""
TOLD_AT = 12
"""Where those of the age that a QUERY names fill in what they answer, see ``tell``."""
AGE_AT = 28
"""Of a QUERY: who shall answer. Of a WRITE with SHARE: who has the words."""
ELDER_AT, SOURCE_AT = 29, 30
"""Of a WRITE, filled by racks: the most age of any; BITS less the lowest child's bit of a rack that has the words, so
that the first of those racks gives them."""
SKIPPED_AT, NOT_FINITE_AT = 24, 25
"""Of a WRITE with SHARE, filled by those who have the words."""
NEWEST_AT = 12
"""Of an answer: the age that the servers are to be brought to, where they are apart."""
BITS = 64
MOST_RACK = (1 << RACK_BITS) - 1


@njit
def has_age(service: Any, age: int) -> Any:
    """Whether it is whole, and that old."""
    return service.torn == 0 and service.age == age and age > 0


@njit
def add_state(service: Any, lanes: int) -> None:
    """What this rack says of itself in an announcement, on its way to the other racks."""
    action, flags, age = word(lanes, 1), word(lanes, 10), word(lanes, AGE_AT)
    if word(lanes, 2) >= MAX_KEYS:
        return
    if action == QUERY and flags & AGREE:
        whole_age = 0 if service.torn else min(service.age, MOST - 2)
        tell_makers(service, lanes, whole_age)
        raise_lane(lanes, LEAST_AT, MOST - whole_age)
        raise_lane(lanes, OLDEST_AT, whole_age)
        raise_lane(lanes, STUCK_AT, 0 if service.revertible else whole_age + 1)
        raise_lane(lanes, STEP_AT, service.step)
        raise_lane(lanes, TORN_AT, service.torn)
        raise_lane(lanes, KEYS_AT, service.keys_known)
    elif action == QUERY and flags & LINEAGE:
        if has_age(service, age) and service.elected == BITS - service.own_bit:
            tell_lineage(service, lanes)
    elif action == QUERY and has_age(service, age):
        tell(service, lanes)
        tell_maker(lanes, MAKER_AT, service.maker, service.rack)
        raise_lane(lanes, GIVER_AT, BITS - service.own_bit)
    elif action == QUERY and age > 0 and service.staged_age == age and not is_kin(service):
        raise_lane(lanes, STRANGER_AT, 1 + service.rack)
    elif action == WRITE:
        raise_lane(lanes, ELDER_AT, service.age)
        if flags & SHARE:
            add_transfer(service, lanes, age)


@njit
def add_transfer(service: Any, lanes: int, age: int) -> None:
    """The same in a WRITE with SHARE."""
    if has_age(service, age):
        raise_lane(lanes, SOURCE_AT, BITS - service.own_bit)
        raise_lane(lanes, SKIPPED_AT, service.skipped)
        raise_lane(lanes, NOT_FINITE_AT, service.not_finite)
    elif not is_told(service, age):
        raise_lane(lanes, UNTOLD_AT, 1 + service.rack)


@njit
def tell(service: Any, lanes: int) -> None:
    """What an answer says, as lanes of which the most counts."""
    key = key_at(key_of(service, word(lanes, 2)))
    raise_halves(lanes, TOLD_AT, service.step)
    raise_lane(lanes, TOLD_AT + 2, service.keys_known)
    raise_lane(lanes, TOLD_AT + 3, service.skipped)
    raise_lane(lanes, TOLD_AT + 4, service.not_finite)
    if key.written:
        raise_halves(lanes, TOLD_AT + 5, key.elements)
        raise_halves(lanes, TOLD_AT + 7, key.updates)
        raise_lane(lanes, TOLD_AT + 9, key.states)


@njit
def answer_of_age(service: Any, lanes: int) -> None:
    """The answer that those of the age have filled in."""
    age, giver, stranger = word(lanes, AGE_AT), word(lanes, GIVER_AT), word(lanes, STRANGER_AT)
    if word(lanes, 10) & LINEAGE:
        if not has_age(service, age):
            stage_lineage(service, lanes, age)
        zero_bytes(lanes, 4 * service.lanes)
        return
    one, other = strangers_at(lanes, MAKER_AT)
    if one == 0 and stranger != 0:
        one, other = 1 + (word(lanes, MAKER_AT) & MOST_RACK), stranger
    service.elected = giver
    write_told(service, lanes)
    name_strangers(service, lanes, one, other)


@njit
def name_strangers(service: Any, lanes: int, one: int, other: int) -> None:
    """In the answer, if there are any; and then the job may do nothing."""
    store_lane(lanes, STRANGERS_AT, one)
    store_lane(lanes, STRANGERS_AT + 1, other)
    if one != 0:
        service.apart = STRANGERS


@njit
def write_told(service: Any, lanes: int) -> None:
    """What those of the age told, in its place."""
    step, elements, updates = halves(lanes, TOLD_AT), halves(lanes, TOLD_AT + 5), halves(lanes, TOLD_AT + 7)
    keys, skipped, not_finite = word(lanes, TOLD_AT + 2), word(lanes, TOLD_AT + 3), word(lanes, TOLD_AT + 4)
    states = word(lanes, TOLD_AT + 9)
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
    """All racks have said where they stand: stand together, or be apart. Whether the answer is the service's own: else
    it is written here, the same on all racks."""
    least, oldest = MOST - word(lanes, LEAST_AT), word(lanes, OLDEST_AT)
    are_even = oldest == least and oldest > 0
    can_go_back = least > 0 and oldest == least + 1 and word(lanes, STUCK_AT) <= oldest
    one, other = strangers_among(lanes, least, oldest) if are_even or can_go_back else (0, 0)
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
    step, keys, torn = word(lanes, STEP_AT), word(lanes, KEYS_AT), word(lanes, TORN_AT)
    zero_bytes(lanes, 4 * service.lanes)
    write_pair(lanes, 1, step)
    store_lane(lanes, 3, keys)
    store_lane(lanes, 11, torn)
    store_lane(lanes, NEWEST_AT, oldest)
    name_strangers(service, lanes, one, other)
    return False


@njit
def go_back(service: Any, oldest: int) -> None:
    """To the step that is whole on all racks, where this one is further."""
    if service.age == oldest and service.revertible:
        step_back(service)
    service.revertible = 0
    note_age(service, oldest + 1)


@njit
def refusal_of_transfer(service: Any, key: Any, lanes: int) -> Any:
    """Why words of a rack's server are not written; OK if they are."""
    if word(lanes, SOURCE_AT) == 0 or word(lanes, UNTOLD_AT) != 0:
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
    """What this rack does in a WRITE with SHARE."""
    if not has_age(service, word(lanes, AGE_AT)):
        service.next_skipped, service.next_not_finite = word(lanes, SKIPPED_AT), word(lanes, NOT_FINITE_AT)
        return TAKES
    if word(lanes, SOURCE_AT) != BITS - service.own_bit:
        return HAS
    service.gives = 1
    return GIVES
