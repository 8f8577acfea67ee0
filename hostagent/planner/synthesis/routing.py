"""Which edges carry which piece: a mixed-integer program without order on links, and a greedy answer.

The program is TACCL's first stage (NSDI 2023, section 5.1): pieces arrive after their ways' costs, and no link is busy
for longer than the whole. What symmetry makes equal is one variable, so that the program shrinks by the group's size.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic

from emulator.network.topology.parts import TopologyError
from hostagent.planner.synthesis.problem import Problem, Step
from hostagent.planner.synthesis.program import Program, Solver

POLICY_LIMIT_S = 10.0
"""Of the run that chooses between routings that are as fast."""


@dataclass(frozen=True, slots=True)
class Routing:
    """Ways of all pieces: trees for allgather, paths for alltoall."""

    steps: tuple[Step, ...]
    time_ns: float
    """By the program's rules, without order on links."""
    bound_ns: float
    """No routing with this symmetry is faster by these rules; 0: unknown."""

    @property
    def gap(self) -> float:
        return max(0.0, 1 - self.bound_ns / self.time_ns)


def route(problem: Problem, time_limit_s: float, solver: Solver) -> Routing:
    """The best routing that is found in time; the greedy one where the program has none better. A policy for switches
    decides between routings that are as fast, in a second run."""
    begin = monotonic()
    steps = greedy_steps(problem)
    time_ns = routing_time_ns(problem, steps)
    made = _program(problem, time_ns)
    point, bound = solver.solve(made.program, time_limit_s, "routing", _start(made, steps))
    if point is not None:
        found = _needed(problem, [step for step, variable in made.chosen.items() if point[variable] > 0.5])
        if (took := routing_time_ns(problem, found)) <= time_ns:
            steps, time_ns = found, took
    left = time_limit_s - (monotonic() - begin)
    if made.uses and point is not None and left > 1:
        start = {variable: float(point[variable]) for variable in made.chosen.values()}
        made.program.upper[made.total] = float(point[made.total])
        made.program.objective = dict.fromkeys(made.uses, 1.0 if problem.policy == "uc-min" else -1.0)
        point, _ = solver.solve(made.program, min(left, POLICY_LIMIT_S), "switches", start)
        if point is not None:
            found = _needed(problem, [step for step, variable in made.chosen.items() if point[variable] > 0.5])
            if routing_time_ns(problem, found) <= time_ns:
                steps = found
    return Routing(tuple(steps), time_ns, min(bound * made.unit_ns, time_ns))


def _start(made: _Made, steps: Sequence[Step]) -> dict[int, float]:
    """The program's point for a routing; empty where symmetry forbids it."""
    taken = set(steps)
    found = {variable: float(step in taken) for step, variable in made.chosen.items()}
    return found if all(found[variable] == (step in taken) for step, variable in made.chosen.items()) else {}


@dataclass(frozen=True, slots=True)
class _Made:
    program: Program
    chosen: dict[Step, int]
    """The variable of each step."""
    total: int
    """That of the time."""
    uses: list[int]
    """Of pairs of ranks that a switch joins: 1 where something goes."""
    unit_ns: float
    """Of the program's times."""


def _program(problem: Problem, most_ns: int) -> _Made:
    edges, pieces = problem.edges, problem.pieces
    unit = float(min(edge.cost_ns for edge in edges))
    most = most_ns / unit
    same = Orbits(problem)
    program = Program()
    total = program.variable(0, most)
    program.objective[total] = 1.0
    chosen: dict[Step, int] = {}
    arrival: dict[tuple[int, int], int] = {}
    costs = [edge.cost_ns for edge in edges]
    soonest = [earliest(problem, number, costs) for number in range(len(pieces))]
    for number in range(len(pieces)):
        for edge in problem.allowed[number]:
            first = same.step((number, edge))
            if first not in chosen:
                one = soonest[number][edges[edge].source] + edges[edge].cost_ns
                chosen[first] = program.variable(0, float(one <= most_ns), True)
            chosen[number, edge] = chosen[first]
        for rank, least_ns in soonest[number].items():
            first = same.place(number, rank)
            if first not in arrival:
                late = 0.0 if rank == pieces[number].source else most
                arrival[first] = program.variable(min(least_ns / unit, late), late)
            arrival[number, rank] = arrival[first]
    for number, piece in enumerate(pieces):
        if same.piece(number) != number:
            continue
        into: dict[int, list[int]] = {}
        for edge in problem.allowed[number]:
            into.setdefault(edges[edge].destination, []).append(chosen[number, edge])
        wanted = set(piece.destinations)
        for ways in _entries(problem, number):  # what follows from the rest, but not for fractions of steps
            program.row(merged((chosen[number, edge], 1.0) for edge in ways), 1.0)
        for rank, ways in into.items():
            program.row(_summed(ways), 1.0 if rank in wanted else 0.0, 1.0)
            program.row([(total, 1.0), (arrival[number, rank], -1.0)], 0.0)
        for edge in problem.allowed[number]:
            one, other, cost = edges[edge].source, edges[edge].destination, edges[edge].cost_ns / unit
            slack = most + cost - soonest[number][other] / unit
            terms = [(arrival[number, other], 1.0), (arrival[number, one], -1.0), (chosen[number, edge], -slack)]
            program.row(terms, cost - slack)
            if one != piece.source and one not in wanted:
                program.row(_summed([*into.get(one, ()), chosen[number, edge]], last=-1.0), 0.0)
    users: dict[int, list[int]] = {}
    for number in range(len(pieces)):
        for edge in problem.allowed[number]:
            users.setdefault(edge, []).append(chosen[number, edge])
    seen = set()
    for through in problem.edges_of_link.values():
        terms = merged((each, -edges[edge].cost_ns / unit) for edge in through for each in users.get(edge, ()))
        if terms and tuple(terms) not in seen:  # symmetry makes rows equal
            seen.add(tuple(terms))
            program.row([(total, 1.0), *terms], 0.0)
    uses = []
    for edge in {same.edge(edge) for edge in users if len(edges[edge].links) > 1 and not edges[edge].remote}:
        if problem.policy:
            uses.append(program.variable(0, 1))
        if problem.policy == "uc-min":
            for each in set(users[edge]):
                program.row([(uses[-1], 1.0), (each, -1.0)], 0.0)
        elif problem.policy == "uc-max":
            program.row([*merged((each, 1.0) for each in users[edge]), (uses[-1], -1.0)], 0.0)
    return _Made(program, chosen, total, uses, unit)


def _entries(problem: Problem, number: int) -> list[list[int]]:
    """Of each other node of GPUs where a piece has to go: the edges into it."""
    piece, gpus = problem.pieces[number], problem.gpus or problem.ranks
    nodes = {rank // gpus for rank in piece.destinations} - {piece.source // gpus}
    remote = [edge for edge in problem.allowed[number] if problem.edges[edge].remote]
    return [[edge for edge in remote if problem.edges[edge].destination // gpus == node] for node in sorted(nodes)]


def _summed(variables: Sequence[int], last: float = 1.0) -> list[tuple[int, float]]:
    ones = [1.0] * len(variables)
    ones[-1] = last
    return merged(zip(variables, ones, strict=True))


def merged(terms: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """Each variable once."""
    found: dict[int, float] = {}
    for variable, coefficient in terms:
        found[variable] = found.get(variable, 0.0) + coefficient
    return sorted(found.items())


class Orbits:
    """Variables that symmetry makes equal, by orbit; the first of each orbit represents the others."""

    def __init__(self, problem: Problem) -> None:
        edges, pieces = problem.edges, problem.pieces
        edge_at = {(edge.source, edge.destination): index for index, edge in enumerate(edges)}
        piece_at = {piece: index for index, piece in enumerate(pieces)}
        self._parent: dict[tuple[str, int, int], tuple[str, int, int]] = {}
        allowed = [set(each) for each in problem.allowed]
        for moved in problem.symmetries:
            edge_to = []
            for edge in edges:
                image = edge_at.get((moved[edge.source], moved[edge.destination]))
                if image is None or edges[image].cost_ns != edge.cost_ns:
                    raise TopologyError(
                        f"symmetry_offsets: rank {edge.source} sends to rank {edge.destination}, but rank "
                        f"{moved[edge.source]} cannot send to rank {moved[edge.destination]} in the same time"
                    )
                edge_to.append(image)
            for number, piece in enumerate(pieces):
                targets = tuple(sorted(moved[rank] for rank in piece.destinations))
                other = piece_at[type(piece)(moved[piece.source], targets, piece.number)]
                self._join(("piece", number, 0), ("piece", other, 0))
                for rank in range(problem.ranks):
                    self._join(("place", number, rank), ("place", other, moved[rank]))
                for index in allowed[number]:
                    if edge_to[index] not in allowed[other]:
                        raise TopologyError(
                            f"symmetry_offsets: rank {edges[index].source} sends chunks of rank {piece.source} to rank "
                            f"{edges[index].destination}, but their images may not go that way"
                        )
                    self._join(("step", number, index), ("step", other, edge_to[index]))
            for index, image in enumerate(edge_to):
                self._join(("edge", index, 0), ("edge", image, 0))

    def step(self, step: Step) -> Step:
        return self._first(("step", *step))[1:]

    def place(self, piece: int, rank: int) -> tuple[int, int]:
        return self._first(("place", piece, rank))[1:]

    def piece(self, piece: int) -> int:
        return self._first(("piece", piece, 0))[1]

    def edge(self, edge: int) -> int:
        return self._first(("edge", edge, 0))[1]

    def _first(self, each: tuple[str, int, int]) -> tuple[str, int, int]:
        while (parent := self._parent.get(each, each)) != each:
            self._parent[each] = self._parent.get(parent, parent)
            each = parent
        return each

    def _join(self, one: tuple[str, int, int], other: tuple[str, int, int]) -> None:
        one, other = sorted((self._first(one), self._first(other)))
        self._parent[other] = one


def greedy_steps(problem: Problem) -> list[Step]:
    """Pieces in turn, each to its nearest destination that is left, over links that take one message at a time."""
    free_ns = [0] * len(problem.topology.links)
    held: list[dict[int, int]] = [{piece.source: 0} for piece in problem.pieces]
    left = [set(piece.destinations) for piece in problem.pieces]
    steps: list[Step] = []

    def finish_ns(edge: int, ready_ns: int) -> int:
        return max(ready_ns, *(free_ns[link] for link in problem.edges[edge].links)) + problem.edges[edge].cost_ns

    while any(left):
        for number, targets in enumerate(left):
            if not targets:
                continue
            at, into = arrivals(problem, number, held[number], finish_ns)
            rank = min(targets, key=lambda each: (at[each], (each - problem.pieces[number].source) % problem.ranks))
            way = []
            while rank not in held[number]:
                way.append(into[rank])
                rank = problem.edges[into[rank]].source
            for edge in reversed(way):
                destination = problem.edges[edge].destination
                done = finish_ns(edge, held[number][problem.edges[edge].source])
                held[number][destination] = done
                for link in problem.edges[edge].links:
                    free_ns[link] = done
                targets.discard(destination)
                steps.append((number, edge))
    return steps


def arrivals(
    problem: Problem, number: int, held: dict[int, int], finish_ns: Callable[[int, int], int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Earliest times of a piece at all ranks, from those that hold it, and the edge by which it comes (Dijkstra)."""
    out: dict[int, list[int]] = {}
    for edge in problem.allowed[number]:
        out.setdefault(problem.edges[edge].source, []).append(edge)
    found: dict[int, int] = {}
    into: dict[int, int] = {}
    waiting = [(at, rank, -1) for rank, at in held.items()]
    heapq.heapify(waiting)
    while waiting:
        at, rank, by = heapq.heappop(waiting)
        if rank in found:
            continue
        found[rank] = at
        if by >= 0:
            into[rank] = by
        for edge in out.get(rank, ()):
            if problem.edges[edge].destination not in found:
                heapq.heappush(waiting, (finish_ns(edge, at), problem.edges[edge].destination, edge))
    return found, into


def routing_time_ns(problem: Problem, steps: Sequence[Step]) -> int:
    """The latest arrival, or the load of a link that takes longer."""
    load: dict[int, int] = {}
    into: dict[tuple[int, int], int] = {}
    for number, edge in steps:
        into[number, problem.edges[edge].destination] = edge
        for link in problem.edges[edge].links:
            load[link] = load.get(link, 0) + problem.edges[edge].cost_ns
    latest = max(load.values())
    for (number, rank), _ in into.items():
        total = 0
        while (number, rank) in into:
            total += problem.edges[into[number, rank]].cost_ns
            rank = problem.edges[into[number, rank]].source
        latest = max(latest, total)
    return latest


def earliest(problem: Problem, number: int, costs: Sequence[int]) -> dict[int, int]:
    """When a piece can be at each rank, if it has the network to itself; ``costs``: of each edge, in any unit."""
    held = {problem.pieces[number].source: 0}
    return arrivals(problem, number, held, lambda edge, at: at + costs[edge])[0]


def _needed(problem: Problem, steps: Sequence[Step]) -> list[Step]:
    """Without steps that lead to no destination."""
    into = {(number, problem.edges[edge].destination): edge for number, edge in steps}
    kept: dict[Step, None] = {}
    for number, piece in enumerate(problem.pieces):
        for rank in piece.destinations:
            while rank != piece.source:
                edge = into[number, rank]
                kept[number, edge] = None
                rank = problem.edges[edge].source
    return list(kept)
