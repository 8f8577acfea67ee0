"""Racks' servers that stand at one age, or at several, and are not of one training; and what stays whole meanwhile."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hostagent.protocol.reference import ReferenceJob
from hostagent.protocol.served import Action, Hyperparameters, ServedFlag, ServedOptimizer
from hostagent.rackserver.services.checkpoint import Snapshot, put, take
from hostagent.rackserver.services.records import JOBS_KEPT
from tests.labs.protocol import Schedule
from tests.labs.push_pull import Killed, Refused, Session, Training, begin, open_session, train
from tests.labs.rack_aggregator import RackAggregator
from tests.labs.rack_racks import Racks

LANES = 64
ADAM = Hyperparameters(ServedOptimizer.ADAM, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8)
TRAINING = Training(Schedule(seed=4, workers=2, lanes=LANES, window=8), (33, 70), ADAM)
Files = Sequence[Snapshot | None]


def racks(files: Files = (None, None), way: str = "ring") -> Racks:
    """Servers that are started from these."""
    made = Racks(LANES, way, len(files))
    for rack, file in enumerate(files):
        made.restart(rack, file)
    return made


def taken(made: Racks) -> list[Snapshot]:
    return [take(server.service("service")) for server in made.servers]


def trained(steps: int, files: Files = (None, None), seed: int = 4) -> list[Snapshot]:
    """What they have after so many steps, from wherever these stood."""
    workers = max(2, len(files))
    training = replace(TRAINING, steps=steps, schedule=replace(TRAINING.schedule, seed=seed, workers=workers))
    made = racks(files)
    train(training, lambda _: made)
    return taken(made)


def same(one: Snapshot, other: Snapshot) -> bool:
    return one.step == other.step and all(
        np.array_equal(values, other.arrays[name]) for name, values in one.arrays.items()
    )


def without_lineage(file: Snapshot) -> Snapshot:
    return Snapshot({name: fact for name, fact in file.facts.items() if name != "lineage"}, file.arrays)


def refused(files: Files, conflicting: tuple[int, int]) -> None:
    """All ranks get an error that names these racks, and no server changes."""
    workers = max(2, len(files))
    made = racks(files)
    schedule = replace(TRAINING.schedule, workers=workers)
    with pytest.raises(Refused, match="different trainings") as raised:
        train(replace(TRAINING, steps=9, schedule=schedule), lambda _: made)
    assert all(str(rack) in str(raised.value) for rack in conflicting)
    for file, now in zip(files, taken(made), strict=True):
        assert file is None or (same(file, now) and file.facts["lineage"]["maker"] == now.facts["lineage"]["maker"])


def test_two_trainings_of_one_age_are_refused_and_left_as_they_are() -> None:
    one, other = trained(2), trained(2, seed=5)
    assert one[0].age == other[0].age
    refused((one[0], other[1]), (0, 1))
    refused((other[0], one[1]), (0, 1))


def test_diverged_copies_of_a_training_are_refused_at_any_age() -> None:
    first = trained(1)
    one, other = trained(2, first), trained(2, first)
    refused((one[0], other[1]), (0, 1))
    refused((trained(3, one)[0], other[1]), (0, 1))
    refused((other[0], trained(3, one)[1]), (0, 1))


def test_of_three_racks_the_two_that_are_strangers_are_named() -> None:
    one, other = trained(2, [None] * 3), trained(3, [None] * 3, seed=5)
    refused((one[0], other[1], one[2]), (1, 2))
    refused((None, other[1], one[2]), (1, 2))
    refused((other[0], one[1], other[2]), (1, 2))


def test_a_server_that_is_behind_gets_the_newest_weights() -> None:
    first = trained(1)
    files: Files = first
    for step in range(2, JOBS_KEPT + 4):
        files = trained(step, files)
        ended = trained(step + 1, (files[0], first[1]))
        assert same(ended[0], ended[1])
        assert same(ended[0], trained(step + 1)[0])
    refused((files[0], trained(1, seed=5)[1]), (0, 1))  # of another beginning, though from before all that are kept


def test_what_was_given_away_is_known_as_its_own_past() -> None:
    first = trained(1)
    second = trained(2, first)
    ended = trained(3, (second[0], None))  # rack 1 had nothing, and has now all that rack 0 knows
    assert same(trained(4, (second[0], ended[1]))[0], trained(4)[0])
    assert same(trained(4, (first[0], ended[1]))[0], trained(4)[0])


class Alone(RackAggregator):
    """A rack's server that has a job by itself, from a file."""

    def __init__(self, file: Snapshot) -> None:
        super().__init__(LANES)
        self._file = file

    def install(self, number: int, job: ReferenceJob, service: str) -> None:
        super().install(number, job, service)
        put(self._file, self.server.service(service), Path("memory"))


def alone(steps: int, file: Snapshot) -> Snapshot:
    made = Alone(file)
    train(replace(TRAINING, steps=steps), lambda _: made)
    return take(made.server.service("service"))


def test_steps_taken_alone_are_shared_and_steps_taken_in_turn_are_refused() -> None:
    files = trained(1)
    one, other = (alone(3, file) for file in files)
    assert same(trained(4, (one, files[1]))[1], trained(4)[1])
    refused((one, other), (0, 1))


def test_files_without_a_lineage_match_any_and_get_one() -> None:
    one, other = trained(2), trained(2, seed=5)
    old = [without_lineage(file) for file in one]
    assert same(trained(3, (old[0], one[1]))[1], trained(3)[1])
    files = trained(3, old)
    assert same(trained(4, (files[0], old[1]))[1], trained(4)[1])
    refused((files[0], trained(3, other)[1]), (0, 1))


# --- one that is given words keeps its own until all have come --------------------------------------------------------


def begin_to_give(session: Session, age: int, step: int, updates: int) -> None:
    """Half of the first key's weights and state."""
    ask = Hyperparameters(flags=int(ServedFlag.LINEAGE), rescale=0.0)
    session.run(Action.QUERY, [0], {}, terms=Hyperparameters(), age=age)
    session.run(Action.QUERY, [0], {}, terms=ask, age=age)
    for buffer in range(2):
        flags = ServedFlag.SHARE | ServedFlag.MORE | (ServedFlag.ANEW if buffer == 0 else 0)
        about = {"buffer": buffer, "step": step, "updates": updates, "age": age}
        session.run(Action.WRITE, [0], {}, terms=Hyperparameters(flags=int(flags)), **about)


@pytest.mark.parametrize("way", ["ring", "sharded"])
def test_losing_the_server_that_sends_weights_leaves_the_others_unchanged(way: str) -> None:
    behind = trained(2)
    newest = trained(4, behind)
    made = racks((newest[0], behind[1]), way)
    session = open_session(TRAINING, made, 1, random.Random(0), 0)
    ask = Hyperparameters(flags=int(ServedFlag.AGREE))
    answer = session.run(Action.QUERY, [1], {}, terms=ask)[0]
    begin_to_give(session, answer.newest, 4, 4)
    assert same(taken(made)[1], behind[1])
    assert not made.servers[1].service("service").is_incomplete

    made.restart(0)
    session = open_session(TRAINING, made, 2, random.Random(0), 0)
    held = {(rank, key): TRAINING.first_weights(key) for rank in range(2) for key in range(2)}
    assert begin(session, held, [0, 1]) == 2
    for step in (3, 4):
        session.run(Action.PUSH_PULL, [0, 1], held, step=step)
    assert all(same(file, newest[0]) for file in taken(made))


def test_a_newest_that_is_at_an_earlier_step_counts_as_such() -> None:
    """After all have gone back from a step, one that still has it is given the one before, and takes it once more."""
    files = trained(3)
    back = [replace(file, facts=dict(file.facts) | {"age": file.age + 5}) for file in trained(2)]
    jobs = files[0].facts["lineage"]["jobs"]
    back[0].facts["lineage"] |= {"jobs": [*back[0].facts["lineage"]["jobs"], *jobs]}  # type: ignore[index]
    back[0].facts["lineage"] |= {"root": files[0].facts["lineage"]["root"]}  # type: ignore[index]
    ended = trained(4, (back[0], files[1]))
    assert same(ended[0], ended[1])
    assert same(ended[1], trained(4)[1])


# --- a state that begins in mid-training ------------------------------------------------------------------------------

PLAIN = Hyperparameters(ServedOptimizer.SGD, lr=0.1)
DAMPED = replace(PLAIN, beta1=0.9, beta2=0.5)
"""With dampening the first momentum is the gradient, and every later one a part of it."""


class AtBirth(random.Random):
    """Kills the job when all servers have begun a state that is not in use yet."""

    def __init__(self, made: Racks) -> None:
        super().__init__()
        self._made = made

    def random(self) -> float:
        services = [server.service("service") for server in self._made.servers]
        return 0.0 if all(service.keys[key]["born"] == 2 for service in services for key in range(2)) else 1.0


def stepped(made: Racks, epoch: int, killer: random.Random, kills: int = 0) -> list[Snapshot]:
    """Momentum is switched on with the second step."""
    session = open_session(TRAINING, made, epoch, killer, kills)
    held = {(rank, key): TRAINING.first_weights(key) for rank in range(2) for key in range(2)}
    for step in range(begin(session, held, [0, 1]) + 1, 4):
        session.run(Action.PUSH_PULL, [0, 1], held, step=step, terms=PLAIN if step == 1 else DAMPED)
    return taken(made)


def test_momentum_of_an_interrupted_first_step_begins_with_the_next() -> None:
    undisturbed = stepped(racks(), 1, random.Random(0))
    made = racks()
    with pytest.raises(Killed):
        stepped(made, 1, AtBirth(made), 1)
    file = taken(made)[1]
    assert (file.step, [name for name in file.arrays if "momentum" in name]) == (1, [])
    made.restart(0)
    assert all(same(ended, undisturbed[0]) for ended in stepped(made, 2, random.Random(0)))
    assert all(same(ended, undisturbed[0]) for ended in stepped(racks((file, None)), 1, random.Random(0)))
