"""Worker cores training against the rack server, on one to three cores, over links that lose, repeat and damage.

The schedules are those that the reference server of weights is tried with, jobs killed in mid-step among them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from hostagent.rackserver.core import RackServer
from pspin_model.aggregator import PspinAggregator
from tests.generators.push_pull_trainings import drawn, equal
from tests.labs.extent import tries
from tests.labs.push_pull import expected, train
from tests.labs.rack_aggregator import RackAggregator
from tests.labs.rack_tree import MakeLeaf, RackTree
from tests.labs.tree import CoreBox, compiled, plain

SLOTS = 16


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # numpy's word on a NaN that is meant
@pytest.mark.parametrize("seed", range(12))
def test_every_rank_ends_with_the_weights_of_an_undisturbed_run(seed: int) -> None:
    training = drawn(seed)
    held, aggregator, _ = train(training, lambda lanes: RackAggregator(lanes, cores=1 + seed % 3))
    service = aggregator.server.service("service")
    for number, key in enumerate(expected(training)):
        masters = service.tensor(number)
        # numpy has no fused multiplication and addition, so the last bits may differ
        assert np.allclose(masters, key.weights, rtol=2e-5, atol=1e-6, equal_nan=True), (seed, number, training)
        for rank, tensors in enumerate(held):
            assert equal(tensors[number], training.stored(masters)), (seed, rank, training)


@pytest.mark.parametrize("seed", [3, 5])
def test_the_weights_do_not_depend_on_cores_kills_or_the_network(seed: int) -> None:
    training = replace(drawn(seed), kills=2)
    still = replace(training, kills=0, schedule=replace(training.schedule, loss=0, duplicate=0, reorder=0, corrupt=0))
    tensors = []
    for run, cores in ((training, 3), (still, 1)):
        _, aggregator, _ = train(run, partial(RackAggregator, cores=cores))
        service = aggregator.server.service("service")
        tensors.append([service.tensor(number).tobytes() for number in range(len(training.sizes))])
    assert tensors[0] == tensors[1]


def pspin(lanes: int, index: int) -> CoreBox:
    return CoreBox(lambda lanes, ports: PspinAggregator(lanes=lanes, slots=SLOTS, ports=ports), lanes)


def server(lanes: int, index: int) -> CoreBox:
    return CoreBox(lambda lanes, ports: RackServer(lanes, slots=SLOTS, ports=ports), lanes)


@pytest.mark.parametrize(
    ("make_leaf", "count"),
    [(plain, tries(3, 8)), (compiled, tries(2, 6)), (server, tries(2, 4)), (pspin, tries(1, 3))],
    ids=["rules", "P4", "server", "PsPIN"],
)
def test_leaves_below_the_server_change_no_bit(make_leaf: MakeLeaf, count: int) -> None:
    """The same weights as of a server alone, with loss on all cables, kills, and results without data."""
    for seed in range(count):
        training = drawn(seed)
        training = replace(training, schedule=replace(training.schedule, workers=3))
        fan_out = (2, 2) if seed % 2 else (1, 2, 2) if make_leaf in (plain, compiled) else (2, 1, 2)
        held, tree, _ = train(training, partial(RackTree, fan_out=fan_out, make_leaf=make_leaf, loss=0.1, seed=seed))
        _, alone, _ = train(replace(training, kills=0), partial(RackAggregator, cores=1))
        for number in range(len(training.sizes)):
            masters = tree.server.service("service").tensor(number)
            assert masters.tobytes() == alone.server.service("service").tensor(number).tobytes(), (
                seed,
                number,
                training,
            )
            for rank, tensors in enumerate(held):
                assert equal(tensors[number], training.stored(masters)), (seed, rank, training)
