"""What handlers and callers must not do on the PsPIN model: an error that says so, and nothing else is touched."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from pspin_model.handlers import (
    address_of,
    atomic_add,
    atomic_add_elements,
    charge,
    copy_to_host,
    dma_wait,
    handler,
    memory,
    scratchpad,
    send_packet,
    source,
    tag,
    wait,
    write_to_host,
)
from pspin_model.machine import ConfigError, Machine, MachineConfig, MachineError
from pspin_model.machine.events import LAST_CYCLE

PAD = 64
"""Bytes of a cluster's scratchpad."""
LIMIT = 20_000


@handler
def reach(h: int) -> None:
    """An atomic at the place that the source says."""
    atomic_add(h, scratchpad(h, 0, np.int64), source(h), 77)


@handler
def misuse(h: int) -> None:
    """What the packet's tag says; its source is a number for that."""
    what, number = tag(h), source(h)
    pad = scratchpad(h, number if what == 8 else 0, np.int64)
    if what == 1:
        atomic_add_elements(h, pad[:2], pad)
    elif what == 2:
        copy_to_host(h, pad[::2], 0)
    elif what == 4 or what == 5:
        memory(h, address_of(pad) + 4 * PAD * (what == 4), number, np.int64)
    elif what == 6:
        memory(h, number, 2, np.int64)
    elif what == 7:
        write_to_host(h, number, 1)
    elif what == 9:
        while True:
            number += 1
    elif what == 12:
        raise ValueError("not", number)
    elif what == 13:
        pad[:3] = pad[:5]
    elif what == 14:
        wait(h, 3)
    elif what == 15:
        dma_wait(h, write_to_host(h, 0, 1))
    elif what == 16:
        send_packet(h, pad[:1], 0, 1 << 40)
    elif what > 9:
        while True:
            charge(h, alu=number)


def packets(count: int) -> Any:
    return np.zeros((count, 64), np.uint8)


@pytest.mark.parametrize("place", [8, 9, 100, -9, 10**7, 10**12])
def test_an_atomic_reaches_no_other_memory(place: int) -> None:
    machine = Machine(MachineConfig(clusters=2))
    context = machine.context("reach", payload=reach, scratchpad_bytes=PAD)
    machine.inject(context, [0, 1], packets(2), sources=[place, 7])
    (fault,) = machine.run().faults
    assert (fault.kind, fault.packet) == ("exception", 0)
    assert "IndexError" in fault.text
    pads = context.scratchpads.view(np.int64)
    assert pads[0].tolist() == [0] * 7 + [77]
    assert not pads[1].any()


NUMBERS = {4: 1, 12: 3, 5: 1 << 61, 6: (1 << 63) - 8, 7: (1 << 63) - 4, 8: 99, 10: 100, 11: 1 << 45}


@pytest.fixture(scope="module")
def misuses() -> Any:
    machine = Machine(MachineConfig(handler_limit=LIMIT, loop_limit=1000))
    context = machine.context("misuse", payload=misuse, scratchpad_bytes=PAD, host_bytes=64)
    numbers = [NUMBERS.get(what, 0) for what in range(17)]
    machine.inject(context, np.arange(17), packets(17), tags=np.arange(17), sources=numbers)
    return machine.run()


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (1, "exception", "more values than places"),
        (2, "bad command", "copy_to_host: .* contiguous"),
        (4, "memory", r"the scratchpads \(256 bytes\) at byte 256 "),
        (5, "memory", "the scratchpad in cluster 0 at byte 0 "),
        (6, "memory", "far from"),
        (7, "bad command", "host range"),
        (8, "memory", "no cluster 99"),
        (9, "never returns", "^did not return within loop_limit turns of its loops"),
        (10, "never returns", "^did not return within handler_limit cycles"),
        (11, "never returns", "handler_limit"),
        (14, "bad command", "^wait: this core was given no such handle by a command"),
        (15, "bad command", "^dma_wait: this core was given no such handle by dma"),
        (16, "bad command", "a port 32 bits"),
        (12, "exception", r"^ValueError: not, 3 \(test_wrong_uses.py:\d+\)$"),
        (13, "exception", r"^ValueError: cannot assign slice of shape \(3,\) from input of shape \(5,\)$"),
    ],
)
def test_a_wrong_use_is_a_fault_that_says_what(misuses: Any, number: int, kind: str, text: str) -> None:
    (fault,) = [each for each in misuses.faults if each.packet == number]
    assert fault.kind == kind
    assert re.search(text, fault.text)
    assert not re.search("0x[57]", fault.text)  # no address of the host's


def test_who_never_returns_holds_its_core_until_the_limit(misuses: Any) -> None:
    p = misuses.packets
    for number in (9, 10, 11):
        (took,) = (p["end"] - p["start"])[p["packet"] == number]
        assert LIMIT <= took <= LIMIT + 200


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"contexts": [7], "last": [0]}, "contexts: 7"),
        ({"at": [-5]}, "at, cycles: -5"),
        ({"at": [1 << 41]}, "at, cycles"),
        ({"at": [10**20]}, "64 bits"),
        ({"at": [0.5]}, "whole numbers"),
        ({"messages": [-1]}, "messages: -1"),
        ({"messages": [0, 1]}, "messages: one value or 1"),
        ({"data": np.zeros((1, 16), np.float32)}, "uint8, not float32"),
        ({"data": np.zeros(16, np.uint8)}, "shape"),
        ({"data": [5]}, "byte strings"),
        ({"last": [2]}, "last: 2"),
    ],
)
def test_packets_that_cannot_be_are_refused(given: dict[str, Any], text: str) -> None:
    machine = Machine()
    context = machine.context("none", payload=reach, scratchpad_bytes=PAD)
    with pytest.raises(MachineError, match=re.escape(text)):
        machine.inject(context, **{"messages": [0], "data": packets(1), **given})
    assert len(machine.run().packets["start"]) == 0


@pytest.mark.parametrize("given", [{"locks": 10**9}, {"locks": -1}, {"host_bytes": 1.5}, {"scratchpad_bytes": -1}])
def test_memories_that_cannot_be_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Machine().context("none", payload=reach, **given)


def test_the_clock_has_an_end() -> None:
    machine = Machine(MachineConfig(handler_limit=(1 << 31) - 1))
    context = machine.context("late", payload=misuse, scratchpad_bytes=PAD)
    machine.inject(context, [0], packets(1), at=[LAST_CYCLE - 5])
    with pytest.raises(MachineError, match="clock"):
        machine.run()
