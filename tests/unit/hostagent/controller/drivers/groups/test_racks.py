"""Rack servers driven as one aggregator: whose child is whose, and when the racks are ready."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.driver import AggregatorCounters
from hostagent.controller.drivers.groups.racks import Place, RacksDriver, RacksRefused, split
from hostagent.controller.drivers.groups.silent_links import Cable
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.services import aggregator_pb2 as pb
from hostagent.protocol.services.aggregator import RackPart, Spread

PLACES = (Place(5, frozenset({2}), frozenset({1, 3})), Place(2, frozenset({5}), frozenset({2, 4})))


def entries(*ports: int, epoch: int = 1) -> JobConfig:
    children = tuple(Child(number, port, 0x0200 + port, 0x0A00 + port, True) for number, port in enumerate(ports))
    return JobConfig(9, 0, epoch, 0, 8, 0, True, 1, 1, children)


def test_children_are_of_the_rack_whose_server_has_their_port() -> None:
    shares = split(entries(4, 1, 2), PLACES, "ring")
    assert {index: [child.child for child in share.children] for index, share in shares.items()} == {0: [1], 1: [0, 2]}
    spread = Spread("ring", (RackPart(2, 0b101), RackPart(5, 0b010)))
    assert all(share.spread == spread for share in shares.values())


def test_a_job_of_one_racks_children_is_not_spread() -> None:
    (share,) = split(entries(2, 4), PLACES, "ring").items()
    assert share == (1, entries(2, 4))


def test_a_port_of_no_rack_is_named() -> None:
    with pytest.raises(RacksRefused, match="no rack's server has port 7"):
        split(entries(1, 7), PLACES, "ring")


class FakeDriver:
    """A server's driver, by hand."""

    def __init__(self, number: int, place: Place | None) -> None:
        told: dict[str, Any] = (
            {} if place is None else {"place": pb.Place(rack=place.rack, peers=place.peers), "ports": place.ports}
        )
        self.description = pb.Description(**told)
        self.name = f"netsum://{number}"
        self.orders: list[Any] = []
        self.events: Any = None

    def start(self, events: Any, told: Any) -> None:
        self.events = events

    def install(self, given: JobConfig) -> None:
        self.orders.append([child.port for child in given.children])

    def remove(self, job: int) -> None:
        self.orders.append(job)

    def counters(self, timeout_s: float) -> AggregatorCounters:
        return AggregatorCounters({0: {"accepted": 2}}, {0: {"accepted": 200}}, {"epoch": 1})


class Events:
    """What the controller is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def ready(self, capacity: Capacity, state_lost: bool) -> None:
        self.told.append(("ready", capacity.slots, state_lost))
        self.capacity = capacity

    def lost(self, why: str, *, permanent: bool = False) -> None:
        self.told.append(("lost", why, permanent))

    def installed(self, job: int, epoch: int) -> None:
        self.told.append(("installed", job, epoch))

    def install_failed(self, job: int, epoch: int, why: str) -> None:
        self.told.append(("install_failed", job, epoch, why))

    def delivery_problem(self, job: int, why: str) -> None:
        self.told.append(("troubled", job, why))


def racks_of(*places: Place | None) -> tuple[RacksDriver, list[FakeDriver], Events]:
    racks, events = RacksDriver([f"host:{number}" for number in range(len(places))], "ring"), Events()
    fakes = [FakeDriver(number, place) for number, place in enumerate(places)]
    racks._drivers = fakes  # type: ignore[assignment]
    racks.start(events, ())
    return racks, fakes, events


def capacity(slots: int = 64, lanes: int = 256) -> Capacity:
    return Capacity(slots, lanes, 16)


def test_racks_are_ready_when_all_are_and_again_after_a_loss() -> None:
    _, (one, other), events = racks_of(*PLACES)
    one.events.ready(capacity(64), False)
    assert events.told == []
    other.events.ready(capacity(32), False)
    one.events.lost("gone")
    one.events.ready(capacity(64), True)
    assert events.told == [("ready", 32, False), ("lost", "gone", False), ("ready", 32, True)]


def test_racks_forward_messages_if_all_do_and_need_checksums_between_them() -> None:
    for forwards in (False, True):
        racks, (one, other), events = racks_of(*PLACES)
        one.events.ready(replace(capacity(), forwards_messages=True), False)
        other.events.ready(replace(capacity(), forwards_messages=forwards), False)
        assert (events.capacity.forwards_messages, events.capacity.message_checksum) == (forwards, True)
        assert events.capacity.aggregator == racks.name


def test_a_job_is_installed_and_removed_on_all_its_racks() -> None:
    racks, (one, other), events = racks_of(*PLACES)
    racks.install(entries(1, 2))
    one.events.installed(9, 1)
    assert events.told == []
    other.events.installed(9, 1)
    racks.install(entries(1, epoch=2))  # of one rack now: the other forgets it
    other.events.installed(9, 1)
    one.events.installed(9, 2)
    assert events.told == [("installed", 9, 1), ("installed", 9, 2)]
    assert (one.orders, other.orders) == ([[1], [1]], [[2], 9])
    racks.remove(9)
    assert (one.orders[-1], other.orders[-1]) == (9, 9)


def test_a_refusal_names_the_rack_and_is_the_last_word() -> None:
    racks, (one, other), events = racks_of(*PLACES)
    racks.install(entries(1, 2))
    other.events.install_failed(9, 1, "no room")
    one.events.installed(9, 1)
    assert events.told == [("install_failed", 9, 1, "netsum://1: no room")]


@pytest.mark.parametrize(
    ("places", "why"),
    [
        ((PLACES[0], None), "netsum://1 has no place among racks"),
        ((PLACES[0], Place(5, frozenset(), frozenset({2}))), "netsum://0 is one of several that are rack 5"),
        ((PLACES[0], Place(3, frozenset({5}), frozenset({2}))), "netsum://0 has no --peer 3"),
        ((PLACES[0], Place(2, frozenset({5}), frozenset({3}))), "port 3 belongs to the servers of several racks"),
    ],
)
def test_servers_that_do_not_fit_together_are_a_permanent_failure(places: tuple[Place | None, ...], why: str) -> None:
    _, fakes, events = racks_of(*places)
    for fake in fakes:
        fake.events.ready(capacity(), False)
    ((what, said, permanent),) = events.told
    assert (what, permanent) == ("lost", True)
    assert why in said


def test_lanes_must_be_the_same() -> None:
    _, (one, other), events = racks_of(*PLACES)
    one.events.ready(capacity(lanes=64), False)
    other.events.ready(capacity(lanes=256), False)
    assert "64 and 256 lanes" in events.told[0][1]


def test_counters_are_of_all_racks() -> None:
    racks, _, _ = racks_of(*PLACES)
    assert racks.counters(1.0) == AggregatorCounters({0: {"accepted": 4}}, {0: {"accepted": 400}}, {"epoch": 2})


def test_a_silent_link_is_reported_to_jobs_on_both_of_its_racks() -> None:
    racks, _, events = racks_of(*PLACES)
    racks.install(entries(1, 2))
    racks._cables_changed({Cable(5, 2): "rack 5 is not heard", Cable(5, 7): "of others"})
    racks.install(entries(1, 2, epoch=2))
    racks.install(entries(1, 3, epoch=3))  # of one rack
    racks._cables_changed({})
    assert events.told == [("troubled", 9, "rack 5 is not heard")] * 2 + [("troubled", 9, "")]
