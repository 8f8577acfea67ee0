"""Push-pull trainings at random, and the comparison of their weights."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from hostagent.protocol.dtypes import DType
from hostagent.protocol.served import Hyperparameters, ServedFlag, ServedOptimizer
from tests.labs.protocol import Schedule
from tests.labs.push_pull import Training

OPTIMIZERS = (
    Hyperparameters(ServedOptimizer.SGD, lr=0.1),
    Hyperparameters(ServedOptimizer.SGD, lr=0.1, beta1=0.9, weight_decay=0.01, flags=ServedFlag.NESTEROV),
    Hyperparameters(ServedOptimizer.ADAM, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01),
    Hyperparameters(ServedOptimizer.ADAMW, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01),
)


SPLITS = (0, ServedFlag.CLIP, ServedFlag.SKIP, ServedFlag.CLIP | ServedFlag.SKIP)


def draw(seed: int) -> Training:
    """A training at random."""
    rng = random.Random(seed)
    workers = rng.choice((1, 2, 3))
    schedule = Schedule(
        seed=seed,
        workers=workers,
        window=rng.choice((1, 2, 8)),
        lanes=rng.choice((32, 48)),
        loss=rng.choice((0.0, 0.2)),
        duplicate=rng.choice((0.0, 0.2)),
        reorder=rng.choice((0.0, 0.3)),
        corrupt=rng.choice((0.0, 0.0, 0.05)),
        base=rng.choice((0, 2**32 - 20)),
    )
    terms = rng.choice(OPTIMIZERS)
    terms = replace(terms, flags=terms.flags | rng.choice(SPLITS), max_norm=3.0, divisor=rng.choice((1, workers)))
    return Training(
        schedule,
        tuple(rng.choice((1, 31, 32, 33, 200, 700)) for _ in range(rng.randint(1, 3))),
        terms,
        steps=rng.randint(1, 4),
        dtype=rng.choice((DType.FLOAT32, DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)),
        kills=rng.choice((0, 0, 1, 3)),
        special=rng.choice((0.0, 0.0, 0.4)),
    )


def equal(one: np.ndarray, other: np.ndarray) -> bool:
    """The same numbers; of a NaN the payload is nobody's business."""
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


LANES = 64


def drawn(seed: int) -> Training:
    """The same with the lanes of the rack server."""
    training = draw(seed)
    return replace(training, schedule=replace(training.schedule, lanes=LANES))
