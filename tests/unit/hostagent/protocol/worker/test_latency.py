"""The histogram of chunk latencies against the latencies themselves."""

from __future__ import annotations

import random

import numpy as np
import pytest

from emulator.native.pages import address_of
from hostagent.protocol.counters import LATENCY
from hostagent.protocol.worker.latency import (
    BUCKETS,
    count_latency,
    floor_ns,
    latency_counters,
    percentiles_ns,
)


def test_every_latency_is_in_the_bucket_that_begins_at_most_a_quarter_below() -> None:
    for bucket in range(8, BUCKETS - 1):
        floor, end = floor_ns(bucket), floor_ns(bucket + 1)
        assert floor < end <= floor * 5 // 4
        for latency in {floor, end - 1}:
            counts = np.zeros(BUCKETS, np.int64)
            count_latency(address_of(counts), latency)
            assert list(np.flatnonzero(counts)) == [bucket]


@pytest.mark.parametrize(("latency", "bucket"), [(-5, 8), (0, 8), (4, 8), (1 << 62, BUCKETS - 1)])
def test_what_is_beyond_either_end_is_in_the_outermost(latency: int, bucket: int) -> None:
    counts = np.zeros(BUCKETS, np.int64)
    count_latency(address_of(counts), latency)
    assert list(np.flatnonzero(counts)) == [bucket]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_percentiles_are_within_a_quarter_of_the_true_ones(seed: int) -> None:
    rng = random.Random(seed)
    latencies = sorted(int(rng.lognormvariate(13, 1.5)) + 4 for _ in range(5000))
    counts = np.zeros(BUCKETS, np.int64)
    for latency in latencies:
        count_latency(address_of(counts), latency)
    counters = latency_counters(counts) | {"frames_sent": 5000}
    assert sum(count for name, count in counters.items() if name.startswith(LATENCY)) == 5000
    for share, found in zip((0.5, 0.9, 0.99), percentiles_ns(counters, (0.5, 0.9, 0.99)), strict=True):
        assert found == pytest.approx(latencies[int(share * 5000)], rel=0.25)


def test_percentiles_of_nothing_are_zero() -> None:
    assert percentiles_ns({"frames_sent": 3}, (0.5, 0.99)) == [0, 0]
