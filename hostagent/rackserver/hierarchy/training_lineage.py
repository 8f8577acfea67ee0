"""Whether the servers of several racks hold the same training: equal ages do not show it, as another training may have
reached the same age.

Every job has a *draw*: a random number that its racks agree on in its first QUERY, the largest of theirs. A service
stores its *maker*, the draw of the job in which it reached its age. Servers of the same age and maker have the same
weights and state; servers of the same age with different makers *conflict*.

For servers of different ages a service stores the last jobs that it took part in, each with the first age that the job
could produce, and its *root*, the job in which it began. A server that is behind holds the same training if its maker
is one of the newest server's jobs, or if it is older than all of those and has the same root. This distinguishes a copy
of a checkpoint that was trained separately from one that is only old, up to the number of jobs that are stored.

A draw of 0 means unknown, as for a checkpoint without a lineage. It conflicts with nothing.
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
age that each could produce."""
MOST_DRAW = (1 << 25) - 1
"""A draw and a rack's number share a lane."""
RACK_BITS = 6
TO_SMALLEST = 6
"""Lanes from that of the largest maker to that of the smallest."""

DRAW_AT, ROOT_AT, MAKERS_AT = 21, 27, 18
"""Lanes of a QUERY with AGREE that racks fill: the draw, the root, and makers by age modulo 3, each rack's for its age
and for the age that it can roll back to. Modulo 3 suffices: where the racks can agree, only the newest age and the two
before it occur."""
MAKER_AT, GIVER_AT, CONFLICTING_AT = 24, 25, 26
"""Lanes of a QUERY with an age. Filled by racks of that age: the maker; BITS less the lowest child's bit, so that the
maximum identifies the first of these racks. Filled by the others: a rack with a different training."""
LINEAGE_AT = 12
"""First lane of the lineage of the first of those racks, in a QUERY with LINEAGE."""
NOT_READY_AT = 31
"""Lane of a WRITE with SHARE: a rack that has not received the lineage of that age, or has a different training."""
CONFLICT_AT = 20
"""Lanes of an answer: one more than the numbers of two racks with different trainings."""


@njit
def kept_word(service: Any, place: int) -> Any:
    """A word of the service's lineage."""
    return load_i64(service.address + KEPT, place)


@njit
def note_job(service: Any, draw: int, first_age: int) -> None:
    """The racks have agreed on the job's draw. It replaces the previous job's if that changed nothing."""
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
    """The service reaches an age by this job."""
    service.age, service.maker_before, service.maker = age, service.maker, service.draw
    if kept_word(service, ROOT) == 0:
        put_root(service, service.draw)


@njit
def put_root(service: Any, draw: int) -> None:
    """Set the job in which the service began; 0: it starts over."""
    store_i64(service.address + KEPT, ROOT, draw)


@njit
def adopt_lineage(service: Any) -> None:
    """All weights and state of the newest server have arrived: adopt its lineage."""
    copy_bytes(service.address + KEPT, service.address + STAGED, 8 * LINEAGE_WORDS)


# --- lanes by which racks exchange makers and lineages ----------------------------------------------------------------


@njit
def add_maker(lanes: int, place: int, maker: int, rack: int) -> None:
    """Add this rack's maker to the largest and the smallest of all racks'."""
    if maker != 0:
        raise_lane(lanes, place, maker << RACK_BITS | rack)
        raise_lane(lanes, place + TO_SMALLEST, (MOST_DRAW - maker) << RACK_BITS | rack)


@njit
def conflict_at(lanes: int, place: int) -> Any:
    """One more than the numbers of two racks with different makers in the lane; 0, 0 if there are none."""
    most, least, mask = word(lanes, place), word(lanes, place + TO_SMALLEST), (1 << RACK_BITS) - 1
    if most == 0 or (most >> RACK_BITS) + (least >> RACK_BITS) == MOST_DRAW:
        return 0, 0
    return 1 + (most & mask), 1 + (least & mask)


@njit
def add_makers(service: Any, lanes: int, age: int) -> None:
    """Fill in the lanes of a QUERY with AGREE; ``age`` 0: this server's content does not count."""
    raise_lane(lanes, DRAW_AT, service.own_draw)
    raise_lane(lanes, ROOT_AT, kept_word(service, ROOT))
    if age > 0:
        add_maker(lanes, MAKERS_AT + age % 3, service.maker, service.rack)
        if service.revertible:
            add_maker(lanes, MAKERS_AT + (age - 1) % 3, service.maker_before, service.rack)


@njit
def conflict_among(lanes: int, least: int, oldest: int) -> Any:
    """As ``conflict_at``, for racks whose ages differ by at most one."""
    one, other = conflict_at(lanes, MAKERS_AT + oldest % 3)
    if one == 0 and least < oldest:
        return conflict_at(lanes, MAKERS_AT + least % 3)
    return one, other


@njit
def add_lineage(service: Any, lanes: int) -> None:
    """Fill in the lineage in a QUERY with LINEAGE; for the first of the racks that have the age."""
    for place in range(LINEAGE_WORDS):
        raise_lane(lanes, LINEAGE_AT + place, kept_word(service, place))


@njit
def stage_lineage(service: Any, lanes: int, age: int) -> None:
    """Store the newest server's lineage, on a server that is behind."""
    for place in range(LINEAGE_WORDS):
        store_i64(service.address + STAGED, place, word(lanes, LINEAGE_AT + place))
    service.staged_age = age


@njit
def is_same_training(service: Any) -> Any:
    """Whether this server holds the training of which the newest has sent the lineage."""
    staged = service.address + STAGED
    if service.incomplete or service.age == 0 or service.maker == 0:
        return True
    for place in range(JOBS_KEPT):
        if load_i64(staged, DRAWS + place) == service.maker:
            return True
    mine, root = kept_word(service, ROOT), load_i64(staged, ROOT)
    return service.age < load_i64(staged, FLOOR) and (mine == root or mine == 0 or root == 0)


@njit
def may_overwrite(service: Any, age: int) -> Any:
    """Whether this server may be overwritten by servers of that age."""
    return service.staged_age == age and is_same_training(service)


@njit
def has_same_root(service: Any) -> Any:
    """Whether this server's training began in the same job as the newest server's."""
    return kept_word(service, ROOT) == load_i64(service.address + STAGED, ROOT)


# --- in a file --------------------------------------------------------------------------------------------------------


def lineage_facts(record: Any) -> dict[str, Any]:
    """The lineage of a SERVICE record, for ``put_lineage``."""
    words = [int(number) for number in record["lineage"]]
    jobs = [[draw, first] for draw, first in zip(words[DRAWS:FIRSTS], words[FIRSTS:], strict=True) if draw]
    return {"maker": int(record["maker"]), "root": words[ROOT], "floor": words[FLOOR], "jobs": jobs}


def check_lineage(facts: Mapping[str, Any]) -> None:
    """Raises KeyError, TypeError or ValueError for a lineage that ``lineage_facts`` cannot have written."""
    jobs = [(int(draw), int(first)) for draw, first in facts["jobs"]]
    numbers = [int(facts["maker"]), int(facts["root"]), *(draw for draw, _ in jobs)]
    if len(jobs) > JOBS_KEPT or not all(0 <= number <= MOST_DRAW for number in numbers):
        raise ValueError("its lineage")
    if min(int(facts["floor"]), *(first for _, first in jobs), 0) < 0:
        raise ValueError("its lineage's ages")


def put_lineage(record: Any, facts: Mapping[str, Any] | None, age: int) -> None:
    """Write the lineage from a file into a SERVICE record; None: unknown, so that older servers are not compared."""
    words = record["lineage"]
    words[:] = 0
    record["maker"] = facts["maker"] if facts is not None else 0
    words[FLOOR] = facts["floor"] if facts is not None else age + 1
    if facts is None:
        return
    words[ROOT] = facts["root"]
    for place, (draw, first) in enumerate(facts["jobs"]):
        words[DRAWS + place], words[FIRSTS + place] = draw, first
