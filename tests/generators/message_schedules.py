"""Schedules of messages between ranks, drawn from a seed."""

from __future__ import annotations

import random

from tests.labs.message_core import Schedule


def draw(seed: int) -> Schedule:
    """A schedule at random, small in every direction."""
    rng = random.Random(seed)
    return Schedule(
        seed=seed,
        workers=rng.choice((1, 2, 2, 3, 5)),
        lanes=rng.choice((16, 24, 64)),
        messages=rng.choice((1, 3, 8, 20)),
        largest_fragments=rng.choice((1, 4, 30)),
        tags=rng.choice((1, 2, 5)),
        loss=rng.choice((0.0, 0.1, 0.3)),
        duplicate=rng.choice((0.0, 0.2)),
        reorder=rng.choice((0.0, 0.3)),
        corrupt=rng.choice((0.0, 0.0, 0.05)),
        restarts=rng.choice((0, 0, 1, 3)),
        spread=rng.choice((0.05, 0.3, 1.0)),
        budget=rng.choice((4, 16, 64)),
    )
