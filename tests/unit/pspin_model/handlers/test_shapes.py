"""Whole-array operations on the PsPIN model whose operands do not fit what they write: a fault, and nothing is done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pspin_model.handlers import HandlerError, atomic_add, handler, packet, scratchpad, tag
from pspin_model.machine import Machine


@handler
def misfits(h: int) -> None:
    """Write more or less than there is, as the tag says."""
    what, pad, data = tag(h), scratchpad(h, 0, np.int64), packet(h, np.int64)
    if what == 0:
        pad += data[:3]
    elif what == 1:
        pad[: atomic_add(h, pad, 7, 0)] += data[:3]
    elif what == 2:
        pad[:3] += data
    elif what == 3:
        np.add(data[:3], data[:5], pad)
    elif what == 4:
        np.negative(data, pad[:3])
    elif what == 5:
        square = pad.reshape(2, 4)
        square += data[:3]


@handler(cost="derived")
def derived_misfits(h: int) -> None:
    """The same, charged."""
    what, pad, data = tag(h), scratchpad(h, 0, np.int64), packet(h, np.int64)
    if what == 0:
        pad += data[:3]
    elif what == 1:
        pad[:4] += data[:3]
    elif what == 2:
        pad[:3] += data
    elif what == 3:
        np.add(data[:3], data[:5], pad)
    elif what == 4:
        np.negative(data, pad[:3])
    elif what == 5:
        square = pad.reshape(2, 4)
        square += data[:3]


@handler
def fitting(h: int) -> None:
    """Operands of one element, of fewer axes, of none."""
    pad, data = scratchpad(h, 0, np.int64), packet(h, np.int64)
    square = pad.reshape(2, 4)
    square += data[4:]
    pad += data[1:2]
    pad[atomic_add(h, pad, 7, 1) - 7] += 10 * data[1]  # place 7 held 8: it adds to place 1, once
    np.multiply(pad, data[2:3], pad)
    np.add(pad[:2], 1, pad[:2])


@handler
def overlapping(h: int) -> None:
    """Read what is written, one place on."""
    pad = scratchpad(h, 0, np.int64)
    pad[:] = packet(h, np.int64)
    pad[1:] += pad[:-1]
    np.add(pad[:-1], pad[1:], pad[1:])
    pad += pad[3:4]
    pad[::-1] -= pad
    pad += pad


def test_operands_that_share_memory_are_read_first() -> None:
    faults, pad = run(overlapping, [0])
    assert faults == []
    want = np.arange(8)
    want[1:] += want[:-1]
    np.add(want[:-1], want[1:], want[1:])
    want += want[3:4]
    want[::-1] -= want
    want += want
    assert pad.tolist() == want.tolist()


def run(payload: Any, tags: list[int]) -> Any:
    machine = Machine()
    context = machine.context("c", payload=payload, scratchpad_bytes=64)
    data = np.tile(np.arange(8, dtype=np.int64), (len(tags), 1))
    machine.inject(context, range(len(tags)), data.view(np.uint8), tags=tags)
    return machine.run().faults, context.scratchpads[0].view(np.int64)


@pytest.mark.parametrize("payload", [misfits, derived_misfits])
def test_operands_that_do_not_fit_are_faults(payload: Any) -> None:
    faults, pad = run(payload, [0, 1, 2, 3, 4, 5])
    assert len(faults) == 6
    assert all("operands could not be broadcast" in fault.text for fault in faults)
    assert not pad.any()


def test_operands_that_fit_are_written() -> None:
    faults, pad = run(fitting, [0])
    assert faults == []
    want = np.tile(np.arange(4, 8), 2) + 1
    want[7] += 1
    want[1] += 10
    want *= 2
    want[:2] += 1
    assert pad.tolist() == want.tolist()


def test_a_ufunc_has_one_name() -> None:
    def renamed(h: int) -> None:
        add = np.add
        add(packet(h, np.int64), 1, scratchpad(h, 0, np.int64))

    with pytest.raises(HandlerError, match=r"renamed .*: add is a variable; functions are called by their own names"):
        handler(renamed)
