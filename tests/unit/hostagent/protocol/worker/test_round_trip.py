"""The estimator on a record of its own, against RFC 6298's arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.native.jit import njit
from emulator.native.memory import record_at
from hostagent.protocol.worker.round_trip import (
    ESTIMATOR_FIELDS,
    FIRST_RTO_NS,
    LARGEST_RTO_NS,
    PLENTY_RTO_NS,
    take_sample,
    timeout_ns,
)

MS = 1_000_000
RECORD = np.dtype([(name, np.int64) for name in ("other", *ESTIMATOR_FIELDS)], align=True)
estimator_at = record_at(RECORD)


@njit
def sample(address: int, rtt_ns: int, now_ns: int) -> None:
    take_sample(estimator_at(address), rtt_ns, now_ns)


@njit
def timeout(address: int, backoff: int) -> int:
    return timeout_ns(estimator_at(address), backoff)


class Estimator:
    def __init__(self) -> None:
        self.record = np.zeros(1, RECORD)
        self.record["minimum_rto_ns"], self.record["rto_ns"] = MS, FIRST_RTO_NS
        self.now_ns = 0

    def take(self, rtt_ns: int, times: int = 1) -> None:
        for _ in range(times):
            self.now_ns += rtt_ns
            sample(self.record.ctypes.data, rtt_ns, self.now_ns)

    def timeout(self, backoff: int = 0) -> int:
        return int(timeout(self.record.ctypes.data, backoff))


def test_before_any_sample_the_time_out_is_the_first_one() -> None:
    assert Estimator().timeout() == FIRST_RTO_NS


def test_the_first_sample_gives_three_times_itself() -> None:
    estimator = Estimator()
    estimator.take(8 * MS)
    assert estimator.timeout() == 8 * MS + 4 * 4 * MS


def test_equal_samples_bring_the_time_out_down_to_the_round_trip() -> None:
    estimator = Estimator()
    estimator.take(100 * MS, 100)
    assert 100 * MS < estimator.timeout() < 115 * MS


@pytest.mark.parametrize("backoff", [1, 3, 10, 40])
def test_each_expiry_doubles_it_up_to_the_largest(backoff: int) -> None:
    estimator = Estimator()
    estimator.take(8 * MS)
    assert estimator.timeout(backoff) == min(24 * MS << backoff, LARGEST_RTO_NS)


def test_waiting_for_others_does_not_make_a_short_path_long() -> None:
    estimator = Estimator()
    estimator.take(MS // 10, 10)
    estimator.take(900 * MS, 100)
    assert estimator.timeout() == PLENTY_RTO_NS
