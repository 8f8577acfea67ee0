"""Mechanisms of the RTL that its rows show only together: arbiters, copies in flight, banks that headers share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pspin_model.handlers import charge, handler
from pspin_model.machine import Machine
from pspin_model.machine.fifos import arbiter_rank, later_turn


@handler
def read_headers(h: int) -> None:
    """Read and write as often as who turns a packet's headers round."""
    charge(h, load=6, store=6, alu=10)


@handler
def nothing(h: int) -> None:
    """Return."""
    charge(h, alu=1)


def grants(asking: list[int], count: int, places: int) -> list[int]:
    """Whom an arbiter serves that is always asked by the same."""
    turn, served = 0, []
    for _ in range(count):
        served.append(min(asking, key=lambda who: arbiter_rank(who, turn, places)))
        later = -1
        for who in asking:
            later = later_turn(who, turn, later)
        turn = later
    return served


@pytest.mark.parametrize("asking", [[0, 1], [0, 3], [1, 2, 6], [0, 1, 2, 3, 4, 5, 6, 7]])
def test_arbiters_are_fair_to_those_that_ask(asking: list[int]) -> None:
    served = grants(asking, 8 * len(asking), 8)
    assert {who: served[len(asking) :].count(who) for who in asking} == dict.fromkeys(asking, 7)


def copies(size: int) -> Any:
    """Cycles between the ends of the copies of six packets into one cluster."""
    machine = Machine()
    context = machine.context("copies", payload=nothing)
    machine.inject(context, np.zeros(6, np.int64), np.zeros((6, size), np.uint8), np.arange(6))
    return np.diff(machine.run().packets["copied"]).tolist()


def test_a_cluster_has_two_copies_in_flight() -> None:
    assert copies(64) == [1, 3, 1, 3, 1] or copies(64) == [2] * 5
    assert sum(copies(128)[1:]) == 10  # two copies of two beats take five cycles
    assert copies(256) == [4] * 5


def handler_cycles(size: int) -> Any:
    """How long handlers take, eight of which begin together: the first of a cold cluster are waited for."""
    machine = Machine()
    context = machine.context("headers", payload=read_headers)
    machine.inject(context, np.zeros(16, np.int64), np.zeros((16, size), np.uint8), np.arange(16))
    packets = machine.run().packets
    return (packets["end"] - packets["start"])[8:].mean()


def test_headers_at_the_same_banks_make_cores_wait() -> None:
    assert handler_cycles(256) > handler_cycles(320) + 5
