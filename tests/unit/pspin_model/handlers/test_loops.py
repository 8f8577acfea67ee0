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
    """One of them, as the tag says; what ends is as in Python."""
    what, total = tag(h), 0
    data, into = packet(h, np.int8), scratchpad(h, 0, np.int64)
    if what == 0:
        total += np.arange(3, -ENDLESS, -1)[5]
    elif what == 1:
        total += np.zeros((ENDLESS, ENDLESS), np.int8)[5, 5]
    elif what == 2:
        turns = range(ENDLESS)
        for i in turns:
            total += i
    elif what == 3:
        total += sum(range(ENDLESS))
    elif what == 4:
        for _ in range(LIMIT // 3):
            into += 1
    last = ENDLESS if what == 5 else 64
    for i, (one, other) in enumerate(zip(data, range(last))):  # noqa: B905  # numba knows no strict=
        total += i * (one - other) + 1
    into[0] = total + max(data)


@handler(cost="derived")
def charged(h: int) -> None:
    """The same where operations are charged."""
    what, total = tag(h), 0
    data = packet(h, np.int8)
    if what == 0:
        total += np.zeros(ENDLESS, np.int8)[3]
    for i, each in enumerate(data):
        for one in data if what == 1 else data[:2]:
            total += each - one - i
    scratchpad(h, 0, np.int64)[0] = total


def run(payload: Any, count: int, size: int) -> Any:
    machine = Machine(MachineConfig(loop_limit=LIMIT))
    context = machine.context("c", payload=payload, scratchpad_bytes=size)
    data = np.tile(np.arange(64, dtype=np.uint8), (count, 1))
    machine.inject(context, range(count), data, tags=range(count))
    return machine.run().faults, context.scratchpads[0].view(np.int64)


@pytest.mark.parametrize(
    ("payload", "cases", "result"), [(endless, 6, 64 + 63), (charged, 2, -2 * 63 * 32 + 2 * 63 * 32 - 64)]
)
def test_what_has_no_end_is_ended(payload: Any, cases: int, result: int) -> None:
    faults, pad = run(payload, cases + 1, 1 << 12)
    assert sorted(fault.packet for fault in faults) == list(range(cases))
    assert all("did not return within loop_limit turns" in fault.text for fault in faults)
    assert pad[0] == result
