"""In which order links take the pieces of a routing: list scheduling (TACCL, NSDI 2023, section 5.2)."""

from __future__ import annotations

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
    waiting = _queues(problem, steps)
    free_ns = [0] * len(problem.topology.links)
    ready = {
        step: 0 for number, piece in enumerate(problem.pieces) for step in following.get((number, piece.source), ())
    }
    found: list[Step] = []

    def start_ns(step: Step) -> int:
        return max(ready[step], *(free_ns[link] for link in edges[step[1]].links))

    while ready:
        best, best_key = None, None
        for step in ready:
            if problem.order is not None and step in problem.order and waiting[step[1]][-1] < problem.order[step]:
                continue
            taken = edges[step[1]]
            start, offset = start_ns(step), (taken.destination - taken.source) % problem.ranks
            first = (start, -ahead[step]) if rule is Rule.EARLIEST else (-ahead[step], start)
            key = (*first, offset, step)
            if best_key is None or key < best_key:
                best, best_key = step, key
        assert best is not None, "the first in the order of a sender is ready sooner or later"
        start = start_ns(best)
        del ready[best]
        found.append(best)
        number, index = best
        if problem.order is not None and best in problem.order:
            waiting[index].remove(problem.order[best])
        for link in edges[index].links:
            free_ns[link] = start + problem.held_ns(link, 1)
        arrived = start + problem.passage_ns(index, 1)
        for step in following.get((number, edges[index].destination), ()):
            ready[step] = arrived
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
