"""Orders of ranks: exact ones against every permutation, the 64-VM model, determinism."""

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from hostagent.planner.placement.cloud import make_cloud
from hostagent.planner.placement.costs import Costs, PlacementError
from hostagent.planner.placement.model import ALGORITHMS, Messages, allreduce_model
from hostagent.planner.placement.solve import solve


def random_costs(ranks: int, seed: int) -> Costs:
    random = np.random.default_rng(seed)
    latency_ns, byte_ns = np.triu(random.integers(1_000, 90_000, (2, ranks, ranks)).astype(float), 1)
    names = tuple(f"h{index}" for index in range(ranks))
    return Costs(names, latency_ns + latency_ns.T, (byte_ns + byte_ns.T) / 1e5)


def costs_of_orders(
    algorithm: str, messages: Messages, costs: Costs, orders: NDArray[np.int64], size_bytes: int
) -> NDArray[np.float64]:
    """``orders`` [orders, ranks]. Message by message, as the model is described, of all orders at a time."""
    ranks = orders.shape[1]
    if algorithm == "ring":
        hop_ns = costs.message_ns(size_bytes / ranks)
        return sum((hop_ns[orders[:, rank], orders[:, (rank + 1) % ranks]] for rank in range(ranks)), np.zeros(1))
    done: list[NDArray[np.float64]] = []
    sent, received = np.zeros((2, ranks, len(orders)))
    for number, (source, destination) in enumerate(zip(messages.source, messages.destination, strict=True)):
        first, last = messages.after_offsets[number : number + 2]
        begin = np.maximum(sent[source], received[destination])
        for each in messages.after[first:last]:
            begin = np.maximum(begin, done[each])
        pair = orders[:, source], orders[:, destination]
        bits = messages.size_bytes[number] * costs.byte_ns[pair]
        done.append(begin + costs.latency_ns[pair] + bits)
        sent[source] += bits
        received[destination] += bits
    return np.max(done, axis=0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("ranks", [4, 6, 8, 9])
def test_exact_is_the_best_of_all_orders(algorithm: str, ranks: int) -> None:
    """Nine ranks are the most that are solved exactly."""
    costs, size_bytes = random_costs(ranks, seed=ranks), 8_192
    model = allreduce_model(algorithm, costs, size_bytes)
    found = solve(model)
    orders = np.array(list(permutations(range(ranks))))
    parts = np.array_split(orders, -(-len(orders) // 40_320))
    every = [costs_of_orders(algorithm, model.messages, costs, part, size_bytes) for part in parts]
    own = costs_of_orders(algorithm, model.messages, costs, np.array([found.order]), size_bytes)
    assert found.is_exact
    assert found.cost_ns == pytest.approx(min(each.min() for each in every))
    assert found.given_cost_ns == pytest.approx(every[0][0])
    assert own[0] == pytest.approx(found.cost_ns)


@pytest.mark.parametrize("seeds", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_the_model_cloud_of_64(seeds: int) -> None:
    """Costs of 1, 3 and 10: rings of random orders 530, the best one 124."""
    ratios = []
    for seed in range(seeds):
        found = solve(allreduce_model("ring", make_cloud((4, 4, 4), seed).costs(), 256))
        assert found.cost_ns / 10_000 < 125  # bits are 0.003 of the 124
        ratios.append(found.given_cost_ns / found.cost_ns)
    assert np.mean(ratios) > 3.7


def test_a_ring_does_not_want_what_halving_doubling_wants() -> None:
    costs = random_costs(8, 1)
    ring, doubling = allreduce_model("ring", costs, 65_536), allreduce_model("hd", costs, 65_536)
    for_ring, for_doubling = solve(ring).order, solve(doubling).order
    assert ring.cost(for_ring) < ring.cost(for_doubling)
    assert doubling.cost(for_doubling) < doubling.cost(for_ring)


def test_the_same_costs_are_the_same_order_and_a_migration_another() -> None:
    before = make_cloud((2, 2, 4), 1).costs()
    one, again = (solve(allreduce_model("hd", before, 65_536)) for _ in range(2))
    assert one.order.tolist() == again.order.tolist()
    after = solve(allreduce_model("hd", make_cloud((2, 2, 4), 2).costs(), 65_536))
    assert after.order.tolist() != one.order.tolist()
    assert after.cost_ns < allreduce_model("hd", make_cloud((2, 2, 4), 2).costs(), 65_536).cost(one.order)


def test_the_given_order_stays_where_none_is_cheaper() -> None:
    even = np.ones((12, 12))
    costs = Costs(tuple(map(str, range(12))), even, 0 * even)
    for algorithm in ("ring", "hd", "bcube"):
        assert solve(allreduce_model(algorithm, costs, 65_536)).order.tolist() == list(range(12))


def test_nothing_is_said_of_costs_that_are_no_times() -> None:
    zeros = np.zeros((3, 3))
    assert solve(allreduce_model("ring", Costs(("a", "b", "c"), zeros, zeros), 64)).elapsed_ns == 0
    with pytest.raises(PlacementError, match=r"latency_ns\[0\]\[1\]: the cost between a and b is not from 0 to 1e"):
        Costs(("a", "b"), np.array([[0, 1e300], [1e300, 0]]), np.zeros((2, 2)))


def test_what_an_algorithm_cannot_do() -> None:
    costs = random_costs(5, 1)
    with pytest.raises(PlacementError, match="bcube: 5 ranks are not a product of factors up to 4"):
        allreduce_model("bcube", costs, 4_096)
    with pytest.raises(PlacementError, match="unknown algorithm 'star'; choose one of ring, hd, tree, bcube"):
        allreduce_model("star", costs, 4_096)
