"""Does a schedule do what it should, in every order in which its tasks may run? Independent of whoever made it.

1. Every route leads from where the source runs to where the destination runs; the links of a collective are a tree in
   which each contribution is added once and each result arrives.
2. Of two tasks that touch one chunk at one rank, unless both read or both add, the first in the list happens before
   the other, by way of ``after``. So every run gives what the list gives, one task at a time.
3. In that order: who sends holds what it sends; nothing is added twice; in the end each destination holds the sum of
   all sources' contributions, each once.
4. With times: a task starts when what it waits for has finished, takes as long as its links do, and no two tasks
   occupy a link or a compute unit at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from emulator.network.schedule import verify_loops as loops
from emulator.network.schedule.columns import OPERATIONS, Kind
from emulator.network.schedule.parts import Operation, ScheduleError
from emulator.network.schedule.schedule import Schedule

Int64s = NDArray[np.int64]


class Rule(StrEnum):
    """What a schedule can break."""

    ROUTE = "route"
    ORDER = "order"
    SOURCE = "source"
    TWICE = "twice"
    RESULT = "result"
    TIME = "time"
    EXCLUSIVE = "exclusive"


class InvalidScheduleError(ScheduleError):
    """The first fault that `verify` finds."""

    def __init__(self, rule: Rule, text: str, *place: str | int) -> None:
        super().__init__(text, place)
        self.args = (rule, text, *place)
        self.rule = rule


@dataclass(frozen=True, slots=True, eq=False)
class Volume:
    """What a schedule moves: bytes of chunks, without headers."""

    link_bytes: Int64s
    """Of each link of the topology; a collective is counted once on each link of its route."""
    link_messages: Int64s
    sent_bytes: Int64s
    """[rank], by Send and Reduce; what its collectives move is in ``link_bytes`` only."""
    received_bytes: Int64s


def verify(schedule: Schedule, start_ns: Int64s | None = None, finish_ns: Int64s | None = None) -> Volume:
    """``start_ns``, ``finish_ns`` [tasks]: from a planner or simulator, with exclusive links. Raises
    InvalidScheduleError."""
    _check_routes(schedule)
    _check_data(schedule)
    if start_ns is not None and finish_ns is not None:
        _check_times(schedule, start_ns, finish_ns)
    return volume(schedule)


def volume(schedule: Schedule) -> Volume:
    columns, size, route = schedule.columns, schedule.task_bytes, schedule.columns.route
    links = len(schedule.topology.links)
    moves = (columns.kind == Kind.SEND) | (columns.kind == Kind.REDUCE)
    return Volume(
        _sums(route.values, size[route.owners], links),
        np.bincount(route.values, minlength=links),
        _sums(columns.source[moves], size[moves], schedule.ranks),
        _sums(columns.destination[moves], size[moves], schedule.ranks),
    )


def _sums(index: NDArray[np.int32], values: Int64s, count: int) -> Int64s:
    found = np.zeros(count, np.int64)
    np.add.at(found, index, values)
    return found


def _check_routes(schedule: Schedule) -> None:
    columns, links = schedule.columns, schedule.topology.links
    numbers = {node.name: number for number, node in enumerate(schedule.topology.nodes)}
    begins = np.array([numbers[link.source] for link in links], np.int64)
    ends = np.array([numbers[link.destination] for link in links], np.int64)
    places = np.array([numbers[place] for place in schedule.places], np.int64)
    task = loops.first_broken_route(columns, begins, ends, places)
    if task >= 0:
        source, destination = (schedule.places[each[task]] for each in (columns.source, columns.destination))
        raise InvalidScheduleError(
            Rule.ROUTE, f"the links are no way from {source} to {destination}", "tasks", task, "route"
        )
    trees: dict[tuple[int, bytes, bytes], str] = {}
    for task in np.flatnonzero(columns.kind == Kind.COLLECTIVE).tolist():
        group, route = columns.group.row(task), columns.route.row(task)
        key = int(columns.label[task]), group.tobytes(), route.tobytes()
        if key not in trees:
            hops = [(links[link].source, links[link].destination) for link in route]
            trees[key] = _fault_of_tree(OPERATIONS[key[0]], [schedule.places[rank] for rank in group], hops)
        if trees[key]:
            raise InvalidScheduleError(Rule.ROUTE, trees[key], "tasks", task, "route")


def _fault_of_tree(operation: Operation, members: Sequence[str], hops: Iterable[tuple[str, str]]) -> str:
    """Pass contributions along the hops in their order: a node adds what it has no part of, and takes over what
    includes all that it has. Empty: everybody has what the operation promises."""
    if len(set(members)) < len(members):
        return "two members of the group are at one node"
    contributes = members[:1] if operation is Operation.BROADCAST else members
    held = {member: 1 << number for number, member in enumerate(contributes)}
    for source, destination in hops:
        arriving, there = held.get(source, 0), held.get(destination, 0)
        if not arriving:
            return f"{source} has nothing yet to pass to {destination}"
        if arriving & there and arriving & there != there:
            return f"{destination} would add something twice"
        held[destination] = arriving | there
    whole = (1 << len(contributes)) - 1
    for member in members[:1] if operation is Operation.REDUCE else members:
        if held.get(member) != whole:
            return f"{member} does not get the result"
    return ""


def _check_data(schedule: Schedule) -> None:
    columns = schedule.columns
    counts = [each.count for each in schedule.chunks]
    kinds = np.repeat(np.arange(len(counts)), counts)  # of each chunk: its entry in schedule.chunks
    words = (schedule.ranks + 63) // 64
    sets = {each: _bits(each, words) for part in schedule.chunks for each in (part.sources, part.destinations)}
    sources = np.array([sets[part.sources] for part in schedule.chunks], np.uint64).reshape(-1, words)
    destinations = np.array([sets[part.destinations] for part in schedule.chunks], np.uint64).reshape(-1, words)
    fault, task, rank, chunk, other = loops.first_data_fault(columns, kinds, sources, destinations, schedule.ranks)
    texts: dict[int, tuple[Rule, Callable[[], str]]] = {
        loops.UNORDERED: (Rule.ORDER, lambda: f"nothing says that it waits for task {other}: both use {place}"),
        loops.ABSENT: (Rule.SOURCE, lambda: f"rank {rank} does not hold chunk {chunk}"),
        loops.TWICE: (Rule.TWICE, lambda: f"rank {other}'s contribution would be added to {place} a second time"),
        loops.NO_SOURCE: (Rule.SOURCE, lambda: f"rank {rank} is no source of chunk {chunk}, which it writes"),
        loops.INCOMPLETE: (
            Rule.RESULT,
            lambda: (
                f"in the end rank {rank} does not hold all of chunk {chunk}: rank {other}'s contribution is missing"
            ),
        ),
    }
    if fault:
        place = f"chunk {chunk} at rank {rank}"
        rule, text = texts[fault]
        where = ("tasks", task) if task >= 0 else ("chunks", int(kinds[chunk]), "destinations")
        raise InvalidScheduleError(rule, text(), *where)


def _bits(ranks: Iterable[int], words: int) -> NDArray[np.uint64]:
    found = np.zeros(words * 64, np.uint8)
    found[list(ranks)] = 1
    return np.packbits(found, bitorder="little").view(np.uint64)


def _check_times(schedule: Schedule, start_ns: Int64s, finish_ns: Int64s) -> None:
    columns = schedule.columns
    waits = columns.after.owners
    early = finish_ns[columns.after.values] > start_ns[waits]
    if early.any():
        task, other = int(waits[np.argmax(early)]), int(columns.after.values[np.argmax(early)])
        raise InvalidScheduleError(Rule.TIME, f"it starts before task {other} has finished", "tasks", task)
    if len(schedule) and start_ns.min() < 0:
        raise InvalidScheduleError(Rule.TIME, "it starts before time 0", "tasks", int(np.argmin(start_ns)))
    links, size = schedule.topology.links, schedule.task_bytes
    rate = np.array([link.rate_bps for link in links], object)
    alpha = np.array([link.alpha_ns for link in links], np.int64)
    users, used = columns.route.owners, columns.route.values
    bits_ns = -(-(size[users].astype(object) * 8_000_000_000) // rate[used])  # exact: no float, no overflow
    held_ns = bits_ns.astype(np.int64) + alpha[used]
    latency = np.array([link.latency_ns for link in links], np.int64)
    passed = np.concatenate([[0], np.cumsum((alpha + latency)[used])])
    exact_ns = columns.duration_ns + passed[columns.route.offsets[1:]] - passed[columns.route.offsets[:-1]]
    for task in np.flatnonzero(columns.kind == Kind.COLLECTIVE).tolist():
        exact_ns[task] = _longest_way_ns(schedule, task)
    slowest_ns = np.zeros(len(schedule), np.int64)
    np.maximum.at(slowest_ns, users, bits_ns.astype(np.int64))
    exact_ns += slowest_ns
    short = finish_ns - start_ns != exact_ns
    if short.any():
        task = int(np.argmax(short))
        took = int(finish_ns[task] - start_ns[task])
        raise InvalidScheduleError(Rule.TIME, f"it takes {took} ns, not {int(exact_ns[task])}", "tasks", task)
    units = np.flatnonzero(columns.kind == Kind.COMPUTE)
    resource = np.concatenate([used, len(links) + columns.source[units]])
    user = np.concatenate([users, units])
    begin = start_ns[user]
    end = begin + np.concatenate([held_ns, columns.duration_ns[units]])
    order = np.lexsort((end, begin, resource))
    clash = (resource[order][1:] == resource[order][:-1]) & (begin[order][1:] < end[order][:-1])
    if clash.any():
        at = int(np.argmax(clash))
        first, second, what = int(user[order][at]), int(user[order][at + 1]), int(resource[order][at])
        name = links[what].name if what < len(links) else f"the compute unit of rank {what - len(links)}"
        raise InvalidScheduleError(Rule.EXCLUSIVE, f"task {first} still occupies {name}", "tasks", second)


def _longest_way_ns(schedule: Schedule, task: int) -> int:
    """Alpha and latency of the slowest way through the tree of a collective."""
    passed: dict[str, int] = {}
    for index in schedule.columns.route.row(task).tolist():
        link = schedule.topology.links[index]
        arrival = passed.get(link.source, 0) + link.alpha_ns + link.latency_ns
        passed[link.destination] = max(passed.get(link.destination, 0), arrival)
    return max(passed.values(), default=0)
