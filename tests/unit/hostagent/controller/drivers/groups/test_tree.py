"""Jobs on trees of switches: who is below whom, whose bits are whose, and when the tree is ready."""

from __future__ import annotations

import random
from dataclasses import replace
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.driver import AggregatorCounters
from hostagent.controller.drivers.groups.tree import TreeDriver, split_job
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.controller.drivers.p4.entries import job_entry, replicas_of
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.protocol.tree import FanOut, TreeRefused, TreeSwitch, check_tree, regular_tree, tree_text


def entries(*ports: int, epoch: int = 1) -> JobConfig:
    children = tuple(Child(rank, port, 0x0200 + port, 0x0A00 + port, True) for rank, port in enumerate(ports))
    return JobConfig(9, 0, epoch, 0, 8, 0, True, 1, 1, children)


def test_a_regular_tree_gives_workers_ports_without_gaps() -> None:
    switches = regular_tree((2, 2, 3))
    assert [sorted(each.ports) for each in switches if each.ports] == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]
    assert [each.parent for each in switches] == [None, 0, 1, 1, 0, 4, 4]
    check_tree(switches)


def test_leaves_may_have_different_numbers_of_workers() -> None:
    switches = regular_tree((2, 2, (1, 2, 3, 1)))
    assert [sorted(each.ports) for each in switches if each.ports] == [[1], [2, 3], [4, 5, 6], [7]]
    assert [each.parent for each in switches] == [None, 0, 1, 1, 0, 4, 4]
    assert tree_text((2, 2, (1, 2, 3, 1))) == "2x2x1+2+3+1"
    assert regular_tree((2, (3, 3))) == regular_tree((2, 3))


@pytest.mark.parametrize(
    ("fan_out", "why"),
    [
        ((), "1 to 64 children"),
        ((0, 2), "1 to 64 children"),
        ((2, 65), "1 to 64 children"),
        ((8, 64), "512 workers; there are ports for"),
        ((2, (3, 0)), "tree 2x3.0: a switch has 1 to 64 children"),
        ((2, (1, 2, 3)), "tree 2x1.2.3: it has 2 lowest switches, and workers of 3 are given"),
        (((1, 2), 2), "only the last level"),
    ],
)
def test_trees_that_cannot_be_are_refused(fan_out: FanOut, why: str) -> None:
    with pytest.raises(TreeRefused, match=why):
        regular_tree(fan_out)


@pytest.mark.parametrize(
    ("switches", "why"),
    [
        ([TreeSwitch(frozenset({1})), TreeSwitch(frozenset({2}))], "one root"),
        ([TreeSwitch(frozenset()), TreeSwitch(frozenset({1}), 2), TreeSwitch(frozenset(), 1)], "does not lead"),
        ([TreeSwitch(frozenset({1})), TreeSwitch(frozenset({1}), 0)], "port 1 belongs to several"),
    ],
)
def test_what_is_no_tree_is_refused(switches: list[TreeSwitch], why: str) -> None:
    with pytest.raises(TreeRefused, match=why):
        check_tree(switches)


def test_a_job_of_one_leaf_is_summed_there_and_others_at_the_root() -> None:
    switches = regular_tree((2, 2))
    (part,) = split_job(entries(4, 3), switches).items()
    assert part[0] == 2
    assert part[1].parent is None
    parts = split_job(entries(1, 2, 4), switches)
    assert set(parts) == {0, 1, 2}
    assert [(child.workers, child.bit_mask) for child in parts[0].children] == [((0, 1), 0b011), ((2,), 0b100)]
    above = parts[2].parent
    assert above is not None
    assert (above.workers, above.elsewhere, parts[2].children[0].bit_mask) == ((0, 1), 0b011, 0b100)


def test_a_job_of_a_service_has_the_root_of_the_tree_which_alone_knows_the_service() -> None:
    config = replace(entries(4, 3), service=ServiceTerms("one"))
    parts = split_job(config, regular_tree((2, 2)))
    assert {index: part.service for index, part in parts.items()} == {0: config.service, 2: None}
    above = parts[2].parent
    assert above is not None
    assert (above.workers, above.elsewhere) == ((), 0)


def test_a_port_of_no_switch_is_named() -> None:
    with pytest.raises(TreeRefused, match="no switch of the tree has port 7"):
        split_job(entries(1, 7), regular_tree((2, 2)))


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(((2, 2), (3, 2), (2, 2, 2), (2, 40))), st.integers(1, 80), st.integers(0, 2**31))
def test_bits_of_a_switchs_children_are_disjoint_and_all_workers_are_somewhere(
    fan_out: tuple[int, ...], count: int, seed: int
) -> None:
    ports = random.Random(seed).sample(range(1, prod(fan_out) + 1), prod(fan_out))
    parts = split_job(entries(*ports[:count]), regular_tree(fan_out))
    workers = set(range(len(ports[:count])))
    assert sum(part.parent is None for part in parts.values()) == 1
    for part in parts.values():
        masks = [child.bit_mask for child in part.children]
        together = dict(job_entry(part).params)["full"]
        assert sum(masks) == together  # no bit is in two of them
        assert 0 < together < 1 << 64
        below = [number for child in part.children for number in child.numbers]
        assert len(below) == len(set(below))
        above = part.parent.workers if part.parent is not None else ()
        assert {*below, *above} == workers
        assert not part.parent or not together & part.parent.elsewhere
        rids = [rid for _, rid in replicas_of(part)]
        assert len(set(rids)) == len(part.children)


class FakeDriver:
    """One switch's driver, by hand."""

    def __init__(self, number: int) -> None:
        self.name = f"p4runtime://s{number}:1"
        self.orders: list[Any] = []
        self.events: Any = None
        self.received: Any = None

    def start(self, events: Any, received: Any) -> None:
        self.events, self.received = events, received

    def install(self, given: JobConfig) -> None:
        self.orders.append((given.epoch, given.parent is not None))

    def remove(self, job: int) -> None:
        self.orders.append(job)

    def counters(self, timeout_s: float) -> AggregatorCounters:
        return AggregatorCounters({0: {"accepted": 2}}, {}, {})

    def silent(self, timeout_s: float) -> list[str]:
        return [self.name]

    def stop(self) -> None:
        self.orders.append("stop")


class Events:
    """Events that the controller receives."""

    def __init__(self) -> None:
        self.received: list[tuple[Any, ...]] = []

    def ready(self, capacity: Capacity, state_lost: bool) -> None:
        self.received.append(("ready", capacity.slots, capacity.message_checksum, state_lost))

    def lost(self, why: str, *, permanent: bool = False) -> None:
        self.received.append(("lost", why, permanent))

    def installed(self, job: int, epoch: int) -> None:
        self.received.append(("installed", job, epoch))

    def install_failed(self, job: int, epoch: int, why: str) -> None:
        self.received.append(("install_failed", job, epoch, why))

    def delivery_problem(self, job: int, why: str) -> None:
        raise AssertionError


def tree(*installed: JobConfig) -> tuple[TreeDriver, list[FakeDriver], Events]:
    fakes, events = [FakeDriver(number) for number in range(3)], Events()
    driver = TreeDriver(fakes, regular_tree((2, 2)))
    driver.start(events, installed)
    return driver, fakes, events


def test_it_is_ready_when_all_are_and_any_loss_of_state_is_everybodys() -> None:
    _, fakes, events = tree()
    capacity = Capacity(slots=64, lanes=64, rows=8, forwards_messages=True)
    for fake, slots in zip(fakes, (64, 32, 64), strict=True):
        assert events.received == []
        fake.events.ready(replace(capacity, slots=slots), False)
    assert events.received == [("ready", 32, True, False)]
    fakes[1].events.lost("gone")
    fakes[1].events.ready(capacity, True)
    assert events.received[1:] == [("lost", "gone", False), ("ready", 64, True, True)]


def test_switches_with_other_lanes_are_refused_for_good() -> None:
    _, fakes, events = tree()
    for fake, lanes in zip(fakes, (64, 256, 64), strict=True):
        fake.events.ready(Capacity(slots=64, lanes=lanes, rows=8, forwards_messages=True), False)
    ((what, why, permanent),) = events.received
    assert (what, permanent) == ("lost", True)
    assert "64 and 256" in why


def test_a_job_is_installed_when_all_have_it_or_on_none() -> None:
    driver, fakes, events = tree()
    driver.install(entries(1, 3))
    assert [fake.orders for fake in fakes] == [[(1, False)], [(1, True)], [(1, True)]]
    fakes[0].events.installed(9, 1)
    fakes[2].events.installed(9, 1)
    assert events.received == []
    fakes[1].events.installed(9, 1)
    assert events.received == [("installed", 9, 1)]
    driver.install(entries(1, 3, epoch=2))
    fakes[1].events.install_failed(9, 2, "no room")
    fakes[1].events.installed(9, 1)  # of the epoch before
    for fake in fakes:
        fake.events.installed(9, 2)
    assert events.received[1:] == [("install_failed", 9, 2, "p4runtime://s1:1: no room")]
    driver.remove(9)
    assert all(fake.orders[-1] == 9 for fake in fakes)


def test_after_the_controllers_restart_each_switch_should_have_its_part() -> None:
    _, fakes, _ = tree(entries(1, 2))
    assert [len(fake.received) for fake in fakes] == [0, 1, 0]
