"""In which order links take the pieces of a routing: list scheduling (TACCL, NSDI 2023, section 5.2)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from hostagent.planner.synthesis.problem import Problem, Step


class Rule(Enum):
    """Which of the steps that are possible is next."""

    EARLIEST = "earliest"
    """That which can start first; of several, with the longest way ahead."""
    LONGEST = "longest"
    """That with the longest way ahead; of several, which can start first."""


@dataclass(frozen=True, slots=True)
class Message:
    """Pieces that go over an edge together."""

    pieces: tuple[int, ...]
    edge: int


def ordered(problem: Problem, steps: Sequence[Step], rule: Rule) -> list[Step]:
    """Every step after that which brings its piece; ties go to the smallest distance around the ranks."""
    edges = problem.edges
    following: dict[tuple[int, int], list[Step]] = {}
    for number, edge in steps:
        following.setdefault((number, edges[edge].source), []).append((number, edge))
    ahead = _ahead_ns(problem, steps, following)
    queues = _queues(problem, steps)
    free_ns = [0] * len(problem.topology.links)
    arrived_ns: dict[Step, int] = {}
    keys: list[tuple[int, ...]] = []
    parked: dict[int, list[Step]] = {}
    found: list[Step] = []

    def key(step: Step) -> tuple[int, ...]:
        taken = edges[step[1]]
        start = max(arrived_ns[step], *(free_ns[link] for link in taken.links))
        first = (start, -ahead[step]) if rule is Rule.EARLIEST else (-ahead[step], start)
        return *first, (taken.destination - taken.source) % problem.ranks, *step

    def possible(step: Step, now_ns: int) -> None:
        arrived_ns[step] = now_ns
        heapq.heappush(keys, key(step))

    for number, piece in enumerate(problem.pieces):
        for step in following.get((number, piece.source), ()):
            possible(step, 0)
    while keys:
        noted = heapq.heappop(keys)
        number, index = best = noted[-2], noted[-1]
        if (now := key(best)) != noted:  # keys only grow, as links are taken
            heapq.heappush(keys, now)
            continue
        place = None if problem.order is None else problem.order.get(best)
        if place is not None:
            if queues[index][-1] < place:
                parked.setdefault(index, []).append(best)
                continue
            queues[index].pop()
        found.append(best)
        start = noted[0 if rule is Rule.EARLIEST else 1]
        for link in edges[index].links:
            free_ns[link] = start + problem.held_ns(link, 1)
        for step in parked.pop(index, ()):
            heapq.heappush(keys, key(step))
        for step in following.get((number, edges[index].destination), ()):
            possible(step, start + problem.passage_ns(index, 1))
    return found


def _ahead_ns(problem: Problem, steps: Iterable[Step], following: dict[tuple[int, int], list[Step]]) -> dict[Step, int]:
    """The longest way of a piece from the start of each step on."""
    found: dict[Step, int] = {}

    def ahead(step: Step) -> int:
        if step not in found:
            number, edge = step
            next_steps = following.get((number, problem.edges[edge].destination), ())
            found[step] = problem.passage_ns(edge, 1) + max(map(ahead, next_steps), default=0)
        return found[step]

    for step in steps:
        ahead(step)
    return found


def _queues(problem: Problem, steps: Iterable[Step]) -> dict[int, list[int]]:
    """Of each edge whose order is given: the numbers of its steps, the first one last."""
    found: dict[int, list[int]] = {}
    for step in steps:
        if problem.order is not None and step in problem.order:
            found.setdefault(step[1], []).append(problem.order[step])
    return {edge: sorted(each, reverse=True) for edge, each in found.items()}
