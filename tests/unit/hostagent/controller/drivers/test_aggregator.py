"""The driver of aggregators of ours against the real service, with the reference aggregator behind it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import grpc
import numpy as np
import pytest

from emulator.ports.batch import FrameBatch, TxPortTable
from hostagent.cli.aggregators.reference_core import ReferenceCore
from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.aggregator import AggregatorDriver, read_statistics, terms_of
from hostagent.controller.drivers.driver import AggregatorUnavailable
from hostagent.controller.drivers.job import Child, JobConfig, Parent
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.services.aggregator import AggregatorRefused, RefusalCode, ServiceTerms
from hostagent.protocol.services.aggregator import Capacity as AggregatorCapacity
from hostagent.protocol.services.aggregator_messages import terms_from, terms_message
from hostagent.protocol.services.aggregator_server import AggregatorServer, AggregatorServerError
from hostagent.protocol.wire import Header, Kind
from tests.fakes.driver_events import JOB, WAIT_S, Events

LANES = 64


class Machine:
    """An aggregator's process, started and killed at will on one address."""

    def __init__(self) -> None:
        self.address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        self.core = ReferenceCore(lanes=LANES, slots=512, ports=TxPortTable())
        self.server = AggregatorServer(self.core, nullcontext, self.address)
        self.address = self.server.address
        self.server.start()


@pytest.fixture
def machine() -> Iterator[Machine]:
    made = Machine()
    yield made
    made.server.stop()


@pytest.fixture
def drivers(machine: Machine) -> Iterator[list[AggregatorDriver]]:
    made: list[AggregatorDriver] = []
    yield made
    for driver in made:
        driver.stop()


def started(
    machine: Machine, drivers: list[AggregatorDriver], *told: JobConfig
) -> tuple[AggregatorDriver, Events, bool]:
    """A driver that has connected, and whether it reported lost state."""
    events = Events()
    driver = AggregatorDriver(machine.address)
    drivers.append(driver)
    driver.start(events, told)
    capacity, state_lost = events.next("ready")
    assert capacity == Capacity(slots=512, lanes=LANES, rows=8, forwards_messages=True, aggregator=driver.name)
    return driver, events, state_lost


def test_an_aggregator_that_does_not_forward_messages_says_so(
    machine: Machine, drivers: list[AggregatorDriver]
) -> None:
    machine.core.capacity = AggregatorCapacity(slots=512, lanes=LANES, jobs=8)
    events = Events()
    drivers.append(AggregatorDriver(machine.address))
    drivers[0].start(events, ())
    capacity, _ = events.next("ready")
    assert not capacity.forwards_messages


def contribute(core: ReferenceCore, child: Child) -> None:
    header = Header(Kind.CONTRIBUTION, JOB.job, child.child, JOB.epoch, chunk=0, operation=77)
    addresses = Addresses(child.host_mac, JOB.switch_mac, child.host_ip, JOB.switch_ip)
    batch = FrameBatch()
    batch.append(build_frame(Frame(addresses, header, np.ones(LANES, np.uint32), True)), child.port)
    core.process(batch, 0)


def test_a_job_is_told_counts_and_is_forgotten_without_its_counters(
    machine: Machine, drivers: list[AggregatorDriver]
) -> None:
    driver, events, state_lost = started(machine, drivers)
    assert not state_lost
    driver.install(JOB)
    assert events.next("installed") == (5, 1000)
    assert machine.core.installed() == {5: 1000}
    for child in JOB.children:
        contribute(machine.core, child)
    driver.remove(JOB.job)
    driver.install(replace(JOB, job=6, row=3, epoch=1001))
    assert events.next("installed") == (6, 1001)
    assert machine.core.installed() == {6: 1001}
    counters = driver.counters(WAIT_S)
    assert counters.verdicts[2] == {"accepted": 2, "completed": 1}
    assert counters.verdict_bytes[2]["completed"] == 66 + 4 * LANES
    assert counters.verdicts[3] == {}


def test_a_refusal_tells_the_aggregators_reason(machine: Machine, drivers: list[AggregatorDriver]) -> None:
    driver, events, _ = started(machine, drivers)
    driver.install(replace(JOB, first_slot=300))
    assert events.next("install_failed") == (5, 1000, "job 5: slots up to 556 of 512")
    driver.install(replace(JOB, children=()))
    assert events.next("install_failed") == (5, 1000, "job 5: 0 children; use 1 to 64")
    assert machine.core.installed() == {}


def test_a_core_that_knows_no_parents_is_no_leaf(machine: Machine, drivers: list[AggregatorDriver]) -> None:
    """It would answer with the sums of its own children."""
    driver, events, _ = started(machine, drivers)
    leaf = replace(JOB, parent=Parent(500, 0x300, 0x400, 0x301, 0x401, False, (2, 3), 0b1100))
    driver.install(leaf)
    assert events.next("installed") == (5, 1000)
    machine.core.capacity = replace(machine.core.capacity, serves_parents=False)
    driver.install(leaf)
    assert events.next("install_failed") == (5, 1000, "job 5: an aggregator of kind reference is no leaf of a tree")


def test_jobs_outlive_their_controller_and_strays_are_removed(
    machine: Machine, drivers: list[AggregatorDriver]
) -> None:
    driver, events, _ = started(machine, drivers)
    stray = replace(JOB, job=9, row=4, epoch=1001, first_slot=256)
    for entries in (JOB, stray):
        driver.install(entries)
        events.next("installed")
    driver.stop()
    _, _, state_lost = started(machine, drivers, JOB)
    assert not state_lost
    assert machine.core.installed() == {5: 1000}
    _, _, state_lost = started(machine, drivers, replace(JOB, epoch=999))
    assert state_lost
    assert machine.core.installed() == {}


def test_an_aggregator_that_was_started_again_has_lost_everything(
    machine: Machine, drivers: list[AggregatorDriver]
) -> None:
    driver, events, _ = started(machine, drivers)
    driver.install(JOB)
    events.next("installed")
    machine.server.stop()
    assert not events.next("lost")[1]
    with pytest.raises(AggregatorUnavailable, match="netsum://127"):
        driver.counters(WAIT_S)
    machine.start()
    assert events.next("ready")[1]
    driver.install(replace(JOB, epoch=1001))
    assert events.next("installed") == (5, 1001)


def test_something_else_that_answers_there_is_a_permanent_failure() -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    driver, events = AggregatorDriver(f"127.0.0.1:{port}"), Events()
    driver.start(events, ())
    try:
        why, permanent = events.next("lost")
        assert permanent
        assert "is not an aggregator of netsum" in why
    finally:
        driver.stop()
        server.stop(None)


def test_an_address_that_is_taken_is_an_error_that_names_it(machine: Machine) -> None:
    with pytest.raises(AggregatorServerError, match=machine.address):
        AggregatorServer(machine.core, nullcontext, machine.address)


def test_statistics_are_asked_of_the_aggregator_itself(machine: Machine) -> None:
    assert read_statistics(machine.address, WAIT_S) == {"batches": 0, "summary": ["0 batches"]}
    with pytest.raises(AggregatorUnavailable):
        read_statistics("127.0.0.1:1", WAIT_S)


def test_terms_there_and_back() -> None:
    service = ServiceTerms("tenant", b"\0nonce", workers=2, weight=3, quota_bytes=1 << 40, options={"keys": [1, 2]})
    terms = terms_of(replace(JOB, service=service), LANES)
    assert terms_from(terms_message(terms)) == terms
    assert terms_from(terms_message(replace(terms, service=None))).service is None
    assert terms.window == JOB.window
    assert terms.full == 0b11


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"epoch": 0}, "epoch 0"),
        ({"job": 1 << 16}, "16 bits"),
        ({"lanes": 65}, "65 lanes"),
        ({"window_log2": 17}, "window of 2"),
        ({"first_slot": -1}, "first_slot -1"),
    ],
)
def test_terms_that_are_no_job_are_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(AggregatorRefused, match=why) as refused:
        replace(terms_of(JOB, LANES), **change)
    assert refused.value.code is RefusalCode.INVALID


def test_two_children_of_one_bit_are_refused() -> None:
    terms = terms_of(JOB, LANES)
    with pytest.raises(AggregatorRefused, match="two children have the same bit"):
        replace(terms, children=tuple(replace(child, bit=0) for child in terms.children))
