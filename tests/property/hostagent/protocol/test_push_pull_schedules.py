"""Push-pull of the worker core against the reference server of weights, over many seeded schedules in virtual time."""

from __future__ import annotations

import pytest

from tests.generators.push_pull_trainings import draw, equal
from tests.labs.push_pull import expected, train


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # numpy's word on a NaN that is meant
@pytest.mark.parametrize("batch", range(2))
def test_every_rank_ends_with_the_weights_of_an_undisturbed_run(batch: int) -> None:
    """Whatever is lost, repeated, late or damaged, and however often a job is killed and begun again."""
    for seed in range(batch * 8, (batch + 1) * 8):
        training = draw(seed)
        held, server, _ = train(training)
        for number, key in enumerate(expected(training)):
            masters = server.services["service"].keys[number].weights
            assert masters.tobytes() == key.weights.tobytes() or equal(masters, key.weights), (seed, training)
            for rank, tensors in enumerate(held):
                assert equal(tensors[number], training.stored(masters)), (seed, rank, training)
