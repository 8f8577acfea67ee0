"""Routing and order at once, in slots of time: small problems, whose answer no order on links makes slower.

A time-expanded program (as in TE-CCL, Liu et al., SIGCOMM 2024): a piece starts on an edge in a slot, and occupies its
links for the slots that its cost takes, rounded up. Horizons are tried from the routing's bound on.
"""

from __future__ import annotations

from math import ceil
from time import monotonic

from hostagent.planner.synthesis.problem import Problem, Step
from hostagent.planner.synthesis.program import Program, Solver
from hostagent.planner.synthesis.routing import Orbits, earliest, merged

MOST_VARIABLES = 12_000


def slotted(problem: Problem, bound_ns: float, most_ns: float, time_limit_s: float, solver: Solver) -> list[Step]:
    """Steps in the order of their slots. Empty: none faster than ``most_ns`` in time, or the problem is too large."""
    slot_ns = min(edge.cost_ns for edge in problem.edges)
    until = monotonic() + time_limit_s
    for horizon in range(max(1, ceil(bound_ns / slot_ns - 1e-6)), ceil(most_ns / slot_ns - 1e-6)):
        left = until - monotonic()
        size = horizon * sum(map(len, problem.allowed))
        if left < 1 or size > MOST_VARIABLES * problem.ranks:
            break
        made = _program(problem, slot_ns, horizon)
        if made is None:
            continue
        program, starts = made
        if len(program.lower) > MOST_VARIABLES:
            break
        point, _ = solver.solve(program, left, "order")
        if point is not None:
            return sorted(
                (step for step, slots in starts.items() if any(point[each] > 0.5 for each in slots.values())),
                key=lambda step: next(slot for slot, each in starts[step].items() if point[each] > 0.5),
            )
    return []


def _program(problem: Problem, slot_ns: int, horizon: int) -> tuple[Program, dict[Step, dict[int, int]]] | None:
    """And the variables of each step by its first slot; None: a destination is too far."""
    edges, same, program = problem.edges, Orbits(problem), Program()
    takes = [ceil(edge.cost_ns / slot_ns - 1e-6) for edge in edges]
    starts: dict[Step, dict[int, int]] = {}
    busy: dict[tuple[int, int], list[int]] = {}
    for number, piece in enumerate(problem.pieces):
        soonest = earliest(problem, number, takes)
        into: dict[int, list[tuple[int, int]]] = {}
        for edge in problem.allowed[number]:
            first = same.step((number, edge))
            if first not in starts:
                begin = soonest[edges[edge].source]
                slots = range(begin, horizon - takes[edge] + 1)
                starts[first] = {slot: program.variable(0, 1, True) for slot in slots}
            starts[number, edge] = starts[first]
            for slot, variable in starts[first].items():
                into.setdefault(edges[edge].destination, []).append((slot + takes[edge], variable))
                for link in edges[edge].links:
                    for during in range(slot, slot + takes[edge]):
                        busy.setdefault((link, during), []).append(variable)
        if same.piece(number) != number:
            continue
        if any(rank not in into for rank in piece.destinations):
            return None
        for rank, ways in into.items():
            least = 1.0 if rank in piece.destinations else 0.0
            program.row(merged((variable, 1.0) for _, variable in ways), least, 1.0)
        for edge in problem.allowed[number]:
            if (source := edges[edge].source) == piece.source:
                continue
            for slot, variable in starts[number, edge].items():
                before = [(other, 1.0) for done, other in into.get(source, ()) if done <= slot]
                program.row(merged([*before, (variable, -1.0)]), 0.0)
    for users in busy.values():
        program.row(merged((variable, 1.0) for variable in users), upper=1.0)
    return program, starts
