"""The PsPIN machine: order of handlers, memory that is apart, locks, commands, and errors that name who did what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pspin_model.handlers import (
    atomic_add,
    charge,
    charge_cycles,
    charge_elements,
    cluster,
    dma,
    dma_wait,
    handler,
    handler_memory,
    lock,
    memory,
    now,
    packet,
    packet_l2,
    scratchpad,
    send_packet,
    tag,
    unlock,
)
from pspin_model.machine import FLARE_COSTS, ConfigError, Machine, MachineConfig

PATIENT = 20_000


@handler
def note(h: int) -> None:
    """Write down the cycle at which this handler ran."""
    charge(h, alu=10)
    log = handler_memory(h, np.int64)
    place = atomic_add(h, log, 0, 1)
    log[1 + place] = now(h)


@handler
def misbehave(h: int) -> None:
    """What the packet's tag says."""
    what = tag(h)
    data = packet(h, np.uint8)
    charge(h, alu=5)
    if what == 1:
        data[data.size + 3] = 1
    elif what == 2:
        memory(h, 4096, 1, np.int64)[0] = 1
    elif what == 3:
        while True:
            charge(h, alu=1)
    elif what == 4:
        while data[0] == 0:
            pass
    elif what == 5:
        lock(h, 0)
    elif what == 6:
        charge_cycles(h, -7, 0)
    elif what == 7:
        unlock(h, 1)
    elif what == 8:
        lock(h, 9)
    elif what == 9:
        total = 0
        for turn in range(1 << 40):
            total ^= turn
        data[0] = total & 1
    elif what == 10:
        data[0] = 7 // data[0]
    elif what == 11:
        dma_wait(h, dma(h, data[:16], packet_l2(h, np.uint8)[:32]))
    send_packet(h, data, what, 3)


@handler
def add(h: int) -> None:
    """Sum under a lock, for a while."""
    values = packet(h, np.float32)
    total = scratchpad(h, 0, np.float32)[: values.size]
    lock(h, 0)
    total += values
    charge_elements(h, np.float32, values.size)
    unlock(h, 0)


def packets(count: int, size: int = 64) -> Any:
    return np.zeros((count, size), np.uint8)


def test_payloads_follow_the_header_and_completion_comes_last() -> None:
    machine = Machine()
    context = machine.context("order", header=note, payload=note, completion=note, handler_memory_bytes=1 << 16)
    rng = np.random.default_rng(3)
    messages = rng.permutation(np.repeat(np.arange(256), 3))
    machine.inject(context, messages, packets(len(messages)), np.arange(len(messages)) * 3)
    run = machine.run()
    p = run.packets
    assert not run.faults
    for number in range(256):
        mine = p["message"] == number
        header, payload, completion = (mine & (p["kind"] == kind) for kind in range(3))
        assert (header.sum(), payload.sum(), completion.sum()) == (1, 3, 1)
        assert p["feedback"][header].max() < p["start"][payload].min()
        assert p["feedback"][payload].max() < p["start"][completion].min()
    assert context.handler_memory.view(np.int64)[0] == 5 * 256


@pytest.fixture(scope="module")
def wrongs() -> Any:
    """One run in which eleven packets do what they must not, between packets that are in order."""
    machine = Machine(MachineConfig(handler_limit=PATIENT, loop_limit=100_000))
    context = machine.context("wrong", payload=misbehave, locks=2)
    tags = np.array([*range(12), 0, 0])
    machine.inject(context, np.arange(14), packets(14), np.arange(14) * 50, tags=tags)
    return machine, context, machine.run()


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (1, "exception", "IndexError"),
        (2, "memory", "0x1000"),
        (3, "never returns", "handler_limit"),
        (4, "never returns", "loop_limit"),
        (5, "lock held", "never given back"),
        (6, "bad declaration", "-7"),
        (7, "not the holder", "lock 1"),
        (8, "bad lock", "lock 9"),
        (9, "never returns", "loop_limit"),
        (10, "exception", "ZeroDivisionError"),
        (11, "bad command", "dma"),
    ],
)
def test_an_error_names_handler_packet_and_cycle(wrongs: Any, number: int, kind: str, text: str) -> None:
    _, _, run = wrongs
    (fault,) = [each for each in run.faults if each.packet == number]
    assert (fault.kind, fault.handler, fault.message) == (kind, "wrong.misbehave", number)
    assert text in fault.text
    assert fault.cycle > 50 * number
    assert f"packet {number}" in str(fault)


def test_the_rest_goes_on_after_errors(wrongs: Any) -> None:
    _, _, run = wrongs
    assert len(run.packets["feedback"]) == 14
    assert sorted(run.sent["tag"].tolist()) == [0, 0, 0, 5]


def test_who_waits_for_a_lock_that_is_never_given_back_is_ended(wrongs: Any) -> None:
    machine, context, _ = wrongs
    machine.inject(context, [20, 21], packets(2), machine.now, tags=[5, 0])
    run = machine.run()
    assert [fault.kind for fault in run.faults] == ["lock wait"]
    assert run.sent["tag"].tolist() == [0]


def test_a_lock_makes_handlers_wait_for_each_other() -> None:
    data = np.ones((8, 1024), np.uint8).view(np.float32)
    data[:] = 1.5
    machine = Machine(costs=FLARE_COSTS)
    context = machine.context("sum", payload=add, scratchpad_bytes=1024, locks=1)
    machine.inject(context, np.zeros(8), data.view(np.uint8))
    run = machine.run()
    assert (context.scratchpads[0].view(np.float32) == 12.0).all()
    ends = np.sort(run.packets["end"])
    assert (np.diff(ends) >= 256 * 4).all()


@handler(cost="derived")
def derived_sum(h: int) -> None:
    """A loop whose cost is counted from its source."""
    words = packet(h, np.int32)
    total = 0
    for i in range(words.size):
        total += words[i] * 2
    scratchpad(h, cluster(h), np.int32)[0] = total


def test_a_derived_cost_grows_with_the_work() -> None:
    cycles = []
    for size in (128, 256):
        machine = Machine()
        context = machine.context("derived", payload=derived_sum, scratchpad_bytes=64)
        machine.inject(context, [0], packets(1, size))
        p = machine.run().packets
        cycles.append(int(p["instructions"][0]))
    assert cycles[1] - cycles[0] == 32 * ((cycles[1] - cycles[0]) // 32)
    assert cycles[1] - cycles[0] > 32 * 4


def test_packets_bound_to_cores_run_there_in_the_order_they_came() -> None:
    machine = Machine(MachineConfig(clusters=2))
    context = machine.context("bound", payload=note, handler_memory_bytes=4096)
    ranges = np.array([(4, 2), (10, 1), (4, 2), (4, 2), (10, 1)])
    machine.inject(context, np.arange(5), packets(5), cores=ranges)
    p = machine.run().packets
    order = np.argsort(p["packet"])
    assert p["core"][order].tolist() == [4, 10, 5, 4, 10]


def test_runs_repeat_and_may_stop_on_the_way() -> None:
    def play(stops: list[int]) -> list[int]:
        machine = Machine()
        context = machine.context("echo", payload=misbehave, locks=2)
        machine.inject(context, np.arange(40), packets(40), np.arange(40))
        sent: list[int] = []
        for stop in [*stops, None]:
            run = machine.run(stop)
            sent += run.sent["cycle"].tolist()
        return sorted(sent)  # a run lists in the order of issue what has left by its end

    assert play([]) == play([60, 61, 75]) == play([])


@pytest.mark.parametrize(
    ("change", "text"),
    [({"clusters": 0}, "clusters"), ({"max_packet_bytes": 1 << 20}, "l1_packet_bytes"), ({"l1_bytes": 1024}, "l1")],
)
def test_sizes_that_do_not_fit_are_refused(change: dict[str, int], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        MachineConfig(**change)


def test_memory_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="scratchpads"):
        Machine().context("large", payload=note, scratchpad_bytes=2 << 20)
