"""The tree of event sources against a plain sorted list."""

from __future__ import annotations

import random

import pytest

from emulator.native.pages import address_of
from emulator.network.frames.events import make_sources, next_source, next_time_ns, set_time, time_of
from emulator.network.frames.records import NEVER_NS


@pytest.mark.parametrize("count", [1, 2, 3, 37])
def test_the_smallest_pair_of_time_and_source_comes_first(count: int) -> None:
    rng = random.Random(count)
    tree, leaves = make_sources(count)
    times = [NEVER_NS] * count
    for _ in range(500):
        source = rng.randrange(count)
        times[source] = rng.choice((NEVER_NS, rng.randrange(8)))
        set_time(address_of(tree), leaves, source, times[source])
        assert next_time_ns(address_of(tree)) == min(times)
        if min(times) < NEVER_NS:
            assert next_source(address_of(tree)) == times.index(min(times))
        assert time_of(address_of(tree), leaves, source) == times[source]
