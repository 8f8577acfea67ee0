"""Mechanisms of the RTL that its rows show only together: arbiters, copies in flight, banks that are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pspin_model.examples.run import run_example
from pspin_model.handlers import charge, copy_from_host, handler, packet, packet_l2, send_packet, source
from pspin_model.machine import Machine, MachineConfig
from pspin_model.machine.fifos import arbiter_rank, later_turn


@handler
def read_headers(h: int) -> None:
    """Read and write as often as who turns a packet's headers round."""
    charge(h, load=6, store=6, alu=10)


@handler(code_bytes=16)
def send_from_l2(h: int) -> None:
    """Send the packet from L2."""
    send_packet(h, packet_l2(h, np.uint8), 0, 0)


@handler
def send_or_fetch(h: int) -> None:
    """Send the packet from L1; one from source 1 is filled from the host."""
    if source(h) == 1:
        copy_from_host(h, packet(h, np.uint8), 0)
    else:
        send_packet(h, packet(h, np.uint8), 0, 0)


@handler
def fetch_and_send(h: int) -> None:
    """Fill the packet from the host and send it, waiting for neither."""
    copy_from_host(h, packet(h, np.uint8), 0)
    send_packet(h, packet(h, np.uint8), 0, 0)


@handler
def only_fetch(h: int) -> None:
    """Fill the packet from the host."""
    copy_from_host(h, packet(h, np.uint8), 0)


@handler
def only_send(h: int) -> None:
    """Send the packet."""
    send_packet(h, packet(h, np.uint8), 0, 0)


@handler
def look_up(h: int) -> None:
    """Read a word of L2."""
    charge(h, l2_load=1)


@handler(code_bytes=32)
def two_lines(h: int) -> None:
    """Five cycles of code in a line of the handler and in the one it returns to."""
    charge(h, alu=3, jump=1)


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
    assert copies(64) == [1, 3, 1, 3, 1]  # two go together, the next two when those have ended
    assert sum(copies(128)[1:]) == 10  # two copies of two beats take five cycles
    assert copies(256) == [4] * 5


def copied_beside_others(copy_beats: int) -> int:
    """When a packet has come to cluster 1 that is asked for behind eight to cluster 0."""
    machine = Machine(MachineConfig(copy_beats=copy_beats))
    context = machine.context("copies", payload=nothing)
    machine.inject(context, [0] * 8 + [1], np.zeros((9, 64), np.uint8), np.arange(9))
    packets = machine.run().packets
    return int(packets["copied"][packets["cluster"] == 1][0])


def test_a_cluster_with_two_copies_in_flight_holds_up_the_others() -> None:
    alone = 8 + 20  # as it comes: L2, queue, scheduler, copy
    assert alone <= copied_beside_others(2) < copied_beside_others(1)


def test_a_line_that_is_asked_for_as_it_comes_is_brought_again() -> None:
    """Eight cores begin every two cycles; the arbiter serves one a cycle, and does not begin with the first.

    The first line takes 8 cycles; five cores have it by then or with it, one and two cycles after it others. The last
    asks for the second line behind them, when it has come.
    """
    machine = Machine()
    context = machine.context("lines", payload=two_lines)
    machine.inject(context, np.zeros(8, np.int64), np.zeros((8, 64), np.uint8), 2 * np.arange(8))
    packets = machine.run().packets
    waits = packets["end"] - packets["start"] - 5
    waits = waits[np.argsort(packets["core"])].tolist()
    assert waits == [17, 16, 12, 10, 8, 6, 4, 9]  # together 82 in the RTL, too, and 17 the longest


def handler_cycles(size: int) -> Any:
    """How long handlers take, eight of which begin together: the first of a cold cluster are waited for."""
    machine = Machine()
    context = machine.context("headers", payload=read_headers)
    machine.inject(context, np.zeros(16, np.int64), np.zeros((16, size), np.uint8), np.arange(16))
    packets = machine.run().packets
    return (packets["end"] - packets["start"])[8:].mean()


def test_headers_at_the_same_banks_make_cores_wait() -> None:
    assert handler_cycles(256) > handler_cycles(320) + 5


def wait_to_send(gap: int) -> int:
    """From the start of the first packet's handler to its feedback."""
    machine = Machine()
    context = machine.context("l2", payload=send_from_l2)
    machine.inject(context, np.zeros(32, np.int64), np.zeros((32, 1024), np.uint8), np.arange(32) * gap)
    packets = machine.run().packets
    return int(packets["feedback"][0] - packets["start"][0])


def test_a_read_of_l2_passes_between_requests_to_write_there() -> None:
    assert wait_to_send(100) < wait_to_send(1) <= wait_to_send(100) + 16


def test_a_send_waits_behind_a_copy_from_the_host_that_has_not_come() -> None:
    machine = Machine()
    context = machine.context("mixed", payload=send_or_fetch, host_bytes=64)
    at = np.concatenate([np.arange(3) * 1000, 3000 + np.arange(2) * 1000])
    machine.inject(context, np.zeros(6, np.int64), np.zeros((6, 64), np.uint8), [*at, 4006], sources=[0, 1, 0, 0, 1, 0])
    packets = machine.run().packets
    waits = packets["feedback"] - packets["end"]
    assert waits[5] > waits[3]  # it comes six cycles behind the copy


def test_cores_take_turns_on_their_way_to_l2() -> None:
    machine = Machine()
    context = machine.context("far", payload=look_up)
    machine.inject(context, np.arange(32) % 4, np.zeros((32, 64), np.uint8), np.zeros(32, np.int64))
    ends = np.sort(machine.run().packets["end"])
    assert (np.diff(ends) >= 2).all()


@pytest.mark.parametrize(
    ("commands", "least", "most"),
    [(nothing, 16, 16), (only_send, 16, 16), (only_fetch, 16, 16), (fetch_and_send, 30, 32)],
)
def test_a_copy_takes_two_cycles_a_beat_where_reads_and_writes_take_turns(commands: Any, least: int, most: int) -> None:
    """Packets of 16 beats, asked for as fast as they go: the port of the commands gets every other cycle of a superbank
    only where it alternates between reads and writes."""
    machine = Machine()
    context = machine.context("busy", payload=commands, host_bytes=1024)
    machine.inject(context, np.zeros(24, np.int64), np.zeros((24, 1024), np.uint8), np.arange(24) * 10)
    steady = np.diff(machine.run().packets["copied"])[12:]
    assert least <= steady.min() <= steady.max() <= most


def last_copy(turns: int) -> int:
    """When the last of 24 packets of 1 KiB has come to the L1 of a cluster that fetches and sends them."""
    machine = Machine(MachineConfig(copy_turns=turns))
    context = machine.context("busy", payload=fetch_and_send, host_bytes=1024)
    machine.inject(context, np.zeros(24, np.int64), np.zeros((24, 1024), np.uint8), np.arange(24) * 20)
    return int(machine.run().packets["copied"].max())


def test_copies_wait_for_commands_that_read_and_write_their_l1() -> None:
    alone = 23 * 20 + 51  # as they come: L2, queue, scheduler, copy
    assert last_copy(1) == alone
    assert last_copy(2) > alone + 100


def test_few_accesses_meet_a_stream_once_per_number_of_superbanks() -> None:
    _, run, _ = run_example("copy_to_host", 1, 256, 1024, 20)
    packets = run.packets
    cycles = (packets["end"] - packets["start"])[8:]
    waits = cycles - cycles.min()
    assert set(waits) >= {0, 1, 2}
    assert np.median(waits) == 1  # two accesses, each beside a copy that comes and one that goes


def test_code_that_cluster_0_booted_with_is_there() -> None:
    _, run, _ = run_example("aggregate", 4, 32, 1024, 0)
    p = run.packets
    last = p["kind"] == 2
    cycles = (p["end"] - p["start"])[last]
    assert set(p["cluster"][last].tolist()) == {0, 2}
    assert cycles[p["cluster"][last] == 2].max() == cycles[p["cluster"][last] == 0].max() + MachineConfig().cache_miss
