"""Costs derived from a handler's source: everything it does has a price, or it is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numba.core import types

from pspin_model.handlers import (
    HandlerError,
    atomic_add,
    charge,
    handler,
    handler_memory,
    helper,
    packet,
    packet_l2,
    scratchpad,
    tag,
)
from pspin_model.handlers.cost.prices import FUNCTIONS
from pspin_model.machine import FLARE_COSTS, CostTable, Machine

WORDS = 64
ELEMENT = 4
"""Cycles of an element in the table taken."""
SLACK = 24
"""Cycles of what stands around the one operation."""
LIMITS = (2, 5)
FAR = 20
"""Cycles that an access to L2, or to another cluster's L1, takes more."""
TABLE = np.arange(WORDS, dtype=np.int32)


@helper
def shift(h: int, value: int) -> int:
    """Charges for itself."""
    charge(h, alu=100)
    return value >> 1


@handler(cost="derived")
def whole(h: int) -> None:
    """One operation on whole views, by the packet's tag."""
    what = tag(h)
    data = packet(h, np.int32)
    into = scratchpad(h, 0, np.int32)
    if what == 0:
        into[: data.size] += data
    elif what == 1:
        into[0] = data.sum()
    elif what == 2:
        packet(h, np.uint8)[:] = packet_l2(h, np.uint8)
    elif what == 3:
        into[: data.size] = data // np.int32(3)
    elif what == 4:
        into[: data.size] = TABLE * np.int32(3)
    elif what == 5:
        into[0] = TABLE.sum()
    elif what == 6:
        into[: data.size] += scratchpad(h, 1, np.int32)
    elif what == 7:
        scratchpad(h, 1, np.int32)[:] += data
    elif what == 8:
        handler_memory(h, np.int16)[:] = 0


@handler(cost="derived")
def numbers(h: int) -> None:
    """Operations on numbers."""
    words, into = packet(h, np.int32), scratchpad(h, 0, np.int32)
    low, high = LIMITS
    inside = 0
    for i, word in enumerate(words):
        if low < words[i] <= high and not (i == 3 or word < 0):
            inside += 1
        into[8] = max(into[8], word)
        into[9 + (i & 1)] -= abs(-word) if word else shift(h, 8)
    into[0] = inside
    words[0], words[1] = words[1], words[0]
    into[1] = np.int32(words[0] + 0.5)
    count = 3
    while count and into[2] < 100:
        count -= 1
        atomic_add(h, into, 2, 1)


@handler(cost="derived")
def beyond(h: int) -> None:
    """Reads where nothing is."""
    data = packet(h, np.int32)
    scratchpad(h, 0, np.int32)[0] = data[data.size + tag(h)]


def play(which: Any, costs: CostTable, what: int = 0) -> tuple[int, Any, Any]:
    """Cycles of a handler of one packet of words 0, 1, 2, .., its scratchpad, its run."""
    machine = Machine(costs=costs)
    context = machine.context("derived", payload=which, scratchpad_bytes=4 * WORDS, handler_memory_bytes=2 * WORDS)
    data = np.arange(WORDS, dtype=np.int32)[None].view(np.uint8)
    machine.inject(context, [0], data, tags=what)
    run = machine.run()
    return int(run.packets["end"][0] - run.packets["start"][0]), context.scratchpads[0].view(np.int32), run


@pytest.mark.parametrize(
    ("what", "elements", "more"),
    [
        (0, 1, 0), (1, 1, 0), (2, 1, FAR * WORDS), (3, 2, 35 * WORDS), (4, 2, FAR * WORDS), (5, 1, FAR * WORDS),
        (6, 1, FAR * WORDS), (7, 1, 2 * FAR * WORDS), (8, 1 / 2, FAR * WORDS / 2),
    ],
)  # fmt: skip
def test_whole_views_cost_by_element(what: int, elements: float, more: int) -> None:
    cycles, _, run = play(whole, FLARE_COSTS, what)
    assert not run.faults
    least = elements * ELEMENT * WORDS + more
    decisions = 6 * what
    assert least <= cycles <= least + decisions + SLACK


@pytest.mark.parametrize("function", [np.add, np.max, np.where, np.copy, np.sqrt, np.minimum, np.dot, np.mean])
def test_prices_of_functions_of_views_are_by_element(function: Any) -> None:
    _, price, counts = FUNCTIONS[function]
    assert "charge_elements(h, x" in price("it", [types.float32[::1]] * counts[0]).replace("(h, result", "(h, x")


def test_derived_handlers_compute_what_they_say() -> None:
    cycles, into, run = play(numbers, FLARE_COSTS)
    assert not run.faults
    assert into[:3].tolist() == [2, 1, 3]
    assert into[8] == WORDS - 1
    assert into[9:11].tolist() == [-sum(range(0, WORDS, 2)) - 4, -sum(range(1, WORDS, 2))]
    assert cycles > 20 * WORDS + 100


@handler(cost="derived")
def element_by_element(h: int) -> None:
    """Loops over what is near, by the tag, or far."""
    total = 0
    for word in packet_l2(h, np.int32) if tag(h) else packet(h, np.int32):
        total += word
    handler_memory(h, np.int64)[0] = total


def test_elements_of_l2_cost_what_an_access_to_it_does() -> None:
    near, _, _ = play(element_by_element, FLARE_COSTS)
    far, _, run = play(element_by_element, FLARE_COSTS, 1)
    assert not run.faults
    assert abs(far - near - WORDS * FAR) <= SLACK


def test_bounds_are_watched() -> None:
    _, _, run = play(beyond, FLARE_COSTS)
    assert "IndexError" in run.faults[0].text


def sorts(h: int) -> None:
    packet(h, np.int32).sort()


def sines(h: int) -> None:
    scratchpad(h, 0, np.float32)[0] = math.sin(packet(h, np.float32)[0])


def sorts_too(h: int) -> None:
    scratchpad(h, 0, np.int32)[0] = np.sort(packet(h, np.int32))[0]


def axes(h: int) -> None:
    np.sum(packet(h, np.int32), axis=0)


def powers(h: int) -> None:
    scratchpad(h, 0, np.float32)[0] = packet(h, np.float32)[0] ** tag(h)


def prints(h: int) -> None:
    print(tag(h))


@pytest.mark.parametrize(
    ("function", "what"),
    [(sorts, "sort()"), (sines, "math.sin("), (sorts_too, "np.sort(packet(h, np.int32))"), (axes, "axis=0"),
     (powers, "** tag(h)"), (prints, "print(")],
)  # fmt: skip
def test_what_has_no_price_is_refused(function: Any, what: str) -> None:
    with pytest.raises(HandlerError, match=r"cannot price .*; charge it yourself") as refused:
        handler(function, cost="derived")
    assert what in str(refused.value)


@handler(cost="derived")
def of_a_tuple(h: int) -> None:
    """A sum that its types, and not its words, make strange."""
    scratchpad(h, 0, np.int32)[0] = sum((tag(h), 2))


def test_what_has_no_price_for_its_types_is_refused() -> None:
    with pytest.raises(
        HandlerError, match=r"of_a_tuple \(.*:\d+\): cannot price sum of UniTuple.*; charge it yourself"
    ):
        Machine().context("refused", payload=of_a_tuple)
