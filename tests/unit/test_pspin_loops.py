"""Loops of handlers that never end, and arrays without end: faults at the limit on loops, before the work begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pspin_model.handlers import handler, packet, scratchpad, tag
from pspin_model.machine import Machine, MachineConfig

LIMIT = 1000
ENDLESS = 10**11


@handler
def endless(h: int) -> None:
    """One of them, as the tag says."""
    what, made, total = tag(h), 0.0, 0
    data = packet(h, np.uint8)
    if what == 0:
        for i in np.arange(ENDLESS):
            total += i
    elif what == 1:
        for each in data:
            for i, _ in enumerate(data):
                total += each + i
    elif what == 2:
        for one, other in zip(data, range(ENDLESS)):  # noqa: B905  # numba's has no more
            total += one + other
    elif what == 3:
        turns = range(ENDLESS)
        for i in turns:
            total += i
    elif what == 4:
        total += sum(range(ENDLESS))
    elif what == 5:
        made = np.zeros(ENDLESS)[5]
    elif what == 6:
        made = np.ones((ENDLESS, ENDLESS))[5, 5]
    elif what == 7:
        made = np.full(shape=ENDLESS, fill_value=1.0)[5]
    elif what == 8:
        made = np.arange(0.0, 1.0, 1e-9)[5]
    elif what == 9:
        made = np.arange(3, -ENDLESS, -1)[5]
    elif what == 10:
        for i in range(ENDLESS):
            total += i
    elif what == 11:
        while total >= 0:
            total += 1
    scratchpad(h, 0, np.float64)[0] = total + made


@handler(cost="derived")
def charged(h: int) -> None:
    """The same where operations are charged."""
    what, total = tag(h), 0
    data = packet(h, np.uint8)
    if what == 0:
        for i in np.arange(ENDLESS):
            total += i
    elif what == 1:
        for i, each in enumerate(data):
            for one, other in zip(data, data):  # noqa: B905
                total += each * i + one - other
    elif what == 2:
        while total >= 0:
            total += 0
    elif what == 3:
        total += np.zeros(ENDLESS, np.uint8)[3]
    scratchpad(h, 0, np.int64)[0] = total


@handler
def ends(h: int) -> None:
    """Loops that end."""
    data, into = packet(h, np.uint8), scratchpad(h, 0, np.int64)
    for i, (one, other) in enumerate(zip(data, data[::-1])):  # noqa: B905
        into[0] += i * (one + other)
    for row in data.reshape(8, 8):
        into[1] += row.sum()
    for each in (2, 3, 5):
        into[2] += each
    into[3] = np.arange(4, dtype=np.int8).sum() + np.arange(2, 9, 3).sum() + np.zeros((2, 2)).size
    into[4] = max(data)


@handler
def heavy(h: int) -> None:
    """A loop that is short, over views that are not."""
    what, pad = tag(h), scratchpad(h, 0, np.int8)
    for _ in range(LIMIT // 3):
        if what == 0:
            pad += 1
        elif what == 1:
            pad[:] = pad[::-1]
        elif what == 2:
            pad[0] = (pad * 2 + 1).sum()


def run(payload: Any, count: int, size: int = 64) -> Any:
    machine = Machine(MachineConfig(loop_limit=LIMIT))
    context = machine.context("c", payload=payload, scratchpad_bytes=size)
    data = np.tile(np.arange(64, dtype=np.uint8), (count, 1))
    machine.inject(context, range(count), data, tags=range(count))
    return machine.run(), context.scratchpads[0]


@pytest.mark.parametrize(("payload", "count"), [(endless, 12), (charged, 4)])
def test_what_has_no_end_is_ended(payload: Any, count: int) -> None:
    ran, pad = run(payload, count)
    assert sorted(fault.packet for fault in ran.faults) == list(range(count))
    assert all("did not return within loop_limit turns" in fault.text for fault in ran.faults)
    assert not pad.any()


def test_loops_that_end_are_what_they_are_in_python() -> None:
    ran, pad = run(ends, 1)
    assert ran.faults == []
    assert pad.view(np.int64)[:5].tolist() == [63 * 32 * 63, 32 * 63, 10, 6 + 15 + 4, 63]


def test_whole_views_count_by_their_elements() -> None:
    ran, _ = run(heavy, 3, 1 << 12)
    assert sorted(fault.packet for fault in ran.faults) == [0, 1, 2]
    ran, _ = run(heavy, 3, 64)
    assert ran.faults == []
