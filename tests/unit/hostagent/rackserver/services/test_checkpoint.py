"""A service goes to a file and comes back, into another server too; an interrupted step is not in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hostagent.protocol.served import Hyperparameters, ServedOptimizer
from hostagent.rackserver.services.checkpoint import (
    CheckpointError,
    Snapshot,
    read,
    restore,
    save,
    state_of,
    take,
    write,
)
from hostagent.rackserver.services.service_memory import ServiceMemory
from tests.labs.protocol import Schedule
from tests.labs.push_pull import Training, expected, train
from tests.labs.rack_aggregator import RackAggregator

ADAM = Hyperparameters(ServedOptimizer.ADAM, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8)
TRAINING = Training(Schedule(seed=4, workers=2, lanes=64, window=8), (33, 200), ADAM, steps=3)


class Prepared(RackAggregator):
    """A server whose service comes from a file when its first job does."""

    def __init__(self, lanes: int, path: Path) -> None:
        super().__init__(lanes)
        self._path: Path | None = path

    def install(self, number, job, service):
        super().install(number, job, service)
        if self._path is not None:
            restore(self.server.service(service), self._path)
            self._path = None


def trained(training: Training, aggregator: RackAggregator) -> ServiceMemory:
    train(training, lambda _: aggregator)
    return aggregator.server.service("service")


def test_training_goes_on_from_a_file_with_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "service.npz"
    save(trained(TRAINING, RackAggregator(64)), path)
    longer = replace(TRAINING, steps=6)
    resumed, undisturbed = trained(longer, Prepared(64, path)), trained(longer, RackAggregator(64))
    assert (resumed.step, undisturbed.step) == (6, 6)
    for number in range(2):
        for buffer in range(3):
            assert resumed.tensor(number, buffer).tobytes() == undisturbed.tensor(number, buffer).tobytes()


def test_another_number_of_workers_goes_on_from_a_file_with_their_own_mean(tmp_path: Path) -> None:
    path = tmp_path / "service.npz"
    two = replace(TRAINING, terms=replace(ADAM, divisor=2))
    save(trained(two, RackAggregator(64)), path)
    schedule = replace(TRAINING.schedule, workers=3)
    three = replace(TRAINING, schedule=schedule, terms=replace(ADAM, divisor=3), steps=6)
    resumed = trained(three, Prepared(64, path))
    for number, key in enumerate(expected(three, two.steps, expected(two))):
        np.testing.assert_allclose(resumed.tensor(number), key.weights, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(resumed.tensor(number, 1), key.state[1], rtol=1e-5, atol=1e-6)


def test_the_state_has_torchs_names_and_every_keys_updates() -> None:
    held = state_of(trained(TRAINING, RackAggregator(64)))
    assert held["step"] == 3
    assert set(held["keys"]) == {0, 1}
    assert held["keys"][1]["updates"] == 3
    assert set(held["keys"][1]["state"]) == {"exp_avg", "exp_avg_sq"}
    assert held["keys"][1]["weights"].shape == (200,)
    assert np.isfinite(held["keys"][0]["weights"]).all()


@pytest.mark.parametrize(
    "wrong", [{"maker": -1}, {"root": 1 << 25}, {"jobs": [[1, 2]] * 8}, {"jobs": [3]}, {"floor": ""}]
)
def test_an_invalid_lineage_is_an_error_that_names_the_file(wrong: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "service.npz"
    held = take(trained(TRAINING, RackAggregator(64)))
    write(held, path)
    assert read(path).facts == held.facts
    write(Snapshot(dict(held.facts) | {"lineage": held.facts["lineage"] | wrong}, held.arrays), path)
    with pytest.raises(CheckpointError, match=r"service\.npz is not a checkpoint .* in its description"):
        read(path)


def test_a_file_that_is_no_checkpoint_is_an_error_that_names_it(tmp_path: Path) -> None:
    aggregator = RackAggregator(64)
    service = trained(TRAINING, aggregator)
    path = tmp_path / "nothing.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"nothing\.npz is not a checkpoint"):
        restore(service, path)
    assert service.step == 3
