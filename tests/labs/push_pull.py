"""Worker cores training against the reference server of weights, in virtual time, over links that lose and repeat.

A ``Training`` is everything a run depends on. ``train`` plays it, with the jobs that are killed on the way and begun
again from the last whole step, and returns what every rank holds in the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hostagent.protocol.dtypes import ELEMENT_BYTES, DType
from hostagent.protocol.operation import NOTHING, Span, served_operation
from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, dequantize, exponent_of, log2_ceiling, quantize
from hostagent.protocol.served import Action, Announcement, Answer, Hyperparameters, ServedFlag
from tests.labs.protocol import JOB, NUMPY, Lab, Schedule, as_float, make_lab
from tests.oracles.reference_server import Key, ReferenceServer, Served, read_announcement, update

Array = np.ndarray[Any, Any]


class Killed(Exception):
    """The job was killed on purpose."""


class Hopeless(Killed):
    """No server has a whole step."""


class Refused(Exception):
    """A core has failed."""


@dataclass(frozen=True, slots=True)
class Training:
    """A run: network, model, optimizer."""

    schedule: Schedule
    sizes: tuple[int, ...]
    terms: Hyperparameters
    steps: int = 3
    dtype: DType = DType.FLOAT32
    kills: int = 0
    special: float = 0.0

    @property
    def split(self) -> bool:
        return bool(self.terms.flags & (ServedFlag.CLIP | ServedFlag.SKIP))

    def gradient(self, step: int, key: int, rank: int) -> Array:
        """The same for the same arguments, however often a step is repeated."""
        rng = np.random.default_rng((self.schedule.seed, step, key, rank))
        values = (rng.standard_normal(self.sizes[key]) * 2.0 ** rng.integers(-8, 8)).astype(np.float32)
        if rng.random() < self.special:
            values[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -np.inf])
        return self.stored(values)

    def first_weights(self, key: int) -> Array:
        return self.stored(np.random.default_rng((self.schedule.seed, key)).standard_normal(self.sizes[key]))

    def stored(self, values: Array) -> Array:
        """float32 in the rank's own type."""
        values = values.astype(np.float32)
        if self.dtype == DType.BFLOAT16:
            bits = values.view(np.uint32).astype(np.uint64)
            nearest = ((bits + 0x7FFF + (bits >> np.uint64(16) & 1)) >> 16).astype(np.uint16)
            return np.where(np.isnan(values), np.uint16(0x7FC0), nearest)
        return values.astype(NUMPY[self.dtype])


@dataclass(slots=True)
class Session:
    """One job's cores, and what they were given."""

    training: Training
    lab: Lab
    killer: random.Random
    kills_left: int
    kept: list[Any] = field(default_factory=list)
    most_steps: int = 200_000

    def run(self, action: Action, keys: list[int], memory: dict[tuple[int, int], Array], **more: Any) -> list[Answer]:
        """Submit one operation for each key on all ranks, play until all have finished; rank 0's answers.

        ``memory``: (rank, key) -> the rank's output; with PUSH and PUSH_PULL gradients are drawn for the step.
        """
        training, lab = self.training, self.lab
        before, answers = list(lab.finished), []
        root_only, terms = more.pop("root_only", False), more.pop("terms", training.terms)
        for rank, core in enumerate(lab.cores):
            for key in keys:
                announcement = Announcement(
                    action, key, training.sizes[key], terms=terms, keys=len(training.sizes), **more
                )
                target = memory.get((rank, key))
                given = target if root_only and rank == 0 else None
                if action in (Action.PUSH, Action.PUSH_PULL):
                    given = training.gradient(more["step"], key, rank)
                dtype = DType.FLOAT32 if target is not None and target.dtype == np.float32 else training.dtype
                source, output = (
                    NOTHING if array is None else Span(array.ctypes.data, 0, array.size) for array in (given, target)
                )
                operation = served_operation(announcement, dtype.name.lower(), ELEMENT_BYTES[dtype], source, output)
                core.submit(operation)
                served = operation.served
                assert served is not None
                self.kept.append((served, given, target))
                if rank == 0:
                    answers.append(served)
            lab.pump(rank)
        goal = [count + len(keys) for count in before]
        self._play(goal)
        return [served.answer for served in answers]

    def _play(self, goal: list[int]) -> None:
        for _ in range(self.most_steps):
            if self.lab.finished == goal:
                return
            if not self.lab.step():
                raise AssertionError(f"it hangs at {self.lab.finished} of {goal}")
            for rank, core in enumerate(self.lab.cores):
                if core.failure:
                    raise Refused(f"rank {rank}: code {core.failure}, status {int(core.record['refused_status'][0])}")
            if self.kills_left and self.killer.random() < 0.002:
                raise Killed
        raise AssertionError("it never ends")


def open_session(training: Training, server: Any, epoch: int, killer: random.Random, left: int) -> Session:
    """A new job of the service under its own epoch; frames of older ones are still under way, and come to nothing."""
    lab = make_lab(replace(training.schedule, seed=training.schedule.seed * 1000 + epoch))
    job = replace(lab.job, epoch=epoch)
    lab.aggregator = server
    server.install(JOB, job, "service")
    for core in lab.cores:
        core.freeze()
        core.resume(epoch, training.schedule.base, 0)
    return Session(training, lab, killer, left)


def train(
    training: Training, make_server: Callable[[int], Any] = ReferenceServer
) -> tuple[list[list[Array]], Any, int]:
    """What every rank holds in the end (by rank and key), the server, and how often a job was begun.

    ``make_server`` takes the lanes of a frame.
    """
    server = make_server(training.schedule.lanes)
    killer, left, epoch = random.Random(training.schedule.seed), training.kills, 0
    workers, keys = training.schedule.workers, list(range(len(training.sizes)))
    while True:
        epoch += 1
        session = open_session(training, server, epoch, killer, left)
        held = {(rank, key): training.first_weights(key) for rank in range(workers) for key in keys}
        try:
            step = begin(session, held, keys)
            while step < training.steps:
                step += 1
                if training.split:
                    session.run(Action.PUSH, keys, {}, step=step)
                    session.run(Action.PULL, keys, held, step=step)
                else:
                    session.run(Action.PUSH_PULL, keys, held, step=step)
            return [[held[rank, key] for key in keys] for rank in range(workers)], server, epoch
        except Killed:
            left -= 1


def begin(session: Session, held: dict[tuple[int, int], Array], keys: list[int]) -> int:
    """Write the weights of a new service, or get those of the last whole step; returns its number."""
    ask = Hyperparameters(flags=int(ServedFlag.AGREE))
    answer = session.run(Action.QUERY, keys[-1:], {}, terms=ask)[0]
    if answer.conflicting_racks:
        raise Refused(f"racks {answer.conflicting_racks} hold different trainings")
    if answer.newest:
        bring_together(session, keys, answer.newest)
        answer = session.run(Action.QUERY, keys[-1:], {}, terms=ask)[0]
    if answer.incomplete and answer.step > 0:
        raise Hopeless
    if answer.elements == 0:
        more = Hyperparameters(flags=int(ServedFlag.MORE))
        session.run(Action.WRITE, keys[:-1], held, root_only=True, terms=more)
        session.run(Action.WRITE, keys[-1:], held, root_only=True)
        return 0
    session.run(Action.PULL, keys, held, step=answer.step)
    return answer.step


def bring_together(session: Session, keys: list[int], age: int) -> None:
    """As ``rack.resync`` does."""
    session.run(Action.QUERY, keys[-1:], {}, terms=Hyperparameters(), age=age)
    lineage = Hyperparameters(flags=int(ServedFlag.LINEAGE), rescale=0.0)
    session.run(Action.QUERY, keys[-1:], {}, terms=lineage, age=age)
    for key in keys:
        held = session.run(Action.QUERY, [key], {}, terms=Hyperparameters(), age=age)[0]
        if held.conflicting_racks:
            raise Refused(f"racks {held.conflicting_racks} hold different trainings")
        for buffer in range(1 + held.state_tensors):
            restarted = ServedFlag.ANEW if key == keys[0] and buffer == 0 else 0
            more = 0 if key == keys[-1] and buffer == held.state_tensors else ServedFlag.MORE
            about = {"step": held.step, "updates": held.updates, "buffer": buffer, "age": age}
            session.run(
                Action.WRITE, [key], {}, terms=Hyperparameters(flags=int(ServedFlag.SHARE | restarted | more)), **about
            )


def summed(training: Training, step: int, key: int) -> Array:
    """The gradient that an allreduce of the same numbers gives, chunk by chunk."""
    lanes, workers = training.schedule.lanes, training.schedule.workers
    given = [as_float(training.gradient(step, key, rank), training.dtype).astype(np.float32) for rank in range(workers)]
    result = np.zeros(given[0].size, np.float32)
    for first in range(0, result.size, lanes):
        parts = [np.ascontiguousarray(values[first : first + lanes]) for values in given]
        with np.errstate(invalid="ignore"):
            special = np.sum([np.where(np.isfinite(part), 0, part) for part in parts], 0)
        finite = [np.where(np.isfinite(part), part, np.float32(0)) for part in parts]
        exponent = max(exponent_of(part.ctypes.data, part.size) for part in finite)
        assert exponent != EXPONENT_NOT_FINITE
        total, log2 = np.zeros(parts[0].size, np.uint32), log2_ceiling(workers)
        for part in finite:
            words = np.zeros(part.size, ">u4")
            quantize(part.ctypes.data, words.ctypes.data, part.size, exponent, log2)
            total += words.astype(np.uint32)
        network, values = total.astype(">u4"), np.zeros(total.size, np.float32)
        dequantize(network.ctypes.data, values.ctypes.data, values.size, exponent, log2, training.terms.divisor)
        result[first : first + lanes] = np.where(np.isfinite(special), values, special)
    return result


def expected(training: Training, done: int = 0, keys: list[Key] | None = None) -> list[Key]:
    """The float32 masters after all steps, computed in one place without a network; from ``keys`` after ``done``."""
    if keys is None:
        first = [training.first_weights(number) for number in range(len(training.sizes))]
        keys = [Key(as_float(weights, training.dtype).astype(np.float32)) for weights in first]
    for step in range(done + 1, training.steps + 1):
        gradients = [summed(training, step, number) for number in range(len(keys))]
        norm = np.sqrt(sum(float(values.astype(np.float64) @ values) for values in gradients))
        flags = training.terms.flags
        if flags & ServedFlag.SKIP and not np.isfinite(norm):
            continue
        scale = np.minimum(1.0, training.terms.max_norm / (norm + 1e-6)) if flags & ServedFlag.CLIP else 1.0
        for number, key in enumerate(keys):
            values = gradients[number] * np.float32(scale) if training.split else gradients[number]
            update(key, announced(training, number, step), slice(0, values.size), values, key.updates + 1)
            key.updates += 1
    return keys


def announced(training: Training, key: int, step: int) -> Served:
    """The announcement as the server reads it."""
    words = Announcement(Action.PUSH, key, training.sizes[key], step=step, terms=training.terms).words()
    return read_announcement(0, words, training.schedule.window)
