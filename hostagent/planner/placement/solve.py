"""The cheapest order of ranks: all orders of up to `EXACT_RANKS` ranks, beyond that a search with a bounded number of
moves. The same costs and seed are the same order; no order is worse than the given one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from hostagent.planner.placement.costs import Matrix
from hostagent.planner.placement.model import Array, Messages, Model, critical_path, path_length

EXACT_RANKS = 9
"""9! orders take a second."""
RING_WORK, ANNEALING_WORK = 4_000_000, 20_000_000
"""Pairs looked at by kicks, messages by annealing: a second or two, whatever the number of ranks."""
LEAST_KICKS, LEAST_MOVES = 100, 2_000
HOT = 0.02
"""Temperature at the start of annealing, of the order's value."""
CLEARLY = 1e-9
"""Relative difference that makes an order cheaper, rather than a sum rounded differently."""
LONGEST_SEGMENT = 3
"""Ranks that Or-opt moves together (Or 1976)."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """An order, beside the one that was given: host i has rank i."""

    order: NDArray[np.int64]
    """[ranks]: the host of each rank."""
    is_exact: bool
    """No order is cheaper."""
    cost_ns: float
    given_cost_ns: float
    elapsed_ns: float
    """Of an allreduce, as predicted."""
    given_elapsed_ns: float


def solve(model: Model, seed: int = 1) -> Placement:
    """``seed``: of the search beyond `EXACT_RANKS` ranks."""
    given = np.arange(model.ranks)
    is_exact = model.ranks <= EXACT_RANKS
    if is_exact:
        pair_costs = model.costs.latency_ns, model.costs.byte_ns
        found = _cheapest(model.messages, *pair_costs, model.message_ns, model.is_ring, *model.scratch())
    else:
        found = _search_ring(model, seed) if model.is_ring else _search(model, seed)
    judged = model.cost if model.network is None else model.elapsed_ns
    if judged(found) >= judged(given) * (1 - CLEARLY):
        found = given
    costs = (model.cost(found), model.cost(given), model.elapsed_ns(found), model.elapsed_ns(given))
    return Placement(found, is_exact, *costs)


def clustered(distance: Matrix) -> NDArray[np.int64]:
    """Hosts by average-linkage clustering (Sokal, Michener 1958): the members of each cluster follow each other."""
    between = distance.copy()
    np.fill_diagonal(between, np.inf)
    members = {index: [index] for index in range(len(distance))}
    while len(members) > 1:
        one, other = sorted(divmod(int(np.argmin(between)), len(distance)))
        weights = len(members[one]), len(members[other])
        merged = np.average(between[[one, other]], axis=0, weights=weights)
        merged[one] = np.inf
        between[one] = between[:, one] = merged
        between[other] = between[:, other] = np.inf
        members[one] += members.pop(other)
    return np.array(members[0])


def _search_ring(model: Model, seed: int) -> NDArray[np.int64]:
    """2-opt and Or-opt from two starts, with kicks. Host 0 stays rank 0."""
    kicks = max(LEAST_KICKS, RING_WORK // model.ranks**2)
    tours = [
        _shorten(model.message_ns, start.astype(np.int64), kicks, seed)
        for start in (clustered(model.message_ns), np.arange(model.ranks))
    ]
    best = min(tours, key=model.cost)
    best = np.roll(best, -int(np.argmin(best)))
    return best if best[1] < best[-1] else np.roll(best[::-1], 1)


def _search(model: Model, seed: int) -> NDArray[np.int64]:
    """Annealing from the best of: the given order; clusters as neighbours; clusters far apart, for algorithms whose
    large messages go far. With a network one of them may be better than what is found without."""
    near = clustered(model.message_ns)
    width = (model.ranks - 1).bit_length()
    mirrored = [int(f"{rank:0{width}b}"[::-1], 2) for rank in range(model.ranks)]
    far = near[np.argsort(np.argsort(mirrored))]
    starts = (np.arange(model.ranks), near, far)
    start = min(starts, key=model.cost)
    moves = max(LEAST_MOVES, ANNEALING_WORK // len(model.messages.source))
    costs = model.costs.latency_ns, model.costs.byte_ns
    found: NDArray[np.int64] = _anneal(model.messages, *costs, start.astype(np.int64), moves, seed, *model.scratch())
    return found if model.network is None else min((found, *starts), key=model.elapsed_ns)


@njit
def _cheapest(
    messages: Messages, latency_ns: Matrix, byte_ns: Matrix, hop_ns: Matrix, is_ring: bool, finish: Matrix, sent: Matrix
) -> Array:
    """The first of the cheapest orders, in lexicographic order; a ring begins with host 0."""
    order = np.arange(len(latency_ns))
    best, best_cost = order.copy(), np.inf
    while True:
        if is_ring:
            cost = path_length(hop_ns, order)
        else:
            cost = critical_path(messages, order, latency_ns, byte_ns, finish, sent)[0]
        if cost < best_cost * (1 - CLEARLY):
            best[:], best_cost = order, cost
        rise = len(order) - 2
        while rise >= 0 and order[rise] >= order[rise + 1]:
            rise -= 1
        if rise < 0 or (is_ring and rise == 0):
            return best
        larger = len(order) - 1
        while order[larger] <= order[rise]:
            larger -= 1
        order[rise], order[larger] = order[larger], order[rise]
        order[rise + 1 :] = order[rise + 1 :][::-1].copy()


@njit
def _anneal(
    messages: Messages,
    latency_ns: Matrix,
    byte_ns: Matrix,
    order: Array,
    moves: int,
    seed: int,
    finish: Matrix,
    sent: Matrix,
) -> Array:
    """Swaps of two ranks and reversals of segments. An order's value is its critical path and the mean time that a
    rank's messages take: most moves leave the former, a maximum, as it is."""
    np.random.seed(seed)
    count = len(order)
    cost, total = critical_path(messages, order, latency_ns, byte_ns, finish, sent)
    value = cost + total / count
    best, best_cost, best_value, hot = order.copy(), cost, value, HOT * value
    for move in range(moves):
        first, last = np.random.randint(count), np.random.randint(count)
        if first > last:
            first, last = last, first
        swaps = np.random.random() < 0.5
        _change(order, first, last, swaps)
        cost, total = critical_path(messages, order, latency_ns, byte_ns, finish, sent)
        other = cost + total / count
        temperature = hot * (1 - move / moves) ** 2
        if other <= value or np.random.random() < np.exp((value - other) / temperature):
            value = other
            if (cost, other) < (best_cost, best_value):
                best[:], best_cost, best_value = order, cost, other
        else:
            _change(order, first, last, swaps)
    return best


@njit(internal=True)
def _change(order: Array, first: int, last: int, swaps: bool) -> None:
    """Done twice, it is undone."""
    while first < last:
        order[first], order[last] = order[last], order[first]
        if swaps:
            return
        first, last = first + 1, last - 1


@njit
def _shorten(hop_ns: Matrix, tour: Array, kicks: int, seed: int) -> Array:
    """Iterated local search (Johnson, McGeoch 1997): three cuts, two segments exchanged, and improved again."""
    np.random.seed(seed)
    count = len(tour)
    spare = np.empty_like(tour)
    _improve(hop_ns, tour, spare)
    length, trial = path_length(hop_ns, tour), tour.copy()
    for _ in range(kicks):
        cuts = np.sort(np.random.randint(1, count + 1, 3))
        one, two, three = cuts[0], cuts[1], cuts[2]
        trial[:] = np.concatenate((tour[:one], tour[two:three], tour[one:two], tour[three:]))
        _improve(hop_ns, trial, spare)
        other = path_length(hop_ns, trial)
        if other <= length:
            tour[:], length = trial, other
    return tour


@njit(internal=True)
def _improve(hop_ns: Matrix, tour: Array, spare: Array) -> None:
    """2-opt (Croes 1958) and Or-opt, until neither makes the ring shorter."""
    least = CLEARLY * path_length(hop_ns, tour)
    while _two_opt(hop_ns, tour, least) or _or_opt(hop_ns, tour, spare, least):
        pass


@njit(internal=True)
def _two_opt(hop_ns: Matrix, tour: Array, least: float) -> bool:
    count, improved = len(tour), False
    for i in range(count - 2):
        for j in range(i + 2, count - (i == 0)):
            a, b, c, d = tour[i], tour[i + 1], tour[j], tour[(j + 1) % count]
            if hop_ns[a, c] + hop_ns[b, d] < hop_ns[a, b] + hop_ns[c, d] - least:
                _change(tour, i + 1, j, False)
                improved = True
    return improved


@njit(internal=True)
def _or_opt(hop_ns: Matrix, tour: Array, spare: Array, least: float) -> bool:
    """Moves the first segment whose move makes the ring shorter, either way around."""
    count = len(tour)
    for length in range(1, LONGEST_SEGMENT + 1):
        for i in range(count):
            before, first = tour[i - 1], tour[i]
            last, after = tour[(i + length - 1) % count], tour[(i + length) % count]
            saved = hop_ns[before, first] + hop_ns[last, after] - hop_ns[before, after] - least
            for k in range(length, count - 1):
                a, b = tour[(i + k) % count], tour[(i + k + 1) % count]
                same, turned = hop_ns[a, first] + hop_ns[last, b], hop_ns[a, last] + hop_ns[first, b]
                if min(same, turned) - hop_ns[a, b] < saved:
                    for m in range(count):  # the ring from the segment on, with the segment after a
                        if m <= k - length:
                            spare[m] = tour[(i + length + m) % count]
                        elif m <= k:
                            at = m - (k - length + 1)
                            spare[m] = tour[(i + (at if same <= turned else length - 1 - at)) % count]
                        else:
                            spare[m] = tour[(i + m) % count]
                    tour[:] = spare
                    return True
    return False
