"""Racks of servers that exchange partial sums: bytes, bits, losses, disagreements, leaves."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from emulator.ports.batch import TxPortTable
from emulator.ports.spec import Impairments
from hostagent.lab.rack_network import Rates
from hostagent.lab.racks import Step, play
from hostagent.protocol.frames import Addresses, Frame, build_frame, no_lanes, parse_frame
from hostagent.protocol.services.aggregator import Aggregator, ChildTerms, JobTerms
from hostagent.protocol.wire import FLAG_NO_DATA, Header, Kind, Operator
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.hierarchy.exchange import WAYS, Exchange
from hostagent.rackserver.hierarchy.inside import Inside
from hostagent.rackserver.hierarchy.parent import Parent, ParentTerms
from hostagent.rackserver.hierarchy.parts import Envelope, Part, Peer, addresses
from hostagent.rackserver.hierarchy.tier import RackTier

LANES = 64
FAST = Rates(10_000_000_000, 40_000_000_000, 10_000_000_000)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("racks", "workers"), [(2, 1), (3, 4), (4, 2)])
def test_bytes_that_cross_are_those_of_the_formula_and_sums_have_all_workers_bits(
    way: str, racks: int, workers: int
) -> None:
    step = Step(way, racks, workers, chunks=12, rates=FAST, lanes=LANES)
    outcome = play(step)
    assert outcome.complete
    half = step.data_bytes * (racks - 1) // racks
    assert outcome.contribution_bytes == outcome.result_bytes == (half,) * racks


def test_the_flat_scheme_pushes_n_times_the_bytes() -> None:
    step = Step("flat", 3, 4, chunks=12, rates=FAST, lanes=LANES)
    outcome = play(step)
    assert outcome.complete
    assert outcome.contribution_bytes == (4 * step.data_bytes * 2 // 3,) * 3
    assert outcome.result_bytes == outcome.contribution_bytes


@pytest.mark.parametrize("way", WAYS)
def test_losses_duplicates_and_reordering_between_racks_are_mended_by_the_workers_repeats(way: str) -> None:
    rough = Impairments(loss=0.2, duplicate=0.1, reorder=0.2, reorder_by_ns=50_000, seed=3)
    step = Step(way, 3, 2, chunks=24, rates=FAST, lanes=LANES, uplink=rough, repeat_ns=300_000)
    assert play(step, limit_ns=1_000_000_000).complete


@pytest.mark.parametrize("way", WAYS)
def test_workers_without_data_count_without_adding_and_send_nothing_across(way: str) -> None:
    step = Step(way, 2, 2, chunks=4, rates=FAST, lanes=LANES, silent=frozenset({0, 1}))
    outcome = play(step)
    assert outcome.complete
    half = step.data_bytes // 2
    # the parts of rack 0 are empty; the totals of the chunks that are finished there are not
    assert outcome.contribution_bytes == (0, half)
    assert outcome.result_bytes == (half, half)


class Net:
    """Exchanges of one job, and frames between them that may be lost, repeated and taken in any order."""

    def __init__(self, way: str, racks: int, window: int, loss: float, seed: int) -> None:
        self.random = random.Random(seed)
        self.loss = loss
        peers = {rack: Peer(rack, rack) for rack in range(racks)}
        self.racks: list[Exchange] = [
            WAYS[way](Envelope(1, 7, rack), {r: p for r, p in peers.items() if r != rack}, window)
            for rack in range(racks)
        ]
        self.under_way: list[tuple[int, bytes]] = []
        self.totals: list[dict[int, Part]] = [{} for _ in range(racks)]

    def collect(self) -> None:
        for rack, exchange in enumerate(self.racks):
            self.under_way += exchange.take_frames()
            for total in exchange.take_totals():
                assert total.chunk not in self.totals[rack]
                self.totals[rack][total.chunk] = total

    def deliver_one(self) -> None:
        at = self.random.randrange(len(self.under_way))
        rack, frame = self.under_way[at]
        if self.random.random() >= self.loss / 2:
            self.under_way.pop(at)  # else it comes again
        if self.random.random() >= self.loss:
            self.racks[rack].receive(parse_frame(frame))
        self.collect()


def part(chunk: int, rack: int, operator: Operator = Operator.SUM, operation: int = 5) -> Part:
    lanes = np.random.default_rng((chunk, rack)).integers(0, 1 << 32, 8).astype(np.uint32)
    return Part(chunk, operation, operator, lanes, child=rack)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(6))
def test_any_schedule_of_losses_and_repeats_ends_with_every_total_once_and_right(way: str, seed: int) -> None:
    racks, window, chunks = 2 + seed % 3, 2, 12
    operator = Operator.MAX if seed % 2 else Operator.SUM
    net = Net(way, racks, window, loss=0.3, seed=seed)
    low = [0] * racks  # what a rack's workers wait for; they send c + W when they have c
    sent = [0] * racks
    while min(low) < chunks:
        for rack in range(racks):
            while sent[rack] < min(chunks, low[rack] + window):
                net.racks[rack].submit(part(sent[rack], rack, operator))
                sent[rack] += 1
            net.collect()
            while low[rack] in net.totals[rack]:
                low[rack] += 1
        for _ in range(4):
            if net.under_way:
                net.deliver_one()
        rack = net.random.randrange(racks)
        if low[rack] < sent[rack]:
            net.racks[rack].repeat(low[rack])
            net.collect()
    for chunk in range(chunks):
        every = np.stack([part(chunk, rack).lanes for rack in range(racks)])
        wanted = every.sum(0, np.uint32) if operator is Operator.SUM else every.view(np.int32).max(0).view(np.uint32)
        assert all(np.array_equal(net.totals[rack][chunk].lanes, wanted) for rack in range(racks))


@pytest.mark.parametrize("way", WAYS)
def test_racks_that_disagree_on_an_operation_all_fail_with_both_named(way: str) -> None:
    net = Net(way, 3, 4, loss=0.0, seed=0)
    failures = []
    for rack, exchange in enumerate(net.racks):
        exchange.submit(part(0, rack, operation=9 if rack == 2 else 5))
    net.collect()
    while net.under_way:
        net.deliver_one()
    for exchange in net.racks:
        failures += exchange.take_failures()
    assert len(failures) == 3
    assert not any(net.totals)
    for failure in failures:
        assert set(failure.lanes[:2].tolist()) == {5, 9}
        assert 2 in failure.lanes[2:].tolist()


def test_frames_of_no_other_rack_epoch_or_time_are_dropped_and_counted() -> None:
    ring = WAYS["ring"](Envelope(1, 7, 0), {1: Peer(1, 1), 2: Peer(2, 2)}, 4)
    ring.submit(part(0, 0))
    sent = Envelope(1, 7, 2).frame(Kind.CONTRIBUTION, part(1, 2), Peer(0, 0))
    wrong = (
        Envelope(1, 8, 2).frame(Kind.CONTRIBUTION, part(0, 2), Peer(0, 0)),  # epoch
        Envelope(1, 7, 5).frame(Kind.CONTRIBUTION, part(0, 5), Peer(0, 0)),  # no such rack
        Envelope(1, 7, 1).frame(Kind.CONTRIBUTION, part(0, 1), Peer(0, 0)),  # not the previous rack
        Envelope(1, 7, 2).frame(Kind.CONTRIBUTION, part(0, 2), Peer(1, 0)),  # for another rack
        Envelope(1, 7, 2).frame(Kind.CONTRIBUTION, part(16, 2), Peer(0, 0)),  # its place is another chunk's
    )
    for frame in wrong:
        ring.receive(parse_frame(frame))
    assert ring.traffic.dropped == len(wrong)
    ring.receive(parse_frame(sent))
    assert ring.traffic.dropped == len(wrong)


# --- A leaf ---------------------------------------------------------------------------------------------------------

PARENT_MAC, PARENT_IP = 0x02AA, 0x0A00_00AA


def children(count: int, first_port: int = 1) -> tuple[ChildTerms, ...]:
    return tuple(ChildTerms(n, n, first_port + n, 0x0200 + n, 0x0A00_0000 + n) for n in range(count))


def terms(members: tuple[ChildTerms, ...], mac: int = PARENT_MAC, ip: int = PARENT_IP) -> JobTerms:
    return JobTerms(1, 7, 0, 2, 0, LANES, members, mac, ip)


def contribution(job: JobTerms, child: int, chunk: int, lanes: np.ndarray, operation: int = 5) -> tuple[int, bytes]:
    member = job.children[child]
    flags = 0 if len(lanes) else FLAG_NO_DATA
    header = Header(Kind.CONTRIBUTION, 1, child, 7, chunk, operation, operator=Operator.SUM, flags=flags)
    ends = Addresses(member.mac, job.aggregator_mac, member.ip, job.aggregator_ip)
    return member.port, build_frame(Frame(ends, header, lanes))


def server(table: TxPortTable) -> Aggregator:
    return RackServer(LANES, slots=4, ports=table)


class Tree:
    """A root with a worker at port 1 and a leaf at port 2, which has three workers and its parent at port 50."""

    def __init__(self) -> None:
        self.root = Inside(server)
        leaf_ends = addresses(1, 0)
        leaf_child = ChildTerms(1, 1, 2, leaf_ends.source_mac, leaf_ends.source_ip)
        self.root_terms = terms((*children(1), leaf_child))
        parent_terms = ParentTerms(
            50, 1, 7, 1, Addresses(leaf_ends.source_mac, PARENT_MAC, leaf_ends.source_ip, PARENT_IP)
        )
        make_tier: Callable[[TxPortTable], Aggregator] = lambda table: RackTier(  # noqa: E731
            server, lambda given: Parent(parent_terms, given.window), frozenset({50}), ports=table
        )
        self.leaf = Inside(make_tier)
        self.leaf_terms = terms(children(3), mac=0x02BB, ip=0x0A00_00BB)
        self.root.core.install(self.root_terms)
        self.leaf.core.install(self.leaf_terms)
        for inside, ports in ((self.root, (1, 2)), (self.leaf, (1, 2, 3, 50))):
            for port in ports:
                inside.provide(port)

    def into_leaf(self, *frames: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        return self.leaf.process(frames, 0)[0]

    def into_root(self, *frames: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        return self.root.process(frames, 0)[0]


def kinds(frames: list[tuple[int, bytes]]) -> list[tuple[int, int]]:
    return [(port, parse_frame(frame).header.kind) for port, frame in frames]


def test_a_leaf_is_one_child_that_stands_for_its_workers() -> None:
    tree = Tree()
    data = [np.full(LANES, 10**n, np.uint32) for n in range(4)]
    up = tree.into_leaf(*(contribution(tree.leaf_terms, n, 0, data[n]) for n in range(3)))
    assert kinds(up) == [(50, Kind.CONTRIBUTION)]
    assert parse_frame(up[0][1]).lanes[0] == 111
    assert tree.into_root((2, up[0][1])) == []
    down = tree.into_root(contribution(tree.root_terms, 0, 0, data[3]))
    assert kinds(down) == [(1, Kind.RESULT), (2, Kind.RESULT)]
    final = tree.into_leaf((50, down[1][1]))
    assert kinds(final) == [(port, Kind.RESULT) for port in (1, 2, 3)]
    assert all(parse_frame(frame).lanes.tolist() == [1111] * LANES for _, frame in final)


def test_a_repeat_before_the_total_goes_up_again_and_after_it_is_answered_from_the_store() -> None:
    tree = Tree()
    data = np.ones(LANES, np.uint32)
    first = contribution(tree.leaf_terms, 0, 0, data)
    up = tree.into_leaf(first, *(contribution(tree.leaf_terms, n, 0, data) for n in (1, 2)))
    again = tree.into_leaf(first)
    assert kinds(again) == [(1, Kind.WAITING), (50, Kind.CONTRIBUTION)]
    assert again[1][1] == up[0][1]
    tree.into_root((2, up[0][1]))
    down = tree.into_root(contribution(tree.root_terms, 0, 0, data))
    tree.into_leaf((50, down[1][1]))
    assert tree.into_leaf((50, down[1][1])) == []  # a parent's result is accepted once
    served = tree.into_leaf(first)
    assert kinds(served) == [(1, Kind.RESULT)]
    assert parse_frame(served[0][1]).lanes[0] == 4


def test_a_leaf_whose_workers_have_nothing_to_add_says_so() -> None:
    tree = Tree()
    up = tree.into_leaf(*(contribution(tree.leaf_terms, n, 0, no_lanes()) for n in range(3)))
    header = parse_frame(up[0][1]).header
    assert (header.flags, header.lanes) == (FLAG_NO_DATA, 0)


def test_an_error_from_the_parent_reaches_every_worker_and_those_who_ask_later() -> None:
    tree = Tree()
    data = np.ones(LANES, np.uint32)
    frames = [contribution(tree.leaf_terms, n, 0, data) for n in range(3)]
    up = tree.into_leaf(*frames)
    tree.into_root((2, up[0][1]))
    down = tree.into_root(contribution(tree.root_terms, 0, 0, data, operation=6))
    told = tree.into_leaf(*((50, frame) for port, frame in down if port == 2))
    assert kinds(told) == [(port, Kind.ERROR) for port in (1, 2, 3)]
    assert parse_frame(told[0][1]).lanes[:2].tolist() == [5, 6]
    assert kinds(tree.into_leaf(frames[1])) == [(2, Kind.ERROR)]


def test_what_is_no_frame_at_the_parents_port_is_counted() -> None:
    tree = Tree()
    assert tree.into_leaf((50, b"\xff" * 90), (50, b"")) == []
    assert tree.leaf.core.statistics()["strangers"] == 2
