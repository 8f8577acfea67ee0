"""Trainings whose jobs end and whose racks' servers are started again, from whatever checkpoint, or without one."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from hostagent.protocol.services.aggregator import WAYS
from hostagent.rackserver.services.checkpoint import Snapshot, take
from tests.generators.push_pull_trainings import drawn, equal
from tests.labs.push_pull import train
from tests.labs.rack_aggregator import RackAggregator
from tests.labs.rack_racks import Racks

KILLS = 8
COUNTED = ("skipped", "not_finite")
STEP_BEGUN = 332
"""A job ends in a step whose chunks have taken the place of the last one's, which another rack lacks."""


class Perishable(Racks):
    """Racks some of whose servers are started again before each job; with checkpoints, or without."""

    def __init__(self, lanes: int, way: str, racks: int, *, keeps: bool, **options) -> None:
        super().__init__(lanes, way, racks, **options)
        self._keeps, self._dice = keeps, random.Random(f"{racks} {options}")
        self._kept: list[Snapshot | None] = [None] * racks

    def install(self, number, job, service=None) -> None:
        for rack in range(len(self.servers)):
            if self._rack_of and self._dice.random() < 0.4:
                self.restart(rack, self._kept[rack])
        super().install(number, job, service)

    def receive_all(self, frames):
        if self._keeps and self._dice.random() < 0.01:
            rack = self._dice.randrange(len(self.servers))
            service = self.servers[rack].service("service")
            if not service.is_incomplete and service.age:
                self._kept[rack] = take(service)
        return super().receive_all(frames)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # numpy's word on a NaN that is meant
@pytest.mark.parametrize("seed", [2, 3, 5, 7, 9, 11, STEP_BEGUN])
def test_restarted_servers_end_with_an_undisturbed_runs_weights(seed: int) -> None:
    training, racks = drawn(seed), 2 + seed % 2
    workers = racks + training.schedule.workers - 1
    terms = replace(training.terms, divisor=workers if training.terms.divisor > 1 else 1)
    schedule = replace(training.schedule, workers=workers)
    training = replace(training, terms=terms, schedule=schedule, kills=KILLS, steps=4)
    options: dict[str, Any] = {
        "keeps": seed % 3 > 0,
        "cores": 1 + seed // 3 % 3,
        "rough": (seed % 4) * 0.05,
        "seed": seed,
    }
    held, made, _ = train(training, lambda lanes: Perishable(lanes, WAYS[seed % len(WAYS)], racks, **options))
    still = replace(training, kills=0, schedule=replace(schedule, loss=0, duplicate=0, reorder=0, corrupt=0))
    alone = train(still, lambda lanes: RackAggregator(lanes, ports=5))[1].server.service("service")
    for server in made.servers:
        record = server.service("service").record
        assert [record[name][0] for name in COUNTED] == [alone.record[name][0] for name in COUNTED], (seed, training)
        assert record["maker"] == made.servers[0].service("service").record["maker"]
    for number in range(len(training.sizes)):
        masters = alone.tensor(number)
        for server in made.servers:
            assert equal(server.service("service").tensor(number), masters), (seed, number, training)
            assert server.service("service").age == made.servers[0].service("service").age
        for tensors in held:
            assert equal(tensors[number], training.stored(masters)), (seed, training)
