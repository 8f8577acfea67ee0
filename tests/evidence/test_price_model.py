"""Throughput for money: what a separate server saves, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.evidence.price_model import (
    PUBLISHED_ADVANTAGE,
    Link,
    Server,
    Training,
    advantage,
    at_published_prices,
    colocated_price,
    colocated_step_s,
    served_price,
    served_step_s,
)

TRAINING = Training(workers=32, model_bytes=100e6, compute_s=0.032, worker_price=1.0)
"""A step computes as long as the model takes at 25 Gbit/s. Prices in workers."""
FAST, SLOW = Link(100e9, 0.4), Link(25e9, 0.1)
SERVER = Server(links=32, price=0.8)


def test_the_published_25_percent_hold_where_fast_links_cost_a_third_more() -> None:
    assert colocated_step_s(TRAINING, FAST) == served_step_s(TRAINING, SLOW, SERVER) == TRAINING.compute_s
    assert colocated_price(TRAINING, FAST) == pytest.approx(32 * 1.4)
    assert served_price(TRAINING, SLOW, SERVER) == pytest.approx(32 * 1.1 + 0.8 + 3.2)
    dearer = advantage(TRAINING, FAST, SLOW, replace(SERVER, price=16.0))
    assert dearer < 1 < advantage(TRAINING, FAST, SLOW, SERVER) < 1.25
    third = Link(25e9, 0.4 - 1 / 3)
    assert advantage(TRAINING, FAST, third, SERVER) == pytest.approx(1.25, abs=0.05)


def test_prices_that_were_published_bracket_the_published_quarter() -> None:
    for workers, waiting in ((8, 1.49), (32, 1.65)):
        least, most = at_published_prices(workers)
        assert least == pytest.approx(1.18, abs=0.005)
        assert most == pytest.approx(waiting, abs=0.005)
        assert least < PUBLISHED_ADVANTAGE < most


def test_over_the_same_links_a_server_halves_what_communication_takes() -> None:
    bound = replace(TRAINING, compute_s=0.0)
    assert colocated_step_s(bound, SLOW) / served_step_s(bound, SLOW, SERVER) == pytest.approx(2 * 31 / 32)
    free = Server(links=32, price=0.0)
    assert advantage(bound, SLOW, SLOW, free) == pytest.approx(2 * 31 / 32 * (32 * 1.1) / (32 * 1.1 + 3.2))


def test_a_server_with_fewer_links_than_workers_is_what_the_step_waits_for() -> None:
    bound = replace(TRAINING, compute_s=0.0)
    narrow = replace(SERVER, links=8)
    assert served_step_s(bound, SLOW, narrow) == 4 * served_step_s(bound, SLOW, SERVER)
    assert advantage(bound, SLOW, SLOW, narrow) < 1


def test_one_worker_alone_sends_nothing_where_it_is_its_own_server() -> None:
    assert colocated_step_s(replace(TRAINING, workers=1, compute_s=0.0), SLOW) == 0
