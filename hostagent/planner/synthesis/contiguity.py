"""Which neighbors on a link go as one message, which pays alpha once, and when: a mixed-integer program.

TACCL's third stage (NSDI 2023, section 5.3), for all edges, and without a limit of pieces of a message. The order of
each link is given. A message's pieces start together, when the last of them is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from hostagent.planner.synthesis.ordering import Message
from hostagent.planner.synthesis.problem import Problem, Step
from hostagent.planner.synthesis.program import Program, Solver


def joined(
    problem: Problem,
    order: Sequence[Step],
    most_ns: int,
    time_limit_s: float,
    edges_joined: Sequence[int],
    solver: Solver,
) -> list[Message]:
    """``most_ns``: in which it can be done; ``edges_joined``: others send pieces one by one. Empty:
    nothing was found in time."""
    pairs = {second: first for second, first in candidates(problem, order).items() if order[second][1] in edges_joined}
    if not pairs:
        return []
    edges, unit = problem.edges, float(max(1, most_ns))
    brings = {(number, edges[edge].destination): at for at, (number, edge) in enumerate(order)}
    program = Program()
    total = program.variable(0, 1.0)
    program.objective[total] = 1.0
    start = [program.variable(0, 1.0) for _ in order]
    finish = [program.variable(0, 1.0) for _ in order]
    together = {second: program.variable(0, 1, True) for second in pairs}
    size: list[int] = []
    largest = _longest_runs(pairs, len(order))
    for at, (number, edge) in enumerate(order):
        size.append(program.variable(1, largest[at]))
        bits = (problem.passage_ns(edge, 2) - problem.passage_ns(edge, 1)) / unit
        delay = problem.passage_ns(edge, 1) / unit - bits
        program.row([(finish[at], 1.0), (start[at], -1.0), (size[at], -bits)], delay)
        program.row([(total, 1.0), (finish[at], -1.0)], 0.0)
        if (number, edges[edge].source) in brings:
            program.row([(start[at], 1.0), (finish[brings[number, edges[edge].source]], -1.0)], 0.0)
    for second, first in pairs.items():
        chosen = together[second]
        most = float(largest[second])
        program.row([(size[second], 1.0), (size[first], -1.0), (chosen, -most)], 1.0 - most)
        program.row([(start[second], 1.0), (start[first], -1.0), (chosen, 1.0)], upper=1.0)
        program.row([(start[first], 1.0), (start[second], -1.0), (chosen, 1.0)], upper=1.0)
        program.row([(finish[first], 1.0), (finish[second], -1.0), (chosen, -1.0)], -1.0)
    last: dict[int, int] = {}
    for at, (_, edge) in enumerate(order):
        for link in edges[edge].links:
            if link in last:
                before = last[link]
                bits = (problem.held_ns(link, 2) - problem.held_ns(link, 1)) / unit
                terms = [(start[at], 1.0), (start[before], -1.0), (size[before], -bits)]
                if pairs.get(at) == before:
                    slack = (problem.alpha_ns[link] / unit) + bits * largest[before]
                    terms.append((together[at], slack))
                program.row(terms, problem.alpha_ns[link] / unit)
            last[link] = at
    point, _ = solver.solve(program, time_limit_s, "messages", dict.fromkeys(together.values(), 0.0))
    if point is None:
        return []
    return messages(problem, order, {second for second, variable in together.items() if point[variable] > 0.5})


def climbed(
    problem: Problem,
    order: Sequence[Step],
    edges_joined: Sequence[int],
    elapsed_ns: Callable[[Sequence[Message]], int],
    time_limit_s: float,
) -> list[Message]:
    """Without a program: on one edge after the other all that can go together does, then pair by pair, wherever that is
    faster."""
    pairs, until = candidates(problem, order), monotonic() + time_limit_s
    on_edge: dict[int, set[int]] = {edge: set() for edge in edges_joined}
    for at in pairs:
        if order[at][1] in on_edge:
            on_edge[order[at][1]].add(at)
    together: set[int] = set()
    best = messages(problem, order, together)
    best_ns = elapsed_ns(best)
    for change in (*on_edge.values(), *({at} for each in on_edge.values() for at in sorted(each))):
        if change and monotonic() < until:
            found = messages(problem, order, together ^ change)
            if found and (took := elapsed_ns(found)) < best_ns:
                best, best_ns, together = found, took, together ^ change
    return best


def candidates(problem: Problem, order: Sequence[Step]) -> dict[int, int]:
    """Position -> the one just before it on all links of its edge, of the same edge. Where the piece would only be
    ready by way of it, they cannot go together."""
    last: dict[int, int] = {}
    found = {}
    for at, (_, edge) in enumerate(order):
        before = {last.get(link, -1) for link in problem.edges[edge].links}
        for link in problem.edges[edge].links:
            last[link] = at
        if len(before) == 1 and (first := before.pop()) >= 0 and order[first][1] == edge:
            found[at] = first
    return found


def messages(problem: Problem, order: Sequence[Step], with_previous: set[int]) -> list[Message]:
    """In an order in which each comes after those that bring its pieces; ``with_previous``: positions that go with the
    one before on their edge. Empty: messages would wait for each other."""
    pairs = candidates(problem, order)
    leader: dict[int, int] = {}
    groups: dict[int, list[int]] = {}
    for at in range(len(order)):
        leader[at] = leader[pairs[at]] if at in with_previous else at
        groups.setdefault(leader[at], []).append(at)
    edges = problem.edges
    brings = {(number, edges[edge].destination): at for at, (number, edge) in enumerate(order)}
    waits: dict[int, set[int]] = {group: set() for group in groups}
    last: dict[int, int] = {}
    for at, (number, edge) in enumerate(order):
        before = [brings[number, edges[edge].source]] if (number, edges[edge].source) in brings else []
        before += [last[link] for link in edges[edge].links if link in last]
        waits[leader[at]] |= {leader[each] for each in before} - {leader[at]}
        last |= dict.fromkeys(edges[edge].links, at)
    found: list[Message] = []
    done: set[int] = set()
    while len(done) < len(groups):
        possible = [group for group in groups if group not in done and waits[group] <= done]
        if not possible:
            return []
        for group in possible:
            done.add(group)
            pieces = tuple(sorted(order[at][0] for at in groups[group]))
            found.append(Message(pieces, order[group][1]))
    return found


def _longest_runs(pairs: dict[int, int], count: int) -> list[int]:
    """How many pieces can go together up to each position."""
    found = [1] * count
    for second in sorted(pairs):
        found[second] = found[pairs[second]] + 1
    return found
