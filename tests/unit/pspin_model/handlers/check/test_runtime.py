"""Faults of handlers: wrong uses, loops and arrays without end, operands that do not fit; and elements of
packets that are more than numbers. A fault says what happened, and nothing else is touched."""

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
    charge_elements,
    copy_to_host,
    dma_wait,
    handler,
    memory,
    packet,
    scratchpad,
    send_packet,
    source,
    tag,
    wait,
    write_to_host,
)
from pspin_model.machine import FLARE_COSTS, ConfigError, Machine, MachineConfig, MachineError
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
        (12, "exception", r"^ValueError: not, 3 \(test_runtime.py:\d+\)$"),
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


# --- loops and arrays without end -------------------------------------------------------------------------------------

LOOP_LIMIT = 1000
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
        for _ in range(LOOP_LIMIT // 3):
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


def run_loops(payload: Any, count: int, size: int) -> Any:
    machine = Machine(MachineConfig(loop_limit=LOOP_LIMIT))
    context = machine.context("c", payload=payload, scratchpad_bytes=size)
    data = np.tile(np.arange(64, dtype=np.uint8), (count, 1))
    machine.inject(context, range(count), data, tags=range(count))
    return machine.run().faults, context.scratchpads[0].view(np.int64)


@pytest.mark.parametrize(
    ("payload", "cases", "result"), [(endless, 6, 64 + 63), (charged, 2, -2 * 63 * 32 + 2 * 63 * 32 - 64)]
)
def test_what_has_no_end_is_ended(payload: Any, cases: int, result: int) -> None:
    faults, pad = run_loops(payload, cases + 1, 1 << 12)
    assert sorted(fault.packet for fault in faults) == list(range(cases))
    assert all("did not return within loop_limit turns" in fault.text for fault in faults)
    assert pad[0] == result


# --- whole-array operations -------------------------------------------------------------------------------------------


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
    faults, pad = run_shapes(overlapping, [0])
    assert faults == []
    want = np.arange(8)
    want[1:] += want[:-1]
    np.add(want[:-1], want[1:], want[1:])
    want += want[3:4]
    want[::-1] -= want
    want += want
    assert pad.tolist() == want.tolist()


def run_shapes(payload: Any, tags: list[int]) -> Any:
    machine = Machine()
    context = machine.context("c", payload=payload, scratchpad_bytes=64)
    data = np.tile(np.arange(8, dtype=np.int64), (len(tags), 1))
    machine.inject(context, range(len(tags)), data.view(np.uint8), tags=tags)
    return machine.run().faults, context.scratchpads[0].view(np.int64)


@pytest.mark.parametrize("payload", [misfits, derived_misfits])
def test_operands_that_do_not_fit_are_faults(payload: Any) -> None:
    faults, pad = run_shapes(payload, [0, 1, 2, 3, 4, 5])
    assert len(faults) == 6
    assert all("operands could not be broadcast" in fault.text for fault in faults)
    assert not pad.any()


def test_operands_that_fit_are_written() -> None:
    faults, pad = run_shapes(fitting, [0])
    assert faults == []
    want = np.tile(np.arange(4, 8), 2) + 1
    want[7] += 1
    want[1] += 10
    want *= 2
    want[:2] += 1
    assert pad.tolist() == want.tolist()


# --- records, complex numbers, bfloat16 -------------------------------------------------------------------------------

PAIR = np.dtype([("index", np.uint16), ("value", np.float32)])


@handler
def adds(h: int) -> None:
    """Add up the packet, as its tag says what it is."""
    total, what = scratchpad(h, 0, np.float32), tag(h)
    if what == 0:
        for pair in packet(h, PAIR):
            total[pair["index"]] += pair["value"]
            charge_elements(h, np.float32, 1)
    elif what == 1:
        numbers = packet(h, np.complex64)
        total.view(np.complex64)[: numbers.size] += numbers
        charge_elements(h, np.float32, 2 * numbers.size)
    elif what == 2:
        words = packet(h, np.uint16)
        total[: words.size] += (words.astype(np.uint32) << np.uint32(16)).view(np.float32)
        charge_elements(h, np.uint16, words.size)


def test_records_complex_numbers_and_bfloat16_are_added() -> None:
    pairs = np.array([(3, 1.5), (0, 2.0), (3, 1.0)], PAIR)
    floats = np.arange(4, dtype=np.float32)
    kinds = [pairs, np.array([1 + 2j, 3 - 1j], np.complex64), (floats.view(np.uint32) >> 16).astype(np.uint16)]
    machine = Machine(costs=FLARE_COSTS)
    context = machine.context("c", payload=adds, scratchpad_bytes=64)
    machine.inject(context, [0] * 3, [each.tobytes() for each in kinds], [0, 5000, 10000], tags=range(3))
    run = machine.run()
    assert run.faults == []
    want = np.array([2, 0, 0, 2.5], np.float32) + np.array([1, 2, 3, -1], np.float32) + floats
    assert context.scratchpads[0].view(np.float32)[:4].tolist() == want.tolist()
    assert (run.packets["end"] - run.packets["start"]).tolist() == [3 * 4, 4 * 4, 2 * 4]
