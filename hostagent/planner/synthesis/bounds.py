"""What no plan is faster than: the pieces that have to cross a cut, over the links that cross it.

A cut parts one rank, or one node of GPUs, from the rest. A link takes alpha once and the bits of each piece, however
pieces are joined; before the first of them it has to come to the cut, and after the last it has to go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hostagent.planner.synthesis.problem import Problem
from hostagent.planner.synthesis.routing import Routing, arrivals, earliest


def lower_bound_ns(problem: Problem, collective: str, routing: Routing) -> int:
    """Of all plans of pieces over the edges that they may take, whatever the routing, its symmetry, the order and the
    messages. An allreduce gathers nothing before the first chunk is summed. What is proven of ``routing`` counts where
    no symmetry restricts it, with costs that are at most the bits of a piece, whose alpha may be another one's, too."""
    passage = [problem.passage_ns(edge, 1) for edge in range(len(problem.edges))]
    soonest = [earliest(problem, number, passage) for number in range(len(problem.pieces))]
    whole = [max(found[rank] for rank in problem.pieces[number].destinations) for number, found in enumerate(soonest)]
    bound = max(whole)
    if not problem.symmetries:
        bits = (min(problem.bits_ns(link, 1) for link in edge.links) / edge.cost_ns for edge in problem.edges)
        bound = max(bound, int(routing.bound_ns * min(1.0, *bits)))
    nodes: dict[int, set[int]] = {}
    for rank in range(problem.ranks):
        nodes.setdefault(rank // (problem.gpus or problem.ranks), set()).add(rank)
    parts = [{rank} for rank in range(problem.ranks)] + (list(nodes.values()) if len(nodes) > 1 else [])
    for part in parts:
        for enters in (True, False):
            bound = max(bound, _crossing_ns(problem, part, enters, soonest, passage))
    if collective != "allreduce":
        return bound
    steps = 2 * sum(len(piece.destinations) for piece in problem.pieces)  # into ranks: as many sums as copies
    carried = _carried_ns(problem, {edge.links[-1] for edge in problem.edges}, steps)
    crossed = (_both_crossing_ns(problem, part, enters) for part in parts for enters in (True, False))
    return max(bound + min(whole), carried, *crossed)


def _crossing_ns(
    problem: Problem, part: set[int], enters: bool, soonest: Sequence[dict[int, int]], passage: Sequence[int]
) -> int:
    """Until all pieces that have to enter (or leave) the part have done so, and are where they have to be."""
    heads, tails = [], []
    ways_of, links = _cut(problem, part, enters)
    for number, ways in ways_of.items():
        beyond = [rank for rank in problem.pieces[number].destinations if (rank in part) == enters]
        heads.append(min(soonest[number][problem.edges[index].source] for index in ways))
        entries = {problem.edges[index].destination: 0 for index in ways}
        left, _ = arrivals(problem, number, entries, lambda index, at: at + passage[index])
        tails.append(max(left[rank] for rank in beyond))
    if not heads:
        return 0
    return min(heads) + _carried_ns(problem, sorted(links), len(heads)) + min(tails)


def _both_crossing_ns(problem: Problem, part: set[int], enters: bool) -> int:
    """The same for an allreduce: sums take the reversed routes of copies, so all pieces cross in each direction."""
    copied, links = _cut(problem, part, enters)
    summed, others = _cut(problem, part, not enters)
    numbers = {link.name: number for number, link in enumerate(problem.topology.links)}
    links |= {numbers[problem.topology.links[link].reverse.name] for link in others}
    return _carried_ns(problem, sorted(links), len(copied) + len(summed)) if links else 0


def _cut(problem: Problem, part: set[int], enters: bool) -> tuple[dict[int, list[int]], set[int]]:
    """The pieces that have to enter (or leave) the part, with the edges that take them there; and of each edge a link,
    that which most others have, too."""
    ends, links = (not enters, enters), set()
    crossing = {
        index for index, edge in enumerate(problem.edges) if (edge.source in part, edge.destination in part) == ends
    }
    uses = Counter(link for index in crossing for link in problem.edges[index].links)
    ways_of = {}
    for number, piece in enumerate(problem.pieces):
        if (piece.source in part) != enters and any((rank in part) == enters for rank in piece.destinations):
            ways_of[number] = [index for index in problem.allowed[number] if index in crossing]
            for index in ways_of[number]:
                links.add(max(problem.edges[index].links, key=lambda link: (uses[link], -link)))
    return ways_of, links


def _carried_ns(problem: Problem, links: Iterable[int], pieces: int) -> int:
    """The least time in which parallel links carry ``pieces``: each link has its alpha, then sends whole pieces."""
    costs = [(problem.alpha_ns[link], problem.bits_ns(link, 1)) for link in links]
    low, high = 0, min(alpha + pieces * bits for alpha, bits in costs)
    while low < high:
        middle = (low + high) // 2
        if sum(max(0, middle - alpha) // bits for alpha, bits in costs) >= pieces:
            high = middle
        else:
            low = middle + 1
    return low
