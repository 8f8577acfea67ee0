"""Worker cores training against racks of servers that lose, repeat and damage what they send each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hostagent.protocol.services.aggregator import WAYS
from tests.generators.push_pull_trainings import drawn, equal
from tests.labs.push_pull import expected, train
from tests.labs.rack_aggregator import RackAggregator
from tests.labs.rack_racks import Racks

KILLED_BETWEEN = (99, 113)
"""Jobs that end when one rack knows the last key, or has taken the last step, and another has not."""
EXPONENTS_FIRST = 601
"""A rack has the total of a push's exponents long before that of its announcement."""


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # numpy's word on a NaN that is meant
@pytest.mark.parametrize("seed", [*range(9), *KILLED_BETWEEN, EXPONENTS_FIRST])
def test_all_racks_have_the_weights_that_one_server_would_have(seed: int) -> None:
    racks, way = 2 + seed % 2, WAYS[seed % len(WAYS)]
    training = drawn(seed)
    workers = racks + training.schedule.workers - 1
    terms = replace(training.terms, divisor=workers if training.terms.divisor > 1 else 1)
    training = replace(training, terms=terms, schedule=replace(training.schedule, workers=workers))

    def make(lanes: int) -> Racks:
        return Racks(lanes, way, racks, cores=1 + seed // 3 % 3, rough=(seed % 4) * 0.05, seed=seed)

    held, made, _ = train(training, make)
    still = replace(training, kills=0, schedule=replace(training.schedule, loss=0, duplicate=0, reorder=0, corrupt=0))
    alone = train(still, lambda lanes: RackAggregator(lanes, ports=5))[1].server.service("service")
    for number, key in enumerate(expected(training)):
        masters = alone.tensor(number)
        assert np.allclose(masters, key.weights, rtol=2e-5, atol=1e-6, equal_nan=True)
        for server in made.servers:
            assert equal(server.service("service").tensor(number), masters), (seed, number, training)
        for tensors in held:
            assert equal(tensors[number], training.stored(masters)), (seed, training)
