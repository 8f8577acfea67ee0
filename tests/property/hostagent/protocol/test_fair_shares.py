"""Jobs and TCP flows share a queue that marks: by Jain's index, and by the shares that jobs are given."""

from __future__ import annotations

import pytest

from tests.labs.shared_link import FairnessLab, SharedLink, jain

FROM_NS, UNTIL_NS = 500_000_000, 1_500_000_000


def rates_of(conditions: SharedLink) -> list[float]:
    rates = FairnessLab(conditions).rates(FROM_NS, UNTIL_NS)
    assert sum(rates) > 0.9 * conditions.rate_pps, "the link is not used"
    return rates


def test_two_jobs_have_the_same() -> None:
    assert jain(rates_of(SharedLink(shares=(1, 1)))) >= 0.9


@pytest.mark.parametrize(
    "conditions",
    [
        SharedLink(flows=1, rate_pps=2_000, seed=3),
        SharedLink(flows=1, rate_pps=5_000, seed=3),
        SharedLink(flows=1, rate_pps=10_000, delay_ns=4_000_000, least=20, depth=250),
    ],
    ids=lambda each: f"{each.rate_pps} frames/s, {each.delay_ns // 1_000} us",
)
def test_a_job_and_a_tcp_flow_that_knows_no_marks_have_the_same(conditions: SharedLink) -> None:
    assert jain(rates_of(conditions)) >= 0.9


def test_a_job_of_share_two_has_about_twice_as_much() -> None:
    twice, once = rates_of(SharedLink(shares=(2, 1), seed=2))
    assert 1.6 <= twice / once <= 2.6
