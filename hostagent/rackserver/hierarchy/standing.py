"""Where a service stands on each of its racks, and how those that are behind are brought to where the newest stands.

A service's *age* counts what has happened to it: a step became whole, a run of WRITEs ended, a step was undone on all
racks. Servers of one age have the same weights and state; the oldest is the newest. A server in a run of WRITEs that
has not ended is *torn*: it has no age that counts.

A new job begins with a QUERY under which the racks agree. Where the oldest are one whole step further than the others,
they undo it, and all take a further age. Otherwise the servers are *apart*: no gradients are taken, and the ranks run
WRITEs over all keys whose words are a server's, one of the oldest (flag SHARE). To those that have that age nothing
happens; the others are torn until the last of them. So a job may end at any moment: the next one finds who is whole.
"""

from __future__ import annotations

from typing import Any

from emulator.ports.jit import njit
from hostagent.protocol.quantizer.machine import store_lane, zero_bytes
from hostagent.protocol.served import Action, ServedFlag, Status
from hostagent.rackserver.service_records import GIVES, HAS, MAX_KEYS, TAKES, key_at
from hostagent.rackserver.steps import key_of, step_back
from hostagent.rackserver.words import MOST, halves, pair, raise_halves, raise_lane, word, write_pair

QUERY, WRITE = int(Action.QUERY), int(Action.WRITE)
AGREE, SHARE = int(ServedFlag.AGREE), int(ServedFlag.SHARE)
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
ELDER_AT, GIVER_AT = 29, 30
"""Of a WRITE, filled by racks: the most age of any; BITS less the lowest child's bit of a rack that has the words, so
that the first of those racks gives them."""
SKIPPED_AT, NOT_FINITE_AT = 24, 25
"""Of a WRITE with SHARE, filled by those who have the words."""
NEWEST_AT = 12
"""Of an answer: the age that the servers are to be brought to, where they are apart."""
BITS = 64


@njit
def has_age(service: Any, age: int) -> Any:
    """Whether it is whole, and that old."""
    return service.torn == 0 and service.age == age and age > 0


@njit
def add_standing(service: Any, lanes: int) -> None:
    """What this rack says of itself in an announcement, on its way to the other racks."""
    action, flags, age = word(lanes, 1), word(lanes, 10), word(lanes, AGE_AT)
    if word(lanes, 2) >= MAX_KEYS:
        return
    if action == QUERY and flags & AGREE:
        whole_age = 0 if service.torn else min(service.age, MOST - 2)
        raise_lane(lanes, LEAST_AT, MOST - whole_age)
        raise_lane(lanes, OLDEST_AT, whole_age)
        raise_lane(lanes, STUCK_AT, 0 if service.revertible else whole_age + 1)
        raise_lane(lanes, STEP_AT, service.step)
        raise_lane(lanes, TORN_AT, service.torn)
        raise_lane(lanes, KEYS_AT, service.keys_known)
    elif action == QUERY and has_age(service, age):
        tell(service, lanes)
    elif action == WRITE:
        raise_lane(lanes, ELDER_AT, service.age)
        if flags & SHARE and has_age(service, age):
            raise_lane(lanes, GIVER_AT, BITS - service.own_bit)
            raise_lane(lanes, SKIPPED_AT, service.skipped)
            raise_lane(lanes, NOT_FINITE_AT, service.not_finite)


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
def write_told(service: Any, lanes: int) -> None:
    """The answer that those of the age have filled in, in its place."""
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
    service.apart = 0
    if oldest == least and oldest > 0:
        return True
    if least > 0 and oldest == least + 1 and word(lanes, STUCK_AT) <= oldest:
        if service.age == oldest and service.revertible:
            step_back(service)
        service.age, service.revertible = oldest + 1, 0
        return True
    service.apart = 1 if oldest > 0 else 0
    step, keys, torn = word(lanes, STEP_AT), word(lanes, KEYS_AT), word(lanes, TORN_AT)
    zero_bytes(lanes, 4 * service.lanes)
    write_pair(lanes, 1, step)
    store_lane(lanes, 3, keys)
    store_lane(lanes, 11, torn)
    store_lane(lanes, NEWEST_AT, oldest)
    return False


@njit
def refusal_of_share(service: Any, key: Any, lanes: int) -> Any:
    """Why words of a rack's server are not written; OK if they are."""
    if word(lanes, GIVER_AT) == 0:
        return RACKS
    if not has_age(service, word(lanes, AGE_AT)):
        return OK
    if key.written == 0:
        return UNKNOWN_KEY
    if key.elements != pair(lanes, 3):
        return SHAPE
    return OK if service.step == pair(lanes, 6) else STEP


@njit
def part_in_share(service: Any, lanes: int) -> Any:
    """What this rack does in a WRITE with SHARE."""
    if not has_age(service, word(lanes, AGE_AT)):
        service.skipped, service.not_finite = word(lanes, SKIPPED_AT), word(lanes, NOT_FINITE_AT)
        return TAKES
    if word(lanes, GIVER_AT) != BITS - service.own_bit:
        return HAS
    service.gives = 1
    return GIVES
