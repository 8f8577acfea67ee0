"""Whether the servers of several racks are of one training: an age alone does not tell, as another one reached it too.

Every job has a *draw*: a random number that its racks agree on in its first QUERY, the largest of theirs. A service
keeps its *maker*, the draw of the job in which it came to its age. Servers of one age and one maker have the same
weights and state; those of one age and two makers are *strangers*.

For servers of other ages a service keeps the last jobs that it was in, each with the age it was to make first, and its
*root*, the job in which it began. One that is behind is of the same training if its maker is one of the newest's jobs,
or if it is from before all of those and has the same root. So a copy of a checkpoint that was trained apart is told
from one that is merely old, unless more jobs have been since than are kept.

0 is no draw: not known, as of a checkpoint without a lineage. Nothing is a stranger to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, store_i64
from hostagent.rackserver.frames.lane_codec import raise_lane, word
from hostagent.rackserver.services.records import JOBS_KEPT, LINEAGE_WORDS, SERVICE

assert SERVICE.fields is not None
KEPT, STAGED = SERVICE.fields["lineage"][1], SERVICE.fields["staged"][1]
ROOT, FLOOR, DRAWS, FIRSTS = 0, 1, 2, 2 + JOBS_KEPT
"""Words of a lineage: the root; the age from which on all makers are in the list; the jobs, newest first; the first
age that each was to make."""
MOST_DRAW = (1 << 25) - 1
"""A draw and a rack's number share a lane."""
RACK_BITS = 6
BESIDE = 6
"""Lanes from the one in which the largest maker is found to the one for the smallest."""

DRAW_AT, ROOT_AT, MAKERS_AT = 21, 27, 18
"""Lanes of a QUERY with AGREE that racks fill: the draw, the root, and makers by age modulo 3, each rack's of its age
and of the one that it can go back to. Three are enough to tell apart the ages that matter where racks then stand
together: those of the oldest and the one before, which the others have, and theirs before."""
MAKER_AT, GIVER_AT, STRANGER_AT = 24, 25, 26
"""Of a QUERY with an age, filled by those that are so old: the maker; BITS less the lowest child's bit, so that the
first of those racks can be told. By the others: a rack that is no kin of them."""
LINEAGE_AT = 12
"""First lane of the lineage of the first of those racks, in a QUERY with LINEAGE."""
UNTOLD_AT = 31
"""Of a WRITE with SHARE: a rack that has not been told the lineage of that age, or is no kin."""
STRANGERS_AT = 20
"""Of an answer: the numbers of two racks that are strangers, and 1 each."""


@njit
def kept_word(service: Any, place: int) -> Any:
    """Of the service's own lineage."""
    return load_i64(service.address + KEPT, place)


@njit
def note_job(service: Any, draw: int, first_age: int) -> None:
    """The racks have agreed on the job's draw. One that made nothing is forgotten for the next."""
    service.draw, kept = draw, service.address + KEPT
    if load_i64(kept, DRAWS) == draw:
        return
    if load_i64(kept, DRAWS) == 0 or load_i64(kept, FIRSTS) != first_age:
        if load_i64(kept, DRAWS + JOBS_KEPT - 1) != 0:
            store_i64(kept, FLOOR, load_i64(kept, FIRSTS + JOBS_KEPT - 2))
        for place in range(JOBS_KEPT - 1, 0, -1):
            store_i64(kept, DRAWS + place, load_i64(kept, DRAWS + place - 1))
            store_i64(kept, FIRSTS + place, load_i64(kept, FIRSTS + place - 1))
    store_i64(kept, DRAWS, draw)
    store_i64(kept, FIRSTS, first_age)


@njit
def note_age(service: Any, age: int) -> None:
    """The service comes to an age by this job."""
    service.age, service.maker_before, service.maker = age, service.maker, service.draw
    if kept_word(service, ROOT) == 0:
        put_root(service, service.draw)


@njit
def put_root(service: Any, draw: int) -> None:
    """Where the service began; 0: it begins anew."""
    store_i64(service.address + KEPT, ROOT, draw)


@njit
def take_lineage(service: Any) -> None:
    """The words of the newest are all here: its past is this one's."""
    copy_bytes(service.address + KEPT, service.address + STAGED, 8 * LINEAGE_WORDS)


# --- what racks tell one another --------------------------------------------------------------------------------------


@njit
def tell_maker(lanes: int, place: int, maker: int, rack: int) -> None:
    """The largest and the smallest of the racks that tell theirs."""
    if maker != 0:
        raise_lane(lanes, place, maker << RACK_BITS | rack)
        raise_lane(lanes, place + BESIDE, (MOST_DRAW - maker) << RACK_BITS | rack)


@njit
def strangers_at(lanes: int, place: int) -> Any:
    """Two racks that told different makers there, one more than the number of each; 0, 0: there are none."""
    most, least, mask = word(lanes, place), word(lanes, place + BESIDE), (1 << RACK_BITS) - 1
    if most == 0 or (most >> RACK_BITS) + (least >> RACK_BITS) == MOST_DRAW:
        return 0, 0
    return 1 + (most & mask), 1 + (least & mask)


@njit
def tell_makers(service: Any, lanes: int, age: int) -> None:
    """In a QUERY with AGREE; ``age`` 0: nothing here counts."""
    raise_lane(lanes, DRAW_AT, service.own_draw)
    raise_lane(lanes, ROOT_AT, kept_word(service, ROOT))
    if age > 0:
        tell_maker(lanes, MAKERS_AT + age % 3, service.maker, service.rack)
        if service.revertible:
            tell_maker(lanes, MAKERS_AT + (age - 1) % 3, service.maker_before, service.rack)


@njit
def strangers_among(lanes: int, least: int, oldest: int) -> Any:
    """As ``strangers_at``, of racks of which some have one age and some the one before, at the most."""
    one, other = strangers_at(lanes, MAKERS_AT + oldest % 3)
    if one == 0 and least < oldest:
        return strangers_at(lanes, MAKERS_AT + least % 3)
    return one, other


@njit
def tell_lineage(service: Any, lanes: int) -> None:
    """In a QUERY with LINEAGE, by the first of those that have the age."""
    for place in range(LINEAGE_WORDS):
        raise_lane(lanes, LINEAGE_AT + place, kept_word(service, place))


@njit
def stage_lineage(service: Any, lanes: int, age: int) -> None:
    """What the newest has told, to one that is behind."""
    for place in range(LINEAGE_WORDS):
        store_i64(service.address + STAGED, place, word(lanes, LINEAGE_AT + place))
    service.staged_age = age


@njit
def is_kin(service: Any) -> Any:
    """Whether what is here is of the training of which the newest has told."""
    staged = service.address + STAGED
    if service.torn or service.age == 0 or service.maker == 0:
        return True
    for place in range(JOBS_KEPT):
        if load_i64(staged, DRAWS + place) == service.maker:
            return True
    mine, root = kept_word(service, ROOT), load_i64(staged, ROOT)
    return service.age < load_i64(staged, FLOOR) and (mine == root or mine == 0 or root == 0)


@njit
def is_told(service: Any, age: int) -> Any:
    """Whether words of servers of that age may be written over what is here."""
    return service.staged_age == age and is_kin(service)


@njit
def has_root(service: Any) -> Any:
    """Whether what is here began as that did of which the newest has told."""
    return kept_word(service, ROOT) == load_i64(service.address + STAGED, ROOT)


# --- in a file --------------------------------------------------------------------------------------------------------


def lineage_facts(record: Any) -> dict[str, Any]:
    """A SERVICE record's, for ``put_lineage``."""
    words = [int(number) for number in record["lineage"]]
    jobs = [[draw, first] for draw, first in zip(words[DRAWS:FIRSTS], words[FIRSTS:], strict=True) if draw]
    return {"maker": int(record["maker"]), "root": words[ROOT], "floor": words[FLOOR], "jobs": jobs}


def check_lineage(facts: Mapping[str, Any]) -> None:
    """Raises KeyError, TypeError or ValueError where a file's could not have been written by ``lineage_facts``."""
    jobs = [(int(draw), int(first)) for draw, first in facts["jobs"]]
    numbers = [int(facts["maker"]), int(facts["root"]), *(draw for draw, _ in jobs)]
    if len(jobs) > JOBS_KEPT or not all(0 <= number <= MOST_DRAW for number in numbers):
        raise ValueError("its lineage")
    if min(int(facts["floor"]), *(first for _, first in jobs), 0) < 0:
        raise ValueError("its lineage's ages")


def put_lineage(record: Any, facts: Mapping[str, Any] | None, age: int) -> None:
    """What a file tells of a service of that age; None: nothing, and then nobody before can be told from others."""
    words = record["lineage"]
    words[:] = 0
    record["maker"] = facts["maker"] if facts is not None else 0
    words[FLOOR] = facts["floor"] if facts is not None else age + 1
    if facts is None:
        return
    words[ROOT] = facts["root"]
    for place, (draw, first) in enumerate(facts["jobs"]):
        words[DRAWS + place], words[FIRSTS + place] = draw, first
